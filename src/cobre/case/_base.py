"""What the models of all JSON files have in common."""

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
    """Knows all its fields, converts nothing, and does not change."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, populate_by_name=True
    )


class Document(Strict):
    """A whole file. It may name its schema for editors, which is of no consequence."""

    schema_: str | None = Field(default=None, alias="$schema")


class Named(Strict):
    """Something with an id, unique in its file, and a name for people."""

    id: Id
    name: str


class InService(Named):
    """Something that exists from its entry stage on and until its exit stage begins."""

    entry_stage_id: Id | None = None
    exit_stage_id: Id | None = None

    def serves(self, stage_id: int) -> bool:
        """Whether it exists in a stage."""
        entered = self.entry_stage_id is None or self.entry_stage_id <= stage_id
        return entered and (self.exit_stage_id is None or stage_id < self.exit_stage_id)


AnyDocument = TypeVar("AnyDocument", bound=Document)
