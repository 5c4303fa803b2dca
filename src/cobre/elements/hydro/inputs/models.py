"""Models of the JSON of hydro plants: plants, generation models, penalties and initial conditions."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from cobre.inputs.models import Document, Id, Index, InService, NonNegative, Number, Positive, Strict

Twelve = Annotated[list[Number], Field(min_length=12, max_length=12)]


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


class Reservoir(Strict):
    """Bounds."""

    min_storage_hm3: NonNegative
    max_storage_hm3: NonNegative


class Outflow(Strict):
    """Bounds; without an upper one there is none."""

    min_outflow_m3s: NonNegative
    max_outflow_m3s: NonNegative | None = None


class TurbineBounds(Strict):
    """Bounds of all generation models."""

    min_turbined_m3s: NonNegative
    max_turbined_m3s: NonNegative
    min_generation_mw: NonNegative
    max_generation_mw: NonNegative


class ConstantProductivity(TurbineBounds):
    """Power is proportional to the flow."""

    model: Literal["constant_productivity"]
    productivity_mw_per_m3s: NonNegative


class LinearizedHead(TurbineBounds):
    """Power is proportional to the flow, at a head that may differ by stage."""

    model: Literal["linearized_head"]
    productivity_mw_per_m3s: NonNegative


class Fpha(TurbineBounds):
    """Power is below planes in volume, flow and spillage."""

    model: Literal["fpha"]


Generation = Annotated[ConstantProductivity | LinearizedHead | Fpha, Field(discriminator="model")]


class PolynomialTailrace(Strict):
    """The level below the plant as a polynomial of the outflow."""

    type: Literal["polynomial"]
    coefficients: list[Number]


class TailracePoint(Strict):
    """The level at an outflow."""

    outflow_m3s: Number
    height_m: Number


class PiecewiseTailrace(Strict):
    """The level below the plant between points."""

    type: Literal["piecewise"]
    points: list[TailracePoint]


class LossFactor(Strict):
    """A share of the head."""

    type: Literal["factor"]
    value: Number


class ConstantLoss(Strict):
    """So many metres."""

    type: Literal["constant"]
    value_m: Number


class Efficiency(Strict):
    """Of the turbines."""

    type: Literal["constant"]
    value: Number


class EvaporationInput(Strict, title="Evaporation"):
    """Millimetres a month, from January to December."""

    coefficients_mm: Twelve
    reference_volumes_hm3: Twelve | None = None


class Diversion(Strict):
    """A channel to another plant."""

    downstream_id: Id
    max_flow_m3s: NonNegative


class FillingInput(Strict, title="Filling"):
    """A new reservoir, filled for the first time."""

    start_stage_id: Id
    filling_inflow_m3s: NonNegative = 0.0


class HydroInput(InService, title="Hydro"):
    """A reservoir and its turbines."""

    bus_id: Id
    downstream_id: Id | None = None
    reservoir: Reservoir
    outflow: Outflow
    generation: Generation
    tailrace: Annotated[PolynomialTailrace | PiecewiseTailrace, Field(discriminator="type")] | None = None
    hydraulic_losses: Annotated[LossFactor | ConstantLoss, Field(discriminator="type")] | None = None
    efficiency: Efficiency | None = None
    evaporation: EvaporationInput | None = None
    diversion: Diversion | None = None
    filling: FillingInput | None = None
    penalties: HydroOverrides | None = None


class Hydros(Document):
    """The whole file."""

    hydros: list[HydroInput]


Model = Literal["constant_productivity", "linearized_head", "fpha"]


class FittingWindow(Strict):
    """The volumes for which planes are fitted."""

    volume_min_hm3: Number | None = None
    volume_max_hm3: Number | None = None
    volume_min_percentile: Number | None = None
    volume_max_percentile: Number | None = None


class FphaConfig(Strict):
    """Source and fitting settings of the planes of a production function (FPHA)."""

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


class HydroInitialConditions(Strict):
    """Volumes when the study begins, and inflows before it."""

    storage: list[Storage]
    filling_storage: list[Storage]
    past_inflows: list[PastInflows] = Field(default_factory=list)
    recent_observations: list[Observation] = Field(default_factory=list)
