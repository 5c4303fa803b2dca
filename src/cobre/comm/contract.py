"""The contract of all backends: collectives and shared regions.

The public methods are the same for all backends. They check the arguments, keep two threads apart
and remember a failure; then they call the backend's own hook, whose name begins with an underscore.
A backend writes the hooks and nothing else.
"""

from __future__ import annotations

import inspect
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cobre._native import (
    ReduceOp,
    Turn,
    check_allgatherv,
    check_allreduce,
    check_broadcast,
    document_collectives,
)
from cobre.comm._closing import Closing
from cobre.comm.regions.gather import (
    CopyingGatherRegion,
    GatherRegion,
    SharedGatherRegion,
    require_equal_counts,
)
from cobre.errors import AllocationFailed, InvalidBufferSize
from cobre.logs import logger

_log = logger(__name__)

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from cobre._native import MpiGroup, ShmGroup, TcpGroup
    from cobre.comm.regions.shared import SharedRegion
    from cobre.comm.topology import Topology

    BufferLike: TypeAlias = NDArray[Any] | Buffer

Result = TypeVar("Result")


class Communicator(Closing):
    """A fixed group of ranks and the four collectives between them.

    All ranks of the group call the same collectives in the same order with matching arguments. The
    results are the same bits on every rank and on every backend.

    *Buffers* are C-contiguous NumPy arrays of any shape, taken as flat, or other objects with the
    buffer protocol. Any dtype of fixed size will do, structured ones too; `allreduce` needs integers
    or floating-point numbers in native byte order. Lengths and displacements count elements.

    *Arguments* are checked before the first byte moves, in the same way by every backend. A call
    that is refused has not begun: the communicator is as before.

    *Failures.* If a rank dies, stays silent or calls something else, the survivors raise
    `CollectiveFailed` naming it. The communicator is then finished: every later call raises
    `InvalidCommunicator`.

    *Threads.* A communicator may be handed between threads, but only one collective runs at a time;
    a call during another thread's is refused with `CollectiveFailed`, and the other call goes on.

    A communicator is a context manager that closes itself.
    """

    #: Ranks by host, gathered once at the start.
    topology: Topology

    def __init__(self, rank: int, size: int) -> None:
        self._rank = rank
        self._size = size
        self._turn = Turn()
        self._closed = False

    @property
    def rank(self) -> int:
        """This process's number in the group, from 0 to ``size - 1``. Constant; cannot fail."""
        return self._rank

    @property
    def size(self) -> int:
        """The number of ranks in the group. Constant; cannot fail."""
        return self._size

    def allgatherv(
        self,
        send: BufferLike,
        recv: BufferLike,
        counts: Sequence[SupportsIndex],
        displs: Sequence[SupportsIndex] | None = None,
    ) -> None:
        """Give every rank the parts of all ranks.

        Afterwards ``recv[displs[r] : displs[r] + counts[r]]`` holds rank r's ``send``, for all r, with
        the same bits on every rank, padding inside structured elements included. Elements of
        ``recv`` outside the parts are untouched. No rank returns before all have contributed.

        Args:
            send: this rank's part, ``counts[rank]`` long; may be empty. May be exactly this rank's
                part of ``recv``, and must not overlap ``recv`` otherwise.
            recv: receives all parts; same dtype as ``send``.
            counts: the length of each rank's part; equal on all ranks.
            displs: where each part begins in ``recv``, in any order; parts must not overlap. Without
                it they follow each other in rank order. May differ between ranks.

        Raises:
            InvalidBufferSize: lengths do not fit together, or parts overlap; nothing was sent.
            TypeError: a buffer is no buffer, or the dtypes differ; nothing was sent.
            ValueError: a buffer is read-only or not contiguous; nothing was sent.
            CollectiveFailed: a rank left, stayed silent or called something else; ``recv`` is undefined.
            InvalidCommunicator: the communicator is closed or finished.

        >>> comm = create_communicator("local")
        >>> recv = np.zeros(4)
        >>> comm.allgatherv(np.array([1.0, 2.0]), recv, counts=[2], displs=[1])
        >>> recv
        array([0., 1., 2., 0.])
        """
        self._run(
            "allgatherv",
            self._allgatherv,
            *check_allgatherv(send, recv, counts, displs, self._rank, self._size),
        )

    def allreduce(self, send: BufferLike, recv: BufferLike, op: ReduceOp = ReduceOp.SUM) -> None:
        """Combine the elements of all ranks; every rank gets the result.

        Afterwards ``recv[i]`` is ``op`` over all ranks' ``send[i]``, taken in rank order
        0, 1, …, size - 1: one fixed expression, so the result has the same bits on every rank, every
        backend and every run. Integers wrap around. NaN on any rank gives NaN, as in
        `numpy.minimum`, and always the same NaN. Of equal numbers, MIN and MAX keep the lowest rank's.

        Args:
            send: this rank's operand; at least one element.
            recv: receives the result; same length and dtype. May be ``send`` itself, and must not
                overlap it otherwise.
            op: the operation; equal on all ranks.

        Raises:
            InvalidBufferSize: lengths differ or are zero; nothing was sent.
            TypeError: a buffer is no buffer, dtypes differ or cannot be reduced; nothing was sent.
            ValueError: a buffer is read-only or not contiguous; nothing was sent.
            CollectiveFailed: a rank left, stayed silent or called something else; ``recv`` is undefined.
            InvalidCommunicator: the communicator is closed or finished.

        >>> comm = create_communicator("local")
        >>> recv = np.empty(2)
        >>> comm.allreduce(np.array([3.0, 4.0]), recv, ReduceOp.MAX)
        >>> recv
        array([3., 4.])
        """
        flat_send, flat_recv = check_allreduce(send, recv, op)
        self._run("allreduce", self._allreduce, flat_send, flat_recv, op)

    def broadcast(self, buf: BufferLike, root: int = 0) -> None:
        """Give every rank the contents of ``root``'s buffer.

        Afterwards ``buf`` has the root's bits on every rank. The root's buffer is only read.

        Args:
            buf: what to send on the root, what to overwrite elsewhere; equal length and dtype on all
                ranks; may be empty.
            root: the rank that has the data; equal on all ranks.

        Raises:
            InvalidRoot: ``root`` is not a rank; nothing was sent.
            TypeError: ``buf`` is no buffer; nothing was sent.
            ValueError: ``buf`` is not contiguous or, off the root, read-only; nothing was sent.
            CollectiveFailed: a rank left, stayed silent or called something else; ``buf`` is undefined.
            InvalidCommunicator: the communicator is closed or finished.

        >>> create_communicator("local").broadcast(np.arange(3), root=0)
        >>> create_communicator("local").broadcast(np.arange(3), root=1)
        Traceback (most recent call last):
        cobre.errors.InvalidRoot: broadcast: root 1 is not a rank; this communicator has ranks 0 to 0
        """
        self._run("broadcast", self._broadcast, check_broadcast(buf, root, self._rank, self._size), int(root))

    def barrier(self) -> None:
        """Wait until every rank has called this; nobody leaves before everybody came.

        What a rank wrote before the barrier, the others can read after it. No data is exchanged.

        Raises:
            CollectiveFailed: a rank left, stayed silent or called something else.
            InvalidCommunicator: the communicator is closed or finished.

        >>> create_communicator("local").barrier()
        """
        self._run("barrier", self._barrier)

    def close(self) -> None:
        """Leave the group and release what it holds. A second call does nothing.

        Raises:
            CollectiveFailed: another thread is inside a collective; the communicator stays open.

        >>> comm = create_communicator("local")
        >>> comm.close()
        >>> comm.barrier()
        Traceback (most recent call last):
        cobre.errors.InvalidCommunicator: this communicator was closed; create a new one
        """
        if self._closed:
            return
        self._turn.enter_to_close()
        try:
            self._closed = True
            before = self._turn.finished
            self._turn.finish("this communicator was closed; create a new one")
            self._close()
            _log.info("left the group; %s", before or "no collective had failed")
        finally:
            self._turn.leave()

    def __repr__(self) -> str:
        state = f", finished: {self._turn.finished}" if self._turn.finished else ""
        return f"<{type(self).__name__} rank {self._rank} of {self._size}{state}>"

    def _run(self, operation: str, hook: Callable[..., Result], *args: Any) -> Result:
        """Call a hook as the only collective of this communicator; remember if it fails."""
        self._turn.enter(operation)
        try:
            return hook(*args)
        except AllocationFailed:
            raise  # on every rank alike, so the group is as before
        except BaseException as failure:
            # Whatever it was, Ctrl-C included: the peers may be anywhere in the protocol now.
            self._turn.finish(
                f"this communicator was finished by an earlier failure in {operation} "
                f"({str(failure) or type(failure).__name__}); create a new one"
            )
            raise
        finally:
            self._turn.leave()

    # The hooks. Buffers arrive flat and checked; a failure is raised as CollectiveFailed.

    @abstractmethod
    def _allgatherv(
        self, send: NDArray[Any], recv: NDArray[Any], counts: tuple[int, ...], displs: tuple[int, ...]
    ) -> None: ...

    @abstractmethod
    def _allreduce(self, send: NDArray[Any], recv: NDArray[Any], op: ReduceOp) -> None: ...

    @abstractmethod
    def _broadcast(self, buf: NDArray[Any], root: int) -> None: ...

    @abstractmethod
    def _barrier(self) -> None: ...

    def _close(self) -> None:
        """Release what the backend holds; called once."""


def _fixed_size(dtype: DTypeLike, operation: str) -> np.dtype[Any]:
    element = np.dtype(dtype)
    if element.hasobject:
        raise TypeError(f"{operation}: dtype {element} holds Python objects, which cannot be shared")
    return element


class SharedMemoryProvider(ABC):
    """Regions of memory shared by the ranks of one machine.

    A type of its own beside `Communicator`: messages and persistent memory have different lifetimes.
    """

    @abstractmethod
    def create_shared_region(self, count: int, dtype: DTypeLike = np.float64) -> SharedRegion:
        """Create a region of ``count`` elements, all zero. A collective: same arguments everywhere.

        Args:
            count: the number of elements; may be zero.
            dtype: their type; any of fixed size.

        Raises:
            InvalidBufferSize: ``count`` is negative.
            TypeError: the dtype holds Python objects.
            AllocationFailed: there is no memory for it; raised on every rank, and the group goes on.
            CollectiveFailed: a rank left, stayed silent or asked for something else.
            InvalidCommunicator: the communicator is closed or finished.

        >>> comm = create_communicator("local")
        >>> with comm.create_shared_region(3) as region:
        ...     if comm.is_leader:
        ...         region.as_mut_array()[:] = [1, 2, 3]
        ...     region.fence()
        ...     region.as_array()
        array([1., 2., 3.])
        """

    @abstractmethod
    def split_local(self) -> Communicator:
        """Return a communicator of the ranks that share memory with this one. A collective.

        Ranks keep their order. The result is independent: closing one leaves the other open.

        Raises:
            CollectiveFailed: a rank left, stayed silent or called something else.
            InvalidCommunicator: the communicator is closed or finished.
        """

    @property
    @abstractmethod
    def is_leader(self) -> bool:
        """True on rank 0 of `split_local`, which populates regions for its machine. Constant."""


class BackendCommunicator(Communicator, SharedMemoryProvider):
    """Communicator of a backend: a `Communicator` and `SharedMemoryProvider` in one."""

    def create_shared_region(  # noqa: D102  inherited
        self, count: int, dtype: DTypeLike = np.float64
    ) -> SharedRegion:
        element, count = _fixed_size(dtype, "create_shared_region"), operator.index(count)
        if count < 0:
            raise InvalidBufferSize("create_shared_region", 0, count, "count is negative")
        return self._run("create_shared_region", self._create_shared_region, count, element)

    def split_local(self) -> Communicator:  # noqa: D102  inherited
        return self._run("split_local", self._split_local)

    def gather_region(self, counts: Sequence[int], dtype: DTypeLike = np.float64) -> GatherRegion:
        """Create a buffer in which each rank writes its part and then reads all parts. A collective.

        The way to gather the same shape again and again, as SDDP does with its cuts and states: where
        all ranks share memory nothing is copied, elsewhere it is an `allgatherv`.

        Args:
            counts: the length of each rank's part; equal on all ranks.
            dtype: the type of the elements; any of fixed size.

        Raises:
            InvalidBufferSize: ``counts`` has not one entry per rank, or a negative one.
            TypeError: the dtype holds Python objects.
            AllocationFailed: there is no memory for it; raised on every rank, and the group goes on.
            CollectiveFailed: a rank left, stayed silent or gave other counts.
            InvalidCommunicator: the communicator is closed or finished.

        >>> comm = create_communicator("local")
        >>> with comm.gather_region([3]) as region:
        ...     region.own[:] = [1, 2, 3]
        ...     region.publish()
        array([1., 2., 3.])
        """
        element = _fixed_size(dtype, "gather_region")
        counts = [operator.index(count) for count in counts]
        require_equal_counts(self, counts)
        kind = SharedGatherRegion if self._all_share_memory else CopyingGatherRegion
        return kind(self, counts, element)

    #: True if a region is the same memory on all ranks.
    _all_share_memory = False

    @abstractmethod
    def _create_shared_region(self, count: int, dtype: np.dtype[Any]) -> SharedRegion: ...

    @abstractmethod
    def _split_local(self) -> Communicator: ...


class NativeCommunicator(BackendCommunicator):
    """Collectives go straight to a group in ``cobre._native``."""

    def _use(self, group: MpiGroup | ShmGroup | TcpGroup) -> None:
        # The native methods check their arguments, take the turn and remember a failure by themselves:
        # one call where four would take longer than the collective.
        self.allgatherv = group.allgatherv  # type: ignore[method-assign]
        self.allreduce = group.allreduce  # type: ignore[method-assign]
        self.broadcast = group.broadcast  # type: ignore[method-assign]
        self.barrier = group.barrier  # type: ignore[method-assign]

    def _replaced(self, *args: Any, **kwargs: Any) -> None:
        """Stand in for the hooks, which nothing calls where native methods replace the public ones."""
        raise NotImplementedError

    _allgatherv = _allreduce = _broadcast = _barrier = _replaced


# So that help() on a communicator of any backend shows the contract.
document_collectives(
    allgatherv=inspect.getdoc(Communicator.allgatherv) or "",
    allreduce=inspect.getdoc(Communicator.allreduce) or "",
    broadcast=inspect.getdoc(Communicator.broadcast) or "",
    barrier=inspect.getdoc(Communicator.barrier) or "",
)
