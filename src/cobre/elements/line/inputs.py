"""Inputs of transmission lines: ``system/lines.json``, capacities by stage and block, exchange costs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cobre.elements.line import labels
from cobre.elements.line.data import Line
from cobre.inputs.bounds import BoundsTable
from cobre.inputs.files import CaseFiles
from cobre.inputs.kind import FactorsFile, JsonFile, KindInputs
from cobre.inputs.models import Document, Id, Index, InService, NonNegative, Positive, Strict
from cobre.inputs.tables import bounds, by_stage, costs, ids
from cobre.inputs.timeline import scaled


class LineCapacity(Strict):
    """By direction."""

    direct_mw: NonNegative
    reverse_mw: NonNegative


class LineInput(InService, title="Line"):
    """Carries power between two buses."""

    source_bus_id: Id
    target_bus_id: Id
    capacity: LineCapacity
    exchange_cost: Positive | None = None
    losses_percent: Annotated[float, Field(ge=0, lt=100)] = 0.0


class Lines(Document):
    """The whole file."""

    lines: list[LineInput]


class LinePenalties(Strict):
    """On a line."""

    exchange_cost: Positive


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


_LINE = ids("line_id", "line")
FACTORS = FactorsFile(
    JsonFile("constraints/exchange_factors.json", "capacities of lines by block", ExchangeFactors),
    "exchange_factors",
    "line_id",
)
BOUNDS = BoundsTable(
    by_stage(
        "constraints/line_bounds.parquet",
        "capacities of lines by stage",
        _LINE,
        *bounds("direct_mw", "reverse_mw"),
    ),
    lambda line: {"direct_mw": line.capacity.direct_mw, "reverse_mw": line.capacity.reverse_mw},
)
PENALTIES = by_stage(
    "constraints/penalty_overrides_line.parquet",
    "penalties of lines by stage",
    _LINE,
    *costs("exchange_cost"),
)


def resolve(files: CaseFiles, line: LineInput) -> Line:
    """Return a line as resolved data."""
    capacity = BOUNDS.in_service(files, line)
    direct, reverse = (
        scaled(
            capacity[f"{way}_mw"],
            files.timeline.factors(line.id, files.factors(FACTORS, f"{way}_factor")),
        )
        for way in ("direct", "reverse")
    )
    general = files.penalties(LinePenalties).exchange_cost
    cost = general if line.exchange_cost is None else line.exchange_cost
    return Line(
        line.id,
        line.name,
        line.source_bus_id,
        line.target_bus_id,
        direct,
        reverse,
        files.overrides(PENALTIES).over(line.id, "exchange_cost", cost),
        1 - line.losses_percent / 100,
    )


INPUTS = KindInputs(
    rank=1,
    noun="line",
    element=LineInput,
    entries="lines",
    files=(JsonFile(labels.FILE, "what connects the buses", Lines, required=True), PENALTIES),
    resolve=resolve,
    references={"source_bus_id": "bus", "target_bus_id": "bus"},
    bounds=BOUNDS,
    factors=FACTORS,
    penalties=LinePenalties,
)
