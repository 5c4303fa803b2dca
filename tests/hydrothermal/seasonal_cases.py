"""Small cases whose stages are parts of seasons: weeks, months and quarters, with models that look back."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from tests.hydrothermal.small_cases import hydro, small_case, thermal

MONTHS = {
    "cycle_type": "monthly",
    "seasons": [{"id": month, "label": str(month), "month_start": month + 1} for month in range(12)],
}


def custom(season: int, first: int, last: int) -> dict[str, Any]:
    """A season from the beginning of a month to the end of one."""
    day = {2: 28, 4: 30, 6: 30, 9: 30, 11: 30}.get(last, 31)
    dates = {"month_start": first, "day_start": 1, "month_end": last, "day_end": day}
    return {"id": season, "label": f"{first} to {last}", **dates}


#: Months as 0 to 11, and quarters as 12 to 15.
BOTH = {
    "cycle_type": "custom",
    "seasons": [
        *(custom(month, month + 1, month + 1) for month in range(12)),
        *(custom(12 + quarter, 3 * quarter + 1, 3 * quarter + 3) for quarter in range(4)),
    ],
}
#: In a simulation.
SCENARIOS = 12
#: First day and season of each stage, and the last one's end.
Time = Sequence[tuple[str, int | None]]


def seasonal_files(
    time: Time,
    definitions: Mapping[str, Any] | None,
    *,
    orders: Sequence[int] = (1, 2),
    past: int = 2,
    observed: Sequence[tuple[str, str]] = (),
    before: Sequence[tuple[str, str, int]] = (),
    annual: bool = False,
    method: str = "truncation",
    spread: float = 0.15,
    source: Mapping[str, Any] | None = None,
) -> Any:
    """A change of a small case with a plant for each order: inflows of 20 m³/s, with so much spread."""
    random, openings = np.random.default_rng(1), 2
    stages = [
        {"id": t, "start_date": start, "end_date": time[t + 1][0], "season_id": season}
        for t, (start, season) in enumerate(time[:-1])
    ]
    earlier = [
        {"id": -k, "start_date": start, "end_date": end, "season_id": season}
        for k, (start, end, season) in enumerate(before, 1)
    ]
    usual = {season: random.uniform(15, 25) for season in range(16)}
    plants, numbers = range(len(orders)), [*[one["id"] for one in earlier], *range(len(stages))]
    seasons = {one["id"]: one["season_id"] for one in [*stages, *earlier]}

    def change(files: dict[str, Any]) -> None:
        files["config.json"]["modeling"] = {"inflow_non_negativity": {"method": method}}
        files["config.json"]["simulation"] = {"enabled": True, "num_scenarios": SCENARIOS}
        if source:
            files["config.json"]["simulation"]["scenario_source"] = dict(source)
        files["stages.json"] |= {"pre_study_stages": earlier}
        if definitions:
            files["stages.json"]["season_definitions"] = dict(definitions)
        for own, stage in zip(stages, files["stages.json"]["stages"], strict=True):
            length = date.fromisoformat(own["end_date"]) - date.fromisoformat(own["start_date"])
            lagged = {"state_variables": {"storage": True, "inflow_lags": True}}
            stage |= {**own, **lagged, "num_scenarios": openings}
            stage["blocks"] = [{"id": 0, "name": "all", "hours": 24.0 * length.days}]
        files["scenarios/inflow_seasonal_stats.parquet"] = {
            "hydro_id": [plant for plant in plants for _ in numbers],
            "stage_id": [t for _ in plants for t in numbers],
            "mean_m3s": [usual[seasons[t]] + plant for plant in plants for t in numbers],
            "std_m3s": [spread * usual[seasons[t]] for _ in plants for t in numbers],
        }
        lags = [(p, t, lag) for p in plants for t in range(len(stages)) for lag in range(1, orders[p] + 1)]
        files["scenarios/inflow_ar_coefficients.parquet"] = {
            "hydro_id": [plant for plant, _, _ in lags],
            "stage_id": [t for _, t, _ in lags],
            "lag": [lag for _, _, lag in lags],
            "coefficient": [0.6 / lag * (-1) ** (lag + 1) for _, _, lag in lags],
            "residual_std_ratio": [0.8] * len(lags),
        }
        if annual:
            files["scenarios/inflow_annual_component.parquet"] = {
                "hydro_id": [plant for plant in plants for _ in stages],
                "stage_id": [t for _ in plants for t in range(len(stages))],
                "annual_coefficient": [0.3 - 0.5 * plant for plant in plants for _ in stages],
                "annual_mean_m3s": [20.0 + plant for plant in plants for _ in stages],
                "annual_std_m3s": [6.0 for _ in plants for _ in stages],
            }
        initial = files["initial_conditions.json"]
        initial["past_inflows"] = [
            {"hydro_id": plant, "values_m3s": random.uniform(15, 25, past).tolist()} for plant in plants
        ]
        initial["recent_observations"] = [
            {"hydro_id": plant, "start_date": start, "end_date": end, "value_m3s": 30.0 - 5 * plant}
            for plant in plants[:1]  # nothing is observed of the other
            for start, end in observed
        ]
        places = [(t, k, p) for t in range(len(stages)) for k in range(openings) for p in plants]
        files["scenarios/noise_openings.parquet"] = {
            "stage_id": [t for t, _, _ in places],
            "opening_index": [k for _, k, _ in places],
            "entity_index": [plant for _, _, plant in places],
            "value": random.uniform(-1.5, 1.5, len(places)).tolist(),
        }

    return change


def seasonal_case(folder: Path, time: Time, definitions: Any, **more: Any) -> tuple[Path, dict[str, Any]]:
    """Write a case with such rivers, water for half of the load, and fuel at two prices; return its files."""
    written: dict[str, Any] = {}
    count = len(more.get("orders", (1, 2)))
    small_case(
        folder,
        stages=len(time) - 1,
        hydros=[hydro(i, 0.0, most_hm3=60.0, turbines=40.0, productivity=1 + 0.3 * i) for i in range(count)],
        thermals=[thermal(0, 15.0, 10.0), thermal(1, 15.0, 60.0)],
        load={0: 60.0},
        initial=dict.fromkeys(range(count), 20.0),
        change=seasonal_files(time, definitions, **more),
        last=written.update,
    )
    return folder, written
