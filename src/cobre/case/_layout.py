"""The files of a case folder: which there may be, which there must be, and what is in them."""

from __future__ import annotations

from cobre.case import _config, _constraints, _entities, _initial, _penalties, _production, _stages
from cobre.case import _scenario_files as _scenarios
from cobre.case._base import Document
from cobre.case._tables import Column, TableSpec, ids

REQUIRED: dict[str, type[Document]] = {
    "config.json": _config.Config,
    "penalties.json": _penalties.Penalties,
    "stages.json": _stages.Stages,
    "initial_conditions.json": _initial.InitialConditions,
    "system/buses.json": _entities.Buses,
    "system/lines.json": _entities.Lines,
    "system/hydros.json": _entities.Hydros,
    "system/thermals.json": _entities.Thermals,
}

OPTIONAL: dict[str, type[Document]] = {
    "system/non_controllable_sources.json": _entities.Sources,
    "system/pumping_stations.json": _entities.PumpingStations,
    "system/energy_contracts.json": _entities.Contracts,
    "system/hydro_production_models.json": _production.ProductionModels,
    "scenarios/load_factors.json": _scenarios.LoadFactors,
    "scenarios/non_controllable_factors.json": _scenarios.SourceFactors,
    "scenarios/correlation.json": _scenarios.CorrelationFile,
    "constraints/exchange_factors.json": _constraints.ExchangeFactors,
    "constraints/generic_constraints.json": _constraints.GenericConstraints,
}

DOCUMENTS: dict[str, type[Document]] = REQUIRED | OPTIONAL

#: Ids that may also be those of a stage before the study.
ANY_STAGE = "any stage"


def _by_stage(entity: str, of: str, *columns: Column, key: tuple[str, ...] = ()) -> TableSpec:
    """A table with rows by entity and stage."""
    return TableSpec((ids(entity, of), ids("stage_id", "stages"), *columns), (entity, "stage_id", *key))


def _bounds(*names: str) -> list[Column]:
    return [Column(name, required=False, low=0) for name in names]


def _costs(*names: str) -> list[Column]:
    return [Column(name, required=False, above=0) for name in names]


_HYDRO_COSTS = [
    name
    for name in _penalties.HydroOverrides.model_fields
    if not name.endswith(("_pos_cost", "_neg_cost", "fpha_turbined_cost", "inflow_nonnegativity_cost"))
]

TABLES: dict[str, TableSpec] = {
    "system/hydro_geometry.parquet": TableSpec(
        (
            ids("hydro_id", "hydros"),
            *(Column(name, low=0) for name in ("volume_hm3", "height_m", "area_km2")),
        ),
        ("hydro_id", "volume_hm3"),
    ),
    "system/fpha_hyperplanes.parquet": TableSpec(
        (
            ids("hydro_id", "hydros"),
            ids("stage_id", "stages", required=False),
            Column("plane_id", "id"),
            Column("gamma_0"),
            Column("gamma_v", low=0),
            Column("gamma_q", above=0),
            Column("gamma_s", high=0),
            Column("kappa", required=False, above=0, high=1),
            *(
                Column(name, required=False)
                for name in ("valid_v_min_hm3", "valid_v_max_hm3", "valid_q_max_m3s")
            ),
        ),
        ("hydro_id", "stage_id", "plane_id"),
    ),
    "scenarios/inflow_history.parquet": TableSpec(
        (ids("hydro_id", "hydros"), Column("date", "date"), Column("value_m3s")), ("hydro_id", "date")
    ),
    "scenarios/inflow_seasonal_stats.parquet": TableSpec(
        (
            ids("hydro_id", "hydros"),
            ids("stage_id", ANY_STAGE),
            Column("mean_m3s"),
            Column("std_m3s", low=0),
        ),
        ("hydro_id", "stage_id"),
    ),
    "scenarios/inflow_ar_coefficients.parquet": _by_stage(
        "hydro_id",
        "hydros",
        Column("lag", "id", low=1),
        Column("coefficient"),
        Column("residual_std_ratio", above=0, high=1),
        key=("lag",),
    ),
    "scenarios/external_inflow_scenarios.parquet": _by_stage(
        "hydro_id", "hydros", Column("scenario_id", "id", low=0), Column("value_m3s"), key=("scenario_id",)
    ),
    "scenarios/external_load_scenarios.parquet": _by_stage(
        "bus_id", "buses", Column("scenario_id", "id", low=0), Column("value_mw"), key=("scenario_id",)
    ),
    "scenarios/external_ncs_scenarios.parquet": _by_stage(
        "ncs_id", "sources", Column("scenario_id", "id", low=0), Column("value"), key=("scenario_id",)
    ),
    "scenarios/load_seasonal_stats.parquet": _by_stage(
        "bus_id", "buses", Column("mean_mw"), Column("std_mw", low=0)
    ),
    "scenarios/non_controllable_stats.parquet": _by_stage(
        "ncs_id", "sources", Column("mean", low=0, high=1), Column("std", low=0)
    ),
    "scenarios/noise_openings.parquet": TableSpec(
        (
            Column("stage_id", "id", low=0),
            Column("opening_index", "id", low=0),
            Column("entity_index", "id", low=0),
            Column("value"),
        ),
        ("stage_id", "opening_index", "entity_index"),
    ),
    "constraints/thermal_bounds.parquet": _by_stage(
        "thermal_id",
        "thermals",
        *_bounds("min_generation_mw", "max_generation_mw", "cost_per_mwh"),
        Column("block_id", "id", required=False, low=0),
        key=("block_id",),
    ),
    "constraints/hydro_bounds.parquet": _by_stage(
        "hydro_id",
        "hydros",
        *_bounds("min_turbined_m3s", "max_turbined_m3s", "min_storage_hm3", "max_storage_hm3"),
        *_bounds("min_outflow_m3s", "max_outflow_m3s", "min_generation_mw", "max_generation_mw"),
        *_bounds("max_diversion_m3s", "filling_inflow_m3s"),
        Column("water_withdrawal_m3s", required=False),  # negative where water is returned
    ),
    "constraints/line_bounds.parquet": _by_stage("line_id", "lines", *_bounds("direct_mw", "reverse_mw")),
    "constraints/pumping_bounds.parquet": _by_stage("station_id", "stations", *_bounds("min_m3s", "max_m3s")),
    "constraints/contract_bounds.parquet": _by_stage(
        "contract_id", "contracts", *_bounds("min_mw", "max_mw"), Column("price_per_mwh", required=False)
    ),
    "constraints/ncs_bounds.parquet": _by_stage(
        "ncs_id", "sources", Column("available_generation_mw", low=0)
    ),
    "constraints/generic_constraint_bounds.parquet": _by_stage(
        "constraint_id",
        "constraints",
        Column("block_id", "id", required=False, low=0),
        Column("bound"),
        key=("block_id",),
    ),
    "constraints/penalty_overrides_bus.parquet": _by_stage("bus_id", "buses", *_costs("excess_cost")),
    "constraints/penalty_overrides_line.parquet": _by_stage("line_id", "lines", *_costs("exchange_cost")),
    "constraints/penalty_overrides_hydro.parquet": _by_stage(
        "hydro_id",
        "hydros",
        *_costs(*_HYDRO_COSTS),
        Column("fpha_turbined_cost", required=False, low=0),
    ),
    "constraints/penalty_overrides_ncs.parquet": _by_stage(
        "source_id", "sources", *_costs("curtailment_cost")
    ),
}

#: Files of the format that cannot be used here yet, and what they would bring.
UNSUPPORTED = {
    "scenarios/inflow_annual_component.parquet": "inflow models with an annual component (PAR-A)",
}

FOLDERS = ("system", "scenarios", "constraints")
KNOWN = (*DOCUMENTS, *TABLES, *UNSUPPORTED)
