"""For tests with real ranks: processes that take orders, and for tcp ports, secrets and ranks as threads."""

import socket

import pytest

from tests.comm.tcp_ranks import RealRank
from tests.comm.workers import Pool


@pytest.fixture(scope="module")
def all_workers():
    pool = Pool()
    yield pool
    pool.close()


@pytest.fixture
def pool(all_workers):
    """Processes that are ranks in one test after the other: most of a test is starting them."""
    yield all_workers
    all_workers.tidy()


@pytest.fixture
def secret_file(tmp_path):
    path = tmp_path / "secret"
    path.write_text("whisper\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def port():
    """A port that is free for a rank 0, and stays ours: bound here, never listened to."""
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]


@pytest.fixture
def listener():
    """Where a plain rank 0 listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


@pytest.fixture
def start(port):
    """Start real ranks of one group; those that a failed test leaves are waited for."""
    started = []

    def start(rank, size, *body, **settings):
        started.append(RealRank(settings.pop("port", port), rank, size, *body, **settings))
        return started[-1]

    yield start
    for real in started:
        real.wait()
