"""The files of a case as they were read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, Self, TypeVar, cast

from cobre.inputs.config import Config
from cobre.inputs.kind import FactorsFile, KindInputs
from cobre.inputs.models import AnyDocument, AnyNamed, AnyStrict, Document
from cobre.inputs.stages import Stages
from cobre.inputs.tables import STAGE, Table, TableFile
from cobre.inputs.timeline import Factors, Overrides, StageTimeline


class Derivation(Protocol):
    """A class whose instances are made of all files, at a cost: `CaseFiles.derived` makes one."""

    @classmethod
    def of(cls, files: CaseFiles) -> Self:
        """Return the instance."""


Derived = TypeVar("Derived", bound=Derivation)


@dataclass
class CaseFiles:
    """The files of a case: documents and tables by name.

    A file that is not there is in neither; one that is wrong is None. Wrong entries of a document are left
    out of it, and their ids kept, None for one that nobody can know.
    """

    kinds: Mapping[str, KindInputs]
    documents: dict[str, Document | None] = field(default_factory=dict)
    tables: dict[str, Table | None] = field(default_factory=dict)
    left_out: dict[str, set[int | None]] = field(default_factory=dict)
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    def document(self, file: str, model: type[AnyDocument]) -> AnyDocument | None:
        """Return a document, if it is there and right."""
        found = self.documents.get(file)
        return found if isinstance(found, model) else None

    def table(self, file: TableFile) -> Table | None:
        """Return a table, if it is there and right."""
        return self.tables.get(file.name)

    def has(self, file: TableFile) -> bool:
        """Return whether a table is there, right or wrong."""
        return file.name in self.tables

    def overrides(self, file: TableFile) -> Overrides:
        """Return the numbers that a table has for some stages of some elements."""
        return Overrides(self.timeline, self.table(file), file.columns[0].name)

    def factors(self, given: FactorsFile, name: str = "factor") -> Factors:
        """Return the factors by block that a file has, by element and stage."""
        if (given, name) not in self._cache:
            self._cache[given, name] = {
                (getattr(entry, given.key), entry.stage_id): {
                    block.block_id: getattr(block, name) for block in entry.block_factors
                }
                for entry in self.entries(given)
            }
        return cast(Factors, self._cache[given, name])

    def entries(self, given: FactorsFile) -> list[Any]:
        """Return the entries of a file of factors; none if it is not there, or wrong."""
        found = self.document(given.file.name, given.file.model)
        return cast(list[Any], getattr(found, given.entries)) if found else []

    @property
    def config(self) -> Config | None:
        """``config.json``, if it is right."""
        return self.document("config.json", Config)

    @property
    def stages(self) -> Stages | None:
        """``stages.json``, if it is right."""
        return self.document("stages.json", Stages)

    def is_complete(self, file: str) -> bool:
        """Return whether a document is right in all its entries, so that missing ones can be reported."""
        return self.documents.get(file) is not None and not self.left_out.get(file)

    @property
    def has_stages(self) -> bool:
        """True if there is a `timeline`: ``stages.json`` is valid, and has stages."""
        return self.stages is not None and bool(self.stages.stages)

    @cached_property
    def timeline(self) -> StageTimeline:
        """The stages in order.

        Raises:
            LookupError: there are none.
        """
        if self.stages is None or not self.stages.stages:
            raise LookupError("stages.json")
        return StageTimeline.of(self.stages)

    def derived(self, result: type[Derived]) -> Derived:
        """Return the instance of a class that is made of these files; it is made once."""
        if result not in self._cache:
            self._cache[result] = result.of(self)
        return cast(Derived, self._cache[result])

    @property
    def has_penalties(self) -> bool:
        """True if ``penalties.json`` exists and is valid."""
        return self.documents.get("penalties.json") is not None

    def penalties(self, section: type[AnyStrict]) -> AnyStrict:
        """Return a section of ``penalties.json``.

        Raises:
            LookupError: the file is not there, or wrong.
        """
        found = self.documents.get("penalties.json")
        for name, kind in self.kinds.items():
            if found is not None and kind.penalties is section:
                return cast(AnyStrict, getattr(found, name))
        raise LookupError("penalties.json")

    def initial(self, sections: type[AnyStrict]) -> AnyStrict | None:
        """Return ``initial_conditions.json``, of which a kind knows its own sections, if it is right."""
        found: object = self.documents.get("initial_conditions.json")
        return found if isinstance(found, sections) else None

    def of(self, element: type[AnyNamed]) -> list[AnyNamed]:
        """Return all elements of a kind, by the model of one, sorted by id."""
        for name, kind in self.kinds.items():
            if kind.element is element:
                return cast(list[AnyNamed], self.elements(name))
        raise LookupError(element.__name__)

    def elements(self, kind: str) -> list[Any]:
        """Return all elements of a kind, by its name, sorted by id."""
        inputs = self.kinds[kind]
        found = self.documents.get(inputs.file)
        elements = getattr(found, inputs.entries) if found is not None else []
        return sorted(elements, key=lambda element: element.id)

    def ids(self, kind: str) -> set[int] | None:
        """Return the ids of all elements of a kind, or of stages, wrong ones included.

        None if nobody can know them, because a file is wrong or missing.
        """
        file = self.file_of(kind)
        if kind == STAGE:
            known = {stage.id for stage in self.stages.stages} if self.stages else None
        elif self._is_unknown(kind):
            known = None
        else:
            known = {element.id for element in self.elements(kind)}
        left_out = self.left_out.get(file, set())
        if known is None or None in left_out:
            return None
        return known | {one for one in left_out if one is not None}

    def _is_unknown(self, kind: str) -> bool:
        """True if the file of a kind is wrong, or missing where there must be one."""
        file = self.kinds[kind].files[0]
        if file.name not in self.documents:
            return bool(getattr(file, "required", False))
        return self.documents[file.name] is None

    def file_of(self, kind: str) -> str:
        """Return the file that has the elements of a kind, or the stages."""
        return "stages.json" if kind == STAGE else self.kinds[kind].file

    def noun(self, kind: str) -> str:
        """Return what findings call an element of a kind, or a stage."""
        return "stage" if kind == STAGE else self.kinds[kind].noun
