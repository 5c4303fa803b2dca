"""Which backend runs here, and why: asked for in code, by a variable, or detected."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from cobre.comm._backend import Config
from cobre.comm._base import BackendCommunicator
from cobre.comm._config import MPI_RANK_PROCESS_VARIABLE
from cobre.comm._registry import BUILTIN, backend_names, load
from cobre.errors import BackendError, BackendNotAvailable, InvalidBackend

BACKEND_VARIABLE = "COBRE_COMM_BACKEND"

#: Variables that MPI launchers set in every process they start.
MPI_LAUNCHER_VARIABLES = (
    "PMI_RANK",
    "PMI_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "MPI_LOCALRANKID",
    "SLURM_PROCID",
)

#: Where launchers say which rank a process is.
RANK_VARIABLES = (
    "COBRE_TCP_RANK",
    "COBRE_SHM_RANK",
    "OMPI_COMM_WORLD_RANK",
    "PMI_RANK",
    "PMIX_RANK",
    "SLURM_PROCID",
)


@dataclass(frozen=True)
class Choice:
    """The backend that an environment leads to."""

    backend: str
    reason: str
    #: What was detected and not followed, with why.
    passed_over: tuple[str, ...] = ()
    #: Not empty when the choice is probably not what the user meant.
    warning: str = ""


def choose(env: Mapping[str, str]) -> Choice:
    """Say which backend an environment leads to. Starts nothing.

    Raises:
        InvalidBackend: ``COBRE_COMM_BACKEND`` names no backend.

    >>> choose({"COBRE_SHM_NAME": "/cobre-42"}).backend
    'shm'
    >>> choose({}).reason
    'nothing in the environment names a group'
    """
    requested = env.get(BACKEND_VARIABLE, "auto")
    if requested == "auto":
        return _detect(env)
    if requested not in BUILTIN and requested not in backend_names():
        raise InvalidBackend(requested, ("auto", *backend_names()), BACKEND_VARIABLE)
    return Choice(requested, f"{BACKEND_VARIABLE} is {requested!r}")


def create_communicator(kind: str | Config | None = None) -> BackendCommunicator:
    """Join the group that this process belongs to. A collective of all its ranks.

    Args:
        kind: None follows the environment (``COBRE_COMM_BACKEND``, else detection); a name selects
            that backend, whose settings come from the environment; ``LocalConfig``, ``ShmConfig``,
            ``TcpConfig``, ``MpiConfig`` or another package's configuration says everything itself.

    Raises:
        InvalidBackend: no backend has that name.
        BackendNotAvailable: it cannot run here; it is never replaced by another.
        MissingConfiguration: settings are absent or malformed; all are listed.
        InitializationFailed: the group could not be assembled.

    >>> with create_communicator() as comm:
    ...     comm.rank, comm.size
    (0, 1)
    """
    if kind is not None and not isinstance(kind, str):
        name = getattr(kind, "backend", None)
        if not isinstance(name, str):
            raise TypeError(
                f"create_communicator takes a backend's name or configuration, not {type(kind).__name__}"
            )
        return load(name).connect(kind)

    if kind is None or kind == "auto":
        choice = choose(os.environ) if kind is None else _detect(os.environ)
        if choice.warning:
            warnings.warn(choice.warning, RuntimeWarning, stacklevel=2)
        backend = load(choice.backend, BACKEND_VARIABLE)
    else:
        backend = load(kind)
    return backend.connect(backend.configure(os.environ))


def _detect(env: Mapping[str, str]) -> Choice:
    passed_over: list[str] = []
    warning = ""

    launched = [variable for variable in MPI_LAUNCHER_VARIABLES if variable in env]
    found = f"an MPI launcher set {', '.join(launched)}"
    own = str(os.getpid())
    owner = env.get(MPI_RANK_PROCESS_VARIABLE, own)
    if launched == ["SLURM_PROCID"] and (single := _single_slurm_task(env)):
        passed_over.append(f"mpi: SLURM_PROCID is set, but {single}")
    elif launched and owner != own:
        passed_over.append(
            f"mpi: {found}, but for a rank (pid {owner}) that started this process; it is no rank itself"
        )
        # Not in silence: a launcher that a rank has started passes the same variables on to real ranks.
        warning = f"{passed_over[0]}, and runs alone. Set {BACKEND_VARIABLE} to 'local', or to what it is."
    elif launched:
        try:
            load("mpi")
            return Choice("mpi", found)
        except BackendNotAvailable as exc:
            passed_over.append(f"mpi: {found}, but {exc}")
            if launched_ranks(env) > 1:
                warning = (
                    f"{found}, which promises {launched_ranks(env)} ranks, but {exc}. "
                    "Unless another backend is configured, each process runs alone and does all the work."
                )

    if "COBRE_TCP_COORDINATOR" in env:
        return Choice("tcp", "COBRE_TCP_COORDINATOR is set", tuple(passed_over))
    if env.get("COBRE_TCP_RANK") == "0":
        return Choice("tcp", "COBRE_TCP_RANK is 0: the coordinator itself", tuple(passed_over))
    if "COBRE_SHM_NAME" in env:
        return Choice("shm", "COBRE_SHM_NAME is set", tuple(passed_over))
    for backend, incomplete, needed in (
        ("tcp", "COBRE_TCP_RANK", "COBRE_TCP_COORDINATOR"),
        ("tcp", "COBRE_TCP_SIZE", "COBRE_TCP_RANK"),
        ("shm", "COBRE_SHM_RANK", "COBRE_SHM_NAME"),
        ("shm", "COBRE_SHM_SIZE", "COBRE_SHM_NAME"),
    ):
        if incomplete in env:
            passed_over.append(f"{backend}: {incomplete} is set, but {needed} is not")
            warning = warning or f"{incomplete} is set, but {needed} is not, so this process runs alone."
    reason = "nothing in the environment names a group" if not passed_over else "no group could be joined"
    return Choice("local", reason, tuple(passed_over), warning)


def _single_slurm_task(env: Mapping[str, str]) -> str:
    """Say why ``SLURM_PROCID`` alone is no MPI launch: the batch shell has it too. Empty if it is."""
    step_tasks = env.get("SLURM_STEP_NUM_TASKS")
    if step_tasks == "1":
        return "its job step has one task"
    if step_tasks is None and env.get("SLURM_NTASKS") == "1":
        return "its job has one task"
    if step_tasks is None and "SLURM_JOB_ID" in env:
        return "this is the batch shell, not a step started by srun"
    return ""


def launched_ranks(env: Mapping[str, str]) -> int:
    """How many ranks the launcher says it started; 1 if it does not say."""
    for variable in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
        if env.get(variable, "").isdecimal():
            return int(env[variable])
    return 1


def launched_rank(env: Mapping[str, str]) -> int:
    """The rank of this process in the group that a launcher made, 0 outside of one.

    >>> launched_rank({"COBRE_SHM_NAME": "/cobre-42", "COBRE_SHM_RANK": "3"})
    3
    """
    try:
        if choose(env).backend == "local":  # a batch job has a number, too
            return 0
    except BackendError:
        return 0
    found = (env.get(name, "") for name in RANK_VARIABLES)
    return next((int(text) for text in found if text.isdecimal()), 0)
