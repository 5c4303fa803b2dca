"""Makes the case folders beside it, in ``cases``: always the same files.

    python examples/make_cases.py [folder]

Every number is ours: invented, and of the size of real ones. What is random in the cases, the openings, comes
from `cobre.stochastic.openings`, whose bits depend on nothing but the seed.
"""

from __future__ import annotations

import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cobre.stochastic import Correlation, openings

Files = dict[str, Any]
#: hm³ that 1 m³/s makes in an hour.
HM3 = 3600 / 1e6


def month(number: int) -> date:
    """The first day of a month, counted from January 2026."""
    return date(2026 + number // 12, number % 12 + 1, 1)


def stage(number: int, openings: int, shares: dict[str, float], **more: Any) -> dict[str, Any]:
    """A month whose hours are shared among blocks."""
    hours = 24 * (month(number + 1) - month(number)).days
    return {
        "id": number,
        "start_date": month(number).isoformat(),
        "end_date": month(number + 1).isoformat(),
        "season_id": number % 12,
        "blocks": [
            {"id": k, "name": name, "hours": round(share * hours, 6)}
            for k, (name, share) in enumerate(shares.items())
        ],
        "num_scenarios": openings,
        **more,
    }


def graph(stages: int, rate: float) -> dict[str, Any]:
    """One stage after the other."""
    steps = [{"source_id": t, "target_id": t + 1, "probability": 1.0} for t in range(stages - 1)]
    return {"type": "finite_horizon", "annual_discount_rate": rate, "transitions": steps}


def config(
    passes: int,
    limit: int,
    scenarios: int,
    *,
    stall: tuple[int, float] | None = None,
    penalty: float = 6000.0,
) -> Files:
    """How to train, how many scenarios to simulate; a negative inflow costs more than water saves."""
    rules: list[dict[str, Any]] = [{"type": "iteration_limit", "limit": limit}]
    if stall:
        rules.append({"type": "bound_stalling", "iterations": stall[0], "tolerance": stall[1]})
    return {
        "training": {"tree_seed": 1, "forward_passes": passes, "stopping_rules": rules},
        "simulation": {"enabled": True, "num_scenarios": scenarios},
        "modeling": {"inflow_non_negativity": {"method": "penalty", "penalty_cost": penalty}},
    }


def penalties(
    deficit: list[tuple[float | None, float]], *, outflow: float = 800.0, evaporation: float = 6000.0
) -> Files:
    """What it costs to do what should not be done: more than thermal power, less than the last deficit."""
    return {
        "bus": {
            "deficit_segments": [{"depth_mw": depth, "cost": cost} for depth, cost in deficit],
            "excess_cost": 0.1,
        },
        "line": {"exchange_cost": 0.5},
        "hydro": {
            "spillage_cost": 0.01,
            "fpha_turbined_cost": 0.05,
            "diversion_cost": 0.02,
            "storage_violation_below_cost": 50000.0,
            "filling_target_violation_cost": 50000.0,
            "turbined_violation_below_cost": 700.0,
            "outflow_violation_below_cost": outflow,
            "outflow_violation_above_cost": outflow,
            "generation_violation_below_cost": 900.0,
            "evaporation_violation_cost": evaporation,
            "water_withdrawal_violation_cost": 2500.0,
        },
        "non_controllable_source": {"curtailment_cost": 0.005},
    }


def thermal(number: int, name: str, bus: int, bounds: tuple[float, float], cost: float) -> dict[str, Any]:
    """A thermal plant: least and most power."""
    generation = {"min_mw": bounds[0], "max_mw": bounds[1]}
    return {"id": number, "name": name, "bus_id": bus, "cost_per_mwh": cost, "generation": generation}


def hydro(
    number: int, name: str, bus: int, volumes: tuple[float, float], turbines: tuple[float, float], **more: Any
) -> dict[str, Any]:
    """A hydro plant: least and most volume, most flow and MW for 1 m³/s."""
    least, most = volumes
    flow, power = turbines
    return {
        "id": number,
        "name": name,
        "bus_id": bus,
        "downstream_id": more.pop("downstream", None),
        "reservoir": {"min_storage_hm3": least, "max_storage_hm3": most},
        "outflow": {"min_outflow_m3s": more.pop("min_outflow", 0.0), "max_outflow_m3s": None},
        "generation": {
            "model": "constant_productivity",
            "productivity_mw_per_m3s": power,
            "min_turbined_m3s": 0.0,
            "max_turbined_m3s": flow,
            "min_generation_mw": 0.0,
            "max_generation_mw": round(flow * power, 3),
        },
        **more,
    }


def line(number: int, ends: tuple[int, int], direct: float, reverse: float, **more: Any) -> dict[str, Any]:
    """A line between two buses."""
    capacity = {"direct_mw": direct, "reverse_mw": reverse}
    name = f"line {number}"
    return {
        "id": number,
        "name": name,
        "source_bus_id": ends[0],
        "target_bus_id": ends[1],
        "capacity": capacity,
        **more,
    }


def table(columns: str, rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """Columns, named in a string, of rows."""
    return {name: [row[i] for row in rows] for i, name in enumerate(columns.split())}


def noise(
    seed: int, count: int, stages: int, dimension: int, correlation: Correlation | None = None
) -> Files:
    """Openings as a table; four digits are enough, and read well."""
    drawn = openings(
        seed, range(stages), [count] * stages, dimension, [correlation] * stages if correlation else None
    )
    rows = [
        (t, k, i, float(round(value, 4)))
        for t, values in enumerate(drawn)
        for (k, i), value in np.ndenumerate(values)
    ]
    return table("stage_id opening_index entity_index value", rows)


def seasonal(mean: float, swing: float, peak: int, number: int) -> float:
    """A number that goes up and down with the months and is highest in month ``peak``."""
    return round(mean * (1 + swing * float(np.cos(2 * np.pi * (number - peak) / 12))), 1)


def factors(kind: str, stages: int, shapes: dict[int, tuple[float, ...]]) -> list[dict[str, Any]]:
    """Block factors of entities, the same in all stages."""
    return [
        {
            f"{kind}_id": entity,
            "stage_id": t,
            "block_factors": [{"block_id": k, "factor": value} for k, value in enumerate(shape)],
        }
        for entity, shape in shapes.items()
        for t in range(stages)
    ]


def one_reservoir() -> Files:
    """A reservoir, three thermal plants, twelve months."""
    stages = 12
    return {
        "config.json": config(4, 150, 200),
        "penalties.json": penalties([(None, 2000.0)]),
        "stages.json": {
            "policy_graph": graph(stages, 0.0),
            "stages": [stage(t, 10, {"all": 1.0}) for t in range(stages)],
        },
        "initial_conditions.json": {
            "storage": [{"hydro_id": 0, "value_hm3": 500.0}],
            "filling_storage": [],
        },
        "system/buses.json": {"buses": [{"id": 0, "name": "city"}]},
        "system/lines.json": {"lines": []},
        "system/hydros.json": {"hydros": [hydro(0, "lake", 0, (0.0, 1000.0), (180.0, 0.9))]},
        "system/thermals.json": {
            "thermals": [
                thermal(0, "coal", 0, (10.0, 60.0), 45.0),
                thermal(1, "gas", 0, (0.0, 50.0), 110.0),
                thermal(2, "diesel", 0, (0.0, 40.0), 450.0),
            ]
        },
        "scenarios/inflow_seasonal_stats.parquet": table(
            "hydro_id stage_id mean_m3s std_m3s",
            [(0, t, seasonal(95, 0.55, 1, t), seasonal(24, 0.55, 1, t)) for t in range(stages)],
        ),
        "scenarios/load_seasonal_stats.parquet": table(
            "bus_id stage_id mean_mw std_mw", [(0, t, seasonal(170, 0.06, 0, t), 0.0) for t in range(stages)]
        ),
        "scenarios/noise_openings.parquet": noise(11, 10, stages, 1),
    }


def cascade() -> Files:
    """Five plants on a river, three buses, and a little of everything else."""
    stages = 12
    shares = {"peak": 0.15, "day": 0.5, "night": 0.35}
    evaporation = {
        "coefficients_mm": [95.0, 90.0, 80.0, 60.0, 45.0, 35.0, 35.0, 45.0, 60.0, 75.0, 85.0, 95.0]
    }
    channel = {"downstream_id": 2, "max_flow_m3s": 20.0}
    inflows = {0: (60.0, 0.5), 1: (12.0, 0.4), 2: (25.0, 0.5), 3: (18.0, 0.3), 4: (6.0, 0.2)}
    correlation = Correlation({"rain": ([0, 1, 2, 3, 4], 0.4 * np.eye(5) + 0.6)})
    return {
        "config.json": config(4, 150, 200),
        "penalties.json": penalties([(15.0, 800.0), (None, 3000.0)], evaporation=2900.0),
        "stages.json": {
            "policy_graph": graph(stages, 0.08),
            "stages": [stage(t, 8, shares) for t in range(stages)],
        },
        "initial_conditions.json": {
            "storage": [
                {"hydro_id": i, "value_hm3": volume}
                for i, volume in enumerate((420.0, 8.0, 90.0, 400.0, 5.0))
            ],
            "filling_storage": [],
        },
        "system/buses.json": {
            "buses": [{"id": i, "name": name} for i, name in enumerate(("mountains", "town", "coast"))]
        },
        "system/lines.json": {
            "lines": [
                line(0, (0, 1), 160.0, 60.0, losses_percent=2.0),
                line(1, (1, 2), 70.0, 70.0, losses_percent=3.5, exchange_cost=1.5),
            ]
        },
        "system/hydros.json": {
            "hydros": [
                hydro(0, "spring", 0, (0.0, 800.0), (110.0, 0.85), downstream=1, min_outflow=15.0),
                hydro(1, "gorge", 0, (0.0, 16.0), (120.0, 0.4), downstream=3, diversion=channel),
                hydro(2, "side lake", 1, (0.0, 250.0), (60.0, 0.7), downstream=3),
                hydro(3, "plain", 1, (0.0, 900.0), (150.0, 0.35), downstream=4, evaporation=evaporation),
                hydro(4, "mouth", 2, (0.0, 10.0), (210.0, 0.2), min_outflow=40.0),
            ]
        },
        "system/hydro_geometry.parquet": table(
            "hydro_id volume_hm3 height_m area_km2",
            [
                (3, 0.0, 210.0, 12.0),
                (3, 300.0, 222.0, 40.0),
                (3, 600.0, 229.0, 58.0),
                (3, 900.0, 234.0, 70.0),
            ],
        ),
        "system/thermals.json": {
            "thermals": [
                thermal(0, "coal", 1, (15.0, 60.0), 48.0),
                thermal(1, "gas", 2, (0.0, 70.0), 105.0),
                thermal(2, "old gas", 1, (0.0, 40.0), 180.0),
                thermal(3, "diesel", 2, (0.0, 25.0), 420.0),
            ]
        },
        "system/non_controllable_sources.json": {
            "non_controllable_sources": [
                {"id": 0, "name": "wind", "bus_id": 2, "max_generation_mw": 90.0, "curtailment_cost": 0.2}
            ]
        },
        "system/pumping_stations.json": {
            "pumping_stations": [
                {
                    "id": 0,
                    "name": "plain to side lake",
                    "bus_id": 1,
                    "source_hydro_id": 3,
                    "destination_hydro_id": 2,
                    "consumption_mw_per_m3s": 0.72,
                    "flow": {"min_m3s": 2.0, "max_m3s": 18.0},
                }
            ]
        },
        "system/energy_contracts.json": {
            "contracts": [
                {
                    "id": 0,
                    "name": "neighbour",
                    "bus_id": 2,
                    "type": "import",
                    "price_per_mwh": 140.0,
                    "limits": {"min_mw": 0.0, "max_mw": 30.0},
                }
            ]
        },
        "scenarios/inflow_seasonal_stats.parquet": table(
            "hydro_id stage_id mean_m3s std_m3s",
            [
                (i, t, seasonal(mean, swing, 3, t), seasonal(0.3 * mean, swing, 3, t))
                for i, (mean, swing) in inflows.items()
                for t in range(stages)
            ],
        ),
        "scenarios/load_seasonal_stats.parquet": table(
            "bus_id stage_id mean_mw std_mw",
            [
                (bus, t, seasonal(mean, 0.08, 0, t), 0.0)
                for bus, mean in enumerate((30.0, 150.0, 115.0))
                for t in range(stages)
            ],
        ),
        "scenarios/load_factors.json": {
            "load_factors": factors("bus", stages, {1: (1.25, 1.08, 0.78), 2: (1.18, 1.05, 0.85)})
        },
        "scenarios/non_controllable_stats.parquet": table(
            "ncs_id stage_id mean std",
            [(0, t, round(seasonal(38, 0.3, 7, t) / 100, 4), 0.12) for t in range(stages)],
        ),
        "scenarios/non_controllable_factors.json": {
            "non_controllable_factors": factors("ncs", stages, {0: (0.9, 0.95, 1.12)})
        },
        "scenarios/noise_openings.parquet": noise(12, 8, stages, 6, correlation),
        "constraints/hydro_bounds.parquet": table(
            "hydro_id stage_id water_withdrawal_m3s",
            [(2, t, 3.0 if t in (4, 5, 6, 7) else 1.0) for t in range(stages)],
        ),
        "constraints/generic_constraints.json": {
            "constraints": [
                {
                    "id": 0,
                    "name": "something runs at the coast in the peak",
                    "expression": "thermal_generation(1) + thermal_generation(3) + contract_import(0)",
                    "sense": ">=",
                    "slack": {"enabled": True, "penalty": 600.0},
                }
            ]
        },
        "constraints/generic_constraint_bounds.parquet": table(
            "constraint_id stage_id block_id bound", [(0, t, 0, 20.0) for t in range(stages)]
        ),
    }


#: Name, volume in hm³, turbines in m³/s, MW for 1 m³/s, least outflow, initial volume, coefficients of the
#: lags, standard deviation as a share of the mean.
RESERVOIRS = (
    ("southeast", 102600.0, 9040.0, 5.2, 0.0, 58000.0, (0.5, 0.15), 0.18),
    ("south", 11900.0, 3180.0, 4.4, 0.0, 6500.0, (0.45,), 0.3),
    ("northeast", 54100.0, 4200.0, 2.5, 800.0, 26000.0, (0.55, 0.15), 0.22),
    ("north", 31300.0, 9600.0, 1.3, 1000.0, 14000.0, (0.6,), 0.18),
)
#: Mean inflows of the regions in m³/s, from January to December.
INFLOWS = (
    (10400, 11000, 10200, 7700, 5600, 4700, 3950, 3270, 3370, 4130, 5400, 8080),
    (1640, 1820, 1590, 1480, 1930, 2270, 2500, 2320, 2730, 3070, 2160, 1700),
    (5600, 5900, 6000, 4800, 2900, 1960, 1600, 1400, 1240, 1360, 2240, 4080),
    (7300, 9600, 11400, 11500, 8300, 4300, 2600, 1850, 1460, 1690, 2700, 4700),
)
#: Of a region: fuel, plants, smallest and largest in MW, least and most cost, share that runs always.
THERMALS = (
    (
        ("nuclear", 2, 640, 1350, 24, 31, 0.8),
        ("gas", 26, 60, 780, 96, 420, 0.15),
        ("biomass", 8, 20, 90, 60, 140, 0.3),
        ("oil", 10, 30, 250, 480, 950, 0.0),
    ),
    (
        ("coal", 8, 40, 360, 112, 260, 0.35),
        ("gas", 4, 90, 480, 165, 380, 0.0),
        ("oil", 4, 20, 80, 520, 900, 0.0),
    ),
    (
        ("gas", 12, 70, 520, 120, 350, 0.1),
        ("oil", 24, 30, 170, 530, 1050, 0.0),
        ("diesel", 6, 10, 150, 950, 1180, 0.0),
    ),
    (("gas", 10, 50, 430, 108, 300, 0.2), ("oil", 10, 20, 160, 550, 1000, 0.0)),
)
#: How the inflows of the regions go together.
RAIN = ((1.0, -0.15, 0.5, 0.4), (-0.15, 1.0, -0.1, -0.1), (0.5, -0.1, 1.0, 0.6), (0.4, -0.1, 0.6, 1.0))


def plants() -> list[dict[str, Any]]:
    """The thermal plants of the four regions."""
    made: list[dict[str, Any]] = []
    for bus, fuels in enumerate(THERMALS):
        for fuel, count, small, large, cheap, dear, must_run in fuels:
            for i in range(count):
                power = round(small + (large - small) * (0.618034 * i % 1.0))
                cost = round(cheap + (dear - cheap) * (i + 0.5) / count, 2)
                name = f"{RESERVOIRS[bus][0]} {fuel} {i + 1}"
                bounds = (round(must_run * power, 1), float(power))
                made.append(thermal(len(made), name, bus, bounds, cost))
    return made


def residual(coefficients: tuple[float, ...]) -> float:
    """The standard deviation of what lags do not explain, as a share of the whole (Yule and Walker)."""
    first, second = (*coefficients, 0.0)[:2]
    near = first / (1 - second)
    return round(float(np.sqrt(1 - first * near - second * (first * near + second))), 4)


def four_regions() -> Files:
    """Four interconnected regions with one reservoir each, 124 thermal plants and two years."""
    stages, count = 24, 20
    shares = {"heavy": 0.12, "medium": 0.53, "light": 0.35}
    loads = ((41000.0, 0.04, 1), (11500.0, 0.06, 0), (10900.0, 0.03, 10), (5800.0, 0.02, 9), (0.0, 0.0, 0))
    names = [*(name for name, *_ in RESERVOIRS), "hub"]
    states = {"state_variables": {"storage": True, "inflow_lags": True}}
    correlation = Correlation({"rain": ([0, 1, 2, 3], np.array(RAIN))})
    return {
        "config.json": config(8, 150, 500, penalty=31000.0),
        "penalties.json": penalties([(None, 5900.0)], outflow=1200.0),
        "stages.json": {
            "policy_graph": graph(stages, 0.1),
            "season_definitions": {
                "cycle_type": "monthly",
                "seasons": [{"id": m, "label": f"{month(m):%B}", "month_start": m + 1} for m in range(12)],
            },
            "pre_study_stages": [
                {
                    "id": t,
                    "start_date": month(t).isoformat(),
                    "end_date": month(t + 1).isoformat(),
                    "season_id": t % 12,
                }
                for t in (-2, -1)
            ],
            "stages": [stage(t, count, shares, **states) for t in range(stages)],
        },
        "initial_conditions.json": {
            "storage": [{"hydro_id": i, "value_hm3": row[5]} for i, row in enumerate(RESERVOIRS)],
            "filling_storage": [],
            "past_inflows": [
                {"hydro_id": i, "values_m3s": [round(0.85 * means[11], 1), round(0.8 * means[10], 1)]}
                for i, means in enumerate(INFLOWS)
            ],
        },
        "system/buses.json": {
            "buses": [
                {
                    "id": bus,
                    "name": name,
                    "deficit_segments": [
                        *(
                            {"depth_mw": round(share * loads[bus][0], 1), "cost": cost}
                            for share, cost in ((0.05, 1200.0), (0.05, 2500.0), (0.1, 5000.0))
                            if loads[bus][0] > 0
                        ),
                        {"depth_mw": None, "cost": 5900.0},
                    ],
                }
                for bus, name in enumerate(names)
            ]
        },
        "system/lines.json": {
            "lines": [
                line(0, (0, 1), 5600.0, 7200.0),
                line(1, (0, 2), 1000.0, 700.0),
                line(2, (0, 4), 4000.0, 5100.0, exchange_cost=0.25),
                line(3, (2, 4), 3500.0, 3300.0, exchange_cost=0.25),
                line(4, (3, 4), 9800.0, 4400.0, exchange_cost=0.25),
            ]
        },
        "system/hydros.json": {
            "hydros": [
                hydro(i, name, i, (0.0, volume), (turbines, power), min_outflow=least)
                for i, (name, volume, turbines, power, least, *_) in enumerate(RESERVOIRS)
            ]
        },
        "system/thermals.json": {"thermals": plants()},
        "system/non_controllable_sources.json": {
            "non_controllable_sources": [
                {"id": 0, "name": "northeast wind", "bus_id": 2, "max_generation_mw": 9500.0},
                {"id": 1, "name": "south wind", "bus_id": 1, "max_generation_mw": 1900.0},
            ]
        },
        "scenarios/inflow_seasonal_stats.parquet": table(
            "hydro_id stage_id mean_m3s std_m3s",
            [
                (i, t, float(means[t % 12]), round(RESERVOIRS[i][7] * means[t % 12], 2))
                for i, means in enumerate(INFLOWS)
                for t in range(-2, stages)
            ],
        ),
        "scenarios/inflow_ar_coefficients.parquet": table(
            "hydro_id stage_id lag coefficient residual_std_ratio",
            [
                (i, t, lag, value, residual(row[6]))
                for i, row in enumerate(RESERVOIRS)
                for t in range(stages)
                for lag, value in enumerate(row[6], 1)
            ],
        ),
        "scenarios/load_seasonal_stats.parquet": table(
            "bus_id stage_id mean_mw std_mw",
            [
                (
                    bus,
                    t,
                    seasonal(mean * 1.02 ** (t // 12), swing, peak, t),
                    600.0 if bus == 0 and t > 0 else 0.0,
                )
                for bus, (mean, swing, peak) in enumerate(loads)
                for t in range(stages)
            ],
        ),
        "scenarios/load_factors.json": {
            "load_factors": factors("bus", stages, dict.fromkeys(range(4), (1.22, 1.05, 0.85)))
        },
        "scenarios/non_controllable_factors.json": {
            "non_controllable_factors": factors("ncs", stages, {0: (0.95, 0.93, 1.12), 1: (1.05, 1.0, 0.98)})
        },
        "scenarios/correlation.json": {
            "method": "cholesky",
            "profiles": {
                "default": {
                    "correlation_groups": [
                        {
                            "name": "rain",
                            "entities": [{"type": "inflow", "id": i} for i in range(4)],
                            "matrix": [list(row) for row in RAIN],
                        }
                    ]
                }
            },
        },
        "scenarios/noise_openings.parquet": noise(13, count, stages, 5, correlation),
        "constraints/generic_constraints.json": {
            "constraints": [
                {
                    "id": 0,
                    "name": "energy stored when the study ends, in MW-months",
                    "expression": " + ".join(
                        f"{round(row[3] / (730 * HM3), 4)} * hydro_storage({i})"
                        for i, row in enumerate(RESERVOIRS)
                    ),
                    "sense": ">=",
                    "slack": {"enabled": True, "penalty": 2000.0},
                }
            ]
        },
        "constraints/generic_constraint_bounds.parquet": table(
            "constraint_id stage_id block_id bound", [(0, stages - 1, 0, 70000.0)]
        ),
        "constraints/ncs_bounds.parquet": table(
            "ncs_id stage_id available_generation_mw",
            [
                (source, t, seasonal(mean, swing, 8, t))
                for source, (mean, swing) in enumerate(((4000.0, 0.35), (690.0, 0.12)))
                for t in range(stages)
            ],
        ),
    }


CASES = {"one-reservoir": one_reservoir, "cascade": cascade, "four-regions": four_regions}


def arrow(columns: dict[str, list[Any]]) -> pa.Table:
    """A table with the types that the format wants."""
    whole = {"opening_index": pa.uint32(), "entity_index": pa.uint32(), "lag": pa.int32()}
    types = {name: whole.get(name, pa.int32() if name.endswith("_id") else pa.float64()) for name in columns}
    fields = [pa.field(name, kind, nullable=False) for name, kind in types.items()]
    return pa.table(
        [pa.array(values, types[name]) for name, values in columns.items()], schema=pa.schema(fields)
    )


def write(folder: Path, files: Files) -> None:
    """Write a case."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".json"):
            path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        else:
            pq.write_table(arrow(content), path, compression="zstd")


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "cases"
    for case, make in CASES.items():
        write(target / case, make())
        print(f"wrote {target / case}")
