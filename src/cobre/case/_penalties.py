"""``penalties.json``: what it costs to do what should not be done, where nothing more particular is said."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cobre.case._base import Document, NonNegative, Positive, Strict


class DeficitSegment(Strict):
    """A part of the load that may go unserved; the last one has no depth."""

    depth_mw: Positive | None = None
    cost: Positive


class BusPenalties(Strict):
    """At a bus."""

    deficit_segments: Annotated[list[DeficitSegment], Field(min_length=1)]
    excess_cost: Positive


class LinePenalties(Strict):
    """On a line."""

    exchange_cost: Positive


class SourcePenalties(Strict):
    """Of a non-controllable source."""

    curtailment_cost: Positive


class HydroOverrides(Strict):
    """At one hydro plant; what is not given is as in ``penalties.json``."""

    spillage_cost: Positive | None = None
    fpha_turbined_cost: NonNegative | None = None
    diversion_cost: Positive | None = None
    storage_violation_below_cost: Positive | None = None
    filling_target_violation_cost: Positive | None = None
    turbined_violation_below_cost: Positive | None = None
    outflow_violation_below_cost: Positive | None = None
    outflow_violation_above_cost: Positive | None = None
    generation_violation_below_cost: Positive | None = None
    evaporation_violation_cost: Positive | None = None
    evaporation_violation_pos_cost: Positive | None = None
    evaporation_violation_neg_cost: Positive | None = None
    water_withdrawal_violation_cost: Positive | None = None
    water_withdrawal_violation_pos_cost: Positive | None = None
    water_withdrawal_violation_neg_cost: Positive | None = None
    inflow_nonnegativity_cost: NonNegative | None = None


class HydroDefaults(Strict):
    """At all hydro plants."""

    spillage_cost: Positive
    fpha_turbined_cost: NonNegative
    diversion_cost: Positive
    storage_violation_below_cost: Positive
    filling_target_violation_cost: Positive
    turbined_violation_below_cost: Positive
    outflow_violation_below_cost: Positive
    outflow_violation_above_cost: Positive
    generation_violation_below_cost: Positive
    evaporation_violation_cost: Positive
    evaporation_violation_pos_cost: Positive | None = None
    evaporation_violation_neg_cost: Positive | None = None
    water_withdrawal_violation_cost: Positive
    water_withdrawal_violation_pos_cost: Positive | None = None
    water_withdrawal_violation_neg_cost: Positive | None = None
    inflow_nonnegativity_cost: NonNegative | None = None


class Penalties(Document):
    """The whole file."""

    bus: BusPenalties
    line: LinePenalties
    hydro: HydroDefaults
    non_controllable_source: SourcePenalties
    version: str | None = None
