"""The scenarios and constraints of the case that is right."""

from typing import Any

Files = dict[str, Any]


def scenarios() -> Files:
    noise = [(place, opening, entity) for place in range(3) for opening in range(2) for entity in range(4)]
    return {
        "scenarios/inflow_seasonal_stats.parquet": {
            "hydro_id": [0, 0, 0, 0, 1, 1, 1],
            "stage_id": [-1, 0, 1, 2, 0, 1, 2],
            "mean_m3s": [50.0, 40.0, 30.0, 20.0, 4.0, 3.0, 2.0],
            "std_m3s": [10.0, 8.0, 6.0, 4.0, 1.0, 1.0, 1.0],
        },
        "scenarios/inflow_ar_coefficients.parquet": {
            "hydro_id": [0, 0, 0],
            "stage_id": [0, 1, 2],
            "lag": [1, 1, 1],
            "coefficient": [0.5, 0.5, 0.5],
            "residual_std_ratio": [0.9, 0.9, 0.9],
        },
        "scenarios/load_seasonal_stats.parquet": {
            "bus_id": [0, 0, 0, 1, 1, 1],
            "stage_id": [0, 1, 2, 0, 1, 2],
            "mean_mw": [60.0, 61.0, 62.0, 30.0, 31.0, 32.0],
            "std_mw": [0.0, 0.0, 0.0, 3.0, 0.0, 3.0],
        },
        "scenarios/non_controllable_stats.parquet": {
            "ncs_id": [0, 0, 0],
            "stage_id": [0, 1, 2],
            "mean": [0.5, 0.6, 0.7],
            "std": [0.1, 0.1, 0.1],
        },
        "scenarios/noise_openings.parquet": {
            "stage_id": [place for place, _, _ in noise],
            "opening_index": [opening for _, opening, _ in noise],
            "entity_index": [entity for _, _, entity in noise],
            "value": [100.0 * place + 10 * opening + entity for place, opening, entity in noise],
        },
        "scenarios/load_factors.json": {
            "load_factors": [{"bus_id": 0, "stage_id": 1, "block_factors": [{"block_id": 1, "factor": 0.8}]}]
        },
        "scenarios/non_controllable_factors.json": {
            "non_controllable_factors": [
                {"ncs_id": 0, "stage_id": 0, "block_factors": [{"block_id": 0, "factor": 0.0}]}
            ]
        },
        "scenarios/correlation.json": {
            "method": "cholesky",
            "profiles": {
                "default": {
                    "correlation_groups": [
                        {
                            "name": "all",
                            "entities": [{"type": "inflow", "id": 0}, {"type": "inflow", "id": 1}],
                            "matrix": [[1.0, 0.5], [0.5, 1.0]],
                        }
                    ]
                }
            },
        },
    }


def constraints() -> Files:
    return {
        "constraints/thermal_bounds.parquet": {
            "thermal_id": [0],
            "stage_id": [1],
            "min_generation_mw": [5.0],
            "max_generation_mw": [None],
        },
        "constraints/hydro_bounds.parquet": {
            "hydro_id": [1, 1],
            "stage_id": [0, 2],
            "max_storage_hm3": [100.0, None],
            "water_withdrawal_m3s": [None, 1.5],
        },
        "constraints/line_bounds.parquet": {"line_id": [0], "stage_id": [2], "direct_mw": [20.0]},
        "constraints/pumping_bounds.parquet": {"station_id": [0], "stage_id": [2], "max_m3s": [1.0]},
        "constraints/battery_bounds.parquet": {"battery_id": [2], "stage_id": [1], "energy_mwh": [300.0]},
        "constraints/contract_bounds.parquet": {
            "contract_id": [0],
            "stage_id": [0],
            "price_per_mwh": [65.0],
        },
        "constraints/ncs_bounds.parquet": {"ncs_id": [0], "stage_id": [1], "available_generation_mw": [18.0]},
        "constraints/exchange_factors.json": {
            "exchange_factors": [
                {
                    "line_id": 0,
                    "stage_id": 2,
                    "block_factors": [{"block_id": 0, "direct_factor": 0.5, "reverse_factor": 1.0}],
                }
            ]
        },
        "constraints/generic_constraints.json": {
            "constraints": [
                {
                    "id": 1,
                    "name": "cap",
                    "expression": "thermal_generation(0) - 0.5 * line_direct(0, 1)",
                    "sense": "<=",
                    "slack": {"enabled": True, "penalty": 5000.0},
                }
            ]
        },
        "constraints/generic_constraint_bounds.parquet": {
            "constraint_id": [1, 1],
            "stage_id": [0, 2],
            "block_id": [None, 1],
            "bound": [70.0, 60.0],
        },
        "constraints/penalty_overrides_hydro.parquet": {
            "hydro_id": [0],
            "stage_id": [2],
            "spillage_cost": [0.03],
            "evaporation_violation_cost": [3000.0],
        },
        "constraints/penalty_overrides_bus.parquet": {"bus_id": [0], "stage_id": [1], "excess_cost": [90.0]},
        "constraints/penalty_overrides_line.parquet": {
            "line_id": [0],
            "stage_id": [1],
            "exchange_cost": [1.5],
        },
        "constraints/penalty_overrides_ncs.parquet": {
            "source_id": [0],
            "stage_id": [2],
            "curtailment_cost": [0.5],
        },
    }
