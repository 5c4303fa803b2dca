"""Base classes and number types of the models of JSON files."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field

#: Ids are 32 bits wide in the Parquet files, so they are here too.
Id = Annotated[int, Field(ge=-(2**31), lt=2**31)]
Count = Annotated[int, Field(ge=1, lt=2**32)]
Index = Annotated[int, Field(ge=0, lt=2**32)]
Number = float
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]


class Strict(BaseModel):
    """Base of all models: unknown fields are errors, nothing is converted, nothing changes."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, populate_by_name=True
    )


class Document(Strict):
    """A whole file. It may name its schema for editors, which has no other effect."""

    schema_: str | None = Field(default=None, alias="$schema")


class Named(Strict):
    """An element or constraint: an id, unique in its file, and a name for people."""

    id: Id
    name: str


class InService(Named):
    """An element in service from its entry stage on and until its exit stage begins."""

    entry_stage_id: Id | None = None
    exit_stage_id: Id | None = None

    def serves(self, stage_id: int) -> bool:
        """Return whether it is in service in a stage."""
        entered = self.entry_stage_id is None or self.entry_stage_id <= stage_id
        return entered and (self.exit_stage_id is None or stage_id < self.exit_stage_id)


AnyDocument = TypeVar("AnyDocument", bound=Document)
AnyStrict = TypeVar("AnyStrict", bound=Strict)
AnyNamed = TypeVar("AnyNamed", bound=Named)
