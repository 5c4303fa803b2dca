"""A case that is right and has a little of everything, as Python dicts."""

from typing import Any

from tests.case.valid_data import constraints, scenarios

Files = dict[str, Any]


def stage(number: int, start: str, end: str, hours: tuple[float, ...] = (400.0, 344.0)) -> dict[str, Any]:
    blocks = [{"id": block, "name": f"B{block}", "hours": length} for block, length in enumerate(hours)]
    return {
        "id": number,
        "start_date": start,
        "end_date": end,
        "season_id": number,
        "blocks": blocks,
        "num_scenarios": 2,
        "state_variables": {"storage": True, "inflow_lags": True},
    }


def hydro(number: int, downstream: int | None, **more: Any) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"H{number}",
        "bus_id": 0,
        "downstream_id": downstream,
        "reservoir": {"min_storage_hm3": 10.0, "max_storage_hm3": 110.0},
        "outflow": {"min_outflow_m3s": 0.0, "max_outflow_m3s": None},
        "generation": {
            "model": "constant_productivity",
            "productivity_mw_per_m3s": 0.8,
            "min_turbined_m3s": 0.0,
            "max_turbined_m3s": 60.0,
            "min_generation_mw": 0.0,
            "max_generation_mw": 48.0,
        },
        **more,
    }


def _root() -> Files:
    return {
        "config.json": {
            "$schema": "https://example.org/config.schema.json",
            "training": {
                "tree_seed": -7,
                "forward_passes": 2,
                "stopping_rules": [{"type": "iteration_limit", "limit": 10}],
            },
            "modeling": {"inflow_non_negativity": {"method": "truncation"}},
        },
        "penalties.json": {
            "bus": {
                "deficit_segments": [{"depth_mw": 50.0, "cost": 1000.0}, {"depth_mw": None, "cost": 5000.0}],
                "excess_cost": 100.0,
            },
            "line": {"exchange_cost": 2.0},
            "hydro": {
                "spillage_cost": 0.01,
                "fpha_turbined_cost": 0.05,
                "diversion_cost": 0.1,
                "storage_violation_below_cost": 10000.0,
                "filling_target_violation_cost": 50000.0,
                "turbined_violation_below_cost": 500.0,
                "outflow_violation_below_cost": 510.0,
                "outflow_violation_above_cost": 520.0,
                "generation_violation_below_cost": 1000.0,
                "evaporation_violation_cost": 5000.0,
                "water_withdrawal_violation_cost": 1100.0,
            },
            "non_controllable_source": {"curtailment_cost": 0.005},
        },
        "stages.json": {
            "policy_graph": {
                "type": "finite_horizon",
                "annual_discount_rate": 0.12,
                "transitions": [
                    {"source_id": 0, "target_id": 1, "probability": 1.0},
                    {
                        "source_id": 1,
                        "target_id": 2,
                        "probability": 1.0,
                        "annual_discount_rate_override": 0.0,
                    },
                ],
            },
            "stages": [
                stage(0, "2024-01-01", "2024-02-01"),
                stage(1, "2024-02-01", "2024-03-01", (400.0, 296.0)),
                stage(2, "2024-03-01", "2024-04-01"),
            ],
            "pre_study_stages": [
                {"id": -1, "start_date": "2023-12-01", "end_date": "2024-01-01", "season_id": 11}
            ],
        },
        "initial_conditions.json": {
            "storage": [{"hydro_id": 0, "value_hm3": 60.0}, {"hydro_id": 1, "value_hm3": 50.0}],
            "filling_storage": [],
            "past_inflows": [{"hydro_id": 0, "values_m3s": [45.0]}],
            "gnl_pipeline": [{"thermal_id": 1, "stage_offset": 1, "committed_mw": 20.0}],
        },
    }


def _system() -> Files:
    return {
        "system/buses.json": {
            "buses": [
                {"id": 0, "name": "North"},
                {"id": 1, "name": "South", "deficit_segments": [{"depth_mw": None, "cost": 3000.0}]},
            ]
        },
        "system/lines.json": {
            "lines": [
                {
                    "id": 0,
                    "name": "N-S",
                    "source_bus_id": 0,
                    "target_bus_id": 1,
                    "entry_stage_id": 1,
                    "capacity": {"direct_mw": 40.0, "reverse_mw": 30.0},
                    "losses_percent": 2.0,
                }
            ]
        },
        "system/hydros.json": {
            "hydros": [
                hydro(
                    0,
                    1,
                    penalties={"spillage_cost": 0.02, "evaporation_violation_cost": 4000.0},
                    evaporation={"coefficients_mm": [31.0] * 12},
                    diversion={"downstream_id": 1, "max_flow_m3s": 5.0},
                ),
                hydro(1, None),
            ]
        },
        "system/thermals.json": {
            "thermals": [
                {
                    "id": number,
                    "name": f"T{number}",
                    "bus_id": number,
                    "cost_per_mwh": 50.0 + number,
                    "generation": {"min_mw": 0.0, "max_mw": 80.0},
                    "gnl_config": gnl,
                }
                for number, gnl in enumerate((None, {"lag_stages": 1}))
            ]
        },
        "system/non_controllable_sources.json": {
            "non_controllable_sources": [
                {"id": 0, "name": "Wind", "bus_id": 1, "max_generation_mw": 20.0, "exit_stage_id": 2},
                {"id": 4, "name": "Sun", "bus_id": 0, "max_generation_mw": 10.0, "curtailment_cost": 0.25},
            ]
        },
        "system/pumping_stations.json": {
            "pumping_stations": [
                {
                    "id": 0,
                    "name": "P0",
                    "bus_id": 0,
                    "source_hydro_id": 1,
                    "destination_hydro_id": 0,
                    "consumption_mw_per_m3s": 1.1,
                    "flow": {"min_m3s": 0.0, "max_m3s": 3.0},
                }
            ]
        },
        "system/energy_contracts.json": {
            "contracts": [
                {
                    "id": 0,
                    "name": "C0",
                    "bus_id": 1,
                    "type": "import",
                    "price_per_mwh": 70.0,
                    "limits": {"min_mw": 0.0, "max_mw": 15.0},
                }
            ]
        },
        "system/batteries.json": {
            "batteries": [
                {
                    "id": 2,
                    "name": "B2",
                    "bus_id": 1,
                    "exit_stage_id": 2,
                    "capacity": {"energy_mwh": 400.0, "charge_mw": 10.0, "discharge_mw": 12.0},
                    "efficiency": {"charge": 0.9, "discharge": 0.95},
                    "self_discharge_per_hour": 0.0002,
                    "initial_energy_mwh": 100.0,
                    "costs": {"discharge_per_mwh": 1.5},
                }
            ]
        },
        "system/hydro_production_models.json": {
            "production_models": [
                {
                    "hydro_id": 1,
                    "selection_mode": "stage_ranges",
                    "stage_ranges": [
                        {
                            "start_stage_id": 1,
                            "end_stage_id": None,
                            "model": "constant_productivity",
                            "productivity_override": 0.75,
                        }
                    ],
                }
            ]
        },
        "system/hydro_geometry.parquet": {
            "hydro_id": [0, 0, 0],
            "volume_hm3": [0.0, 60.0, 120.0],
            "height_m": [10.0, 20.0, 25.0],
            "area_km2": [2.0, 8.0, 11.0],
        },
    }


def valid() -> Files:
    """A case that is right."""
    return {**_root(), **_system(), **scenarios(), **constraints()}
