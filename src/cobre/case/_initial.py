"""``initial_conditions.json``: the system when the study begins."""

from __future__ import annotations

from datetime import date

from pydantic import Field

from cobre.case._base import Document, Id, Index, NonNegative, Number, Strict


class Storage(Strict):
    """The volume of a reservoir."""

    hydro_id: Id
    value_hm3: NonNegative


class PastInflows(Strict):
    """Inflows before the study, the latest first."""

    hydro_id: Id
    values_m3s: list[Number]
    season_ids: list[Index] | None = None


class Observation(Strict):
    """The mean inflow of some days of a season that has begun before the study."""

    hydro_id: Id
    start_date: date
    end_date: date
    value_m3s: NonNegative


class InitialConditions(Document):
    """The whole file."""

    storage: list[Storage]
    filling_storage: list[Storage]
    past_inflows: list[PastInflows] = Field(default_factory=list)
    recent_observations: list[Observation] = Field(default_factory=list)
