"""The kinds of elements: the only list of them.

A part of a kind is imported when it is asked for, so who asks for labels and outputs alone, as
``cobre report`` does, loads neither the LP nor pydantic.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from cobre.system import System

if TYPE_CHECKING:
    from cobre.inputs.kind import KindFindings, KindInputs

#: Kinds beyond those of the first format. The dictionaries of results describe one only where the case has
#: elements of it, so those of other cases stay what they are.
ADDED = ("battery",)

#: In the order of output tables, of noise and of states, which files and policies depend on.
KINDS = (
    "hydro",
    "thermal",
    "line",
    "bus",
    "pumping_station",
    "contract",
    "non_controllable_source",
    "generic_constraint",
    *ADDED,
)


class Labels(Protocol):
    """The content of a kind's ``labels.py``.

    Attributes:
        SINGULAR: for people.
        PLURAL: for people.
        NAME: as ``codes.json`` and the options of figures call it.
        KEY: as the counts of a case's summary call it.
        ENTITY_CODE: in ``entities.csv``; None for what is not listed there.
        IN_METADATA: whether ``metadata.json`` counts its elements.
        FILE: its file in a case folder.
        TABLE: its table in the results of a simulation; None without one by element.
        ID_COLUMN: the column of its tables that says which element a row is about.
        POWER_BALANCE: its parts of the power balance in figures: place in the stack, column of ``TABLE``,
            sign, label, and which colour of the theme.
    """

    SINGULAR: str
    PLURAL: str
    NAME: str
    KEY: str
    ENTITY_CODE: int | None
    IN_METADATA: bool
    FILE: str
    TABLE: str | None
    ID_COLUMN: str
    POWER_BALANCE: tuple[tuple[int, str, int, str, int], ...]


@cache
def part(kind: str, name: str) -> Any:
    """Return a module of a kind's package, or None if the kind has no such part.

    >>> part("bus", "labels").PLURAL
    'buses'
    """
    module = f"cobre.elements.{kind}.{name}"
    return import_module(module) if find_spec(module) else None


@cache
def collect(name: str, attribute: str) -> dict[str, Any]:
    """Return an attribute of one part of all kinds that have it, by kind.

    >>> collect("noise", "CLASS")
    {'hydro': 'inflow', 'bus': 'load', 'non_controllable_source': 'ncs'}
    """
    parts = {kind: part(kind, name) for kind in KINDS}
    return {kind: getattr(one, attribute) for kind, one in parts.items() if hasattr(one, attribute)}


def labels(kind: str) -> Labels:
    """Return names and codes of a kind."""
    found: Labels = part(kind, "labels")
    return found


@cache
def data_class(kind: str) -> type[Any]:
    """Return the class of a kind's elements, which is called as the kind is.

    >>> data_class("pumping_station").__name__
    'PumpingStation'
    """
    found: type[Any] = getattr(part(kind, "data"), kind.title().replace("_", ""))
    return found


def elements_of(system: System, kind: str) -> tuple[Any, ...]:
    """Return all elements of a kind, sorted by id."""
    return system.of(data_class(kind))


def described(system: System) -> tuple[str, ...]:
    """Return the kinds that the dictionaries of a system's results describe."""
    return tuple(kind for kind in KINDS if kind not in ADDED or elements_of(system, kind))


def by_entity_code() -> dict[int, str]:
    """Return the kinds that ``entities.csv`` lists, by their codes in ascending order."""
    codes = {labels(kind).ENTITY_CODE: kind for kind in KINDS}
    return {code: codes[code] for code in sorted(code for code in codes if code is not None)}


def inputs(kind: str) -> KindInputs:
    """Return the files of a kind, and how they become its data."""
    found: KindInputs = part(kind, "inputs").INPUTS
    return found


def findings(kind: str) -> KindFindings | None:
    """Return the checks of a kind; None if it needs none but those that follow from its inputs."""
    module = part(kind, "findings")
    found: KindFindings | None = module.FINDINGS if module else None
    return found
