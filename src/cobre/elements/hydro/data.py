"""Hydro plants as resolved data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cobre.system import Series

#: State of a hydro plant in a stage: not there yet, a new reservoir being filled, or in operation.
Phase = Literal["absent", "filling", "operating"]


@dataclass(frozen=True, eq=False)
class Inflow:
    """A periodic autoregressive model: ``a = base + Σ coefficients[k] · a of k stages ago + scale · η``.

    Attributes:
        base_m3s: the deterministic part.
        coefficients: per stage, one for each lag from 1 on; may be empty.
        scale_m3s: the standard deviation of the noise.
        past_m3s: inflows before the study, the latest first.
    """

    base_m3s: Series
    coefficients: tuple[NDArray[np.float64], ...]
    scale_m3s: Series
    past_m3s: tuple[float, ...]

    @cached_property
    def order(self) -> int:
        """The number of past inflows that are states: the most lags that a stage has."""
        return max((len(lags) for lags in self.coefficients), default=0)


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


def arrival(hydros: Mapping[int, Hydro], hydro: int | None, stage: int) -> int | None:
    """Return the plant at which water arrives: ``hydro``, or the next one downstream that is not absent."""
    while hydro is not None and hydros[hydro].phases[stage] == "absent":
        hydro = hydros[hydro].downstream
    return hydro
