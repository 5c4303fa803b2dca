"""
The native core of cobre. Its functions are for the other modules of the package.
"""

from collections.abc import Sequence
import enum


from collections.abc import Sequence
from typing import Any, SupportsIndex, TypeAlias
from numpy.typing import NDArray
from typing_extensions import Buffer
BufferLike: TypeAlias = NDArray[Any] | Buffer

def uses_avx2() -> bool:
    """Whether these kernels use AVX2."""

class ReduceOp(enum.Enum):
    """How ``allreduce`` combines the elements of all ranks."""

    SUM = 0
    """Their sum; integers wrap around."""

    MIN = 1
    """The smallest; NaN if there is one."""

    MAX = 2
    """The largest; NaN if there is one."""

class Turn:
    """One collective at a time, and none after a failure."""

    def __init__(self) -> None: ...

    def enter(self, operation: str) -> None: ...

    def enter_to_close(self) -> None: ...

    def leave(self) -> None: ...

    def finish(self, reason: str) -> None: ...

    @property
    def busy(self) -> bool: ...

    @property
    def finished(self) -> str | None:
        """Why no collective can follow; None if one can."""

def document_collectives(*, allgatherv: str, allreduce: str, broadcast: str, barrier: str) -> None:
    """Give the collectives of all native groups their docstrings."""

def check_allgatherv(send: BufferLike, recv: BufferLike, counts: Sequence[SupportsIndex], displs: Sequence[SupportsIndex] | None, rank: int, size: int) -> tuple[NDArray[Any], NDArray[Any], tuple[int, ...], tuple[int, ...]]:
    """
    Check the arguments of an allgatherv; return them flat, with displacements.
    """

def check_allreduce(send: BufferLike, recv: BufferLike, op: ReduceOp) -> tuple[NDArray[Any], NDArray[Any]]:
    """Check the arguments of an allreduce; return the buffers flat."""

def check_broadcast(buf: BufferLike, root: SupportsIndex, rank: int, size: int) -> NDArray[Any]:
    """Check the arguments of a broadcast; return the buffer flat."""

def reduce(slots: Sequence[BufferLike], out: BufferLike, op: ReduceOp) -> None:
    """
    Reduce equally long slots into ``out``, element by element, in the order of the slots.

    The same bits as the plain loop; ``out`` may be one of the slots. A NaN result is always the
    positive quiet NaN without payload. Releases the GIL when there is enough to do.
    """

def place(part: BufferLike, whole: BufferLike, at: int) -> None:
    """
    Copy ``part`` into ``whole`` from element ``at`` on, byte for byte, padding included.
    """

class MpiJoinWatch:
    """Ends this process when joining takes longer, unless it is stopped."""

    def __init__(self, timeout_s: float) -> None: ...

    def stop(self) -> None:
        """The group is complete, or has failed to be."""

class MpiGroup:
    """One rank's end of an MPI communicator."""

    def __init__(self, rank: int, size: int, module: str, comm: int, byte: int, types: Sequence[int], ops: Sequence[int], timeout_s: float, checked: bool, most_at_once: int, turn: Turn) -> None:
        """
        Use MPI handles as integers; `types` by element type, 0 where MPI has none; `ops` are sum, min, max.
        """

    def fence(self) -> None:
        """SharedRegion.fence, as far as it is waiting."""

    @property
    def finalized(self) -> bool:
        """Whether MPI has been finalised."""

    def barrier(self) -> None: ...

    def allgatherv(self, send: BufferLike, recv: BufferLike, counts: Sequence[SupportsIndex], displs: Sequence[SupportsIndex] | None = None) -> None: ...

    def allreduce(self, send: BufferLike, recv: BufferLike, op: ReduceOp = ...) -> None: ...

    def broadcast(self, buf: BufferLike, root: int = 0) -> None: ...

    def announce(self, operation: str, count: int, kind: str, itemsize: int, answer: BufferLike) -> None:
        """
        Within another operation: agree on its arguments, and give all ranks rank 0's answer.
        """

    def all(self, operation: str, yes: bool) -> bool:
        """Within another operation: whether all ranks say yes."""

class TcpGroup:
    """One rank's end of a group over connected sockets."""

    def __init__(self, rank: int, names: Sequence[str], control: Sequence[tuple[int, int]], data: Sequence[tuple[int, int]], timeout_s: float, ranks_here: int, relayed: bool, turn: Turn) -> None:
        """
        Take over connected sockets, given as (rank, descriptor); `names` says who the ranks are.
        """

    def connect_directly(self, connections: Sequence[tuple[int, int]]) -> None:
        """
        From now on use these connections to the other ranks; all ranks do this at the same time.
        """

    def leave(self) -> None:
        """Say goodbye; peers that still need this rank fail at once."""

    def barrier(self) -> None: ...

    def allgatherv(self, send: BufferLike, recv: BufferLike, counts: Sequence[SupportsIndex], displs: Sequence[SupportsIndex] | None = None) -> None: ...

    def allreduce(self, send: BufferLike, recv: BufferLike, op: ReduceOp = ...) -> None: ...

    def broadcast(self, buf: BufferLike, root: int = 0) -> None: ...

    def announce(self, operation: str, count: int, kind: str, itemsize: int, answer: BufferLike) -> None:
        """
        Within another operation: agree on its arguments, and give all ranks rank 0's answer.
        """

    def all(self, operation: str, yes: bool) -> bool:
        """Within another operation: whether all ranks say yes."""

def shm_segment_bytes(size: int, slot_bytes: int) -> int:
    """The length of the segment of a group."""

def shm_initialise(memory: BufferLike, size: int, slot_bytes: int, token: int) -> None:
    """Make fresh, zero-filled memory the segment of a group."""

class ShmGroup:
    """One rank's end of a group that meets in shared memory."""

    def __init__(self, memory: BufferLike, size: int, slot_bytes: int, token: int, rank: int, timeout_s: float, one_copy: bool, turn: Turn) -> None: ...

    def join(self) -> None:
        """Wait for all ranks to come."""

    def adopt(self, parent: ShmGroup) -> None:
        """Be a rank among those of the parent, which meet there."""

    def leave(self) -> None:
        """Say goodbye; peers that still wait for this rank fail at once."""

    def fence(self) -> None:
        """SharedRegion.fence."""

    def pid_of(self, rank: int) -> int: ...

    @property
    def reads_peers_memory(self) -> bool:
        """
        Whether large parts travel by one copy, straight from the peer's memory.
        """

    def barrier(self) -> None: ...

    def allgatherv(self, send: BufferLike, recv: BufferLike, counts: Sequence[SupportsIndex], displs: Sequence[SupportsIndex] | None = None) -> None: ...

    def allreduce(self, send: BufferLike, recv: BufferLike, op: ReduceOp = ...) -> None: ...

    def broadcast(self, buf: BufferLike, root: int = 0) -> None: ...

    def announce(self, operation: str, count: int, kind: str, itemsize: int, answer: BufferLike) -> None:
        """
        Within another operation: agree on its arguments, and give all ranks rank 0's answer.
        """

    def all(self, operation: str, yes: bool) -> bool:
        """Within another operation: whether all ranks say yes."""
