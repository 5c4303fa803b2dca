"""``system/hydro_production_models.json``: which generation model a plant has when."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cobre.case._base import Document, Id, Number, Positive, Strict

Model = Literal["constant_productivity", "linearized_head", "fpha"]


class FittingWindow(Strict):
    """The volumes for which planes are fitted."""

    volume_min_hm3: Number | None = None
    volume_max_hm3: Number | None = None
    volume_min_percentile: Number | None = None
    volume_max_percentile: Number | None = None


class FphaConfig(Strict):
    """How planes are found."""

    source: Literal["precomputed", "computed"]
    volume_discretization_points: Id | None = None
    turbine_discretization_points: Id | None = None
    spillage_discretization_points: Id | None = None
    max_planes_per_hydro: Id | None = None
    fitting_window: FittingWindow | None = None


class ModelChoice(Strict):
    """A model, and its productivity where that differs from the plant's own."""

    model: Model
    fpha_config: FphaConfig | None = None
    productivity_override: Positive | None = None


class StageRange(ModelChoice):
    """From one stage to another, both included, or to the end."""

    start_stage_id: Id
    end_stage_id: Id | None = None


class SeasonChoice(ModelChoice):
    """In a season."""

    season_id: Id


class ByStageRanges(Strict):
    """The first range that has the stage decides."""

    hydro_id: Id
    selection_mode: Literal["stage_ranges"]
    stage_ranges: list[StageRange]


class BySeason(Strict):
    """The season of the stage decides."""

    hydro_id: Id
    selection_mode: Literal["seasonal"]
    default_model: Model
    seasons: list[SeasonChoice]


ProductionModel = Annotated[ByStageRanges | BySeason, Field(discriminator="selection_mode")]


class ProductionModels(Document):
    """The whole file."""

    production_models: list[ProductionModel]


def choice(model: ByStageRanges | BySeason, stage_id: int, season: int) -> ModelChoice | None:
    """What a plant has in a stage; None for what its own entry says."""
    if isinstance(model, ByStageRanges):
        for entry in model.stage_ranges:
            last = stage_id if entry.end_stage_id is None else entry.end_stage_id
            if entry.start_stage_id <= stage_id <= last:
                return entry
        return None
    found = [entry for entry in model.seasons if entry.season_id == season]
    return found[0] if found else ModelChoice(model=model.default_model)
