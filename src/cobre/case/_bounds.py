"""The bounds of all entities by stage: their own, and what the tables of bounds put in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cobre.case._raw import Raw
from cobre.case._series import BlockSeries, Overrides, Series, Timeline


@dataclass(frozen=True)
class BoundsOf:
    """A table of bounds, its entities, and the numbers that hold where the table is silent."""

    kind: str
    file: str
    key: str
    own: Callable[[Any], dict[str, float]]
    #: Columns that must not cross.
    pairs: tuple[tuple[str, str], ...]
    #: Whether the table may have rows for single blocks.
    blocks: bool = False


def _hydro(hydro: Any) -> dict[str, float]:
    limit = hydro.outflow.max_outflow_m3s
    return {
        "min_storage_hm3": hydro.reservoir.min_storage_hm3,
        "max_storage_hm3": hydro.reservoir.max_storage_hm3,
        "min_outflow_m3s": hydro.outflow.min_outflow_m3s,
        "max_outflow_m3s": np.inf if limit is None else limit,
        "min_turbined_m3s": hydro.generation.min_turbined_m3s,
        "max_turbined_m3s": hydro.generation.max_turbined_m3s,
        "min_generation_mw": hydro.generation.min_generation_mw,
        "max_generation_mw": hydro.generation.max_generation_mw,
        "max_diversion_m3s": hydro.diversion.max_flow_m3s if hydro.diversion else 0.0,
        "water_withdrawal_m3s": 0.0,
        "filling_inflow_m3s": hydro.filling.filling_inflow_m3s if hydro.filling else 0.0,
    }


BOUNDS = (
    BoundsOf(
        "hydros",
        "constraints/hydro_bounds.parquet",
        "hydro_id",
        _hydro,
        (
            ("min_storage_hm3", "max_storage_hm3"),
            ("min_outflow_m3s", "max_outflow_m3s"),
            ("min_turbined_m3s", "max_turbined_m3s"),
            ("min_generation_mw", "max_generation_mw"),
        ),
    ),
    BoundsOf(
        "thermals",
        "constraints/thermal_bounds.parquet",
        "thermal_id",
        lambda plant: {
            "min_generation_mw": plant.generation.min_mw,
            "max_generation_mw": plant.generation.max_mw,
            "cost_per_mwh": plant.cost_per_mwh,
        },
        (("min_generation_mw", "max_generation_mw"),),
        blocks=True,
    ),
    BoundsOf(
        "lines",
        "constraints/line_bounds.parquet",
        "line_id",
        lambda line: {"direct_mw": line.capacity.direct_mw, "reverse_mw": line.capacity.reverse_mw},
        (),
    ),
    BoundsOf(
        "sources",
        "constraints/ncs_bounds.parquet",
        "ncs_id",
        lambda source: {"available_generation_mw": source.max_generation_mw},
        (),
    ),
    BoundsOf(
        "stations",
        "constraints/pumping_bounds.parquet",
        "station_id",
        lambda station: {"min_m3s": station.flow.min_m3s, "max_m3s": station.flow.max_m3s},
        (("min_m3s", "max_m3s"),),
    ),
    BoundsOf(
        "contracts",
        "constraints/contract_bounds.parquet",
        "contract_id",
        lambda contract: {
            "min_mw": contract.limits.min_mw,
            "max_mw": contract.limits.max_mw,
            "price_per_mwh": contract.price_per_mwh,
        },
        (("min_mw", "max_mw"),),
    ),
)


@dataclass(frozen=True, eq=False)
class Bounds:
    """All bounds, resolved."""

    raw: Raw
    timeline: Timeline

    @cached_property
    def _by_kind(self) -> dict[str, tuple[BoundsOf, Overrides]]:
        return {
            entry.kind: (entry, Overrides(self.timeline, self.raw.table(entry.file), entry.key))
            for entry in BOUNDS
        }

    def of(self, kind: str, entity: Any) -> dict[str, Series]:
        """The bounds of an entity by the names of the columns, whether it is in service or not."""
        entry, overrides = self._by_kind[kind]
        return {
            column: overrides.over(entity.id, column, value) for column, value in entry.own(entity).items()
        }

    def in_service(self, kind: str, entity: Any) -> dict[str, Series]:
        """The same, and 0 while the entity is not in service."""
        here = self.timeline.in_service(entity)
        return {column: np.where(here, values, 0.0) for column, values in self.of(kind, entity).items()}

    def by_block(self, kind: str, entity: Any) -> dict[str, BlockSeries]:
        """The bounds of an entity by block, whether it is in service or not."""
        entry, overrides = self._by_kind[kind]
        own = entry.own(entity).items()
        return {column: overrides.by_block(entity.id, column, value) for column, value in own}

    def crossed(self) -> Iterator[tuple[BoundsOf, Any, str, str, Series, Series]]:
        """Entities with a lower bound above the upper one in some stage."""
        for entry in BOUNDS:
            for entity in getattr(self.raw, entry.kind):
                bounds = self.of(entry.kind, entity) if entry.pairs else {}
                by_block = self.by_block(entry.kind, entity) if entry.blocks else {}
                for low, high in entry.pairs:
                    lower, upper = bounds[low], bounds[high]
                    if entry.blocks:
                        lower, upper = _worst(by_block[low], by_block[high])
                    if np.any(lower > upper):
                        yield entry, entity, low, high, lower, upper


def _worst(lower: BlockSeries, upper: BlockSeries) -> tuple[Series, Series]:
    """By stage, the bounds of the block in which they cross most."""
    pairs = list(zip(lower, upper, strict=True))
    blocks = [int(np.argmax(low - high)) for low, high in pairs]
    found = [(low[k], high[k]) for (low, high), k in zip(pairs, blocks, strict=True)]
    return np.array([low for low, _ in found]), np.array([high for _, high in found])
