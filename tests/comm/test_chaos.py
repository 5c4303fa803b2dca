"""Ranks that die, stop or are interrupted: the others learn who it was, at once, and nothing remains."""

import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.processes import eventually, sleeps

#: On each backend. More for a thorough run: COBRE_CHAOS_TRIALS=500 make test
TRIALS = int(os.environ.get("COBRE_CHAOS_TRIALS", "33"))
#: How many ranks a group may have; more for a thorough run: COBRE_CHAOS_RANKS=8
MOST_RANKS = int(os.environ.get("COBRE_CHAOS_RANKS", "4"))
ACTIONS = [
    "barrier",
    "allreduce",
    "allreduce large",
    "allgatherv",
    "allgatherv large",
    "broadcast large",
    "region",
    "gather region",
    "split",
    "use split",
    "assemble",
]
STAR, DIRECT = {"COBRE_TCP_TOPOLOGY": "star"}, {"COBRE_TCP_TOPOLOGY": "direct"}

on_every_backend = pytest.mark.parametrize(
    ("backend", "variables"),
    [
        pytest.param(
            "shm",
            {},
            id="shm",
            marks=pytest.mark.skipif(
                sys.platform != "linux", reason="shm rests on futexes, memfds and pidfds"
            ),
        ),
        pytest.param("tcp", STAR, id="tcp-star"),
        pytest.param("tcp", DIRECT, id="tcp-direct"),
    ],
)


def check_that_others_name(victim, killed_at, ranks, *, besides=()):
    """All others have failed, within a second, saying who died; ``besides`` are not asked.

    They cannot go on, and nothing stays open.
    """
    for rank in set(range(len(ranks))) - {victim, *besides}:
        fact = ranks[rank].hear()
        case = f"rank {victim} of {len(ranks)} killed, rank {rank} says {fact}"
        assert names(fact, victim, ranks), case
        assert fact["at"] - killed_at < 1.0, case
        # Where it was another group that failed, this one learns of it by its next call.
        first, *others = fact["afterwards"]
        assert first["error"] == "InvalidCommunicator" or names(first, victim, ranks), case
        assert {one["error"] for one in others} == {"InvalidCommunicator"}, case
        assert fact["left"] == [], case


def names(fact, victim, ranks):
    """Whether a failure names the victim. Nobody knows the pid of a tcp rank 0 before the group begins."""
    if fact["error"] == "InitializationFailed" and victim == 0 and "rank 0 left before" in fact["words"]:
        return True
    named = f"rank {victim} (pid {ranks[victim].pid}) exited" in fact["words"]
    return named and fact["error"] in {"CollectiveFailed", "InitializationFailed"}


@on_every_backend
@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.replace(" ", "_"))
@pytest.mark.timeout(600)
def test_a_killed_rank_is_named_by_all_others_within_a_second(pool, backend, variables, action):
    """Killed in whatever ranks do together or between two, be it the first, the last or one in the middle."""
    chance = random.Random(f"chaos {action}")
    for _ in range(max(1, TRIALS // len(ACTIONS))):
        size = chance.choice(range(2, MOST_RANKS + 1))
        victim = chance.choice([0, size - 1, chance.randrange(size)])
        pause_s = chance.choice([0.0, 0.0, 0.001])
        ranks = pool.group(backend, size, action, pause_s=pause_s, variables=variables)
        # Longer for what takes longer: groups of processes, on few processors.
        time.sleep(chance.uniform(0, 0.01 * size if action == "assemble" else 0.02))
        killed_at = time.monotonic()
        ranks[victim].process.kill()
        check_that_others_name(victim, killed_at, ranks)
        pool.replace(ranks[victim])


@on_every_backend
@pytest.mark.parametrize("busy", [0, 2])
@pytest.mark.parametrize("victim", [1, 3])
def test_a_death_is_noticed_while_a_rank_computes(pool, backend, variables, busy, victim):
    """Everybody has come but one, which is not even in a collective: nothing is missing from the victim."""
    ranks = pool.group(backend, 4, "barrier", variables=variables, instead={busy: "compute"})
    eventually(lambda: sleeps(ranks[victim].pid))
    killed_at = time.monotonic()
    ranks[victim].process.kill()
    check_that_others_name(victim, killed_at, ranks, besides=[busy])
    ranks[busy].go_on()
    assert names(ranks[busy].hear(), victim, ranks)


@on_every_backend
@pytest.mark.parametrize("victim", [0, 1, 2])
def test_a_stopped_rank_is_named_within_the_timeout_and_learns_it_later(pool, backend, variables, victim):
    timeout = {f"COBRE_{backend.upper()}_TIMEOUT_SECS": "1"}
    ranks = pool.group(backend, 3, "allreduce", variables={**variables, **timeout})
    stopped = ranks[victim]
    stopped_at = time.monotonic()
    stopped.process.send_signal(signal.SIGSTOP)
    try:
        for rank, worker in enumerate(ranks):
            if rank != victim:
                fact = worker.hear()
                assert fact["error"] == "CollectiveFailed"
                assert f"rank {victim} (pid {stopped.pid}) did not come within 1 s" in fact["words"]
                assert fact["at"] - stopped_at < 1.0 + 1.0
    finally:
        stopped.process.send_signal(signal.SIGCONT)
    assert stopped.hear()["error"] == "CollectiveFailed"


@on_every_backend
@pytest.mark.parametrize("late", [0, 1])
def test_nobody_is_given_up_before_the_timeout(pool, backend, variables, late):
    timeout = {f"COBRE_{backend.upper()}_TIMEOUT_SECS": "1"}
    ranks = pool.group(backend, 3, "barrier", variables={**variables, **timeout}, instead={late: "compute"})
    for worker in (worker for rank, worker in enumerate(ranks) if rank != late):
        fact = worker.hear()
        assert "did not come within 1 s" in fact["words"]
        assert fact["at"] - worker.joined_at >= 1.0
    ranks[late].go_on()
    assert ranks[late].hear()["error"] == "CollectiveFailed"


@on_every_backend
@pytest.mark.parametrize("victim", [0, 1, 2])
def test_an_interrupted_rank_is_named(pool, backend, variables, victim):
    """Ctrl-C in a collective in which it waits for a rank that computes."""
    late = (victim + 1) % 3
    ranks = pool.group(backend, 3, "barrier", variables=variables, instead={late: "compute"})
    interrupted = ranks[victim]
    eventually(lambda: sleeps(interrupted.pid))
    interrupted_at = time.monotonic()
    interrupted.process.send_signal(signal.SIGINT)
    assert interrupted.hear()["error"] == "KeyboardInterrupt"
    fact = ranks[3 - victim - late].hear()
    assert fact["words"].endswith(f"rank {victim} (pid {interrupted.pid}) was interrupted")
    assert fact["at"] - interrupted_at < 1.0
    ranks[late].go_on()
    assert f"rank {victim} (pid {interrupted.pid}) was interrupted" in ranks[late].hear()["words"]


@on_every_backend
def test_when_all_are_killed_at_once_nothing_remains(pool, backend, variables):
    """Neither a name in shared memory nor a listening port: the next group meets at the same one."""
    chance = random.Random("all at once")
    for _ in range(3):
        ranks = pool.group(backend, 3, chance.choice(ACTIONS), variables=variables)
        time.sleep(chance.uniform(0, 0.02))
        for worker in ranks:
            worker.process.kill()
        for worker in ranks:
            pool.replace(worker)
    # Those of tests beside this one come and go.
    eventually(lambda: not any("cobre" in entry.name for entry in Path("/dev/shm").iterdir()))
