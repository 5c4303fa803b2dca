"""Selection of the backend: named in code or by a variable, or detected.

A process that was asked to be one of several ranks joins them or is refused; it never runs alone. Whoever
means a process to run alone under a launcher says so by ``COBRE_COMM_BACKEND=local``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cobre.comm.config import MPI_LAUNCHER_VARIABLES, MPI_RANK_PROCESS_VARIABLE, MpiConfig
from cobre.comm.contract import BackendCommunicator
from cobre.comm.registry import BUILTIN, Backend, BackendConfig, LaunchedRank, backend_names, find, load
from cobre.errors import BackendNotAvailable, InitializationFailed, InvalidBackend
from cobre.logs import logger, set_rank

_log = logger(__name__)

BACKEND_VARIABLE = "COBRE_COMM_BACKEND"
_NO_GROUP = "nothing in the environment names a group"


@dataclass(frozen=True)
class Choice:
    """Backend selected by an environment, with the reason. Whether it can start is seen when it does."""

    backend: str
    reason: str
    #: Detected backends that were not selected, with reasons.
    passed_over: tuple[str, ...] = ()


def choose(env: Mapping[str, str]) -> Choice:
    """Return the backend selected by an environment. Starts nothing.

    Raises:
        InvalidBackend: ``COBRE_COMM_BACKEND`` is not the name of a backend.
        MissingConfiguration: a number that an MPI launcher set is none.

    >>> choose({"COBRE_SHM_NAME": "/cobre-42"}).backend
    'shm'
    >>> choose({}).reason
    'nothing in the environment names a group'
    """
    requested = _requested(env)
    return _detect(env) if requested == "auto" else Choice(requested, f"{BACKEND_VARIABLE} is {requested!r}")


def launched_rank(backend: str = "auto", env: Mapping[str, str] | None = None) -> LaunchedRank | None:
    """Return the rank as which a launcher started this process; None if it was started alone.

    Tells which of several processes speaks. The backend itself answers; nothing is started.

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


def names_group(env: Mapping[str, str]) -> bool:
    """Return whether variables, other than ``COBRE_COMM_BACKEND``, make a process one of several ranks.

    >>> names_group({"COBRE_TCP_SIZE": "4"}), names_group({"COBRE_COMM_BACKEND": "tcp"})
    (True, False)
    """
    return _requested(env) != "local" and _detect(env).backend != "local"


def backend_to_start(requested: str = "auto", env: Mapping[str, str] | None = None) -> str:
    """Return the backend of ranks that this process starts: the argument, else the variable, else a default.

    >>> backend_to_start(env={}), backend_to_start(env={"COBRE_COMM_BACKEND": "tcp"})
    ('shm', 'tcp')
    >>> backend_to_start("shm", {"COBRE_COMM_BACKEND": "tcp"})
    'shm'
    """
    env = os.environ if env is None else env
    if requested != "auto":
        return find(requested).name
    if (named := _requested(env)) != "auto":
        return named
    return "tcp" if "COBRE_TCP_COORDINATOR" in env else "shm"


def backend_of_workers(count: int, requested: str = "auto", env: Mapping[str, str] | None = None) -> str:
    """Return the backend of ``count`` workers that this process is to start for a study.

    Raises:
        InvalidBackend: no backend has that name.
        InitializationFailed: this process is itself one of several ranks, or the backend has no workers.

    >>> backend_of_workers(4, env={"COBRE_COMM_BACKEND": "local"})
    Traceback (most recent call last):
    cobre.errors.InitializationFailed: backend 'local' could not start: it has one rank, this process, but 4 \
workers were asked for (num_workers, --workers) and COBRE_COMM_BACKEND is 'local'; leave one of the two out
    """
    env = os.environ if env is None else env
    backend = backend_to_start(requested, env)
    if backend == "local" and count > 1:
        asked = "backend is 'local'" if requested == "local" else f"{BACKEND_VARIABLE} is 'local'"
        reason = (
            f"it has one rank, this process, but {count} workers were asked for (num_workers, --workers) and "
            f"{asked}; leave one of the two out"
        )
        raise InitializationFailed("local", reason, kind="IncompatibleSettings")
    if group := _group_of_several(env):
        reason = (
            f"{group}, so this process cannot start {count} workers of its own; leave num_workers "
            f"(--workers) out to use the ranks that there are, or set {BACKEND_VARIABLE}=local and name the "
            "backend (backend, --backend) for a separate study in each process"
        )
        raise InitializationFailed(backend, reason, kind="IncompatibleSettings")
    return backend


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
        return _connected(load(name), kind, "a configuration names it")

    if kind is None or kind == "auto":
        choice = choose(os.environ) if kind is None else _detect(os.environ)
        for other in choice.passed_over:
            _log.warning("not used: %s", other)
        try:
            backend = load(choice.backend, BACKEND_VARIABLE)
        except BackendNotAvailable as exc:
            raise _explained(exc, choice) from None
    else:
        backend, choice = load(kind), Choice(kind, "the program names it")
    return _connected(backend, backend.configure(os.environ), choice.reason)


def _connected(backend: Backend[Any], config: BackendConfig, reason: str) -> BackendCommunicator:
    _log.info("backend %s: %s", backend.name, reason)
    begun = time.perf_counter()
    try:
        comm = backend.connect(config)
    except BaseException as error:
        _log.error("cannot join the group: %s", error)
        raise
    set_rank(comm.rank, comm.size)
    _log.info("joined %s in %.3f s", comm.topology, time.perf_counter() - begun)
    return comm


def refuse_to_run_alone(requested: str = "auto", env: Mapping[str, str] | None = None) -> None:
    """Refuse to work alone in a process that a name or variables make one of several ranks.

    Raises:
        InitializationFailed: it was started as one of several, or a backend is named that it is no rank of.
        BackendError: the backend that is named cannot be used; likewise a group of one.

    >>> refuse_to_run_alone(env={})
    >>> refuse_to_run_alone("tcp", {})
    Traceback (most recent call last):
    cobre.errors.InitializationFailed: backend 'tcp' could not start: it was asked for (backend='tcp'), but \
nothing makes this process a rank of it; give comm=create_communicator() to work with other ranks, \
num_workers to start some, or backend='local' to work in this process alone
    """
    env = os.environ if env is None else env
    if requested == "local":
        return
    choice = choose(env) if requested == "auto" else Choice(requested, f"backend={requested!r}")
    group = _group_of_several(env)
    if not group:
        backend = load(choice.backend)
        if choice.backend == "local" or _is_only_rank(backend.launched_as(env)):
            backend.configure(env)  # which may be malformed
            return
    group = group or f"it was asked for ({choice.reason}), but nothing makes this process a rank of it"
    reason = (
        f"{group}; give comm=create_communicator() to work with other ranks, num_workers to start some, or "
        "backend='local' to work in this process alone"
    )
    raise InitializationFailed(choice.backend, reason, kind="IncompatibleSettings")


def _requested(env: Mapping[str, str]) -> str:
    requested = env.get(BACKEND_VARIABLE, "auto")
    if requested != "auto" and requested not in BUILTIN and requested not in backend_names():
        raise InvalidBackend(requested, ("auto", *backend_names()), BACKEND_VARIABLE)
    return requested


def _detect(env: Mapping[str, str]) -> Choice:
    launched = [variable for variable in MPI_LAUNCHER_VARIABLES if variable in env]
    found = f"an MPI launcher set {', '.join(launched)}"
    promised = MpiConfig.promised_size(env) if launched else None
    configured = _configured(env)
    single = launched == ["SLURM_PROCID"] and _single_slurm_task(env)
    passed_over: tuple[str, ...] = ()
    if single:
        passed_over = (f"mpi: SLURM_PROCID is set, but {single}",)
    elif launched:
        obstacle = _mpi_obstacle(env)
        if configured and not obstacle and promised == 1:
            obstacle = "for one rank"  # of the group that is configured: each may have its own launcher
        if not obstacle:
            return Choice("mpi", found)
        passed_over = (f"mpi: {found}, but {obstacle}",)
    if configured:
        return Choice(*configured, passed_over)
    if launched and not single and promised != 1:
        return Choice("mpi", found)  # which cannot run; but alone this process would do the work of all
    return Choice("local", "no group could be joined" if passed_over else _NO_GROUP, passed_over)


def _configured(env: Mapping[str, str]) -> tuple[str, str] | None:
    """Backend whose group is configured, at least in part, and the variable that says so."""
    for backend, variable, because in (
        ("tcp", "COBRE_TCP_COORDINATOR", "is set"),
        ("tcp", "COBRE_TCP_RANK", "is 0: the coordinator itself"),
        ("shm", "COBRE_SHM_NAME", "is set"),
        # Half a configuration: the backend will name what is missing.
        ("tcp", "COBRE_TCP_RANK", "is set"),
        ("tcp", "COBRE_TCP_SIZE", "is set"),
        ("shm", "COBRE_SHM_RANK", "is set"),
        ("shm", "COBRE_SHM_SIZE", "is set"),
    ):
        if variable in env and (because == "is set" or env[variable] == "0"):
            return backend, f"{variable} {because}"
    return None


def _mpi_obstacle(env: Mapping[str, str]) -> str:
    """Reason why ``mpi`` cannot run in a process that has a launcher's variables; empty if it can."""
    own = str(os.getpid())
    if (owner := env.get(MPI_RANK_PROCESS_VARIABLE, own)) != own:
        return f"for a rank (pid {owner}) that started this process; it is no rank itself"
    try:
        load("mpi")
    except BackendNotAvailable as exc:
        return str(exc)
    return ""


def _explained(error: BackendNotAvailable, choice: Choice) -> BackendNotAvailable:
    """Add to a refusal of what was detected why it was, and what else can be done."""
    remedy = (
        f"{error.remedy}; or set up tcp (COBRE_TCP_COORDINATOR and the others), or set "
        f"{BACKEND_VARIABLE}=local if each process is meant to run alone"
    )
    reason = f"{choice.reason}, but {error.reason}"
    return BackendNotAvailable(error.requested, reason, remedy, error.available)


def _group_of_several(env: Mapping[str, str]) -> str:
    """Say which of several ranks this process was started as; empty if it is none, or the only one."""
    if _requested(env) == "local":
        return ""
    detected = _detect(env)
    for choice in (choose(env), detected):  # what is named may differ from what is there
        rank = find(choice.backend, BACKEND_VARIABLE).launched_as(env)
        if rank is not None and not _is_only_rank(rank):
            return f"this process was started as rank {rank.rank} of {rank.size} ({choice.reason})"
    if detected.backend == "mpi" and MpiConfig.promised_size(env) is None:
        return f"{detected.reason}, which do not say how many ranks it started"
    return ""


def _is_only_rank(rank: LaunchedRank | None) -> bool:
    return rank is not None and (rank.rank, rank.size) == (0, 1)


def _single_slurm_task(env: Mapping[str, str]) -> str:
    """Reason why ``SLURM_PROCID`` is no MPI launch, as in a batch shell; empty if it is one."""
    step_tasks = env.get("SLURM_STEP_NUM_TASKS")
    if step_tasks == "1":
        return "its job step has one task"
    if step_tasks is not None or env["SLURM_PROCID"] != "0":
        return ""
    if env.get("SLURM_NTASKS") == "1":
        return "its job has one task"
    if "SLURM_JOB_ID" in env:
        return "this is the batch shell, not a step started by srun"
    return ""
