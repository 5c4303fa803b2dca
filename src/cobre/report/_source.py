"""Sources of figures, a result folder or the tables of a training, and names of entities and stages."""

from __future__ import annotations

import csv
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import pyarrow as pa  # type: ignore[import-untyped]

from cobre.elements import KINDS, by_entity_code
from cobre.elements import labels as element_labels
from cobre.errors import ResultsError
from cobre.results import POLICY_STAGE, Results, read

#: Results that were read, a result folder, or the tables of a training by name.
Source = Results | str | os.PathLike[str] | Mapping[str, pa.Table]

T = TypeVar("T")
P = ParamSpec("P")

#: Names of kinds by their codes in ``entities.csv``.
NAMES = {code: element_labels(kind).NAME for code, kind in by_entity_code().items()}


class Generator(NamedTuple):
    """Kind of generating plant: its name, its simulation table, and its label in the generation mix."""

    name: str
    table: str
    label: str


GENERATORS = tuple(
    Generator(kind.NAME, kind.TABLE, label)
    for kind in map(element_labels, KINDS)
    if kind.TABLE
    for _, column, _, label, _ in kind.POWER_BALANCE
    if column == "generation_mwh"
)


class Entity(NamedTuple):
    """Name of a plant, bus, ..., and the id of its bus, -1 for none."""

    name: str
    bus: int


class Period(NamedTuple):
    """Calendar period of a stage: its first day, and the day after its last."""

    start: date
    end: date

    @property
    def label(self) -> str:
        """Month of the period, or its first day if it is shorter than a month."""
        days = (self.end - self.start).days
        return f"{self.start:%b %Y}" if days >= 28 else f"{self.start.day} {self.start:%b %Y}"


@dataclass(frozen=True, eq=False)
class _InMemory(Results):
    """Tables of a training that wrote no folder."""

    tables_by_name: Mapping[str, pa.Table] = field(default_factory=dict)

    def table(self, name: str) -> pa.Table:
        if name not in self.tables_by_name:
            raise ResultsError("this training", "missing", f"it has no table {name!r}")
        return self.tables_by_name[name]


def opened(source: Source) -> Results:
    """Return the results of a source; the run may be unfinished or failed.

    Raises:
        ResultsError: the folder is not a result folder.
    """
    if isinstance(source, Results):
        return source
    if isinstance(source, Mapping):
        return _InMemory(Path(), {}, {}, None, source)
    return read(source, partial=True)


def remembered(
    function: Callable[Concatenate[Results, P], T],
) -> Callable[Concatenate[Results, P], T]:
    """Cache a function of results for the lifetime of the results."""
    known: WeakKeyDictionary[Results, dict[Any, T]] = WeakKeyDictionary()

    @functools.wraps(function)
    def remembering(results: Results, /, *args: P.args, **kwargs: P.kwargs) -> T:
        answers = known.setdefault(results, {})
        key = (args, tuple(sorted(kwargs.items())))
        if key not in answers:
            answers[key] = function(results, *args, **kwargs)
        return answers[key]

    return remembering


@remembered
def entities(results: Results) -> dict[str, dict[int, Entity]]:
    """Entities by kind and id; empty without dictionaries, as for a simulation alone."""
    found: dict[str, dict[int, Entity]] = {kind: {} for kind in NAMES.values()}
    for row in _dictionary(results, "entities.csv"):
        kind = NAMES.get(int(row["entity_type_code"]))
        if kind:
            found[kind][int(row["entity_id"])] = Entity(row["name"], int(row["bus_id"]))
    return found


@remembered
def calendar(results: Results) -> tuple[Period, ...]:
    """Calendar periods of the stages; empty if the folder has none."""
    rows = _dictionary(results, "stages.csv")
    if not all(row["start_date"] for row in rows):
        return ()
    return tuple(
        Period(date.fromisoformat(row["start_date"]), date.fromisoformat(row["end_date"])) for row in rows
    )


def first_steps(results: Results, nodes: Sequence[str]) -> dict[str, int]:
    """Stage of a trajectory in which all of them are first in a node of the policy, by the node's name.

    Without nodes in which only some of them are.
    """
    rows = _dictionary(results, "stages.csv")
    if not rows or POLICY_STAGE.name not in rows[0]:
        return {node: step for step, node in enumerate(nodes)}
    steps = {row[POLICY_STAGE.name]: int(row["stage_id"]) for row in reversed(rows)}
    return {node: steps[node] for node in nodes if node in steps}


def label_of(results: Results, stage: int) -> str:
    """Name of a stage: its month if known, else its number."""
    periods = calendar(results)
    return periods[stage].label if stage < len(periods) else f"stage {stage}"


def labels(results: Results, kind: str, ids: Sequence[int]) -> dict[int | None, str]:
    """Unique names of entities by id."""
    known = entities(results)[kind]
    names = {id_: known[id_].name if id_ in known else f"{kind.replace('_', ' ')} {id_}" for id_ in ids}
    several = {name for name in names.values() if list(names.values()).count(name) > 1}
    return {id_: f"{name} ({id_})" if name in several else name for id_, name in names.items()}


def _dictionary(results: Results, name: str) -> list[dict[str, str]]:
    path = results.folder / "training" / "dictionaries" / name
    if isinstance(results, _InMemory) or not path.exists():
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except (OSError, ValueError) as error:
        raise ResultsError(
            str(path), "damaged", f"it cannot be read ({error}); run the case again"
        ) from error
