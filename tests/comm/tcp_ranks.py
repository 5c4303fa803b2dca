"""Ranks of the tcp backend as processes, as threads of the tests' process, and plain ones beside them.

What a real rank waits for happens without the interpreter's lock, so threads do.
"""

import threading

from cobre.comm import CollectiveFailed, TcpConfig, create_communicator, run_ranks
from tests.comm import tcp_peer
from tests.comm.tcp_format import BARRIER, BRING, Call, Frame
from tests.comm.tcp_peer import DEADLINE_S

SECRET = "correct horse battery staple"
#: The process that a plain rank claims to be, to see that it is named.
PID = 4711


def run_tcp(body, size, *args, topology="auto", timeout_s=100, **env):
    """Results of a body on ranks of the backend that are processes, by rank."""
    variables = {"COBRE_TCP_TOPOLOGY": topology, **env}
    return run_ranks(body, size, backend="tcp", args=args, env=variables, timeout_s=timeout_s)


class RealRank:
    """A rank of the backend: joins, does what ``body`` says, and leaves."""

    def __init__(self, port, rank, size, body=lambda comm: comm.barrier(), **settings):
        address = {"bind_addr": "127.0.0.1"} if rank == 0 else {"coordinator": "127.0.0.1"}
        settings = {"secret": SECRET, "timeout_s": DEADLINE_S, **address, **settings}
        self._config = TcpConfig(rank=rank, size=size, port=port, **settings)
        self._body, self._outcome, self._failure = body, None, None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        try:
            with create_communicator(self._config) as comm:
                self._outcome = self._body(comm)
        except BaseException as failure:  # noqa: BLE001  raised in the test
            self._failure = failure

    def wait(self):
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive(), "a rank hangs"

    def result(self):
        self.wait()
        if self._failure is not None:
            raise self._failure
        return self._outcome

    def failure(self, kind=CollectiveFailed):
        """The error that it ended with, in words."""
        self.wait()
        if not isinstance(self._failure, kind):
            raise AssertionError(f"it ended with {self._failure!r}") from self._failure
        return str(self._failure)


def join(port, rank, size, secret=SECRET):
    """A plain rank of the group whose rank 0 listens at this port."""
    return tcp_peer.join(("127.0.0.1", port), secret, rank, size, PID)


def enter_barrier(peer):
    """Start a plain rank of two, and wait until the real one is in its first barrier, as its frame shows."""
    peer.start()
    expected = Frame(BRING, peer.sequence + 1, Call(BARRIER), 1 - peer.rank)
    assert peer.data.read_frame() == expected
