"""Cases small enough to be solved on paper: stages of 720 hours, one block, everything certain."""

from tests.case.folders import write

HOURS = 720
#: hm³ that 1 m³/s makes in a stage.
VOLUME = HOURS * 3600 / 1e6


def small_case(
    folder, *, stages=2, buses=None, lines=(), hydros=(), thermals=(), load=None, initial=None, **more
):
    """Write a case. ``load`` maps buses to MW, ``hydros`` are entries with an ``inflow`` of their own.

    ``more`` are functions that change the files.
    """
    buses = buses or [{"id": 0, "name": "bus"}]
    load = load or {0: 100.0}
    inflows = {hydro["id"]: hydro.pop("inflow") for hydro in hydros}
    numbers = range(stages)
    penalty = {"spillage_cost": 0.001, "fpha_turbined_cost": 0.05, "diversion_cost": 0.1}
    for name in ("storage_violation_below", "filling_target_violation", "turbined_violation_below"):
        penalty[f"{name}_cost"] = 1e5
    for name in ("outflow_violation_below", "outflow_violation_above", "generation_violation_below"):
        penalty[f"{name}_cost"] = 1e5
    penalty |= {"evaporation_violation_cost": 1e5, "water_withdrawal_violation_cost": 1e5}
    dates = [f"{2024 + month // 12}-{month % 12 + 1:02}-01" for month in range(stages + 1)]
    files = {
        "config.json": {
            "training": {
                "forward_passes": 1,
                "tree_seed": 1,
                "stopping_rules": [{"type": "iteration_limit", "limit": 30}],
            }
        },
        "penalties.json": {
            "bus": {
                "deficit_segments": [{"depth_mw": 20.0, "cost": 1000.0}, {"depth_mw": None, "cost": 5000.0}],
                "excess_cost": 0.01,
            },
            "line": {"exchange_cost": 1.0},
            "hydro": penalty,
            "non_controllable_source": {"curtailment_cost": 0.005},
        },
        "stages.json": {
            "policy_graph": {
                "type": "finite_horizon",
                "annual_discount_rate": 0.0,
                "transitions": [
                    {"source_id": t, "target_id": t + 1, "probability": 1.0} for t in range(stages - 1)
                ],
            },
            "stages": [
                {
                    "id": t,
                    "start_date": dates[t],
                    "end_date": dates[t + 1],
                    "blocks": [{"id": 0, "name": "all", "hours": HOURS}],
                    "num_scenarios": 1,
                }
                for t in numbers
            ],
        },
        "initial_conditions.json": {
            "storage": [{"hydro_id": h, "value_hm3": v} for h, v in (initial or {}).items()],
            "filling_storage": [],
        },
        "system/buses.json": {"buses": buses},
        "system/lines.json": {"lines": list(lines)},
        "system/hydros.json": {"hydros": list(hydros)},
        "system/thermals.json": {"thermals": list(thermals)},
        "scenarios/load_seasonal_stats.parquet": {
            "bus_id": [bus for bus in load for _ in numbers],
            "stage_id": [t for _ in load for t in numbers],
            "mean_mw": [mw for mw in load.values() for _ in numbers],
            "std_mw": [0.0 for _ in load for _ in numbers],
        },
    }
    if hydros:
        files["scenarios/inflow_seasonal_stats.parquet"] = {
            "hydro_id": [h for h in inflows for _ in numbers],
            "stage_id": [t for _ in inflows for t in numbers],
            "mean_m3s": [m3s for m3s in inflows.values() for _ in numbers],
            "std_m3s": [0.0 for _ in inflows for _ in numbers],
        }
    for change in more.values():
        change(files)
    return write(folder, files)


def thermal(number, most, cost, bus=0):
    return {
        "id": number,
        "name": f"thermal {number}",
        "bus_id": bus,
        "cost_per_mwh": cost,
        "generation": {"min_mw": 0.0, "max_mw": most},
    }


def battery(number, energy_mwh, power_mw=20.0, *, charge=0.8, discharge=0.9, **more):
    return {
        "id": number,
        "name": f"battery {number}",
        "bus_id": 0,
        "capacity": {"energy_mwh": energy_mwh, "charge_mw": power_mw, "discharge_mw": power_mw},
        "efficiency": {"charge": charge, "discharge": discharge},
        "self_discharge_per_hour": 1e-4,
        **more,
    }


def hydro(number, inflow, *, most_hm3=1000.0, turbines=200.0, productivity=1.0, downstream=None):
    return {
        "id": number,
        "name": f"hydro {number}",
        "bus_id": 0,
        "downstream_id": downstream,
        "reservoir": {"min_storage_hm3": 0.0, "max_storage_hm3": most_hm3},
        "outflow": {"min_outflow_m3s": 0.0, "max_outflow_m3s": None},
        "generation": {
            "model": "constant_productivity",
            "productivity_mw_per_m3s": productivity,
            "min_turbined_m3s": 0.0,
            "max_turbined_m3s": turbines,
            "min_generation_mw": 0.0,
            "max_generation_mw": 1000.0,
        },
        "inflow": inflow,
    }


def given(name, content):
    """A change that adds a file."""
    return lambda files: files.update({name: content})


def two_blocks(files):
    """A change that cuts all stages into two halves."""
    for stage in files["stages.json"]["stages"]:
        stage["blocks"] = [{"id": k, "name": str(k), "hours": HOURS / 2} for k in range(2)]
