"""Pumping stations as resolved data."""

from __future__ import annotations

from dataclasses import dataclass

from cobre.system import Series


@dataclass(frozen=True, eq=False)
class PumpingStation:
    """A pumping station, which lifts water from one plant's reservoir to another's."""

    id: int
    name: str
    bus: int
    source_hydro: int
    target_hydro: int
    mw_per_m3s: float
    min_m3s: Series
    max_m3s: Series
