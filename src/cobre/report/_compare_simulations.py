"""Comparison of two simulations."""

from __future__ import annotations

import filecmp
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from cobre.elements import collect
from cobre.elements import labels as element_labels
from cobre.errors import ResultsError
from cobre.estimates import Estimate
from cobre.report._changes import Change, changes, same_bits
from cobre.report._costs import totals
from cobre.report._panel import Floats, panel
from cobre.report._source import GENERATORS, labels
from cobre.report._storage import volumes
from cobre.report._summary import component_means
from cobre.results import Results


@dataclass(frozen=True)
class CostsComparison:
    """Comparison of simulated costs.

    Attributes:
        scenarios_a: number of scenarios of a.
        scenarios_b: number of scenarios of b.
        common: True if both have the same inflows and loads, so that scenarios can be compared in pairs.
        mean_a: mean cost of a.
        mean_b: mean cost of b.
        difference: mean of b minus mean of a.
        half_width: half-width of the difference's 95 % confidence interval, paired if scenarios are common;
            None if there are too few.
        components: cost components whose means differ.
        same: True if all simulated tables are equal to the last bit.
        differing_tables: tables that differ.
    """

    scenarios_a: int
    scenarios_b: int
    common: bool
    mean_a: float
    mean_b: float
    difference: float
    half_width: float | None
    components: tuple[Change, ...]
    same: bool
    differing_tables: tuple[str, ...]


@dataclass(frozen=True)
class MeanDifference:
    """Mean over scenarios and stages that differs, for one plant or bus and quantity."""

    entity: str
    quantity: str
    unit: str
    a: float
    b: float

    @property
    def difference(self) -> float:
        """Mean of b minus mean of a."""
        return self.b - self.a


def compare_costs(a: Results, b: Results) -> CostsComparison | None:
    if not all("costs" in results.tables for results in (a, b)):
        return None
    one, two = totals(a), totals(b)
    common = _same_scenarios(a, b)
    first, second = component_means(a), component_means(b)
    differing = tuple(_differing_tables(a, b))
    return CostsComparison(
        scenarios_a=len(one),
        scenarios_b=len(two),
        common=common,
        mean_a=Estimate.of(one.tolist()).mean,
        mean_b=Estimate.of(two.tolist()).mean,
        difference=Estimate.of(two.tolist()).mean - Estimate.of(one.tolist()).mean,
        half_width=_half_width(one, two, common),
        components=tuple(sorted(changes(first, second), key=lambda change: -abs(change.b - change.a))),
        same=not differing,
        differing_tables=differing,
    )


def _half_width(a: Floats, b: Floats, common: bool) -> float | None:
    """Half-width for the difference of means, from pairs or from two independent samples."""
    if common:
        half = Estimate.of((b - a).tolist()).half_width()
    else:
        half = math.hypot(*(Estimate.of(costs.tolist()).half_width() for costs in (a, b)))
    return half if math.isfinite(half) else None


def _same_scenarios(a: Results, b: Results) -> bool:
    """True if the realised noise, which does not depend on policies, is equal in each scenario."""
    given = {str(element_labels(kind).TABLE): column for kind, column in collect("outputs", "RANDOM").items()}
    return all(
        _same_column(a, b, name, column)
        for name, column in given.items()
        if name in a.tables or name in b.tables
    )


def _same_column(a: Results, b: Results, name: str, column: str) -> bool:
    if name not in a.tables or name not in b.tables:
        return False
    one, two = panel(a, name), panel(b, name)
    if one.scenarios != two.scenarios or len(one.stage) != len(two.stage):
        return False
    return all(
        bool(same_bits(left, right).all())
        for (left,), (right,) in zip(one.chunks(column), two.chunks(column), strict=True)
    )


def _differing_tables(a: Results, b: Results) -> Iterator[str]:
    for name in dict.fromkeys([*a.tables, *b.tables]):
        if name not in a.tables or name not in b.tables or not _same_table(a, b, name):
            yield name


def _same_table(a: Results, b: Results, name: str) -> bool:
    """Compare files until one differs. Files with different bytes may hold equal numbers."""
    one, two = a.files(name), b.files(name)
    if a.layout != b.layout:
        return len(totals(a)) == len(totals(b)) and _same_rows(a, b, name)
    if len(one) != len(two):
        return False
    return all(
        filecmp.cmp(left, right, shallow=False) or _read(left).equals(_read(right))
        for left, right in zip(one, two, strict=True)
    )


def _same_rows(a: Results, b: Results, name: str) -> bool:
    """Compare scenarios, as many at a time as a file of either has."""
    each = max(a.layout.scenarios_per_file, b.layout.scenarios_per_file)
    blocks = [range(first, first + each) for first in range(0, len(totals(a)), each)]
    return all(a.simulation(name, None, block).equals(b.simulation(name, None, block)) for block in blocks)


def _read(path: Path) -> Any:
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise ResultsError(
            str(path), "damaged", f"it cannot be read ({error}); run the case again"
        ) from error


def mean_differences(a: Results, b: Results) -> Iterator[MeanDifference]:
    """Mean volumes, generation and prices that differ, for the entities that both have, by name."""
    plants = [(plant.table, plant.name) for plant in GENERATORS]
    compared: list[tuple[str, str, str, str, Callable[[Results], dict[int, float]]]] = [
        ("hydros", "hydro", "volume", "hm³", _mean_volumes),
        *((table, kind, f"{kind} generation", "MWh", partial(_energy, name=table)) for table, kind in plants),
        ("buses", "bus", "price", "$/MWh", _prices),
    ]
    for table, kind, quantity, unit, mean in compared:
        if table in a.tables and table in b.tables:
            one, two = (_named(results, kind, mean(results)) for results in (a, b))
            both = [name for name in one if name in two and one[name] != two[name]]
            for name in sorted(both, key=lambda name: -abs(two[name] - one[name])):
                yield MeanDifference(name, quantity, unit, one[name], two[name])


def _named(results: Results, kind: str, values: dict[int, float]) -> dict[str, float]:
    names = labels(results, kind, list(values))
    return {names[entity]: value for entity, value in values.items()}


def _mean_volumes(results: Results) -> dict[int, float]:
    return {hydro: float(found[:, 1:].mean()) for hydro, found in volumes(results).items()}


def _energy(results: Results, name: str) -> dict[int, float]:
    rows = panel(results, name)
    (energy,) = rows.means("generation_mwh")
    return {entity: float(energy[rows.entity == entity].sum()) for entity in rows.ids}


def _prices(results: Results) -> dict[int, float]:
    """Load-weighted mean over scenarios and time; the plain mean at a bus without load."""
    buses = panel(results, "buses")
    worth = np.zeros(len(buses.stage))
    load, price = buses.means("load_mwh", "spot_price")
    for loads, prices in buses.chunks("load_mwh", "spot_price"):
        worth += (loads * prices).sum(axis=0)
    worth /= buses.scenarios
    found = {}
    for bus in buses.ids:
        own = buses.entity == bus
        total = float(load[own].sum())
        found[bus] = float(worth[own].sum()) / total if total else float(price[own].mean())
    return found
