"""The inputs of an element kind, as its ``inputs.py`` and ``findings.py`` declare them.

A declaration needs no code elsewhere: files are known, described and read, and have schemas; ids and bounds
are checked; elements are resolved and put into the system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from cobre.inputs.models import Document, Named, Strict
from cobre.inputs.tables import TableFile

if TYPE_CHECKING:
    from cobre.inputs.bounds import BoundsTable
    from cobre.inputs.files import CaseFiles
    from cobre.inputs.findings import Report


@dataclass(frozen=True)
class JsonFile:
    """A JSON file: its description in a line, and its model."""

    name: str
    description: str
    model: type[Document]
    required: bool = False


@dataclass(frozen=True)
class FactorsFile:
    """The JSON file that has factors by stage and block: its list, and the field with the element's id.

    Entries of the list have ``stage_id`` and ``block_factors``, and those ``block_id``.
    """

    file: JsonFile
    entries: str
    key: str


@dataclass(frozen=True)
class NoiseInputs:
    """Inputs of the noise of a kind of element; its ``noise.py`` has the name.

    Attributes:
        scenarios: the table of given scenarios.
        value: its column of values.
        random: the ids of the elements that have noise, ascending; None if the files that say so are wrong.
        history: the table of observations, where trajectories can be taken from one.
    """

    scenarios: TableFile
    value: str
    random: Callable[[CaseFiles], list[int] | None]
    history: TableFile | None = None

    @property
    def key(self) -> str:
        """The column of the elements' ids."""
        return self.scenarios.columns[0].name


class Reference(NamedTuple):
    """A field of a file that names an element of a kind, or a stage."""

    file: str
    entity: str
    field: str
    kind: str
    id: int


class Repeated(NamedTuple):
    """Ids of a file of which none may appear twice."""

    file: str
    subject: str
    ids: Iterable[int | tuple[int, int]]


@dataclass(frozen=True, kw_only=True, eq=False)
class KindInputs:
    """The inputs of an element kind.

    Attributes:
        rank: the place of its files among those of other kinds, in listings and while reading.
        noun: an element of it in findings, as in ``hydro 3``.
        element: the model of an element.
        entries: the list of elements in the first of its files.
        files: the file of elements, then all others.
        resolve: an element as frozen data, called for files without errors.
        references: by a field of ``element``, the kind that its id is of; dots lead into an object.
        bounds: the table of bounds by stage; its file need not be in ``files``.
        factors: the file of factors by block; likewise.
        noise: what is random about it; likewise.
        penalties: the model of its section in ``penalties.json``, which is called as the kind is.
        initial: its sections of ``initial_conditions.json``, as the fields of a model.
    """

    rank: int
    noun: str
    element: type[Named]
    entries: str
    files: tuple[JsonFile | TableFile, ...]
    resolve: Callable[[CaseFiles, Any], Any]
    references: Mapping[str, str] = field(default_factory=dict)
    bounds: BoundsTable | None = None
    factors: FactorsFile | None = None
    noise: NoiseInputs | None = None
    penalties: type[Strict] | None = None
    initial: type[Strict] | None = None

    @property
    def file(self) -> str:
        """The file of elements."""
        return self.files[0].name

    @property
    def all_files(self) -> tuple[JsonFile | TableFile, ...]:
        """All files of the kind."""
        return (
            *self.files,
            *([self.factors.file] if self.factors else ()),
            *([self.noise.scenarios] if self.noise else ()),
            *([self.bounds.table] if self.bounds else ()),
        )

    def name(self, element: int) -> str:
        """Return an element as findings call it."""
        return f"{self.noun} {element}"


def no_references(_files: CaseFiles) -> Iterator[Reference]:
    """Yield nothing: no other fields than those declared name anything."""
    yield from ()


def nothing_repeated(_files: CaseFiles) -> Iterator[Repeated]:
    """Yield nothing: no other lists than that of the elements have ids."""
    yield from ()


def no_check(_files: CaseFiles, _report: Report) -> None:
    """Report nothing."""


@dataclass(frozen=True, kw_only=True, eq=False)
class KindFindings:
    """The checks of an element kind, beyond those that follow from its `KindInputs`.

    Attributes:
        references: fields that name something, beyond those of the elements themselves.
        repeated: lists in which no id may appear twice, beyond that of the elements.
        amounts: whether there is as much data as elements, stages and blocks need; the stages are right.
        meaning: whether the numbers make sense; the stages may be wrong.
        unsupported: what cannot be used yet.
    """

    references: Callable[[CaseFiles], Iterator[Reference]] = no_references
    repeated: Callable[[CaseFiles], Iterator[Repeated]] = nothing_repeated
    amounts: Callable[[CaseFiles, Report], None] = no_check
    meaning: Callable[[CaseFiles, Report], None] = no_check
    unsupported: Callable[[CaseFiles, Report], None] = no_check
