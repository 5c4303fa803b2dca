"""Ranks that die or stop at any moment: the others learn who it was, at once, and nothing remains."""

import json
import os
import random
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cobre.comm.shm import BACKEND

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="shm rests on futexes, memfds and pidfds")

#: More for a thorough run: COBRE_CHAOS_TRIALS=500 make test
TRIALS = int(os.environ.get("COBRE_CHAOS_TRIALS", "60"))
ACTIONS = [
    "barrier",
    "allreduce",
    "allreduce large",
    "allgatherv",
    "allgatherv large",
    "broadcast large",
    "region",
]


class Worker:
    """A rank that can be given one group after the other, and that can be killed."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("chaos_worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self.unread = b""

    def begin(self, **trial):
        self.process.stdin.write(json.dumps(trial).encode() + b"\n")

    def hear(self, deadline):
        """The next fact that it tells."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.unread:
                assert selector.select(deadline - time.monotonic()), "a rank says nothing: it hangs"
                self.unread += os.read(self.process.stdout.fileno(), 65536)
        line, self.unread = self.unread.split(b"\n", 1)
        return json.loads(line)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Pool:
    """Workers that are replaced when they are killed."""

    def __init__(self):
        self.workers = []

    def group(self, size, action, timeout_s=60.0, pause_s=0.0):
        """Start a trial on so many workers; return them once all have joined."""
        self.workers += [Worker() for _ in range(size - len(self.workers))]
        ranks = self.workers[:size]
        with BACKEND.rank_environments(size) as environments:
            for worker, variables in zip(ranks, environments, strict=True):
                config = {
                    "name": variables["COBRE_SHM_NAME"],
                    "rank": int(variables["COBRE_SHM_RANK"]),
                    "size": size,
                    "timeout_s": timeout_s,
                }
                worker.begin(config=config, action=action, pause_s=pause_s)
            for rank, worker in enumerate(ranks):
                assert worker.hear(time.monotonic() + 30)["joined"] == rank
        return ranks

    def replace(self, worker):
        worker.end()
        self.workers.remove(worker)
        self.workers.append(Worker())

    def close(self):
        for worker in self.workers:
            worker.end()


@pytest.fixture
def pool():
    pool = Pool()
    yield pool
    pool.close()


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.replace(" ", "_"))
@pytest.mark.timeout(600)
def test_a_killed_rank_is_named_by_all_others_within_a_second(pool, action):
    """Killed inside a collective or between two, first, last or in the middle."""
    chance = random.Random(f"chaos {action}")
    for trial in range(max(1, TRIALS // len(ACTIONS))):
        size = chance.choice([2, 3, 4])
        victim = chance.choice([0, size - 1, chance.randrange(size)])
        ranks = pool.group(size, action, pause_s=chance.choice([0.0, 0.0, 0.001]))
        time.sleep(chance.uniform(0, 0.02))
        killed = ranks[victim]
        pid, killed_at = killed.process.pid, time.monotonic()
        killed.process.kill()
        for rank, worker in enumerate(ranks):
            if rank == victim:
                continue
            fact = worker.hear(time.monotonic() + 30)
            case = f"trial {trial}: rank {victim} of {size} killed, rank {rank} says {fact}"
            assert fact["error"] == "CollectiveFailed", case
            assert f"rank {victim} (pid {pid}) exited" in fact["words"], case
            assert fact["at"] - killed_at < 1.0, case
        pool.replace(killed)


@pytest.mark.parametrize("victim", [0, 1, 2])
def test_a_stopped_rank_is_named_within_the_timeout_and_learns_it_later(pool, victim):
    ranks = pool.group(3, "allreduce", timeout_s=0.5)
    stopped = ranks[victim]
    stopped_at = time.monotonic()
    stopped.process.send_signal(signal.SIGSTOP)
    try:
        for rank, worker in enumerate(ranks):
            if rank != victim:
                fact = worker.hear(time.monotonic() + 30)
                assert fact["error"] == "CollectiveFailed"
                assert f"rank {victim} (pid {stopped.process.pid}) did not come within 0.5 s" in fact["words"]
                assert fact["at"] - stopped_at < 0.5 + 1.0
    finally:
        stopped.process.send_signal(signal.SIGCONT)
    assert stopped.hear(time.monotonic() + 30)["error"] == "CollectiveFailed"


def test_when_all_are_killed_at_once_nothing_remains(pool):
    """While they meet and while they work; the fixture of all tests looks for names in /dev/shm."""
    chance = random.Random("all at once")
    for _ in range(3):
        ranks = pool.group(3, chance.choice(ACTIONS))
        time.sleep(chance.uniform(0, 0.02))
        for worker in ranks:
            worker.process.kill()
        for worker in ranks:
            pool.replace(worker)
    assert [entry.name for entry in Path("/dev/shm").iterdir() if "cobre" in entry.name] == []
