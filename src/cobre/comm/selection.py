"""Selection of the backend: named in code or by a variable, or detected."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from cobre.comm.config import MPI_LAUNCHER_VARIABLES, MPI_RANK_PROCESS_VARIABLE, MpiConfig
from cobre.comm.contract import BackendCommunicator
from cobre.comm.registry import BUILTIN, BackendConfig, LaunchedRank, backend_names, find, load
from cobre.errors import BackendNotAvailable, InvalidBackend

BACKEND_VARIABLE = "COBRE_COMM_BACKEND"


@dataclass(frozen=True)
class Choice:
    """Backend selected by an environment, with the reason."""

    backend: str
    reason: str
    #: Detected backends that were not selected, with reasons.
    passed_over: tuple[str, ...] = ()
    #: Set if the choice is probably not what the user meant.
    warning: str = ""


def choose(env: Mapping[str, str]) -> Choice:
    """Return the backend selected by an environment. Starts nothing.

    Raises:
        InvalidBackend: ``COBRE_COMM_BACKEND`` is not the name of a backend.

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


def launched_rank(backend: str = "auto", env: Mapping[str, str] | None = None) -> LaunchedRank | None:
    """Return the rank as which a launcher started this process; None if it was started alone.

    The one question that decides whether a program joins a group or runs by itself, and which of several
    processes speaks. The backend itself answers it; nothing is started.

    Args:
        backend: a name, or ``"auto"`` for the one that the environment leads to.
        env: variables; this process's own unless given.

    Raises:
        InvalidBackend: no backend has that name.
        BackendNotAvailable: its package cannot be imported.
        MissingConfiguration: this is a rank, but which one of how many is absent or malformed.

    >>> launched_rank(env={"COBRE_SHM_NAME": "/cobre-42", "COBRE_SHM_RANK": "3", "COBRE_SHM_SIZE": "4"})
    LaunchedRank(backend='shm', rank=3, size=4)
    >>> launched_rank(env={}) is None
    True
    """
    env = os.environ if env is None else env
    if backend == "auto":
        return find(choose(env).backend, BACKEND_VARIABLE).launched_as(env)
    return find(backend).launched_as(env)


def create_communicator(kind: str | BackendConfig | None = None) -> BackendCommunicator:
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
            if (promised := MpiConfig.launched_as(env).size) > 1:
                warning = (
                    f"{found}, which promises {promised} ranks, but {exc}. "
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
    """Reason why ``SLURM_PROCID`` is no MPI launch, as in a batch shell; empty if it is one."""
    step_tasks = env.get("SLURM_STEP_NUM_TASKS")
    if step_tasks == "1":
        return "its job step has one task"
    if step_tasks is None and env.get("SLURM_NTASKS") == "1":
        return "its job has one task"
    if step_tasks is None and "SLURM_JOB_ID" in env:
        return "this is the batch shell, not a step started by srun"
    return ""
