"""Every error survives the way to another process, fields and words included."""

import pickle

import pytest

from cobre import errors

EXAMPLES = [
    errors.CollectiveFailed("allgatherv", "rank 2 (pid 4711) exited; read its own traceback first", 15),
    errors.InvalidBufferSize("allreduce", 4, 3, "recv differs from send"),
    errors.InvalidRoot(5, 2),
    errors.InvalidCommunicator("this communicator was closed; create a new one"),
    errors.AllocationFailed(1 << 40, "the machine has less"),
    errors.BackendNotAvailable("mpi", "mpi4py is not installed", "pip install 'cobre[mpi]'"),
    errors.InvalidBackend("sockets", ["local", "shm"], "COBRE_COMM_BACKEND"),
    errors.InitializationFailed("tcp", "port 29500 is in use"),
    errors.MissingConfiguration("shm", [errors.ConfigurationProblem("COBRE_SHM_RANK", "a rank", None, "0")]),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_survives_pickling(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert vars(copy) == vars(error)
    assert str(copy) == str(error)


def test_the_examples_are_all_there_are():
    """A new error needs an example here, and the families stay as small as the contract says."""
    families = (errors.CommError, errors.BackendError)
    leaves = {leaf for family in families for leaf in family.__subclasses__()}
    assert leaves == {type(example) for example in EXAMPLES}
    assert set(errors.CobreError.__subclasses__()) == set(families)


def test_the_words_say_what_happened_and_what_to_do():
    assert [str(example) for example in EXAMPLES] == [
        "allgatherv: rank 2 (pid 4711) exited; read its own traceback first (MPI error 15)",
        "allreduce: recv differs from send: expected 4, got 3",
        "broadcast: root 5 is not a rank; this communicator has ranks 0 to 1",
        "this communicator was closed; create a new one",
        "cannot allocate a region of 1,099,511,627,776 bytes: the machine has less",
        "backend 'mpi' cannot run here: mpi4py is not installed; pip install 'cobre[mpi]'",
        "COBRE_COMM_BACKEND='sockets' names no backend; choose one of local, shm",
        "backend 'tcp' could not start: port 29500 is in use",
        "backend 'shm' is not configured:\n"
        "  - COBRE_SHM_RANK is not set; it should hold a rank, for example 0",
    ]
