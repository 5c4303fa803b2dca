"""Ranks that pay for a case: a short training on one of them, and the model of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, log2

from cobre.case import Case
from cobre.sddp import Listener
from cobre.sddp.scaling import Expected, Layout, ScalingModel, record_workload
from cobre.study._study import Study

#: The least efficiency of the recommended number of ranks.
EFFICIENT = 0.7
#: The most ranks that are looked at.
MOST_RANKS = 1024


@dataclass(frozen=True)
class ScalingRow:
    """An iteration on some ranks.

    Attributes:
        ranks: their number.
        machines: that they run on.
        expected: time of an iteration.
        efficiency: time on one core, over the time that all cores together spend.
    """

    ranks: int
    machines: int
    expected: Expected
    efficiency: float


@dataclass(frozen=True)
class ScalingEstimate:
    """Expected times of an iteration of a case.

    Attributes:
        trajectories: of an iteration.
        threads: of each rank.
        cores: of each machine.
        rows: by number of ranks.
        recommended: the most ranks with an efficiency of 70 % or more; 1 if there are none.
    """

    trajectories: int
    threads: int
    cores: int
    rows: tuple[ScalingRow, ...]
    recommended: int

    @property
    def recommended_row(self) -> ScalingRow:
        """The row of the recommended number of ranks."""
        return next(row for row in self.rows if row.ranks == self.recommended)


def estimate_scaling(  # noqa: PLR0913
    case: Case,
    *,
    cores: int,
    trajectories: int | None = None,
    threads: int = 1,
    seconds: float = 20.0,
    listeners: Sequence[Listener] = (),
) -> ScalingEstimate:
    """Train a case for some iterations on one rank and one thread; estimate iterations on more of them.

    Args:
        case: to train; nothing is written.
        cores: of each machine.
        trajectories: of an iteration; those of the case unless given.
        threads: of each rank.
        seconds: of training, about; four iterations take place at least.
        listeners: called with the events of training.

    Raises:
        InvalidProblem: the problem cannot be solved as it stands.
        SolveError: a linear programme has no solution.
    """
    task = Study.of(case).training()
    count = trajectories or task.method.trajectories
    task = replace(task, method=replace(task.method, trajectories=count))
    model = ScalingModel(record_workload(task, seconds, listeners), count)
    layout = Layout(1, threads, per_machine=max(1, cores // threads), cores=cores)
    powers = range(1 + min(int(log2(MOST_RANKS)), max(2, 1 + ceil(log2(count)))))
    layouts = [replace(layout, ranks=2**power) for power in powers]
    rows = tuple(
        ScalingRow(one.ranks, len(one.machines), model.expected(one), model.efficiency(one))
        for one in layouts
    )
    best = max((row.ranks for row in rows if row.efficiency >= EFFICIENT), default=1)
    return ScalingEstimate(count, threads, cores, rows, best)
