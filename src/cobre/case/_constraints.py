"""``constraints/*.json``: linear constraints that the user writes, and factors of line capacities."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from cobre.case._base import Document, Id, Index, Named, NonNegative, Positive, Strict


class Slack(Strict):
    """Whether the constraint may be violated, and at what cost."""

    enabled: bool
    penalty: Positive | None = None

    @model_validator(mode="after")
    def _has_a_cost(self) -> Slack:
        if self.enabled and self.penalty is None:
            raise ValueError("a slack that is enabled needs a penalty")
        return self


class Constraint(Named):
    """``expression sense bound``; the bounds are in a table of their own."""

    description: str | None = None
    expression: str
    sense: Literal["<=", ">=", "=="]
    slack: Slack


class GenericConstraints(Document):
    """The whole file."""

    constraints: list[Constraint]


class BlockExchangeFactor(Strict):
    """For a block."""

    block_id: Index
    direct_factor: NonNegative
    reverse_factor: NonNegative


class ExchangeFactor(Strict):
    """For a line in a stage."""

    line_id: Id
    stage_id: Id
    block_factors: list[BlockExchangeFactor]


class ExchangeFactors(Document):
    """The whole file."""

    exchange_factors: list[ExchangeFactor]
