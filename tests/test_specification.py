"""Names of the public specification: each exists here, or is a row of the page on differences.

The list was taken from the pages on the communicator, its backends, their selection and the Python bindings.
Owners come first: ``train.backend`` is an argument, ``InvalidRoot.size`` a field, ``Case.config`` a property.
"""

import functools
import inspect
import re

import cobre
import cobre.comm.local
import cobre.comm.mpi
import cobre.comm.shm
import cobre.comm.tcp
from cobre import comm, errors
from tests.doc_pages import DOCS

PAGE = DOCS / "explanation" / "specification.md"

SPECIFIED = """
COBRE_COMM_BACKEND
COBRE_TCP_COORDINATOR COBRE_TCP_PORT COBRE_TCP_RANK COBRE_TCP_SIZE COBRE_TCP_BIND_ADDR
COBRE_TCP_CONNECT_TIMEOUT_MS COBRE_TCP_TIMEOUT_SECS
COBRE_SHM_NAME COBRE_SHM_RANK COBRE_SHM_SIZE COBRE_SHM_NUMA_INTERLEAVE
PMI_RANK PMI_SIZE OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE MPI_LOCALRANKID SLURM_PROCID
OMP_NUM_THREADS HIGHS_PARALLEL MKL_NUM_THREADS

Communicator: allgatherv allreduce broadcast barrier rank size
Communicator.allgatherv: send recv counts displs
Communicator.allreduce: send recv op
Communicator.broadcast: buf root
CommData
ReduceOp: Sum Min Max
SharedMemoryProvider: Region create_shared_region split_local is_leader
SharedMemoryProvider.create_shared_region: count
SharedRegion: as_slice as_mut_slice fence
HeapFallback HeapRegion

LocalBackend LocalCommunicator
ShmBackend ShmCommunicator ShmRegion ControlRegion
ShmCommunicator: attach
TcpBackend TcpCommunicator TcpRole
TcpCommunicator: connect connect_with_config
FerrompiBackend FerrompiComm FerrompiRegion MpiCommunicator SharedWindow
MpiCommunicator: init
ShmConfig
TcpConfig: coordinator rank size bind_addr connect_timeout
BackendKind: Auto Mpi Tcp Shm Local
CommBackend
create_communicator available_backends

CommError BackendError
CollectiveFailed: operation mpi_error_code message
InvalidBufferSize: operation expected actual
InvalidRoot: root size
InvalidCommunicator
AllocationFailed: requested_bytes message
BackendNotAvailable: requested available
InvalidBackend: requested available
InitializationFailed: backend source
MissingConfiguration: backend missing_vars
MpiError

LEN TAG PAYLOAD
AllgathervSend AllgathervRecv AllreduceSend AllreduceRecv Broadcast BarrierReady BarrierGo
Handshake Ack Shutdown

train: case config_overrides progress_callback backend num_workers coordinator rank size
simulate: case policy config_overrides progress_callback backend num_workers
validate: path
set_threads: n
get_threads train_async simulate_async
CaseLoader: load
CaseLoader.load: path
Case: config stages hydros thermals buses lines topology par_model
HydroPlant ThermalUnit Bus Line
PARModel: order n_entities n_seasons seasonal_means ar_coefficients correlation_matrix
sample_noise: n_samples correlation_matrix rng_seed
OpeningTree: data n_openings n_stages n_entities
load_external_scenarios
TrainingResult: policy convergence_history iterations final_lower_bound final_upper_bound final_gap
TrainingResult: termination_reason total_cuts workers
WorkerInfo: rank wall_time_ms backend
SimulationResult: scenarios output_directory output_files mean_cost std_cost wall_time_ms
ProgressEvent: phase iteration lower_bound upper_bound gap wall_time_ms iteration_time_ms
ProgressEvent: scenarios_complete scenarios_total worker_id
ValidationResult: valid errors warnings layers_completed
ValidationRecord: kind message context suggestion
Policy: load summary cuts evaluate raw_bytes
CobreError: kind message context suggestion
ValidationError IOError
SolverError: stage iteration solver_status
WorkerError: rank exit_code inner
"""


def _specified():
    for line in SPECIFIED.strip().splitlines():
        owner, colon, members = line.partition(":")
        yield from ([owner, *(f"{owner}.{member}" for member in members.split())] if colon else line.split())


NAMES = sorted(set(_specified()))
HOMES = (cobre, comm, errors, comm.local, comm.shm, comm.tcp, comm.mpi)
#: Another test compares the page with the settings that are declared.
VARIABLES = set(re.findall(r"`([A-Z_]+)`", (DOCS / "reference" / "environment.md").read_text()))


def _arguments(found):
    """Names of the arguments of a function, or of those by which an object gets its fields."""
    if inspect.isclass(found) and found.__init__ in {object.__init__, Exception.__init__}:
        return ()
    return inspect.signature(found).parameters if callable(found) else ()


def _member(found, name):
    """A member, or None for an argument or field; raises AttributeError if there is neither."""
    return None if name in _arguments(found) else getattr(found, name)


@functools.cache
def _exists(name):
    """Whether the product has a name: a variable, or something public and its member, argument or field."""
    owner, *members = name.split(".")
    home = next((home for home in HOMES if hasattr(home, owner)), None)
    if home is None:
        return name in VARIABLES
    try:
        functools.reduce(_member, members, getattr(home, owner))
    except AttributeError:
        return False
    return True


def _rows():
    """The specification's names in the first column of each table of the page, by section."""
    for section in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]:
        heading, body = section.split("\n", 1)
        cells = re.findall(r"^\| (`[^|]+) \|", body, re.MULTILINE)
        yield (
            heading,
            {name for cell in cells for name in re.findall(r"`([^`]+)`", cell) if name in NAMES},
            cells,
        )


ROWS = {heading: (names, cells) for heading, names, cells in _rows()}
ABSENT = ROWS["Other names"][0] | ROWS["Not here"][0] | ROWS["Wire format"][0]


def test_every_name_of_the_specification_exists_or_is_on_the_page():
    assert {name for name in NAMES if not _exists(name)} == ABSENT


def test_every_row_begins_with_a_name_of_the_specification():
    """And, where it says that the behaviour differs, with one that exists here."""
    first = [re.match(r"`([^`]+)`", cell)[1] for _, cells in ROWS.values() for cell in cells]
    assert [name for name in first if name not in NAMES] == []
    assert [name for name in ROWS["Other behaviour"][0] if not _exists(name)] == []
    for heading in ("Other names", "Not here", "Wire format"):
        named = {name for cell in ROWS[heading][1] for name in re.findall(r"`([^`]+)`", cell)}
        assert named <= set(NAMES), heading


def test_names_here_that_the_page_gives_in_their_place_exist():
    """As far as they are names of this package; members without an owner belong to the one before."""
    told = re.findall(r"`(cobre\.[\w.]+|[A-Z]\w+\.\w+|COBRE_\w+)`", PAGE.read_text())
    assert {name for name in told if not _exists(name.removeprefix("cobre.")) and name not in ABSENT} == set()
