"""Cases in which, together, every field of every file is in use, or is given in vain."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cobre.study import Study
from tests.case.changes import (
    CONFIG,
    CORRELATION,
    GEOMETRY,
    HYDRO_BOUNDS,
    HYDROS,
    INFLOWS,
    INITIAL,
    PRODUCTION,
    STAGES,
)
from tests.case.folders import write
from tests.case.histories import to_fit
from tests.case.valid_case import hydro, valid
from tests.hydrothermal.full_case import full_case
from tests.hydrothermal.test_lags import prepared

Files = dict[str, Any]
OVERRIDES = "constraints/penalty_overrides_hydro.parquet"


def _with_all_sections(files: Files) -> Files:
    """With all sections of the settings, so that each field in them can be given."""
    config = files[CONFIG]
    for path in (
        "modeling.inflow_non_negativity",
        "upper_bound_evaluation.lipschitz",
        "policy.checkpointing",
        "training.cut_selection",
        "training.solver",
        "training.scenario_source",
        "simulation.scenario_source",
        "exports",
        "estimation",
    ):
        here = config
        for name in path.split("."):
            here = here.setdefault(name, {})
    for section in ("training", "simulation"):
        for name in ("inflow", "load", "ncs"):
            config[section]["scenario_source"].setdefault(name, {"scheme": "in_sample"})
    return files


def _seasons(cycle_type: str, **more: int) -> dict[str, Any]:
    months = [
        {"id": month, "label": f"month {month}", "month_start": month + 1, **more} for month in range(12)
    ]
    return {"cycle_type": cycle_type, "seasons": months}


def models() -> Files:
    """Inflow models are given; every element, bound, penalty and model of generation is in use."""
    files = _with_all_sections(full_case())
    stages = files[STAGES]
    stages["season_definitions"] = _seasons("monthly")
    stages["stages"][1]["risk_measure"] = {"cvar": {"alpha": 0.3, "lambda": 0.4}}
    earlier = {"id": -2, "start_date": "2023-11-01", "end_date": "2023-12-01", "season_id": 10}
    stages["pre_study_stages"].append(earlier)
    correlation = files[CORRELATION]
    correlation["schedule"] = [{"stage_id": 1, "profile_name": "default"}]
    correlation["profiles"]["other"] = copy.deepcopy(correlation["profiles"]["default"])
    correlation["profiles"]["other"]["correlation_groups"][0]["matrix"] = [[1.0, 0.2], [0.2, 1.0]]
    files[INITIAL]["past_inflows"][0]["season_ids"] = [11]
    _add_fitted_planes(files)
    (third,) = (plant for plant in files[HYDROS]["hydros"] if plant["id"] == 7)
    third["evaporation"] = {"coefficients_mm": [20.0] * 12, "reference_volumes_hm3": [50.0] * 12}
    bounds = files[HYDRO_BOUNDS]
    rows = len(bounds["hydro_id"])
    bounds |= {name: [*values, None] for name, values in bounds.items()}
    bounds["hydro_id"][-1], bounds["stage_id"][-1] = 12, 1
    bounds["filling_inflow_m3s"] = [None] * rows + [1.2]
    (filled,) = (plant for plant in files[HYDROS]["hydros"] if plant["id"] == 12)
    filled["filling"]["start_stage_id"] = 0
    for plant in files[HYDROS]["hydros"]:
        plant.setdefault("penalties", {})
    files[OVERRIDES] = {
        "hydro_id": [0, 1, 11, 12],
        "stage_id": [2, 2, 1, 1],
        "spillage_cost": [0.03, None, None, None],
        "evaporation_violation_cost": [3000.0, None, None, None],
    }
    return files


def _add_fitted_planes(files: Files) -> None:
    """Plants whose planes are fitted, with all that fitting can use."""
    window = {"volume_min_hm3": 20.0, "volume_max_percentile": 0.9}
    grid = {f"{name}_discretization_points": 3 for name in ("volume", "turbine", "spillage")}
    config = {"source": "computed", "max_planes_per_hydro": 3, "fitting_window": window, **grid}
    tailrace = ((0.0, 0.3), (52.0, 1.4), (78.0, 5.8), (89.0, 6.9))  # neither convex nor concave
    points = [{"outflow_m3s": outflow, "height_m": height} for outflow, height in tailrace]
    piecewise, share = {"type": "piecewise", "points": points}, {"type": "factor", "value": 0.03}
    polynomial, metres = (
        {"type": "polynomial", "coefficients": [3.0, 0.01]},
        {"type": "constant", "value_m": 0.5},
    )
    for number, tail, losses in ((13, piecewise, share), (14, piecewise, metres), (15, polynomial, share)):
        efficiency = {"type": "constant", "value": 0.92}
        plant = hydro(number, None, tailrace=tail, hydraulic_losses=losses, efficiency=efficiency)
        del plant["generation"]["productivity_mw_per_m3s"]
        plant["generation"]["model"] = "fpha"
        files[HYDROS]["hydros"].append(plant)
        files[INITIAL]["storage"].append({"hydro_id": number, "value_hm3": 60.0})
    by_range = {"start_stage_id": 0, "end_stage_id": 1, "model": "fpha", "fpha_config": config}
    by_season = {"season_id": 0, "model": "fpha", "fpha_config": copy.deepcopy(config)}
    dry = {"season_id": 1, "model": "constant_productivity", "productivity_override": 0.4}
    files[PRODUCTION]["production_models"] += [
        {"hydro_id": 13, "selection_mode": "stage_ranges", "stage_ranges": [by_range]},
        *(
            {
                "hydro_id": number,
                "selection_mode": "seasonal",
                "default_model": "fpha",
                "seasons": [chosen],
            }
            for number, chosen in ((14, by_season), (15, dry))
        ),
    ]
    rows = {"hydro_id": [7, 7], "volume_hm3": [0.0, 80.0], "height_m": [5.0, 9.0], "area_km2": [1.0, 4.0]}
    for number in (13, 14, 15):
        rows["hydro_id"] += [number] * 3
        rows["volume_hm3"] += [10.0, 60.0, 110.0]
        rows["height_m"] += [30.0, 42.0, 50.0]
        rows["area_km2"] += [1.0, 2.0, 3.0]
    files[GEOMETRY] = {name: [*values, *rows[name]] for name, values in files[GEOMETRY].items()}
    more = {"hydro_id": [13] * 3 + [14] * 3 + [15] * 3, "stage_id": [0, 1, 2] * 3}
    more |= {"mean_m3s": [20.0] * 9, "std_m3s": [2.0] * 9}
    files[INFLOWS] = {name: [*values, *more[name]] for name, values in files[INFLOWS].items()}


def openings() -> Files:
    """Openings are given, and settings of other noise in vain; a last value from another study."""
    files = _with_all_sections(valid())
    files[CONFIG]["policy"]["boundary"] = {"path": "other/policy.cobre", "source_stage": 0}
    files["other/policy.cobre"] = _policy()
    return files


@cache
def _policy() -> bytes:
    """A policy of the same stages."""
    with TemporaryDirectory() as folder:
        study = Study.load(write(Path(folder), valid()), {"training": {"stopping_rules": [LIMIT]}})
        study.train().policy.save(path := Path(folder) / "policy.cobre")
        return path.read_bytes()


LIMIT = {"type": "iteration_limit", "limit": 1}


def fitted() -> Files:
    """Inflow models are fitted, and trajectories have the years of the history."""
    files = _with_all_sections(to_fit(25))
    files[STAGES]["season_definitions"] = _seasons("custom", day_start=1, day_end=31)
    for month, season in enumerate(files[STAGES]["season_definitions"]["seasons"], 1):
        season["month_end"] = month
    config = files[CONFIG]
    config["simulation"] |= {"enabled": True, "num_scenarios": 3}
    source = {"inflow": {"scheme": "historical"}, "historical_years": {"from": 2001, "to": 2022}}
    for section in ("training", "simulation"):
        config[section]["scenario_source"] |= copy.deepcopy(source)
    config["training"]["stopping_rules"] = [
        LIMIT,
        {"type": "time_limit", "seconds": 60.0},
        {"type": "bound_stalling", "iterations": 3, "tolerance": 0.01},
        {
            "type": "simulation",
            "replications": 10,
            "period": 2,
            "bound_window": 3,
            "distance_tol": 0.01,
            "bound_tol": 0.001,
        },
    ]
    config["training"]["cut_selection"] = {"enabled": True, "method": "domination"}
    return files


def years() -> Files:
    """The same years as a list."""
    files = fitted()
    for section in ("training", "simulation"):
        files[CONFIG][section]["scenario_source"]["historical_years"] = [2001, 2007, 2013]
    return files


def external() -> Files:
    """Scenarios are given, and cuts are selected."""
    files = _with_all_sections(valid())
    config = files[CONFIG]
    for kind, column, value, ids in (
        ("inflow", "hydro_id", "value_m3s", (0, 1)),
        ("load", "bus_id", "value_mw", (1,)),
        ("ncs", "ncs_id", "value", (0,)),
    ):
        for section in ("training", "simulation"):
            config[section]["scenario_source"][kind] = {"scheme": "external"}
        rows = [(i, stage, number) for i in ids for stage in range(3) for number in range(2)]
        files[f"scenarios/external_{kind}_scenarios.parquet"] = {
            column: [i for i, _, _ in rows],
            "stage_id": [stage for _, stage, _ in rows],
            "scenario_id": [number for _, _, number in rows],
            value: [0.1 + 0.1 * place for place in range(len(rows))],
        }
    config["training"]["cut_selection"] = {"enabled": True, "method": "lml1"}
    config["simulation"]["enabled"] = True
    config["training"]["scenario_source"]["historical_years"] = [2001]
    config["simulation"]["scenario_source"]["historical_years"] = [2001]
    return files


def endless() -> Files:
    """The stages follow each other for ever."""
    files = _with_all_sections(valid())
    graph = files[STAGES]["policy_graph"]
    edges = [{"source_id": stage, "target_id": (stage + 1) % 3, "probability": 1.0} for stage in range(3)]
    files[STAGES]["policy_graph"] = {**graph, "type": "cyclic", "transitions": edges}
    return files


def lags() -> Files:
    """Lags by seasons: a study that begins within one, and the mean of the past year."""
    with TemporaryDirectory() as folder:
        _, files = prepared(Path(folder), "the mean of the past year, in weeks")
    files[STAGES]["policy_graph"]["transitions"] = []
    return files


CASES: dict[str, Callable[[], Files]] = {
    "models": models,
    "openings": openings,
    "fitted": fitted,
    "years": years,
    "external": external,
    "endless": endless,
    "lags": lags,
}
