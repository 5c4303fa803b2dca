"""The penalties of all entities by stage: of the stage, else of the entity, else of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cobre.case._config import Config
from cobre.case._entities import Hydro, Line, Source
from cobre.case._penalties import HydroDefaults, HydroOverrides, Penalties
from cobre.case._raw import Raw
from cobre.case._series import Overrides, Series, Timeline, first_given
from cobre.case._tables import Table
from cobre.elements.hydro.data import HydroPenalties

#: The fields of a hydro plant's penalties, and the names that each may have, the more particular first.
_NAMES = {
    "spillage": ("spillage_cost",),
    "turbined": ("fpha_turbined_cost",),
    "diversion": ("diversion_cost",),
    "storage_below_per_hm3": ("storage_violation_below_cost",),
    "filling_below_per_hm3": ("filling_target_violation_cost",),
    "turbined_below": ("turbined_violation_below_cost",),
    "outflow_below": ("outflow_violation_below_cost",),
    "outflow_above": ("outflow_violation_above_cost",),
    "generation_below_per_mwh": ("generation_violation_below_cost",),
    "evaporation_above": ("evaporation_violation_pos_cost", "evaporation_violation_cost"),
    "evaporation_below": ("evaporation_violation_neg_cost", "evaporation_violation_cost"),
    "withdrawal_above": ("water_withdrawal_violation_pos_cost", "water_withdrawal_violation_cost"),
    "withdrawal_below": ("water_withdrawal_violation_neg_cost", "water_withdrawal_violation_cost"),
    "negative_inflow": ("inflow_nonnegativity_cost",),
}


@dataclass(frozen=True, eq=False)
class Costs:
    """All penalties, resolved."""

    raw: Raw
    config: Config
    penalties: Penalties
    timeline: Timeline

    def bus_excess(self, bus: int) -> Series:
        """Of power that nobody takes."""
        file = "constraints/penalty_overrides_bus.parquet"
        return self._overrides(file, "bus_id").over(bus, "excess_cost", self.penalties.bus.excess_cost)

    def exchange(self, line: Line) -> Series:
        """Of power on a line."""
        own = self.penalties.line.exchange_cost if line.exchange_cost is None else line.exchange_cost
        file = "constraints/penalty_overrides_line.parquet"
        return self._overrides(file, "line_id").over(line.id, "exchange_cost", own)

    def curtailment(self, source: Source) -> Series:
        """Of wind and sun that is not used."""
        usual = self.penalties.non_controllable_source.curtailment_cost
        own = usual if source.curtailment_cost is None else source.curtailment_cost
        file = "constraints/penalty_overrides_ncs.parquet"
        return self._overrides(file, "source_id").over(source.id, "curtailment_cost", own)

    def hydro(self, hydro: Hydro) -> HydroPenalties:
        """Of a hydro plant."""
        return HydroPenalties(**{field: self._hydro_cost(hydro, names) for field, names in _NAMES.items()})

    def _hydro_cost(self, hydro: Hydro, names: Sequence[str]) -> Series:
        """The first of the names that a level has counts, and the first level that has any of them."""
        table = self.raw.table("constraints/penalty_overrides_hydro.parquet")
        overrides = Overrides(self.timeline, table, "hydro_id")
        by_stage = [overrides.given(hydro.id, name) for name in names if _has(table, name)]
        general = [
            self.timeline.constant(np.nan if value is None else value)
            for level in (hydro.penalties, self.penalties.hydro)
            for value in _values(level, names)
        ]
        last = self.timeline.constant(self.config.modeling.inflow_non_negativity.penalty_cost)
        return first_given([*by_stage, *general, last])

    def _overrides(self, file: str, key: str) -> Overrides:
        return Overrides(self.timeline, self.raw.table(file), key)


def _has(table: Table | None, name: str) -> bool:
    return table is not None and name in table.columns


def _values(level: HydroOverrides | HydroDefaults | None, names: Sequence[str]) -> list[float | None]:
    return [] if level is None else [getattr(level, name) for name in names]
