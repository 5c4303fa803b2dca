"""The backend for ranks that an MPI launcher has started: collectives by the site's own MPI.

mpi4py finds and loads the library, and makes communicators and windows. The collectives themselves are
called from ``native/core/mpi``, because a small one takes no longer than the way to it through Python.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from cobre._native import MpiGroup, MpiJoinWatch
from cobre.comm.config import MPI_RANK_PROCESS_VARIABLE, MpiConfig
from cobre.comm.contract import NativeCommunicator
from cobre.comm.regions.shared import SharedRegion
from cobre.comm.regions.windows import Windows
from cobre.comm.registry import Backend, LaunchedRank
from cobre.comm.topology import MpiInfo, gather_topology
from cobre.errors import (
    AllocationFailed,
    BackendNotAvailable,
    CollectiveFailed,
    CommError,
    InitializationFailed,
    InvalidCommunicator,
)

if TYPE_CHECKING:
    from mpi4py import MPI

MOST_BYTES_AT_ONCE = 1 << 30
#: MPICH's launcher ends on an abort without reading what is left in its pipes: a traceback, for instance.
PAUSE_BEFORE_ABORT_S = 0.3


class MpiCommunicator(NativeCommunicator):
    """Rank of an MPI communicator."""

    def __init__(self, comm: MPI.Intracomm, node: MPI.Intracomm, config: MpiConfig) -> None:
        """``comm`` and ``node``, the ranks of this machine among it, belong to this object from now on."""
        super().__init__(comm.Get_rank(), comm.Get_size())
        self._mpi = mpi = _loaded_mpi()
        self._comm, self._node, self._config = comm, node, config
        for one in (comm, node):
            one.Set_errhandler(mpi.ERRORS_RETURN)
        self._group = self._group_of(comm)
        self._use(self._group)
        # Who fences a region waits for the ranks of the machine only.
        self._all_share_memory = node.Get_size() == comm.Get_size()
        machine = self._group if self._all_share_memory else self._group_of(node)
        self._windows = Windows(self._group, machine, node)
        self._is_leader = node.Get_rank() == 0
        self.topology = gather_topology(self, "mpi", mpi=_info(mpi))

    @property
    def is_leader(self) -> bool:
        """True on the first rank of each machine."""
        return self._is_leader

    def _group_of(self, comm: MPI.Intracomm) -> MpiGroup:
        """Collectives of ``comm``, in this communicator's turn."""
        mpi, handle = self._mpi, self._mpi._handleof
        return MpiGroup(
            comm.Get_rank(),
            comm.Get_size(),
            mpi.__file__,
            handle(comm),
            handle(mpi.BYTE),
            [handle(one) if one else 0 for one in _types(mpi)],
            (handle(mpi.SUM), handle(mpi.MIN), handle(mpi.MAX)),
            self._config.timeout_s,
            bool(self._config.check),
            MOST_BYTES_AT_ONCE,
            self._turn,
        )

    def _create_shared_region(self, count: int, dtype: np.dtype[Any]) -> SharedRegion:
        self._group.announce("create_shared_region", count, dtype.kind, dtype.itemsize, np.zeros(1))
        return self._windows.create(count, dtype)

    def _split_local(self) -> MpiCommunicator:
        self._group.announce("split_local", 0, "", 0, np.zeros(1))
        return MpiCommunicator(self._node.Dup(), self._node.Dup(), self._config)

    def _close(self) -> None:
        if self._mpi.Is_finalized():
            return
        self._windows.close()
        for one in (self._node, self._comm):
            one.Free()


class MpiBackend(Backend[MpiConfig]):
    """Backend for any MPI library that mpi4py can load."""

    name = "mpi"
    summary = "ranks of an MPI launcher, by the MPI library of the site"

    def obstacle(self) -> BackendNotAvailable | None:
        """Report a missing mpi4py. The MPI library itself is loaded on first use."""
        if find_spec("mpi4py") is None:
            return BackendNotAvailable(
                self.name,
                "mpi4py is not installed",
                "pip install 'cobre-parallel[mpi]' brings it and an MPI library",
            )
        return None

    def configure(self, env: Mapping[str, str]) -> MpiConfig:
        """Read the ``COBRE_MPI_*`` variables."""
        return MpiConfig.from_env(env)

    def launched_as(self, env: Mapping[str, str]) -> LaunchedRank | None:
        """Read the launcher's variables. Never None: only MPI knows all launchers."""
        return MpiConfig.launched_as(env)

    def connect(self, config: MpiConfig) -> MpiCommunicator:
        """Initialise MPI unless the program has, and use a duplicate of the communicator."""
        watch = MpiJoinWatch(config.timeout_s) if config.timeout_s else None
        try:
            return self._connect(config)
        finally:
            if watch is not None:
                watch.stop()

    def _connect(self, config: MpiConfig) -> MpiCommunicator:
        mpi = _start()
        if config.comm is not None and not isinstance(config.comm, mpi.Intracomm):
            raise InitializationFailed(
                self.name, f"MpiConfig.comm is a {type(config.comm).__name__}, not an mpi4py.MPI.Intracomm"
            )
        try:
            comm = (config.comm or mpi.COMM_WORLD).Dup()
            node = comm.Split_type(mpi.COMM_TYPE_SHARED)
            if config.node is not None:
                whole, node = node, node.Split(config.node)
                whole.Free()
            return MpiCommunicator(comm, node, config)
        except mpi.Exception as exc:
            raise InitializationFailed(self.name, f"MPI says: {exc}") from exc
        except CollectiveFailed as exc:
            raise InitializationFailed(self.name, exc.message) from exc


def _start() -> Any:
    """Return mpi4py's ``MPI``, initialised: by the program if it has done so, else now."""
    mpi = _loaded_mpi()
    if mpi.Is_finalized():
        raise InitializationFailed("mpi", "MPI has been finalised, and it cannot start again in this process")
    if not mpi.Is_initialized():
        if (owner := os.environ.get(MPI_RANK_PROCESS_VARIABLE)) and owner != str(os.getpid()):
            raise InitializationFailed(
                "mpi",
                f"this process was started by a rank (pid {owner}) and is none itself, though it has the "
                "launcher's variables too; set COBRE_COMM_BACKEND=local for it",
            )
        mpi.Init_thread(mpi.THREAD_SERIALIZED)  # MPICH takes five times as long with more
        atexit.register(_finish, mpi)
        _abort_on_uncaught_exceptions(mpi)
    if (promised := MpiConfig.launched_as(os.environ).size) > mpi.COMM_WORLD.Get_size() == 1:
        raise InitializationFailed(
            "mpi",
            f"the launcher started {promised} ranks, but this process is alone in MPI's world: it does not "
            f"know this launcher, because it is {_info(mpi).library}; use that library's mpiexec, or set "
            "MPI4PY_LIBMPI to the library of this one (under SLURM: see srun --mpi=list)",
        )
    os.environ[MPI_RANK_PROCESS_VARIABLE] = str(os.getpid())
    return mpi


def _loaded_mpi() -> Any:
    """Return mpi4py's ``MPI``, loaded but not initialised by us."""
    if "mpi4py.MPI" in sys.modules:
        return sys.modules["mpi4py.MPI"]
    try:
        import mpi4py  # noqa: PLC0415  only when it is asked for

        before = mpi4py.rc.initialize
        mpi4py.rc.initialize = False  # we say when, and on which thread level
        try:
            from mpi4py import MPI  # noqa: PLC0415
        finally:
            mpi4py.rc.initialize = before
    except (ImportError, RuntimeError) as exc:
        raise BackendNotAvailable(
            "mpi",
            f"mpi4py cannot load an MPI library: {str(exc).splitlines()[0]}",
            "load the site's MPI, or pip install 'cobre-parallel[mpi]'",
        ) from exc
    return MPI


def _finish(mpi: Any) -> None:
    if not mpi.Is_finalized():
        mpi.Finalize()


def _abort_on_uncaught_exceptions(mpi: Any) -> None:
    """End the whole job when this rank fails: otherwise it waits in Finalize for ranks that wait for it."""
    show = sys.excepthook

    def show_and_abort(kind: Any, error: Any, trace: Any) -> None:
        show(kind, error, trace)
        abort_job(1)

    sys.excepthook = show_and_abort


def abort_job(code: int) -> None:
    """End all ranks of the MPI job that this process is a rank of, with an exit code; do nothing elsewhere.

    A rank that leaves in any other way leaves the others in a collective, where they notice nothing.
    """
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not mpi.Is_initialized() or mpi.Is_finalized() or mpi.COMM_WORLD.Get_size() == 1:
        return
    sys.stderr.flush()
    sys.stdout.flush()
    time.sleep(PAUSE_BEFORE_ABORT_S)
    mpi.COMM_WORLD.Abort(code)


def error_of(operation: str, message: str, error_class: int, size_bytes: int) -> CommError:
    """Return the exception for an error that MPI reports in a collective of so many bytes.

    Buffers, counts and roots are checked before MPI sees them, so there is no more to say of their classes.
    """
    mpi = _loaded_mpi()
    if error_class == mpi.ERR_COMM:
        return InvalidCommunicator(f"{operation}: {message}; create a new communicator")
    if error_class == mpi.ERR_NO_MEM:
        return AllocationFailed(size_bytes, f"{operation}: {message}")
    return CollectiveFailed(operation, message, error_class)


def _types(mpi: Any) -> list[MPI.Datatype | None]:
    """MPI's types in the order of the native element types; it has no half precision."""
    integers = [mpi.INT8_T, mpi.INT16_T, mpi.INT32_T, mpi.INT64_T]
    naturals = [mpi.UINT8_T, mpi.UINT16_T, mpi.UINT32_T, mpi.UINT64_T]
    return [*integers, *naturals, None, mpi.FLOAT, mpi.DOUBLE, mpi.LONG_DOUBLE]


def _info(mpi: Any) -> MpiInfo:
    levels = {
        mpi.THREAD_SINGLE: "single",
        mpi.THREAD_FUNNELED: "funneled",
        mpi.THREAD_SERIALIZED: "serialized",
        mpi.THREAD_MULTIPLE: "multiple",
    }
    library = mpi.Get_library_version().splitlines()[0].split(",")[0].strip("\0 ")
    standard = ".".join(str(number) for number in mpi.Get_version())
    return MpiInfo(" ".join(library.split()), standard, levels[mpi.Query_thread()])


BACKEND = MpiBackend()
