"""Planes that bound the power of a plant, fitted to its geometry.

The method and its numbers are those of the original program: tangents to the production function on a grid of
volumes, flows and spillages; those that are nowhere the highest are left out, then those that are missed
least; the constants of the others are multiplied by the least ratio of the function to the highest of them.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.elements.hydro.data import Planes
from cobre.elements.hydro.inputs.models import (
    ConstantLoss,
    FittingWindow,
    FphaConfig,
    HydroInput,
    LossFactor,
    PiecewiseTailrace,
    PolynomialTailrace,
)

Floats = NDArray[np.float64]

#: MW that 1 m³/s makes in falling a metre.
GRAVITY = 9.81 / 1000
#: How near two planes, or a plane and the highest one, are the same.
NEAR = 1e-8


@dataclass(frozen=True, eq=False)
class ProductionFunction:
    """The power of a plant as a function of its volume, what it turbines and what it spills."""

    volumes: Floats
    heights: Floats
    tailrace: PolynomialTailrace | PiecewiseTailrace | None
    losses: LossFactor | ConstantLoss | None
    efficiency: float

    @staticmethod
    def of(hydro: HydroInput, volumes: Floats, heights: Floats) -> ProductionFunction:
        """That of a plant, with the points of its reservoir's geometry by volume."""
        efficiency = 1.0 if hydro.efficiency is None else hydro.efficiency.value
        return ProductionFunction(volumes, heights, hydro.tailrace, hydro.hydraulic_losses, efficiency)

    def tangents(self, points: Floats) -> tuple[Floats, Floats]:
        """The power at points, and the planes that touch the function there."""
        v, q, s = points.T
        head, by_v, by_out = self._head(v, q + s)
        scale = GRAVITY * self.efficiency
        power = scale * q * head
        slopes = np.stack([scale * q * by_v, scale * (head + q * by_out), scale * q * by_out], axis=1)
        constants = power - slopes[:, 0] * v - slopes[:, 1] * q - slopes[:, 2] * s
        return power, np.column_stack([constants, slopes])

    def _head(self, volume: Floats, outflow: Floats) -> tuple[Floats, Floats, Floats]:
        """The net head, not below 0, and how it changes with the volume and with the outflow."""
        above, by_volume = _between(self.volumes, self.heights, volume)
        below, by_outflow = self._tail(outflow)
        share = 1 - self.losses.value if isinstance(self.losses, LossFactor) else 1.0
        lost = self.losses.value_m if isinstance(self.losses, ConstantLoss) else 0.0
        return np.maximum(share * (above - below) - lost, 0.0), share * by_volume, -share * by_outflow

    def _tail(self, outflow: Floats) -> tuple[Floats, Floats]:
        """The level below the plant, and how it changes."""
        if self.tailrace is None:
            return np.zeros_like(outflow), np.zeros_like(outflow)
        if isinstance(self.tailrace, PolynomialTailrace):
            level = np.polynomial.Polynomial(self.tailrace.coefficients)
            return level(outflow), level.deriv()(outflow) * np.ones_like(outflow)
        points = sorted((point.outflow_m3s, point.height_m) for point in self.tailrace.points)
        flows, levels = np.array(points).T
        return _between(flows, levels, outflow)


def _between(places: Floats, values: Floats, at: Floats) -> tuple[Floats, Floats]:
    """A function between points, the same beyond them, and its slope: at a point, that above it."""
    if len(places) < 2:
        return np.full_like(at, values[0]), np.zeros_like(at)
    left = np.clip(np.searchsorted(places, at, side="right") - 1, 0, len(places) - 2)
    slopes = (values[left + 1] - values[left]) / (places[left + 1] - places[left])
    inside = np.clip(at, places[0], places[-1])
    return values[left] + slopes * (inside - places[left]), slopes


def fit(hydro: HydroInput, volumes: Floats, heights: Floats, config: FphaConfig | None) -> Planes:
    """The planes of a plant.

    Raises:
        ValueError: there are none that make sense; the message says why.
    """
    _check_tailrace(hydro.tailrace)
    power_of = ProductionFunction.of(hydro, volumes, heights)
    points = _grid(hydro, volumes, config)
    power, planes = power_of.tangents(points)
    planes = planes[power > 0]
    if not len(planes):
        raise ValueError("the plant makes no power at any point of the grid")
    levels = _levels(planes, points)
    planes = _distinct(planes[np.any(levels.max(axis=0) - levels <= NEAR, axis=1)])
    most = (config.max_planes_per_hydro if config else None) or 10
    planes = _best(planes, points, power, most)
    top = _levels(planes, points).max(axis=0)
    share = float(np.min((power / np.where(top > 0, top, 1.0))[(power > 0) & (top > 0)], initial=np.inf))
    if not 0 < share <= 1:
        raise ValueError(f"the planes would have to be lowered by a factor of {share:.6g}")
    if np.any(planes[:, 1] < -1e-10) or np.any(planes[:, 2] < -1e-10) or np.any(planes[:, 3] > 1e-10):
        raise ValueError("power would fall with the volume or the flow, or rise with what is spilled")
    return Planes(planes[:, 0] * share, planes[:, 1], planes[:, 2], planes[:, 3])


def _check_tailrace(given: PolynomialTailrace | PiecewiseTailrace | None) -> None:
    """Raise ValueError for a tailrace that gives no level, or two at one outflow."""
    if isinstance(given, PolynomialTailrace) and not given.coefficients:
        raise ValueError("the tailrace has no coefficients")
    if isinstance(given, PiecewiseTailrace):
        flows = sorted(point.outflow_m3s for point in given.points)
        if not flows:
            raise ValueError("the tailrace has no points")
        for one, following in itertools.pairwise(flows):
            if one == following:
                raise ValueError(f"the tailrace has two points at {one:g} m³/s")


def _grid(hydro: HydroInput, volumes: Floats, config: FphaConfig | None) -> Floats:
    """Volumes, flows and spillages, the last changing fastest."""
    low, high = _window(hydro, volumes, config.fitting_window if config else None)
    most = hydro.generation.max_turbined_m3s
    counts = [
        (config.volume_discretization_points if config else None) or 5,
        (config.turbine_discretization_points if config else None) or 5,
        (config.spillage_discretization_points if config else None) or 5,
    ]
    if low >= high:
        raise ValueError(f"there are no volumes between {low:g} and {high:g} hm³ to fit planes to")
    if min(counts) < 2:
        raise ValueError("a grid needs two points in each direction")
    axes = [
        start + np.arange(count) * (end - start) / (count - 1)
        for count, start, end in zip(
            counts, (low, max(1.0, 0.01 * most), 0.0), (high, most, 0.5 * most), strict=True
        )
    ]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def _window(hydro: HydroInput, volumes: Floats, window: FittingWindow | None) -> tuple[float, float]:
    """The volumes for which planes are fitted: where the geometry has points, unless other are given."""
    first, last = float(volumes[0]), float(volumes[-1])
    if window is None:
        return first, last
    least = hydro.reservoir.min_storage_hm3
    room = hydro.reservoir.max_storage_hm3 - least
    bounds = []
    for usual, volume, share in (
        (first, window.volume_min_hm3, window.volume_min_percentile),
        (last, window.volume_max_hm3, window.volume_max_percentile),
    ):
        if volume is not None and share is not None:
            raise ValueError("a bound of the fitting_window is given as a volume and as a percentile")
        given = usual if share is None else least + share * room
        bounds.append(min(max(given if volume is None else volume, first), last))
    return bounds[0], bounds[1]


def _levels(planes: Floats, points: Floats) -> Floats:
    """Planes by points."""
    v, q, s = points.T
    constant, by_v, by_q, by_s = (column[:, None] for column in planes.T)
    return np.asarray(constant + by_v * v + by_q * q + by_s * s)


def _distinct(planes: Floats) -> Floats:
    kept: list[Floats] = []
    for plane in planes:
        if not any(np.all(np.abs(plane - other) < NEAR) for other in kept):
            kept.append(plane)
    return np.array(kept)


def _best(planes: Floats, points: Floats, power: Floats, most: int) -> Floats:
    """The planes that are left when those are taken away, one by one, that are missed least."""
    order = list(range(len(planes)))
    levels = _levels(planes, points)
    while len(order) > most:
        here = levels[order]
        highest = here.argmax(axis=0)
        second = np.partition(here, -2, axis=0)[-2]
        without = np.where(highest == np.arange(len(order))[:, None], second, here.max(axis=0)) - power
        errors = np.where(without.min(axis=1) >= -NEAR, np.maximum(without.max(axis=1), 0.0), np.inf)
        if np.isinf(errors).all():
            break
        order[int(np.argmin(errors))] = order[-1]  # so that later ties fall as in the original program
        order.pop()
    return planes[order]
