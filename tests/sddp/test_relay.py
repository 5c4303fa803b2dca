"""Events between real processes, and every way in which they can end."""

import os
import pickle
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from multiprocessing.connection import AuthenticationError, Client
from pathlib import Path

import pytest

from cobre.sddp._relay import Address, Relay, connect
from cobre.sddp.events import CheckpointWritten
from tests.processes import eventually

pytestmark = pytest.mark.usefixtures("no_process_and_no_file_is_left")

TIMES = 50
#: Longer than a close may take, other work on the machine included; an interrupted one takes 2 s.
SOON_S = 20.0


@pytest.fixture(autouse=True)
def temporary(tmp_path_factory, monkeypatch):
    """A folder for temporary files that must be empty in the end."""
    with tempfile.TemporaryDirectory(prefix="r-") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)
        assert list(Path(folder).iterdir()) == []


class Worker:
    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "relay_worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout.readline() == b"ready\n"

    def order(self, address, count, what="close"):
        pickle.dump((address, count, what), self.process.stdin)
        self.process.stdin.flush()

    def send(self, address, count, what="close"):
        self.order(address, count, what)
        assert self.process.stdout.readline() == b"sent\n"

    def end(self):
        with suppress(OSError):
            pickle.dump(None, self.process.stdin)
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def worker():
    made = Worker()
    yield made
    made.end()


def numbers(events):
    return [event.iteration for event in events]


def test_events_arrive_in_order_at_every_listener(worker):
    for repetition in range(TIMES):
        one, other = [], []
        with Relay([one.append, other.append]) as relay:
            worker.send(relay.address, repetition)
        assert numbers(one) == numbers(other) == list(range(1, repetition + 1))


def test_closing_delivers_what_was_sent_to_a_slow_listener(worker):
    """Longer than the patience with a silent peer, and the sender is still connected."""
    seen = []

    def slow(event):
        time.sleep(0.06)
        seen.append(event)

    with Relay([slow]) as relay:
        worker.send(relay.address, 50, "stay")
    assert numbers(seen) == list(range(1, 51))


def test_more_than_a_socket_holds(worker):
    seen = []
    with Relay([seen.append]) as relay:
        worker.send(relay.address, 20_000)
    assert numbers(seen) == list(range(1, 20_001))


def test_closing_when_nobody_came():
    for _ in range(TIMES):
        with Relay([print]) as relay:
            assert stat.S_IMODE(Path(relay.address.path).parent.stat().st_mode) == 0o700
        with pytest.raises(OSError, match="No such file"):
            connect(relay.address)


def test_closing_after_the_sender_was_killed():
    workers = [Worker() for _ in range(5)]
    for repetition in range(TIMES):
        if repetition % 5 == 0 and repetition:
            workers = [Worker() for _ in range(5)]
        victim = workers[repetition % 5]
        seen = []
        with Relay([seen.append]) as relay:
            victim.send(relay.address, 3, "half" if repetition % 2 else "stay")
            victim.process.kill()
        assert numbers(seen) == [1, 2, 3]
        victim.end()


def test_closing_while_the_sender_is_killed():
    """At any moment: before it connects, in between, while it sends."""
    for repetition in range(TIMES // 5):
        worker, seen = Worker(), []
        with Relay([seen.append]) as relay:
            worker.order(relay.address, 100_000)
            time.sleep(0.001 * repetition)
            worker.process.kill()
        assert numbers(seen) == list(range(1, len(seen) + 1))
        worker.end()


@pytest.mark.parametrize("what", ["stay", "half"])
def test_closing_while_the_sender_is_stopped(worker, what):
    seen = []
    begun = time.monotonic()
    with Relay([seen.append]) as relay:
        worker.send(relay.address, 3, what)
        os.kill(worker.process.pid, signal.SIGSTOP)
    assert time.monotonic() - begun < SOON_S
    assert numbers(seen) == [1, 2, 3]


def test_closing_while_a_stranger_is_silent():
    begun = time.monotonic()
    with socket.socket(socket.AF_UNIX) as stranger, Relay([print]) as relay:
        stranger.connect(relay.address.path)
    assert time.monotonic() - begun < SOON_S


def test_closing_while_the_sender_never_stops(worker):
    seen = []
    begun = time.monotonic()
    with Relay([seen.append]) as relay:
        worker.order(relay.address, 10_000_000)
        eventually(lambda: seen)
    assert time.monotonic() - begun < SOON_S


def test_who_has_not_the_key_is_refused_and_the_sender_still_comes_in(worker):
    seen = []
    with Relay([seen.append]) as relay:
        with pytest.raises(AuthenticationError):
            connect(Address(relay.address.path, b"another"))
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(relay.address.path)
        worker.send(relay.address, 2)
    assert numbers(seen) == [1, 2]


def test_there_is_one_connection_only_and_then_no_file(worker, temporary):
    with Relay([print]) as relay:
        worker.send(relay.address, 0, "stay")
        eventually(lambda: list(temporary.iterdir()) == [])
        with pytest.raises(OSError, match="No such file"):
            Client(relay.address.path, "AF_UNIX", authkey=relay.address.key)


def test_the_key_is_not_shown():
    address = Address("/somewhere", b"secret")
    assert "secret" not in repr(address)
    assert pickle.loads(pickle.dumps(address)) == address


def test_a_listener_that_fails_gets_no_more_and_is_heard_in_the_end(worker):
    seen, failing = [], []

    def fail(event):
        failing.append(event)
        raise LookupError("no such thing")

    def run():
        with Relay([fail, seen.append]) as relay:
            worker.send(relay.address, 3)

    with pytest.raises(LookupError, match="no such thing"):
        run()
    assert numbers(seen) == [1, 2, 3]
    assert numbers(failing) == [1]


def test_two_that_fail_are_both_heard(worker):
    def fail(event):
        raise LookupError("one")

    def leave(event):
        sys.exit("other")

    def run():
        with Relay([fail, leave]) as relay:
            worker.send(relay.address, 3)

    with pytest.raises(LookupError, match="one") as caught:
        run()
    assert caught.value.__notes__ == ["Another listener has failed, too: SystemExit('other')"]


def test_the_failure_of_the_run_comes_first(worker):
    def fail(event):
        raise LookupError("no such thing")

    def run():
        with Relay([fail]) as relay:
            worker.send(relay.address, 1)
            raise RuntimeError("the run")

    with pytest.raises(RuntimeError, match="the run") as caught:
        run()
    assert caught.value.__notes__ == ["A listener has failed, too: LookupError('no such thing')"]


def test_a_sender_outlives_the_relay(worker):
    relay = Relay([print])
    with relay:
        sender = connect(relay.address)
    with sender:
        for number in range(3):
            sender(CheckpointWritten("nobody reads it", number))


def test_without_listeners_there_is_nothing(temporary):
    threads = threading.active_count()
    with Relay([]) as relay:
        assert relay.address is None
        assert threading.active_count() == threads
        assert list(temporary.iterdir()) == []
        with connect(relay.address) as sender:
            sender(CheckpointWritten("nobody reads it", 1))


def test_a_long_path_for_temporary_files_is_no_obstacle(worker, temporary, monkeypatch):
    long = temporary / ("l" * 120)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    seen = []
    with Relay([seen.append]) as relay:
        assert not relay.address.path.startswith(str(long))
        worker.send(relay.address, 1)
    assert numbers(seen) == [1]
    assert list(long.iterdir()) == []
    assert not Path(relay.address.path).parent.exists()
    long.rmdir()
