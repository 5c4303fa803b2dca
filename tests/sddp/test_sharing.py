"""What ranks tell each other of how an iteration went."""

from types import SimpleNamespace

import pytest

from cobre.comm import run_ranks
from cobre.sddp._engine import Statistics
from cobre.sddp._sharing import share_times

#: How long each of three meetings took, by rank.
MEETINGS = [[0.5, 0.1, 0.2], [0.2, 0.4, 0.2], [0.3, 0.2, 0.2]]


def _times(comm):
    engine = SimpleNamespace(
        comm=comm,
        take_statistics=lambda: Statistics(solves=10 + comm.rank, unit_s=0.25),
        take_meetings=lambda: MEETINGS[comm.rank],
    )
    return share_times(engine, 1.0, 2.0 + comm.rank, 3)


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
