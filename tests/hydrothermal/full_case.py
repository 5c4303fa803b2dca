"""A case with everything in it, and too little of most, so that everything is missed somewhere."""

from tests.case.valid_case import hydro, valid


def full_case():
    files = valid()
    del files["scenarios/noise_openings.parquet"]  # its numbers are made to be read, not to be solved
    files["config.json"]["training"] |= {"forward_passes": 3, "tree_seed": 4}
    files["config.json"]["modeling"]["inflow_non_negativity"] = {"method": "penalty", "penalty_cost": 5000.0}
    stages = files["stages.json"]["stages"]
    stages[0]["block_mode"] = stages[1]["block_mode"] = "chronological"
    for stage in stages:
        stage["num_scenarios"] = 5
    _halves_of_january(files["stages.json"])
    _scarce_plants(files)
    _new_plants(files)
    files["initial_conditions.json"]["storage"] += [
        {"hydro_id": 7, "value_hm3": 0.5},
        {"hydro_id": 11, "value_hm3": 25.0},
    ]
    files["initial_conditions.json"]["filling_storage"] = [{"hydro_id": 12, "value_hm3": 3.0}]
    files["scenarios/inflow_seasonal_stats.parquet"] = {
        "hydro_id": [0, 0, 0, 0, 1, 1, 1, 7, 7, 7, 11, 11, 11, 12, 12, 12],
        "stage_id": [-1, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2],
        "mean_m3s": [50.0, 40.0, 30.0, 20.0, 4.0, 3.0, 2.0, 0.1, 0.1, 0.1, 6.0, 7.0, 8.0, 2.0, 2.0, 2.0],
        "std_m3s": [10.0, 8.0, 6.0, 4.0, 1.0, 1.0, 1.0, 50.0, 50.0, 50.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5],
    }
    _trade(files)
    _batteries(files)
    _rules(files)
    loads = files["scenarios/load_seasonal_stats.parquet"]
    loads["mean_mw"] = [60.0, 150.0, 62.0, 30.0, 431.0, 32.0]
    # More power than the south can do without.
    files["constraints/thermal_bounds.parquet"] = {
        "thermal_id": [0, 1],
        "stage_id": [1, 2],
        "min_generation_mw": [5.0, 80.0],
        "max_generation_mw": [None, None],
    }
    return files


def _halves_of_january(time):
    """The first two stages: lags stay what they are over the first, and half of a mean is a state."""
    first, second, third = time["stages"]
    for stage, start, end, season in (
        (first, "2024-01-01", "2024-01-16", 0),
        (second, "2024-01-16", "2024-02-01", 0),
        (third, "2024-02-01", "2024-03-01", 1),
    ):
        stage |= {"start_date": start, "end_date": end, "season_id": season}
    seasons = [{"id": month, "label": str(month), "month_start": month + 1} for month in range(12)]
    time["season_definitions"] = {"cycle_type": "monthly", "seasons": seasons}


def _scarce_plants(files):
    first, second = files["system/hydros.json"]["hydros"]
    first["outflow"] = {"min_outflow_m3s": 45.0, "max_outflow_m3s": 50.0}
    first["penalties"]["evaporation_violation_cost"] = 1.0
    second["generation"] |= {"min_turbined_m3s": 58.0, "min_generation_mw": 47.5}
    # No turbines, no room, and inflows that are often negative: it spills, and drinks what it is given.
    third = hydro(7, 11)
    third["reservoir"] = {"min_storage_hm3": 40.0, "max_storage_hm3": 60.0}
    third["generation"] |= {"max_turbined_m3s": 0.0, "max_generation_mw": 0.0}
    third["outflow"] = {"min_outflow_m3s": 2.0, "max_outflow_m3s": None}
    files["system/hydros.json"]["hydros"].append(third)
    files["constraints/hydro_bounds.parquet"] = {
        "hydro_id": [1, 1, 7, 0, 7, 0],
        "stage_id": [0, 2, 0, 0, 2, 2],
        "max_storage_hm3": [100.0, None, None, 62.0, None, None],
        "max_outflow_m3s": [None, None, None, 20.0, None, 200.0],
        "min_outflow_m3s": [None, None, None, 0.0, None, 100.0],
        "water_withdrawal_m3s": [None, 150.0, -1.0, 2.0, None, None],
        "min_storage_hm3": [None, 60.0, None, None, 55.0, None],
    }


def _new_plants(files):
    """One that enters later, with planes, and one that is filled in vain before."""
    later = hydro(11, 0, entry_stage_id=1)
    del later["generation"]["productivity_mw_per_m3s"]
    later["generation"]["model"] = "fpha"
    files["system/fpha_hyperplanes.parquet"] = {
        "hydro_id": [11, 11],
        "stage_id": [None, None],
        "plane_id": [0, 1],
        "gamma_0": [1.0, 4.0],
        "gamma_v": [0.02, 0.01],
        "gamma_q": [0.7, 0.5],
        "gamma_s": [-0.01, 0.0],
        "kappa": [None, 0.9],
    }
    filled = hydro(12, 1, entry_stage_id=2, filling={"start_stage_id": 1, "filling_inflow_m3s": 1.0})
    files["system/hydros.json"]["hydros"] += [later, filled]


def _trade(files):
    sale = {"id": 3, "name": "C3", "bus_id": 0, "type": "export", "price_per_mwh": -30.0}
    files["system/energy_contracts.json"]["contracts"].append(
        {**sale, "limits": {"min_mw": 12.0, "max_mw": 25.0}}
    )
    # More sun than the south can use or send away.
    sun = {"id": 9, "name": "Sun", "bus_id": 1, "max_generation_mw": 150.0, "curtailment_cost": 0.25}
    files["system/non_controllable_sources.json"]["non_controllable_sources"].append(sun)


def _batteries(files):
    """Beside the one that leaves, one that lasts."""
    (first,) = files["system/batteries.json"]["batteries"]
    lasting = {**first, "id": 5, "bus_id": 0, "costs": {"charge_per_mwh": 0.2, "discharge_per_mwh": 0.5}}
    del lasting["exit_stage_id"]
    lasting["capacity"] = {"energy_mwh": 250.0, "charge_mw": 0.5, "discharge_mw": 0.5}
    files["system/batteries.json"]["batteries"].append(lasting)


def _rules(files):
    def rule(number, expression, sense):
        slack = {"enabled": True, "penalty": 3.0}
        return {"id": number, "name": f"R{number}", "expression": expression, "sense": sense, "slack": slack}

    files["constraints/generic_constraints.json"]["constraints"] += [
        rule(2, "thermal_generation(1)", ">="),
        rule(3, "thermal_generation(0)", "=="),
        rule(5, "hydro_generation(1) + thermal_generation(1)", "=="),
    ]
    files["constraints/generic_constraint_bounds.parquet"] = {
        "constraint_id": [1, 1, 2, 3, 5],
        "stage_id": [0, 2, 0, 2, 2],
        "block_id": [None, 1, None, None, 0],
        "bound": [70.0, 5.0, 60.0, 90.0, 1.0],
    }
