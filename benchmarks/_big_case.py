"""A case folder of the size of a country: cascades, lags, bounds and penalties of every stage."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HYDROS, THERMALS, BUSES, STAGES, BLOCKS, OPENINGS, LAGS = 160, 120, 4, 120, 3, 20, 6
_HOURS = (200.0, 300.0, 230.0)


def write_big_case(  # noqa: PLR0913 - its sizes
    folder: Path,
    *,
    hydros: int = HYDROS,
    thermals: int = THERMALS,
    buses: int = BUSES,
    stages: int = STAGES,
    openings: int = OPENINGS,
    lags: int = LAGS,
    iterations: int = 10,
    passes: int = 8,
) -> Path:
    """Write the case: months from January 2024 on, rivers of ten plants, one river system per bus."""
    random = np.random.default_rng(1)
    files: dict[str, Any] = {
        "config.json": _config(iterations, passes),
        "penalties.json": _penalties(),
        "stages.json": _stages(stages, openings),
        "initial_conditions.json": {
            "storage": [{"hydro_id": h, "value_hm3": 500.0} for h in range(hydros)],
            "filling_storage": [],
            "past_inflows": [{"hydro_id": h, "values_m3s": [100.0] * lags} for h in range(hydros)],
        },
        "system/buses.json": {"buses": [{"id": b, "name": f"bus {b}"} for b in range(buses)]},
        "system/lines.json": {"lines": [_line(b) for b in range(buses - 1)]},
        "system/hydros.json": {"hydros": [_hydro(h, hydros, buses) for h in range(hydros)]},
        "system/thermals.json": {"thermals": [_thermal(t, buses) for t in range(thermals)]},
    }
    tables = {
        "scenarios/inflow_seasonal_stats": _statistics(hydros, stages, lags),
        "scenarios/inflow_ar_coefficients": _coefficients(hydros, stages, lags),
        "scenarios/load_seasonal_stats": _by_stage(
            "bus_id", buses, stages, mean_mw=lambda n: np.full(n, 5000.0), std_mw=lambda n: np.full(n, 200.0)
        ),
        "constraints/hydro_bounds": _by_stage(
            "hydro_id", hydros, stages, max_storage_hm3=lambda n: random.uniform(900, 1000, n)
        ),
        "constraints/thermal_bounds": _by_stage(
            "thermal_id", thermals, stages, max_generation_mw=lambda n: random.uniform(80, 100, n)
        ),
        "constraints/penalty_overrides_hydro": _by_stage(
            "hydro_id", hydros, stages, spillage_cost=lambda n: random.uniform(0.001, 0.01, n)
        ),
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")
    for name, table in tables.items():
        path = folder / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(table), path, compression="zstd")
    return folder


def _config(iterations: int, passes: int) -> dict[str, Any]:
    rules = [{"type": "iteration_limit", "limit": iterations}]
    return {"training": {"tree_seed": 1, "forward_passes": passes, "stopping_rules": rules}}


def _penalties() -> dict[str, Any]:
    kinds = ("storage_violation_below", "filling_target_violation", "turbined_violation_below")
    kinds += ("outflow_violation_below", "outflow_violation_above", "generation_violation_below")
    kinds += ("evaporation_violation", "water_withdrawal_violation")
    small = {"spillage_cost": 0.001, "fpha_turbined_cost": 0.05, "diversion_cost": 0.1}
    return {
        "bus": {"deficit_segments": [{"depth_mw": None, "cost": 5000.0}], "excess_cost": 0.01},
        "line": {"exchange_cost": 0.1},
        "hydro": small | {f"{kind}_cost": 1e4 for kind in kinds},
        "non_controllable_source": {"curtailment_cost": 0.005},
    }


def _stages(count: int, openings: int) -> dict[str, Any]:
    first = [date(2024 + t // 12, t % 12 + 1, 1).isoformat() for t in range(count + 1)]
    blocks = [{"id": k, "name": f"block {k}", "hours": hours} for k, hours in enumerate(_HOURS)]
    return {
        "policy_graph": {
            "type": "finite_horizon",
            "annual_discount_rate": 0.12,
            "transitions": [
                {"source_id": t, "target_id": t + 1, "probability": 1.0} for t in range(count - 1)
            ],
        },
        "stages": [
            {
                "id": t,
                "start_date": first[t],
                "end_date": first[t + 1],
                "season_id": t % 12,
                "blocks": blocks,
                "num_scenarios": openings,
                "state_variables": {"storage": True, "inflow_lags": True},
            }
            for t in range(count)
        ],
    }


def _line(number: int) -> dict[str, Any]:
    ends = {"source_bus_id": number, "target_bus_id": number + 1}
    return {
        "id": number,
        "name": f"line {number}",
        **ends,
        "capacity": {"direct_mw": 2000.0, "reverse_mw": 2000.0},
    }


def _hydro(number: int, count: int, buses: int) -> dict[str, Any]:
    last = number % 10 == 9 or number == count - 1
    return {
        "id": number,
        "name": f"hydro {number}",
        "bus_id": number // 10 % buses,
        "downstream_id": None if last else number + 1,
        "reservoir": {"min_storage_hm3": 50.0, "max_storage_hm3": 1000.0},
        "outflow": {"min_outflow_m3s": 10.0, "max_outflow_m3s": None},
        "generation": {
            "model": "constant_productivity",
            "productivity_mw_per_m3s": 0.5,
            "min_turbined_m3s": 0.0,
            "max_turbined_m3s": 400.0,
            "min_generation_mw": 0.0,
            "max_generation_mw": 200.0,
        },
    }


def _thermal(number: int, buses: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"thermal {number}",
        "bus_id": number % buses,
        "cost_per_mwh": 20.0 + number,
        "generation": {"min_mw": 0.0, "max_mw": 100.0},
    }


def _by_stage(key: str, entities: int, stages: int, **columns: Any) -> dict[str, Any]:
    count = entities * stages
    rows = {
        key: np.repeat(np.arange(entities, dtype=np.int32), stages),
        "stage_id": np.tile(np.arange(stages, dtype=np.int32), entities),
    }
    return rows | {name: values(count) for name, values in columns.items()}


def _statistics(hydros: int, stages: int, lags: int) -> dict[str, Any]:
    months = np.tile(np.arange(-lags, stages, dtype=np.int32), hydros)
    means = 100.0 + 50.0 * np.cos(np.pi * months / 6)
    return {
        "hydro_id": np.repeat(np.arange(hydros, dtype=np.int32), stages + lags),
        "stage_id": months,
        "mean_m3s": means,
        "std_m3s": 0.3 * means,
    }


def _coefficients(hydros: int, stages: int, lags: int) -> dict[str, Any]:
    rows = hydros * stages
    return {
        "hydro_id": np.repeat(np.arange(hydros, dtype=np.int32), stages * lags),
        "stage_id": np.tile(np.repeat(np.arange(stages, dtype=np.int32), lags), hydros),
        "lag": np.tile(np.arange(1, lags + 1, dtype=np.int32), rows),
        "coefficient": np.tile(0.5 ** np.arange(1, lags + 1), rows),
        "residual_std_ratio": np.full(rows * lags, 0.8),
    }


if __name__ == "__main__":
    from cobre.case import load
    from cobre.study import Study

    with tempfile.TemporaryDirectory() as scratch:
        place = write_big_case(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(scratch))
        start = time.perf_counter()
        case = load(place)
        loaded = time.perf_counter()
        study = Study.of(case)
        print(f"load and validate: {loaded - start:.2f} s")
        print(f"make the problem:  {time.perf_counter() - loaded:.2f} s")
