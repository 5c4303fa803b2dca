"""How ranks of a tcp group find each other, whom they turn away, and what they say when it fails."""

import os
import re
import signal
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from cobre.comm import InitializationFailed, MissingConfiguration, TcpConfig, create_communicator
from cobre.comm.assembly.admission import AdmissionListener
from cobre.comm.assembly.handshake import CONTROL, DATA, Hello, introduce
from cobre.comm.tcp import BACKEND
from tests.comm.workers import first_to_speak
from tests.processes import DEADLINE_S, eventually

needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="/proc/net/tcp tells who is connected")


@pytest.fixture
def start(pool):
    """Start a rank with these variables; who has not ended with the test is ended with it."""

    def start(variables, **changes):
        worker = pool.idle()
        worker.begin(backend="tcp", variables={**variables, **changes}, action="meet")
        return worker

    return start


@contextmanager
def group(size, **changes):
    """The variables of each rank, and a port that nobody else gets meanwhile."""
    with BACKEND.rank_environments(size) as environments:
        yield [{**variables, **changes} for variables in environments]


def words(worker):
    """How it ended for a rank, in words."""
    fact = worker.outcome()
    return f"met {fact['met']}" if "met" in fact else f"{fact['error']}: {fact['words']}"


def failed(text):
    return f"InitializationFailed: backend 'tcp' could not start: {text}"


def _tcp_rows():
    """The kernel's table of sockets: column 1 is the local address, 3 the state, 9 the inode."""
    return [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]


def settled(port, count):
    """Whether so many connections to a port of this machine have been accepted by a process."""
    established = [row for row in _tcp_rows() if row[1].endswith(f":{port:04X}") and row[3] == "01"]
    return len([row for row in established if row[9] != "0"]) == count


def listens(port):
    return any(row[1].endswith(f":{port:04X}") and row[3] == "0A" for row in _tcp_rows())


# Addresses.


def test_ranks_meet_whoever_comes_first(start):
    with group(4) as variables:
        ranks = [start(variables[rank]) for rank in (3, 1, 0, 2)]
        assert [words(rank) for rank in ranks] == ["met 4"] * 4


def test_host_names_are_resolved(start):
    with group(3, COBRE_TCP_COORDINATOR="localhost", COBRE_TCP_BIND_ADDR="localhost") as variables:
        assert [words(rank) for rank in [start(own) for own in variables]] == ["met 3"] * 3


def _has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not _has_ipv6(), reason="this machine has no IPv6 loopback")
@pytest.mark.parametrize("bind_addr", ["::1", "::"])
def test_ranks_meet_over_ipv6(start, bind_addr):
    with socket.socket(socket.AF_INET6) as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("::1", 0))
        changes = {
            "COBRE_TCP_PORT": str(reserved.getsockname()[1]),
            "COBRE_TCP_BIND_ADDR": bind_addr,
            "COBRE_TCP_COORDINATOR": "::1",
            "COBRE_TCP_TOPOLOGY": "direct",
        }
        with group(3, **changes) as variables:
            assert [words(rank) for rank in [start(own) for own in variables]] == ["met 3"] * 3


def test_a_port_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InitializationFailed) as raised:
            create_communicator(TcpConfig(0, 2, port=port, bind_addr="127.0.0.1"))
        assert f"port {port} is in use on this machine; set COBRE_TCP_PORT" in str(raised.value)


def test_a_bind_address_must_be_ours():
    """192.0.2.0/24 is for documentation: no machine has it."""
    with pytest.raises(
        InitializationFailed, match="COBRE_TCP_BIND_ADDR='192.0.2.1' is not an address of this"
    ):
        create_communicator(TcpConfig(0, 2, bind_addr="192.0.2.1", secret="whisper"))


def test_a_host_that_cannot_be_resolved_is_named():
    nowhere = "no-such-host.invalid"
    with pytest.raises(InitializationFailed, match=f"COBRE_TCP_BIND_ADDR='{nowhere}' cannot be resolved: "):
        create_communicator(TcpConfig(0, 2, bind_addr=nowhere, secret="whisper"))
    with pytest.raises(InitializationFailed, match=f"cannot reach {nowhere} port 29500 within 0.2 s: "):
        create_communicator(TcpConfig(1, 2, nowhere, secret="whisper", connect_timeout_ms=200))


# Who does not come, who comes too often, who does not belong.


def test_ranks_that_never_come_are_named_by_all_that_did(start):
    with group(4, COBRE_TCP_CONNECT_TIMEOUT_MS="500") as variables:
        there = [start(variables[rank]) for rank in (0, 2)]
        for rank in there:
            assert words(rank) == failed("ranks that did not come within 0.5 s: 1, 3")


def test_a_rank_0_that_never_comes_is_named(start):
    with group(2, COBRE_TCP_CONNECT_TIMEOUT_MS="200") as variables:
        where = f"127.0.0.1 port {variables[1]['COBRE_TCP_PORT']}"
        assert words(start(variables[1])) == failed(f"cannot reach {where} within 0.2 s: Connection refused")


def test_a_size_that_differs_is_refused_on_both_sides(start):
    with group(2) as variables:
        ranks = [start(variables[0]), start(variables[1], COBRE_TCP_SIZE="3")]
        for rank in ranks:
            assert words(rank) == failed(
                f"rank 1 (pid {ranks[1].pid}) expects 3 ranks, rank 0 expects 2; "
                "set the same COBRE_TCP_SIZE everywhere"
            )


def test_two_processes_of_one_rank_are_named_to_all(start):
    with group(3) as variables:
        ranks = [start(variables[rank]) for rank in (0, 1, 1)]
        pids = {str(rank.pid) for rank in ranks[1:]}
        for rank in ranks:
            told = words(rank)
            found = re.search(r"two processes have rank 1: pid (\d+) and pid (\d+); give", told)
            assert found, told
            assert set(found.groups()) == pids


def test_a_second_rank_0_is_refused(start):
    with group(2) as variables:
        ranks = [start(variables[0]), start(variables[0])]
        refused = first_to_speak(ranks)
        assert words(refused) == failed(
            f"port {variables[0]['COBRE_TCP_PORT']} is in use on this machine; "
            "set COBRE_TCP_PORT to another one, on all ranks"
        )
        ranks.remove(refused)
        ranks.append(start(variables[1]))
        assert [words(rank) for rank in ranks] == ["met 2"] * 2


def test_a_wrong_secret_is_said_on_both_sides_and_shown_on_none(start):
    """Whoever does not hold the secret is a stranger: the group goes on waiting for its own."""
    with group(2, COBRE_TCP_SECRET="the-right-one", COBRE_TCP_CONNECT_TIMEOUT_MS="1500") as variables:
        where = f"127.0.0.1 port {variables[0]['COBRE_TCP_PORT']}"
        rank_0, stranger = start(variables[0]), start(variables[1], COBRE_TCP_SECRET="the-wrong-one")
        told = words(stranger)
        assert told == failed(f"{where}: it does not accept this rank's secret; give all ranks the same one")
        told += words(rank_0)
        assert failed("ranks that did not come within 1.5 s: 1; 1 connection did not prove") in told
        assert "the-right-one" not in told
        assert "the-wrong-one" not in told
    with group(2, COBRE_TCP_SECRET="the-right-one") as variables:
        rank_0, stranger = start(variables[0]), start(variables[1], COBRE_TCP_SECRET="the-wrong-one")
        words(stranger)
        assert words(start(variables[1])) == "met 2"
        assert words(rank_0) == "met 2"


def test_nothing_that_a_rank_shows_of_itself_shows_the_secret(capfd):
    with group(1, COBRE_TCP_SECRET="hunter2") as [variables]:
        config = TcpConfig.from_env(variables)
        with create_communicator(config) as comm:
            shown = f"{config} {config!r} {comm} {comm!r} {comm.topology!r}"
    assert "hunter2" not in shown + "".join(capfd.readouterr())


# The secret.


def test_the_secret_may_be_in_a_file(start, secret_file):
    with group(2) as variables:
        for own in variables:
            del own["COBRE_TCP_SECRET"]
        ranks = [
            start(variables[0], COBRE_TCP_SECRET_FILE=str(secret_file)),
            start(variables[1], COBRE_TCP_SECRET="whisper"),
        ]
        assert [words(rank) for rank in ranks] == ["met 2"] * 2


def _unreadable(path):
    path.chmod(0o640)


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (_unreadable, "others can read it"),
        (Path.unlink, "No such file or directory"),
        (lambda path: path.write_text(""), "it is empty"),
        (lambda path: path.write_text("\n"), "it is empty"),
    ],
    ids=["others_can_read_it", "missing", "empty", "only_a_newline"],
)
@pytest.mark.parametrize("rank", [0, 1])
def test_a_secret_file_that_will_not_do_is_refused(secret_file, rank, spoil, problem):
    spoil(secret_file)
    with pytest.raises(MissingConfiguration, match=re.escape(f"{secret_file} ({problem})")) as raised:
        create_communicator(TcpConfig(rank, 2, "127.0.0.1", secret_file=str(secret_file)))
    assert raised.value.variables == ("COBRE_TCP_SECRET_FILE",)
    assert "whisper" not in str(raised.value)


@pytest.mark.parametrize(
    ("rank", "address"), [(0, {"COBRE_TCP_BIND_ADDR": "0.0.0.0"}), (1, {"COBRE_TCP_COORDINATOR": "10.0.0.1"})]
)
def test_beyond_loopback_a_secret_is_needed(rank, address, monkeypatch):
    settings = {"COBRE_COMM_BACKEND": "tcp", "COBRE_TCP_RANK": str(rank), "COBRE_TCP_SIZE": "2", **address}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(MissingConfiguration, match="is reached from other machines too") as raised:
        create_communicator()
    assert raised.value.variables == ("COBRE_TCP_SECRET",)


# Ranks that end while the group assembles.


@needs_proc
@pytest.mark.parametrize("victim", [1, 2])
def test_a_rank_that_ends_before_the_group_is_complete_is_named_at_once(start, victim):
    """Rank 3 never comes; nothing but this death ends the others."""
    with group(4) as variables:
        ranks = [start(own) for own in variables[:3]]
        eventually(lambda: settled(int(variables[0]["COBRE_TCP_PORT"]), 4))
        unlucky = ranks.pop(victim)
        unlucky.process.kill()
        told = (
            f"rank {victim} (pid {unlucky.pid}) exited before the group was complete; read its own traceback"
        )
        for rank in ranks:
            assert words(rank).startswith(failed(told))


@needs_proc
def test_a_rank_0_that_ends_before_the_group_is_complete_is_named_at_once(start):
    with group(3) as variables:
        rank_0, rank_1 = start(variables[0]), start(variables[1])
        eventually(lambda: settled(int(variables[0]["COBRE_TCP_PORT"]), 2))
        rank_0.process.kill()
        assert words(rank_1).startswith(failed("rank 0 left before the group was complete"))


def knock(port, channel, member):
    """Come as rank 1 of 3 by a connection from this process, and be let in."""
    connection = socket.create_connection(("127.0.0.1", port), DEADLINE_S)
    hello = Hello(channel, 1, 3, os.getpid(), 0, member, os.urandom(32))
    introduce(connection, b"", time.monotonic() + DEADLINE_S, hello)
    return connection


@needs_proc
@pytest.mark.parametrize("channels", [[CONTROL], [CONTROL, DATA]], ids=["half_in", "all_in"])
def test_a_rank_that_ends_on_its_way_in_is_named_at_once(start, channels):
    """As soon as it has proved itself it is a rank, and missed."""
    with group(3) as variables:
        for own in variables:
            del own["COBRE_TCP_SECRET"]
        port = int(variables[0]["COBRE_TCP_PORT"])
        rank_0 = start(variables[0])
        eventually(lambda: listens(port))
        member = os.urandom(16)
        for connection in [knock(port, channel, member) for channel in channels]:
            connection.close()
        told = f"rank 1 (pid {os.getpid()}) exited before the group was complete"
        assert words(rank_0).startswith(failed(told))


def test_a_data_connection_may_be_let_in_before_its_control_connection(monkeypatch):
    """Each is judged in a thread of its own, and the later one may be faster."""
    next_peer, held, seen = AdmissionListener.next_peer, [], []

    def data_first(listening, timeout_s):
        peer = next_peer(listening, timeout_s)
        if peer is None:
            return held.pop() if held and seen else None
        (held if peer.hello.channel == CONTROL else seen).append(peer)
        return peer if peer.hello.channel == DATA else None

    monkeypatch.setattr(AdmissionListener, "next_peer", data_first)
    with group(2) as variables, ThreadPoolExecutor(2) as threads:
        ranks = list(threads.map(lambda own: create_communicator(TcpConfig.from_env(own)), variables))
        assert [comm.rank for comm in ranks] == [0, 1]
        for comm in ranks:
            comm.close()


@needs_proc
def test_an_interrupted_rank_0_tells_those_who_wait(start):
    with group(3) as variables:
        port = int(variables[0]["COBRE_TCP_PORT"])
        rank_0, rank_1 = start(variables[0]), start(variables[1])
        eventually(lambda: settled(port, 2))
        rank_0.process.send_signal(signal.SIGINT)
        assert words(rank_1) == failed("rank 0 gave up")
        assert rank_0.hear()["error"] == "KeyboardInterrupt"
