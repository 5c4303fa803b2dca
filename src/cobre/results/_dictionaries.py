"""Files that explain the others: codes, entities, columns, bounds and states."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from cobre.elements.bus.data import Bus
from cobre.elements.contract.data import Contract
from cobre.elements.hydro.data import Hydro
from cobre.elements.line.data import Line
from cobre.elements.non_controllable_source.data import NonControllableSource
from cobre.elements.pumping_station.data import PumpingStation
from cobre.elements.thermal.data import Thermal
from cobre.results._columns import TYPES, schema_of
from cobre.results._simulation_tables import SIMULATION
from cobre.results._training_tables import TRAINING
from cobre.system import System

#: What the codes in tables mean.
CODES = {
    "operative_state": {"0": "deactivated", "1": "maintenance", "2": "operating", "3": "saturated"},
    "storage_binding": {"0": "none", "1": "below_minimum", "2": "above_maximum", "3": "both"},
    "contract_type": {"0": "import", "1": "export"},
    "entity_type": {
        "0": "hydro",
        "1": "thermal",
        "2": "bus",
        "3": "line",
        "4": "pumping_station",
        "5": "contract",
        "7": "non_controllable",
    },
    "bound_type": {
        "0": "storage_min",
        "1": "storage_max",
        "2": "turbined_min",
        "3": "turbined_max",
        "4": "outflow_min",
        "5": "outflow_max",
        "6": "generation_min",
        "7": "generation_max",
        "8": "flow_min",
        "9": "flow_max",
    },
}

_KINDS = {label: int(code) for code, label in CODES["entity_type"].items()}
_BOUNDS = {label: int(code) for code, label in CODES["bound_type"].items()}

#: The bounds of each kind of entity, by the names of the numbers that have them.
_BOUNDED = {
    "hydro": {
        "storage_min": "min_storage_hm3",
        "storage_max": "max_storage_hm3",
        "turbined_min": "min_turbined_m3s",
        "turbined_max": "max_turbined_m3s",
        "outflow_min": "min_outflow_m3s",
        "outflow_max": "max_outflow_m3s",
        "generation_min": "min_generation_mw",
        "generation_max": "max_generation_mw",
    },
    "thermal": {"generation_min": "min_mw", "generation_max": "max_mw"},
    "pumping_station": {"flow_min": "min_m3s", "flow_max": "max_m3s"},
    "contract": {"flow_min": "min_mw", "flow_max": "max_mw"},
}


def entities(system: System) -> bytes:
    """The file ``entities.csv``."""
    rows = [
        (_KINDS[kind], entity.id, entity.name, entity.id if kind == "bus" else getattr(entity, "bus", -1), 0)
        for kind, several in _by_kind(system)
        for entity in several
    ]
    return _csv(("entity_type_code", "entity_id", "name", "bus_id", "system_id"), rows)


def stages(system: System) -> bytes:
    """The file ``stages.csv``, by which the numbers of stages become dates."""
    rows = [(number, stage.start, stage.end, stage.season) for number, stage in enumerate(system.stages)]
    return _csv(("stage_id", "start_date", "end_date", "season_id"), rows)


def variables() -> bytes:
    """The file ``variables.csv``."""
    rows = [
        (
            table,
            column.name,
            str(TYPES[column.type]),
            str(column.nullable).lower(),
            column.unit,
            column.meaning,
        )
        for table, columns in {**SIMULATION, **TRAINING}.items()
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
    storage, lags = [], []
    for place, name in enumerate(names):
        kind, hydro, *lag = name.split(":")
        if kind == "storage":
            storage.append({"hydro_id": int(hydro), "dimension_index": place, "unit": "hm3"})
        else:
            entry = {
                "hydro_id": int(hydro),
                "lag_index": int(lag[0]),
                "dimension_index": place,
                "unit": "m3s",
            }
            lags.append(entry)
    return {
        "version": "1.0",
        "state_dimension": len(names),
        "storage_states": storage,
        "inflow_lag_states": lags,
    }


def _by_kind(system: System) -> Iterator[tuple[str, Sequence[Any]]]:
    yield "hydro", system.of(Hydro)
    yield "thermal", system.of(Thermal)
    yield "bus", system.of(Bus)
    yield "line", system.of(Line)
    yield "pumping_station", system.of(PumpingStation)
    yield "contract", system.of(Contract)
    yield "non_controllable", system.of(NonControllableSource)


def _bound_rows(system: System) -> Iterator[tuple[int, int, int, int | None, int, float]]:
    """Limits of plants, lines, stations and contracts; what is infinite is left out, as in the format."""
    for kind, several in _by_kind(system):
        for entity in several:
            for stage in range(len(system.stages)):
                for bound, values in _bounds_of(kind, entity, stage):
                    for block, value in _by_block(values):
                        yield _KINDS[kind], entity.id, stage, block, _BOUNDS[bound], value


def _bounds_of(kind: str, entity: Any, stage: int) -> Iterator[tuple[str, Any]]:
    if kind == "line":
        yield "flow_min", -entity.reverse_mw[stage]
        yield "flow_max", entity.direct_mw[stage]
    for bound, name in _BOUNDED.get(kind, {}).items():
        yield bound, getattr(entity, name)[stage]


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
