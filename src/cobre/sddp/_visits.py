"""What a simulation sees: each node that trajectories come to, with all that is decided there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cobre.lp import Floats, Ints, Steps
from cobre.sddp import _forward
from cobre.sddp._engine import Engine
from cobre.sddp._forward import Paths, Wanted
from cobre.sddp.sampling import Draw


@dataclass(frozen=True, eq=False)
class Visit:
    """One node at one step of some trajectories: in all arrays a row for each of them.

    Attributes:
        step: from 0.
        node: its number in the problem.
        trajectories: their numbers, of all that are simulated.
        realizations: which each of them met.
        noise: the numbers of these, in the order of the node's `Noise.places`.
        costs: of the step, not discounted.
        objectives: these, and the discounted value of what follows as the policy sees it.
        incoming: the states on arrival, in the order of the problem's.
        outgoing: likewise, on leaving.
        columns: the values of the columns that were asked for.
        duals: those of the rows that were asked for: what one more on the right-hand side would cost.
    """

    step: int
    node: int
    trajectories: Ints
    realizations: Ints
    noise: Floats
    costs: Floats
    objectives: Floats
    incoming: Floats
    outgoing: Floats
    columns: Floats
    duals: Floats


class Recorder(Protocol):
    """Who keeps what a simulation sees.

    It is called on every rank with the visits of the trajectories which that rank simulates, some whole
    trajectories at a time, and so must be able to be pickled.
    """

    def __call__(self, visits: Sequence[Visit]) -> None:
        """Take the visits of some trajectories, in the order of steps."""


class Watcher:
    """Walks trajectories, and keeps their visits.

    Args:
        engine: with the policy in it.
        wanted: columns and duals by node.
    """

    def __init__(self, engine: Engine, wanted: Sequence[Wanted]) -> None:
        self._engine, self._wanted = engine, dict(enumerate(wanted))

    def bytes_per_trajectory(self) -> int:
        """What the visits of one trajectory take in memory, at most."""
        widths = [
            len(want.columns) + len(want.duals) + len(node.noise.places)
            for want, node in zip(self._wanted.values(), self._engine.problem.nodes, strict=True)
        ]
        return 8 * self._engine.depth * (max(widths) + 2 * self._engine.states + 4)

    def walk(self, draw: Draw) -> tuple[Paths, list[Visit]]:
        """Simulate the trajectories of a draw."""
        engine, problem = self._engine, self._engine.problem
        sample = engine.method.sampling.sample(problem, draw)
        visits: list[Visit] = []

        def observe(step: int, number: int, here: NDArray[np.intp], paths: Paths, result: Steps) -> None:
            rows = paths.rows[step, here]
            table = sample.tables.get(number, problem.nodes[number].noise.table)
            visits.append(
                Visit(
                    step,
                    number,
                    (draw.first + here).astype(np.int32),
                    paths.realizations[step, here],
                    table[rows],
                    engine.sign * result.costs,
                    engine.sign * result.objectives,
                    paths.states[step, here],
                    result.outgoing,
                    result.columns,
                    engine.sign * result.duals,
                )
            )

        return _forward.walk(engine, sample, wanted=self._wanted, observe=observe), visits
