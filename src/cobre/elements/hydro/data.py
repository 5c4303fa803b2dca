"""Hydro plants as resolved data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cobre.system import Series

#: State of a hydro plant in a stage: not there yet, a new reservoir being filled, or in operation.
Phase = Literal["absent", "filling", "operating"]


@dataclass(frozen=True, eq=False)
class LagBounds:
    """Bounds of what lags add to an inflow, by stage, for everything that may have happened before.

    Attributes:
        low_m3s: the least.
        high_m3s: the most; equal to the least where the lags are certain, as in the first stage.
        shortfall_m3s: how far below 0 an opening can take the inflow; 0 if none ever does.
    """

    low_m3s: Series
    high_m3s: Series
    shortfall_m3s: Series


@dataclass(frozen=True, eq=False)
class Transition:
    """Knowledge of past inflows, from a stage to the next: ``x' = carried · x + share · a``.

    Attributes:
        carried: of what was known before, new by old.
        share: of the stage's own inflow a.
    """

    carried: NDArray[np.float64]
    share: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Inflow:
    """A periodic autoregressive model: ``a = base + Σ coefficients[k] · lag k + scale · η``.

    What is known of past inflows are its states: lags, then the means so far of seasons that are not over.

    Attributes:
        base_m3s: the deterministic part.
        coefficients: per stage, one for each lag from 1 on; may be empty.
        scale_m3s: the standard deviation of the noise.
        past_m3s: the states before the study: lags, the latest first, then means; 0 where it ends early.
        bounds: of what lags add, by ``cobre.elements.hydro.inflow_bounds``; None if they are not known.
        given_transitions: of the states, per stage; if there are none, lag k is the inflow k stages ago.
    """

    base_m3s: Series
    coefficients: tuple[NDArray[np.float64], ...]
    scale_m3s: Series
    past_m3s: tuple[float, ...]
    bounds: LagBounds | None = None
    given_transitions: tuple[Transition, ...] = ()

    @cached_property
    def order(self) -> int:
        """The number of lags: the most that a stage has."""
        return max((len(lags) for lags in self.coefficients), default=0)

    @cached_property
    def transitions(self) -> tuple[Transition, ...]:
        """Per stage, of the states."""
        shift = Transition(np.eye(self.order, k=-1), np.eye(self.order, 1)[:, 0])
        return self.given_transitions or (shift,) * len(self.coefficients)

    @cached_property
    def state_count(self) -> int:
        """The number of states: lags and means."""
        return len(self.transitions[0].share) if self.transitions else self.order

    @cached_property
    def initial_m3s(self) -> Series:
        """The states before the first stage."""
        return _padded(self.past_m3s[: self.state_count], self.state_count)

    @cached_property
    def psi(self) -> tuple[Series, ...]:
        """Per stage, the coefficient of each state: 0 for those that the stage does not use."""
        return tuple(_padded(lags, self.state_count) for lags in self.coefficients)

    def lag_range(self, stage: int) -> tuple[float, float]:
        """Return the least and the most that lags add in a stage; infinite if nothing is known of them."""
        if not np.any(self.coefficients[stage]):
            return 0.0, 0.0
        if self.bounds is None:
            return -np.inf, np.inf
        return float(self.bounds.low_m3s[stage]), float(self.bounds.high_m3s[stage])

    def is_negative_by_state(self, stage: int) -> bool:
        """True if it depends on the state whether, or how far, an opening takes the inflow below 0."""
        low, high = self.lag_range(stage)
        return low < high and (self.bounds is None or bool(self.bounds.shortfall_m3s[stage] > 0))


@dataclass(frozen=True, eq=False)
class Evaporation:
    """The flow that evaporates, linear in the mean volume of a stage: ``constant + slope · volume``."""

    constant_m3s: Series
    slope_m3s_per_hm3: Series


@dataclass(frozen=True, eq=False)
class Planes:
    """Planes above the power of a plant: constants, and slopes by volume, turbined and spilled flow.

    The volume is the mean of that before and that after the stage, or the block if blocks follow each other.
    """

    constant_mw: Series
    mw_per_hm3: Series
    mw_per_m3s_turbined: Series
    mw_per_m3s_spilled: Series


@dataclass(frozen=True, eq=False)
class HydroPenalties:
    """Penalties of a hydro plant: per m³/s and hour unless the name says otherwise."""

    spillage: Series
    turbined: Series  # only where planes bound the power
    diversion: Series
    storage_below_per_hm3: Series
    filling_below_per_hm3: Series
    turbined_below: Series
    outflow_below: Series
    outflow_above: Series
    generation_below_per_mwh: Series
    evaporation_above: Series
    evaporation_below: Series
    withdrawal_above: Series
    withdrawal_below: Series
    negative_inflow: Series


@dataclass(frozen=True, eq=False)
class Filling:
    """The filling of a new reservoir, before its plant operates.

    Attributes:
        retained_m3s: the inflow that should be retained.
        target_hm3: what should be in it after a stage: its least volume after the last of the filling, 0
            after the others.
    """

    retained_m3s: Series
    target_hm3: Series


@dataclass(frozen=True, eq=False)
class Hydro:
    """A hydro plant: a reservoir and its turbines. Turbined and spilled water runs to ``downstream``.

    While it is absent, its inflow and what runs to it run on to the next plant below that is not; its volume,
    ``initial_hm3`` before it is there, stays what it is. While it is filled it has no turbines.
    """

    id: int
    name: str
    bus: int
    downstream: int | None
    initial_hm3: float
    min_storage_hm3: Series
    max_storage_hm3: Series
    min_outflow_m3s: Series
    max_outflow_m3s: Series  # infinite without a limit
    min_turbined_m3s: Series
    max_turbined_m3s: Series
    min_generation_mw: Series
    max_generation_mw: Series
    mw_per_m3s: Series  # 0 where there are planes
    planes: tuple[Planes | None, ...]
    diversion: int | None  # the plant that receives the diverted flow
    max_diversion_m3s: Series
    withdrawal_m3s: Series
    evaporation: Evaporation | None
    inflow: Inflow
    penalties: HydroPenalties
    phases: tuple[Phase, ...]
    filling: Filling | None

    @cached_property
    def inflow_states(self) -> tuple[str, ...]:
        """The names of the states of its inflow, in their order."""
        lags = [f"inflow:{self.id}:{lag}" for lag in range(1, self.inflow.order + 1)]
        means = range(1, self.inflow.state_count - self.inflow.order + 1)
        return (*lags, *(f"inflow_mean:{self.id}:{i}" for i in means))


def _padded(numbers: Sequence[float] | Series, count: int) -> Series:
    return np.array([*numbers, *[0.0] * (count - len(numbers))], dtype=np.float64)


def arrival(hydros: Mapping[int, Hydro], hydro: int | None, stage: int) -> int | None:
    """Return the plant at which water arrives: ``hydro``, or the next one downstream that is not absent."""
    while hydro is not None and hydros[hydro].phases[stage] == "absent":
        hydro = hydros[hydro].downstream
    return hydro
