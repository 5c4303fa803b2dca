"""Where figures take their numbers from: a folder, or the tables of a training that wrote none."""

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

from cobre.elements import by_entity_code
from cobre.elements import labels as element_labels
from cobre.errors import ResultsError
from cobre.results import Results, read

#: What figures can be drawn from: what was read, a folder, or the tables of a training by their names.
Source = Results | str | os.PathLike[str] | Mapping[str, pa.Table]

T = TypeVar("T")
P = ParamSpec("P")

#: The names of kinds by their codes in ``entities.csv``.
KINDS = {code: element_labels(kind).NAME for code, kind in by_entity_code().items()}


class Entity(NamedTuple):
    """A plant, bus, ...: its name, and the bus it is at, -1 for none."""

    name: str
    bus: int


class Period(NamedTuple):
    """The days of a stage: its first, and the one after its last."""

    start: date
    end: date

    @property
    def label(self) -> str:
        """In words, as short as its length allows."""
        days = (self.end - self.start).days
        return f"{self.start:%b %Y}" if days >= 28 else f"{self.start.day} {self.start:%b %Y}"


@dataclass(frozen=True, eq=False)
class _InMemory(Results):
    """The tables of a training that wrote no folder."""

    tables_by_name: Mapping[str, pa.Table] = field(default_factory=dict)

    def table(self, name: str) -> pa.Table:
        if name not in self.tables_by_name:
            raise ResultsError("this training", "missing", f"it has no table {name!r}")
        return self.tables_by_name[name]


def opened(source: Source) -> Results:
    """Return the results of a source. A run that is under way, or has failed, has figures, too.

    Raises:
        ResultsError: the folder is no result.
    """
    if isinstance(source, Results):
        return source
    if isinstance(source, Mapping):
        return _InMemory(Path(), {}, {}, None, source)
    return read(source, partial=True)


def remembered(
    function: Callable[Concatenate[Results, P], T],
) -> Callable[Concatenate[Results, P], T]:
    """Make a function of results compute each answer once, for as long as the results are held."""
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
    """All entities by kind and id; nothing if the folder has no dictionary, as of a simulation alone."""
    found: dict[str, dict[int, Entity]] = {kind: {} for kind in KINDS.values()}
    for row in _dictionary(results, "entities.csv"):
        kind = KINDS.get(int(row["entity_type_code"]))
        if kind:
            found[kind][int(row["entity_id"])] = Entity(row["name"], int(row["bus_id"]))
    return found


@remembered
def calendar(results: Results) -> tuple[Period, ...]:
    """The days of each stage; nothing if the folder does not tell."""
    rows = _dictionary(results, "stages.csv")
    return tuple(
        Period(date.fromisoformat(row["start_date"]), date.fromisoformat(row["end_date"])) for row in rows
    )


def label_of(results: Results, stage: int) -> str:
    """A stage in words: its month if that is known, else its number."""
    periods = calendar(results)
    return periods[stage].label if stage < len(periods) else f"stage {stage}"


def labels(results: Results, kind: str, ids: Sequence[int]) -> dict[int | None, str]:
    """What entities are called, by their ids; no two alike."""
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
