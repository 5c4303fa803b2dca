"""The backend for the processes of one machine: collectives in shared memory.

The protocol is in ``native/core/shm``; here the ranks find each other and regions are made.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np

from cobre._native import Turn
from cobre.comm.assembly.rendezvous import Rendezvous, has_ended, rank_0_ended
from cobre.comm.config import ShmConfig
from cobre.comm.contract import NativeCommunicator
from cobre.comm.regions.shared import SharedRegion, available_bytes
from cobre.comm.registry import Backend, LaunchedRank
from cobre.comm.topology import gather_topology
from cobre.errors import AllocationFailed, BackendNotAvailable, CollectiveFailed, InitializationFailed

if sys.platform == "linux":
    from cobre._native import ShmGroup, shm_initialise, shm_segment_bytes


#: From here on huge pages are asked for. Where the administrator allows them for shared memory
#: (``shmem_enabled`` is ``advise``), first writes take a fraction of the time; elsewhere it changes nothing.
HUGE_PAGE_BYTES = 2 << 20


class Segment(NamedTuple):
    """Location of a group's memory: process and descriptor of its creator, and a token that verifies it."""

    pid: int
    fd: int
    token: int
    slot_bytes: int

    @classmethod
    def create(cls, size: int, slot_bytes: int) -> Segment:
        """Create an unnamed segment; close its descriptor once all ranks have attached."""
        nbytes = shm_segment_bytes(size, slot_bytes)
        fd, problem = _allocate(nbytes)
        if fd < 0:
            raise AllocationFailed(nbytes, problem)
        token = int.from_bytes(os.urandom(8), sys.byteorder)
        with mmap.mmap(fd, 0) as memory:
            shm_initialise(memory, size, slot_bytes, token)
        return cls(os.getpid(), fd, token, slot_bytes)

    def attach(self, settings: ShmConfig, turn: Turn) -> ShmGroup:
        """Map the segment and join as a rank."""
        rank, size = settings.rank, settings.size
        try:
            memory = _map_descriptor_of(self.pid, self.fd, shm_segment_bytes(size, self.slot_bytes))
        except OSError as exc:
            if has_ended(self.pid):
                raise InitializationFailed("shm", rank_0_ended(self.pid)) from None
            raise InitializationFailed(
                "shm",
                f"cannot map the segment of rank 0 (pid {self.pid}): {exc.strerror}; "
                "the ranks must run as one user and see each other in /proc",
            ) from exc
        one_copy = settings.one_copy == "auto"
        return ShmGroup(memory, size, self.slot_bytes, self.token, rank, settings.timeout_s, one_copy, turn)


class ShmCommunicator(NativeCommunicator):
    """Rank of a group of processes on one machine."""

    _all_share_memory = True

    def __init__(self, segment: Segment, settings: ShmConfig) -> None:
        super().__init__(settings.rank, settings.size)
        self._settings = settings
        self._group = segment.attach(settings, self._turn)
        self._use(self._group)

    def join(self, rendezvous: Rendezvous) -> None:
        """Meet the other ranks. A collective."""
        self._group.join()
        # Before the next collective: if rank 0 is killed first, the others notice there and remove the note.
        rendezvous.remove()
        self.topology = gather_topology(self, "shm")

    @property
    def is_leader(self) -> bool:
        """Rank 0: all ranks share one machine."""
        return self._rank == 0

    def _close(self) -> None:
        self._group.leave()

    def _create_shared_region(self, count: int, dtype: np.dtype[Any]) -> ShmRegion:
        requested = count * dtype.itemsize
        fd, problem = _allocate(requested) if self._rank == 0 else (-1, "")
        memory: mmap.mmap | None = None
        try:
            # Rank 0 says which of its descriptors it is, or -1; then all say whether they could map it.
            answer = np.array([fd])
            self._group.announce("create_shared_region", count, dtype.kind, dtype.itemsize, answer)
            if answer[0] >= 0:
                try:
                    memory = _map_descriptor_of(self._group.pid_of(0), int(answer[0]), requested)
                except (OSError, OverflowError, ValueError) as exc:
                    problem = str(exc)
            mapped_by_all = self._all_have("create_shared_region", memory)
        finally:
            if fd >= 0:
                os.close(fd)  # the mappings keep the memory
        if memory is None or not mapped_by_all:
            raise AllocationFailed(requested, problem or "another rank of this machine has no memory for it")
        return ShmRegion(memory, count, dtype, self)

    def _split_local(self) -> ShmCommunicator:
        own: Segment | None = None
        local: ShmCommunicator | None = None
        problem = ""
        if self._rank == 0:
            try:
                own = Segment.create(self._size, self._settings.slot_bytes)
            except AllocationFailed as exc:
                problem = exc.message  # the others must hear of it before it is raised
        try:
            ticket = np.array(own or (0, 0, 0, 0), np.uint64)
            self._group.announce("split_local", 0, "", 0, ticket)
            if ticket[0]:
                try:
                    local = self._adopted(Segment(*ticket.tolist()))
                except InitializationFailed as exc:
                    problem = exc.message
            joined_by_all = self._all_have("split_local", local)
        finally:
            if own is not None:
                os.close(own.fd)
        if local is None or not joined_by_all:
            nbytes = shm_segment_bytes(self._size, self._settings.slot_bytes)
            raise AllocationFailed(nbytes, problem or "another rank of this machine has no memory for it")
        return local

    def _adopted(self, segment: Segment) -> ShmCommunicator:
        """Return a communicator of the same ranks, which is complete once they meet in this one."""
        local = ShmCommunicator(segment, self._settings)
        local._group.adopt(self._group)
        local.topology = self.topology
        return local

    def _all_have(self, operation: str, mine: object) -> bool:
        """True if no rank has None."""
        if self._group.all(operation, mine is not None):
            return True
        self._group.all(operation, True)  # if a rank died meanwhile, that is the reason, and this raises it
        return False


class ShmRegion(SharedRegion):
    """Region in shared memory: one copy for all ranks of the machine.

    A page comes into being on the NUMA node of the rank that first writes it. The mapping lives as long
    as any array that refers to it.
    """

    def __init__(self, memory: mmap.mmap, count: int, dtype: np.dtype[Any], comm: ShmCommunicator) -> None:
        nbytes = count * dtype.itemsize
        elements = np.frombuffer(memory, np.uint8, nbytes).view(dtype) if nbytes else np.zeros(count, dtype)
        super().__init__(elements)
        self._comm = comm

    def _fence(self) -> None:
        self._comm._group.fence()


class ShmBackend(Backend[ShmConfig]):
    """Backend for one Linux machine, based on futexes, memfds and pidfds."""

    name = "shm"
    summary = "processes of one machine, through shared memory"

    def obstacle(self) -> BackendNotAvailable | None:
        """Return the reason if it cannot run here, else None."""
        if sys.platform != "linux":
            remedy = "use the backend 'tcp', which connects processes of one machine too"
            return BackendNotAvailable(self.name, f"it needs Linux, this is {sys.platform}", remedy)
        return None

    def configure(self, env: Mapping[str, str]) -> ShmConfig:
        """Read the ``COBRE_SHM_*`` variables."""
        return ShmConfig.from_env(env)

    def connect(self, config: ShmConfig) -> ShmCommunicator:
        """Join the other ranks under the agreed name, within ``timeout_s``."""
        own: Segment | None = None
        try:
            with Rendezvous(config.name) as rendezvous:
                if config.rank == 0:
                    own = segment = Segment.create(config.size, config.slot_bytes)
                    rendezvous.publish(config.size, own.fd, own.token, own.slot_bytes)
                else:
                    note = rendezvous.find(config.size, config.timeout_s)
                    segment = Segment(note.pid, note.fd, note.token, note.slot_bytes)
                comm = ShmCommunicator(segment, config)
                comm.join(rendezvous)
                return comm
        except CollectiveFailed as exc:
            raise InitializationFailed(self.name, exc.message) from None
        except AllocationFailed as exc:
            raise InitializationFailed(self.name, str(exc)) from exc
        finally:
            if own is not None:
                os.close(own.fd)

    def launched_as(self, env: Mapping[str, str]) -> LaunchedRank | None:
        """Read ``COBRE_SHM_RANK`` and ``COBRE_SHM_SIZE``."""
        return ShmConfig.launched_as(env)

    @contextmanager
    def rank_environments(self, size: int) -> Iterator[list[dict[str, str]]]:
        """Provide the variables of a fresh group, whose note lies in an anonymous file of this process."""
        fd = os.memfd_create("cobre-rendezvous", os.MFD_CLOEXEC)
        try:
            yield [
                {
                    "COBRE_COMM_BACKEND": self.name,
                    "COBRE_SHM_NAME": f"/proc/{os.getpid()}/fd/{fd}",
                    "COBRE_SHM_RANK": str(rank),
                    "COBRE_SHM_SIZE": str(size),
                }
                for rank in range(size)
            ]
        finally:
            os.close(fd)


def _allocate(nbytes: int) -> tuple[int, str]:
    """Return a descriptor of fresh shared memory and no problem, or -1 and what the problem is."""
    available = available_bytes()
    if nbytes > available:
        return (
            -1,
            f"{available:,} bytes are available; ask for less, or run where there is more memory",
        )
    fd = os.memfd_create("cobre", os.MFD_CLOEXEC)
    try:
        os.ftruncate(fd, max(nbytes, 1))
    except OSError as exc:
        os.close(fd)
        return -1, f"{exc.strerror}; ask for less, or run where there is more memory"
    return fd, ""


def _map_descriptor_of(pid: int, fd: int, nbytes: int) -> mmap.mmap:
    own = os.open(f"/proc/{pid}/fd/{fd}", os.O_RDWR | os.O_CLOEXEC)
    try:
        memory = mmap.mmap(own, max(nbytes, 1))
    finally:
        os.close(own)
    if nbytes >= HUGE_PAGE_BYTES:
        with suppress(OSError):  # a kernel without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


BACKEND = ShmBackend()
