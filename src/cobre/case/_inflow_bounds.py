"""Bounds of what lags add to inflows where stages do not just follow one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from cobre.elements.hydro.data import Inflow, LagBounds
from cobre.elements.noise import Floats
from cobre.system import PolicyGraph

#: Bounds in m³/s that change by less than this share from one number of cycles to twice as many are final.
TOLERANCE = 1e-9
#: More steps than this are not followed: the model is about as good as unstable.
MOST_STEPS = 1200


class ChainBounds(Protocol):
    """`cobre.elements.hydro.inflow_bounds.lag_bounds`, of stages that follow one another."""

    def __call__(self, inflow: Inflow, noise: Sequence[Floats], *, given_m3s: Floats | None) -> LagBounds:
        """Return the bounds of what lags add in each stage."""


def bounds_on(
    graph: PolicyGraph,
    bounds_of: ChainBounds,
    inflow: Inflow,
    noise: Sequence[Floats],
    given_m3s: Floats | None,
) -> LagBounds | None:
    """Return the bounds of what lags add in each stage; None if they are not known.

    A cycle is passed until the bounds do not change any more. They are not known where trajectories may go
    different ways, and where they change for too long, as those of an unstable model do.
    """
    if graph.is_chain:
        return bounds_of(inflow, noise, given_m3s=given_m3s)
    if any(len(ways) > 1 for ways in graph.following):
        return None
    steps, found = 2 * len(noise), None
    while steps <= max(MOST_STEPS, 4 * len(noise)):
        path, before = _path(graph, steps), found
        unrolled = Inflow(
            inflow.base_m3s[path],
            tuple(inflow.coefficients[stage] for stage in path),
            inflow.scale_m3s[path],
            inflow.past_m3s,
        )
        given = None if given_m3s is None else given_m3s[:, path]
        each = bounds_of(unrolled, [noise[stage] for stage in path], given_m3s=given)
        found = _by_stage(each, path, len(noise))
        if before is not None and _are_close(before, found):
            return found
        steps *= 2
    return None


def _path(graph: PolicyGraph, steps: int) -> list[int]:
    path = [0]
    while len(path) < steps and graph.following[path[-1]]:
        path += graph.following[path[-1]]
    return path


def _by_stage(each: LagBounds, path: Sequence[int], stages: int) -> LagBounds:
    """The widest bounds of all visits to each stage."""
    low, high, shortfall = np.full(stages, np.inf), np.full(stages, -np.inf), np.zeros(stages)
    np.minimum.at(low, path, each.low_m3s)
    np.maximum.at(high, path, each.high_m3s)
    np.maximum.at(shortfall, path, each.shortfall_m3s)
    return LagBounds(low, high, shortfall)


def _are_close(one: LagBounds, other: LagBounds) -> bool:
    pairs = zip(vars(one).values(), vars(other).values(), strict=True)
    return all(np.all(np.abs(a - b) <= TOLERANCE * (1 + np.abs(b))) for a, b in pairs)
