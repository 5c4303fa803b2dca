"""Energy contracts as resolved data."""

from __future__ import annotations

from dataclasses import dataclass

from cobre.system import Series


@dataclass(frozen=True, eq=False)
class Contract:
    """An energy contract: power imported, or exported at a negative price."""

    id: int
    name: str
    bus: int
    imports: bool
    min_mw: Series
    max_mw: Series
    price_per_mwh: Series
