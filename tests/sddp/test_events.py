"""Events as JSON."""

import json
import math

import pytest

from cobre.estimates import Estimate
from cobre.sddp._progress import Remaining
from cobre.sddp.events import (
    CheckpointWritten,
    IterationFinished,
    RankSolves,
    SimulationFinished,
    SimulationProgress,
    TrainingFinished,
    TrainingStarted,
    to_dict,
)


def started(limit=3, first=1):
    return TrainingStarted(12, 2, 8, 4, 1, "shm", first, "3 iterations [or so]", limit)


LEFT = Remaining(60.0, 60.0, "3 iterations")


def iteration(number, seconds, bound=100.0, remaining=LEFT):
    estimate = Estimate(110.0, 10.0, 4)
    times = (0.1, 0.2, 0.0, seconds)
    return IterationFinished(number, bound, estimate, 8, 8 * number, 100, 96, 1000, 0, *times, (), remaining)


FINISHED = TrainingFinished("the limit of 3 iterations", 3, 100.0, Estimate(110.0, 10.0, 4), 1.5)
RUN = [
    started(),
    iteration(1, 0.5, -math.inf),
    CheckpointWritten("policy.cobre", 1),
    iteration(2, 1.0),
    iteration(3, 1.5, remaining=None),
    FINISHED,
    SimulationProgress(0, 20, 0.0),
    SimulationProgress(10, 20, 0.1, Estimate(90.0, 10.0, 10)),
    SimulationProgress(20, 20, 0.2),
    SimulationFinished(20, 0.2, (RankSolves(0, 240, 500, 0, 0.1), RankSolves(1, 240, 480, 1, 0.1))),
]


@pytest.mark.parametrize("event", RUN, ids=lambda event: type(event).__name__)
def test_every_event_becomes_strict_json(event):
    record = to_dict(event)
    assert next(iter(record)) == "event"
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_names_and_contents():
    assert [to_dict(event)["event"] for event in RUN] == [
        "training_started",
        "iteration_finished",
        "checkpoint_written",
        "iteration_finished",
        "iteration_finished",
        "training_finished",
        "simulation_progress",
        "simulation_progress",
        "simulation_progress",
        "simulation_finished",
    ]
    assert to_dict(RUN[-1])["ranks"][1]["simplex_iterations"] == 480
    record = to_dict(RUN[1])
    assert record["bound"] is None
    assert record["estimate"] == {"mean": 110.0, "standard_deviation": 10.0, "count": 4}
    assert record["remaining"] == {"earliest_s": 60.0, "latest_s": 60.0, "rule": "3 iterations"}
    assert to_dict(RUN[-2]) == {
        "event": "simulation_progress",
        "done": 20,
        "total": 20,
        "seconds": 0.2,
        "estimate": None,
    }
