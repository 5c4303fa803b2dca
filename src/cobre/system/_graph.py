"""The policy graph: which stages follow which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self


@dataclass(frozen=True)
class PolicyGraph:
    """The stages that may follow each stage, all by their numbers from 0. A study begins in stage 0.

    Attributes:
        following: per stage, the probabilities of those that may follow; none where the study ends.
        horizon: the number of stages after which trajectories are cut off; None if all of them end.
    """

    following: tuple[Mapping[int, float], ...]
    horizon: int | None = None

    @classmethod
    def chain(cls, stages: int) -> Self:
        """Return the graph in which each stage follows the one before, and the last one ends.

        >>> PolicyGraph.chain(3).following
        ({1: 1.0}, {2: 1.0}, {})
        """
        return cls(tuple({stage + 1: 1.0} if stage + 1 < stages else {} for stage in range(stages)))

    @property
    def is_chain(self) -> bool:
        """True if each stage is followed by the next one, once."""
        return self == type(self).chain(len(self.following))

    @cached_property
    def preceding(self) -> tuple[tuple[int, ...], ...]:
        """Per stage, those that it may follow."""
        found: list[list[int]] = [[] for _ in self.following]
        for stage, ways in enumerate(self.following):
            for target in ways:
                found[target].append(stage)
        return tuple(map(tuple, found))

    @cached_property
    def steps(self) -> tuple[tuple[int, ...], ...]:
        """The stages in which trajectories may be after 0, 1, ... others.

        >>> PolicyGraph(({1: 1.0}, {2: 1.0}, {1: 1.0}), horizon=5).steps
        ((0,), (1,), (2,), (1,), (2,))
        >>> PolicyGraph(({1: 0.5, 2: 0.5}, {2: 1.0}, {})).steps
        ((0,), (1, 2), (2,))
        """
        found: list[tuple[int, ...]] = []
        here = {0}
        while here and len(found) != self.horizon:
            found.append(tuple(sorted(here)))
            here = {target for stage in here for target in self.following[stage]}
        return tuple(found)

    @property
    def path(self) -> tuple[int, ...] | None:
        """The stage of each step, if it is the same on all trajectories; else None."""
        return None if any(len(stages) > 1 for stages in self.steps) else sum(self.steps, ())

    def distances(self) -> dict[int, int]:
        """Return the least number of stages before each stage that can be reached."""
        found, ahead = {0: 0}, [0]
        for stage in ahead:
            for target in self.following[stage]:
                if target not in found:
                    found[target] = found[stage] + 1
                    ahead.append(target)
        return found


def negligible_after(graph: PolicyGraph, discounts: Sequence[float], threshold: float, most: int) -> int:
    """Return how many stages there are until what follows counts for less than a share; at most ``most``.

    >>> endless = PolicyGraph(({1: 1.0}, {0: 1.0}))
    >>> negligible_after(endless, (1.0, 0.5), 0.1, 100), negligible_after(endless, (1.0, 0.5), 0.1, 5)
    (8, 5)
    """
    weights, steps = {0: 1.0}, 0
    while steps < most and sum(weights.values()) >= threshold:
        after: dict[int, float] = {}
        for stage, weight in weights.items():
            for target, probability in graph.following[stage].items():
                after[target] = after.get(target, 0.0) + weight * discounts[stage] * probability
        weights, steps = after, steps + 1
    return steps
