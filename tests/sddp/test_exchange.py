"""What ranks tell each other of how an iteration went."""

import math
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from cobre.comm import run_ranks
from cobre.sddp import RankTimes
from cobre.sddp._engine import Statistics
from cobre.sddp._exchange import gather_records, share_measurements

#: How long each of three meetings took, by rank.
MEETINGS = [[0.5, 0.1, 0.2], [0.2, 0.4, 0.2], [0.3, 0.2, 0.2]]


def _times(comm):
    engine = SimpleNamespace(
        comm=comm,
        take_statistics=lambda: Statistics(solves=10 + comm.rank, solving_s=0.25),
        take_meetings=lambda: MEETINGS[comm.rank],
    )
    own = RankTimes(comm.rank, forward_s=1.0, backward_s=2.0 + comm.rank, trajectories=3)
    return share_measurements(engine, own)


def test_whoever_comes_last_to_a_meeting_waits_for_nobody():
    total, ranks = run_ranks(_times, 3)[0]
    assert total.solves == 10 + 11 + 12
    assert [times.communication_s for times in ranks] == pytest.approx([0.8, 0.8, 0.7])
    assert [times.waiting_s for times in ranks] == pytest.approx([0.3, 0.3, 0.2])
    assert [times.backward_s for times in ranks] == [2.0, 3.0, 4.0]
    assert [(times.solving_s, times.solves, times.trajectories) for times in ranks] == [
        (0.25, 10, 3),
        (0.25, 11, 3),
        (0.25, 12, 3),
    ]


@dataclass
class Record:
    """A number of each kind; 2**53 is the largest up to which all integers survive."""

    count: int
    seconds: float


def _records(comm):
    own = Record(2**53 - comm.rank, 0.1 + comm.rank), Record(comm.rank, math.inf)
    return list(gather_records(comm, *own))


def test_records_come_back_as_they_were_in_the_order_of_ranks():
    gathered = run_ranks(_records, 3)
    assert gathered[0] == gathered[1] == gathered[2]
    assert gathered[0] == [(Record(2**53 - rank, 0.1 + rank), Record(rank, math.inf)) for rank in range(3)]
    assert {type(first.count) for first, _ in gathered[0]} == {int}
