"""What the base class does for every backend: turns, failures, closing; and local's own behaviour."""

import pickle
import threading

import numpy as np
import pytest

from cobre.comm import (
    CollectiveFailed,
    Communicator,
    HeapRegion,
    InvalidBufferSize,
    InvalidCommunicator,
    ReduceOp,
    SharedMemoryProvider,
    create_communicator,
)
from cobre.comm.local import LocalCommunicator
from cobre.comm.registry import load
from tests.comm.contract_help import without_contract_help


class WaitingCommunicator(LocalCommunicator):
    """Its barrier waits until the test lets it go."""

    def __init__(self):
        super().__init__()
        self.entered, self.go = threading.Event(), threading.Event()

    def _barrier(self):
        self.entered.set()
        assert self.go.wait(10)


@pytest.fixture
def waiting():
    """A communicator with a thread inside its barrier."""
    comm = WaitingCommunicator()
    thread = threading.Thread(target=comm.barrier)
    thread.start()
    assert comm.entered.wait(10)
    yield comm
    comm.go.set()
    thread.join()


def test_a_second_thread_is_refused_and_the_first_goes_on(waiting):
    with pytest.raises(CollectiveFailed, match="allreduce: another thread is inside barrier") as raised:
        waiting.allreduce(np.ones(1), np.ones(1))
    assert raised.value.operation == "allreduce"
    waiting.go.set()
    while waiting._turn.busy:
        pass
    waiting.barrier()  # neither call has finished the communicator


def test_it_cannot_be_closed_under_a_running_collective(waiting):
    with pytest.raises(CollectiveFailed, match="close: another thread is inside barrier"):
        waiting.close()
    waiting.go.set()
    while waiting._turn.busy:
        pass
    waiting.close()


class FailingCommunicator(LocalCommunicator):
    def __init__(self, error):
        super().__init__()
        self.error, self.released = error, 0

    def _barrier(self):
        raise self.error

    def _close(self):
        self.released += 1


@pytest.mark.parametrize(
    "error", [CollectiveFailed("barrier", "rank 2 (pid 4711) exited"), KeyboardInterrupt()]
)
def test_after_a_failure_the_communicator_is_finished_and_says_why(error):
    comm = FailingCommunicator(error)
    with pytest.raises(type(error)):
        comm.barrier()
    words = "rank 2" if isinstance(error, CollectiveFailed) else "KeyboardInterrupt"
    with pytest.raises(InvalidCommunicator, match=f"finished by an earlier failure in barrier .*{words}"):
        comm.allreduce(np.ones(1), np.ones(1))
    assert "finished" in repr(comm)
    comm.close()
    comm.close()
    assert comm.released == 1, "what a failed communicator holds is released, once"


def test_a_context_manager_closes():
    with create_communicator("local") as comm:
        pass
    with pytest.raises(InvalidCommunicator, match="was closed"):
        comm.barrier()


def test_messages_and_memory_are_two_types():
    assert not issubclass(Communicator, SharedMemoryProvider)
    assert not issubclass(SharedMemoryProvider, Communicator)


def test_errors_of_a_collective_say_what_to_do():
    comm = create_communicator("local")
    with pytest.raises(InvalidBufferSize) as raised:
        comm.allgatherv(np.zeros(2), np.zeros(3), [3])
    assert str(raised.value) == "allgatherv: send differs from counts[rank]: expected 3, got 2"
    with pytest.raises(ValueError, match="numpy.ascontiguousarray"):
        comm.broadcast(np.zeros(4)[::2])
    with pytest.raises(TypeError, match="op must be ReduceOp.SUM, ReduceOp.MIN or ReduceOp.MAX, not 0"):
        comm.allreduce(np.zeros(1), np.zeros(1), 0)
    with pytest.raises(TypeError, match="counts must be a sequence of whole numbers, not int"):
        comm.allgatherv(np.zeros(2), np.zeros(3), 3)
    with pytest.raises(TypeError, match=r"'float' object cannot be interpreted as an integer"):
        comm.allgatherv(np.zeros(2), np.zeros(3), [2.0])


def test_local_is_a_bitwise_copy_even_for_unaligned_and_zero_dimensional_arrays():
    comm = create_communicator("local")
    unaligned = np.frombuffer(bytearray(81), np.uint8)[1:].view(np.float64)
    unaligned[:] = np.arange(10)
    recv = np.empty(10)
    comm.allreduce(unaligned, recv, ReduceOp.SUM)
    np.testing.assert_array_equal(recv, np.arange(10))
    scalar = np.zeros(())
    comm.allreduce(np.float64(2.5), scalar)
    assert scalar == 2.5


def test_local_splits_into_a_communicator_of_its_own():
    comm = create_communicator("local")
    local = comm.split_local()
    assert (local.rank, local.size, comm.is_leader) == (0, 1, True)
    local.close()
    comm.barrier()


def test_reduce_op_survives_pickling():
    assert pickle.loads(pickle.dumps(ReduceOp.MAX)) is ReduceOp.MAX


def test_a_region_knows_its_shape():
    with create_communicator("local").create_shared_region(3, "int16") as region:
        assert isinstance(region, HeapRegion)
        assert (len(region), region.dtype, repr(region)) == (3, np.int16, "<HeapRegion of 3 int16 elements>")
    assert repr(region) == "<HeapRegion of 3 int16 elements, closed>"


@pytest.mark.parametrize("backend", ["local", "shm", "tcp", "socket"])
@pytest.mark.usefixtures("socket_backend")
def test_help_shows_the_contract(backend):
    """On native collectives too; test_mpi.py has the same test of mpi."""
    with load(backend).rank_environments(1) as [env], pytest.MonkeyPatch.context() as patch:
        for variable, value in env.items():
            patch.setenv(variable, value)
        with create_communicator() as comm:
            assert comm.topology.backend == backend
            assert without_contract_help(comm) == []
