"""Files of hydro plants: tables with their columns, and bounds by stage."""

from __future__ import annotations

import numpy as np

from cobre.elements.hydro.inputs.models import HydroInput, HydroOverrides, ProductionModels
from cobre.inputs.bounds import BoundsTable
from cobre.inputs.kind import JsonFile
from cobre.inputs.tables import (
    ANY_STAGE,
    SCENARIO,
    STAGE,
    ColumnSpec,
    TableFile,
    bounds,
    by_stage,
    costs,
    ids,
)

INITIAL = "initial_conditions.json"
_HYDRO = ids("hydro_id", "hydro")

PRODUCTION = JsonFile(
    "system/hydro_production_models.json", "how plants turn water into power, by stage", ProductionModels
)
GEOMETRY = TableFile(
    "system/hydro_geometry.parquet",
    "volume, height and area of reservoirs",
    (_HYDRO, *(ColumnSpec(name, low=0) for name in ("volume_hm3", "height_m", "area_km2"))),
    ("hydro_id", "volume_hm3"),
)
PLANES = TableFile(
    "system/fpha_hyperplanes.parquet",
    "production functions as planes",
    (
        _HYDRO,
        ids("stage_id", STAGE, required=False),
        ColumnSpec("plane_id", "id"),
        ColumnSpec("gamma_0"),
        ColumnSpec("gamma_v", low=0),
        ColumnSpec("gamma_q", above=0),
        ColumnSpec("gamma_s", high=0),
        ColumnSpec("kappa", required=False, above=0, high=1),
        ColumnSpec("valid_v_min_hm3", required=False),
        ColumnSpec("valid_v_max_hm3", required=False),
        ColumnSpec("valid_q_max_m3s", required=False),
    ),
    ("hydro_id", "stage_id", "plane_id"),
)
HISTORY = TableFile(
    "scenarios/inflow_history.parquet",
    "inflows of the past",
    (_HYDRO, ColumnSpec("date", "date"), ColumnSpec("value_m3s")),
    ("hydro_id", "date"),
)
STATISTICS = TableFile(
    "scenarios/inflow_seasonal_stats.parquet",
    "mean and deviation of inflows by stage",
    (_HYDRO, ids("stage_id", ANY_STAGE), ColumnSpec("mean_m3s"), ColumnSpec("std_m3s", low=0)),
    ("hydro_id", "stage_id"),
)
COEFFICIENTS = TableFile(
    "scenarios/inflow_ar_coefficients.parquet",
    "how inflows depend on those before",
    (
        _HYDRO,
        ids("stage_id", ANY_STAGE),
        ColumnSpec("lag", "id", low=1),
        ColumnSpec("coefficient"),
        ColumnSpec("residual_std_ratio", above=0, high=1),
    ),
    ("hydro_id", "stage_id", "lag"),
)
ANNUAL = TableFile(
    "scenarios/inflow_annual_component.parquet",
    "how inflows depend on the mean of the past year",
    (
        _HYDRO,
        ids("stage_id", ANY_STAGE),
        ColumnSpec("annual_coefficient"),
        ColumnSpec("annual_mean_m3s"),
        ColumnSpec("annual_std_m3s", above=0),
    ),
    ("hydro_id", "stage_id"),
)
SCENARIOS = by_stage(
    "scenarios/external_inflow_scenarios.parquet",
    "inflow scenarios of your own",
    _HYDRO,
    SCENARIO,
    ColumnSpec("value_m3s"),
    key="scenario_id",
)
_COSTS_BY_STAGE = [
    name
    for name in HydroOverrides.model_fields
    if not name.endswith(("_pos_cost", "_neg_cost", "fpha_turbined_cost", "inflow_nonnegativity_cost"))
]
PENALTIES = by_stage(
    "constraints/penalty_overrides_hydro.parquet",
    "penalties of hydro plants by stage",
    _HYDRO,
    *costs(*_COSTS_BY_STAGE),
    ColumnSpec("fpha_turbined_cost", required=False, low=0),
)


def _own_bounds(hydro: HydroInput) -> dict[str, float]:
    limit = hydro.outflow.max_outflow_m3s
    return {
        "min_storage_hm3": hydro.reservoir.min_storage_hm3,
        "max_storage_hm3": hydro.reservoir.max_storage_hm3,
        "min_outflow_m3s": hydro.outflow.min_outflow_m3s,
        "max_outflow_m3s": np.inf if limit is None else limit,
        "min_turbined_m3s": hydro.generation.min_turbined_m3s,
        "max_turbined_m3s": hydro.generation.max_turbined_m3s,
        "min_generation_mw": hydro.generation.min_generation_mw,
        "max_generation_mw": hydro.generation.max_generation_mw,
        "max_diversion_m3s": hydro.diversion.max_flow_m3s if hydro.diversion else 0.0,
        "water_withdrawal_m3s": 0.0,
        "filling_inflow_m3s": hydro.filling.filling_inflow_m3s if hydro.filling else 0.0,
    }


BOUNDS = BoundsTable(
    by_stage(
        "constraints/hydro_bounds.parquet",
        "limits of hydro plants by stage",
        _HYDRO,
        *bounds("min_turbined_m3s", "max_turbined_m3s", "min_storage_hm3", "max_storage_hm3"),
        *bounds("min_outflow_m3s", "max_outflow_m3s", "min_generation_mw", "max_generation_mw"),
        *bounds("max_diversion_m3s", "filling_inflow_m3s"),
        ColumnSpec("water_withdrawal_m3s", required=False),  # negative where water is returned
    ),
    _own_bounds,
    (
        ("min_storage_hm3", "max_storage_hm3"),
        ("min_outflow_m3s", "max_outflow_m3s"),
        ("min_turbined_m3s", "max_turbined_m3s"),
        ("min_generation_mw", "max_generation_mw"),
    ),
)
