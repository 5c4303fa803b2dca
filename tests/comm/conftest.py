"""For the tests of tcp: ports, and real ranks that end with the test."""

import socket

import pytest

from tests.comm.tcp_ranks import RealRank


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
