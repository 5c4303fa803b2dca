"""Files that explain the others: codes, entities, columns, bounds and states."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from cobre.elements.registry import KINDS, by_entity_code, collect, described, elements_of, labels
from cobre.elements.tables import BoundType, StateGroup
from cobre.results._columns import TYPES, schema_of
from cobre.results._periods import periods
from cobre.results._simulation_tables import POLICY_STAGE, simulation_tables
from cobre.results._training_tables import TRAINING
from cobre.system import System


def codes(system: System) -> dict[str, dict[str, str]]:
    """The content of ``codes.json``: what the codes in tables mean."""
    kinds = described(system)
    bounds = {bound.code: bound.name for own in _of_kinds("BOUNDS", kinds) for bound in own}
    return {
        "operative_state": {"0": "deactivated", "1": "maintenance", "2": "operating", "3": "saturated"},
        **_merged("CODES", kinds),
        "entity_type": {
            str(code): labels(kind).NAME for code, kind in by_entity_code().items() if kind in kinds
        },
        "bound_type": {str(code): bounds[code] for code in sorted(bounds)},
    }


def entities(system: System) -> bytes:
    """The file ``entities.csv``."""
    rows = [
        (code, element.id, element.name, getattr(element, "bus", -1), 0)
        for code, kind in by_entity_code().items()
        for element in elements_of(system, kind)
    ]
    return _csv(("entity_type_code", "entity_id", "name", "bus_id", "system_id"), rows)


def stages(system: System) -> bytes:
    """The file ``stages.csv``, by which the numbers of stages become dates, and stages of the case.

    The dates of a cyclic study go on from cycle to cycle. Where trajectories may be in different stages of
    the case after as many others, that stage is left empty, and so are dates if they differ.
    """
    graph, header = system.graph, ("stage_id", "start_date", "end_date", "season_id")
    dates: Sequence[Sequence[Any]] = periods(system) or [("", "", "")] * len(graph.steps)
    rows = [(number, *period) for number, period in enumerate(dates)]
    if graph.is_chain:
        return _csv(header, rows)
    ids = [system.stages[stages[0]].id if len(stages) == 1 else "" for stages in graph.steps]
    return _csv((*header, POLICY_STAGE.name), [(*row, id_) for row, id_ in zip(rows, ids, strict=True)])


def variables(system: System) -> bytes:
    """The file ``variables.csv``."""
    tables = {**simulation_tables(described(system)), **TRAINING}
    rows = [
        (
            table,
            column.name,
            str(TYPES[column.type]),
            str(column.nullable).lower(),
            column.unit,
            column.meaning,
        )
        for table, columns in tables.items()
        for column in columns
    ]
    return _csv(("schema", "column_name", "arrow_type", "nullable", "unit", "description"), rows)


def bounds(system: System) -> pa.Table:
    """The file ``bounds.parquet``."""
    rows = list(_bound_rows(system))
    names = ("entity_type_code", "entity_id", "stage_id", "block_id", "bound_type_code", "bound_value")
    content = [dict(zip(names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(content, schema=schema_of(TRAINING["dictionaries/bounds"]))


def states(names: Sequence[str]) -> dict[str, Any]:
    """The file ``state_dictionary.json``: where each state is in the slopes of a cut."""
    groups: dict[str, StateGroup] = _merged("STATES")
    found: dict[str, list[dict[str, Any]]] = {group.key: [] for group in groups.values() if group.always}
    for place, state in enumerate(names):
        name, *ids = state.split(":")
        group = groups[name]
        parts = dict(zip(group.ids, map(int, ids), strict=True))
        found.setdefault(group.key, []).append({**parts, "dimension_index": place, "unit": group.unit})
    return {"version": "1.0", "state_dimension": len(names), **found}


def _bound_rows(system: System) -> Iterator[tuple[int, int, int, int | None, int, float]]:
    """The bounds of all elements; what is infinite is left out, as in the format."""
    for code, kind in by_entity_code().items():
        bounds: Sequence[BoundType] = collect("outputs", "BOUNDS").get(kind, ())
        for element in elements_of(system, kind):
            series = [(bound.code, bound.of(element)) for bound in bounds]
            for step, stages in enumerate(system.graph.steps):
                for bound_code, values in series:
                    limits = [list(_by_block(values[stage])) for stage in stages]
                    for block, value in limits[0] if limits.count(limits[0]) == len(limits) else ():
                        yield code, element.id, step, block, bound_code, value


def _of_kinds(attribute: str, kinds: Collection[str]) -> list[Any]:
    """An attribute of the outputs of some kinds."""
    return [own for kind, own in collect("outputs", attribute).items() if kind in kinds]


def _merged(attribute: str, kinds: Collection[str] = KINDS) -> dict[str, Any]:
    """The entries that the outputs of some kinds have under a name, all together."""
    return {name: entry for own in _of_kinds(attribute, kinds) for name, entry in own.items()}


def _by_block(values: Any) -> Iterator[tuple[int | None, float]]:
    """The finite ones with their blocks; one without a block if all are the same."""
    numbers = np.atleast_1d(values).tolist()
    several = enumerate(numbers) if len(set(numbers)) > 1 else [(None, numbers[0])]
    for block, number in several:
        if np.isfinite(number):
            yield block, number


def _csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()
