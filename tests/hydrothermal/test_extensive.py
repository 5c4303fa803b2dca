"""Training ends at the value of the whole scenario tree as one linear programme, written independently."""

import os
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cobre import sddp
from cobre.sddp import IterationLimit, StoppingRule
from cobre.study import Study
from tests.case.folders import shuffled, write
from tests.examples import CASES, shortened
from tests.hydrothermal.extensive import inflow_ranges, optimal_value
from tests.hydrothermal.random_cases import cases
from tests.hydrothermal.rivers import rivers
from tests.hydrothermal.small_cases import battery
from tests.sddp.bits import file_bytes

#: Set to some thousands for a long search.
COUNT = int(os.environ.get("COBRE_TEST_RANDOM_CASES", "200"))
slow_to_draw = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


@dataclass(frozen=True)
class Reached(StoppingRule):
    """Stop when the bound is where it should end."""

    value: float

    def reached(self, progress):
        close = abs(progress.bounds[-1] - self.value) <= 1e-8 * max(1.0, abs(self.value))
        return "it is there" if close else None


def loaded(files):
    with tempfile.TemporaryDirectory() as folder:
        return Study.load(write(Path(folder), files))


def assert_training_ends_there(files, limit=500):
    """At the value of the tree. If a limit depends on the state, the problem is relaxed: then not above that.

    A relaxed penalty has the value of the tree in which an opening has the same limit after all pasts.
    """
    study = loaded(files)
    case = study.case
    openings = case.scenarios.openings or {
        stage.id: np.empty((stage.openings, 0)) for stage in case.system.stages
    }
    tree = partial(optimal_value, case.system, case.scenarios.entities, openings, rivers=rivers(files))
    value, limits = tree(), limits_by_state(case, rivers(files))
    if any("inflows with lags" in finding.message for finding in case.warnings):
        assert limits
    end = value
    if limits and case.system.negative_inflows == "penalty":
        end = tree(limits=limits)
        assert end <= value + 1e-7 * max(1.0, abs(value))
    is_bounded_only = bool(limits) and case.system.negative_inflows != "penalty"
    stop = IterationLimit(40 if is_bounded_only else limit) | Reached(end)
    result = sddp.train(study.problem, stop, risk=study.risk, **study.settings)
    if is_bounded_only:
        assert result.bound <= value + 1e-7 * max(1.0, abs(value))
    else:
        assert result.bound == pytest.approx(end, rel=1e-7, abs=1e-7)


def limits_by_state(case, known):
    """How far below 0 each inflow can be; nothing if none is, or is so after all pasts alike."""
    openings, method = case.scenarios.openings, case.system.negative_inflows
    if method == "none" or openings is None:
        return {}
    ranges = inflow_ranges(case.system, case.scenarios.entities, openings, known)
    if not any(low < min(high, 0.0) for low, high in ranges.values()):
        return {}
    return {place: max(0.0, -low) for place, (low, _) in ranges.items()}


@pytest.mark.parametrize(
    ("name", "stages", "openings"), [("one-reservoir", 5, 3), ("cascade", 4, 3), ("four-regions", 3, 3)]
)
def test_the_examples_shortened(name, stages, openings):
    assert_training_ends_there(shortened(CASES[name](), stages, openings))


@pytest.mark.parametrize(
    ("variable", "bound"),
    [
        ("hydro_storage(3)", 380.0),
        ("hydro_evaporation(3)", 1.0),
        ("hydro_withdrawal(2)", 0.5),
        ("hydro_turbined(0, 1)", 40.0),
        ("hydro_spillage(1)", 3.0),
        ("hydro_diversion(1)", 10.0),
        ("hydro_outflow(4)", 60.0),
        ("hydro_generation(2)", 20.0),
        ("thermal_generation(0)", 30.0),
        ("line_direct(0)", 50.0),
        ("line_reverse(1)", 5.0),
        ("line_exchange(1)", 20.0),
        ("bus_deficit(1)", 4.0),
        ("bus_excess(0)", 2.0),
        ("pumping_flow(0)", 5.0),
        ("pumping_power(0)", 4.0),
        ("contract_import(0)", 10.0),
        ("non_controllable_generation(0)", 20.0),
        ("non_controllable_curtailment(0)", 6.0),
    ],
)
def test_whatever_the_user_constrains(variable, bound):
    files = shortened(CASES["cascade"](), 2, 2)
    (rule,) = files["constraints/generic_constraints.json"]["constraints"]
    rule |= {"expression": variable, "sense": "==", "slack": {"enabled": True, "penalty": 30.0}}
    files["constraints/generic_constraint_bounds.parquet"]["bound"] = [bound, 1.1 * bound]
    assert_training_ends_there(files)


@pytest.mark.parametrize(
    ("mode", "constraint"),
    [
        ("chronological", None),
        ("parallel", None),
        ("chronological", "battery_energy(3)"),
        ("parallel", "battery_charge(3, 1)"),
        ("parallel", "battery_discharge(3)"),
    ],
)
def test_batteries(mode, constraint):
    """One that enters, one that leaves, and one whose capacity falls; all of them lose energy."""
    files = shortened(CASES["cascade"](), 3, 2)
    for stage in files["stages.json"]["stages"]:
        stage["block_mode"] = mode
    files["system/batteries.json"] = {
        "batteries": [
            battery(0, 3000.0, entry_stage_id=1, initial_energy_mwh=1500.0),
            battery(3, 4000.0, cycles_per_day=0.02),
            battery(7, 2000.0, exit_stage_id=2, initial_energy_mwh=2000.0),
        ]
    }
    files["constraints/battery_bounds.parquet"] = {
        "battery_id": [3, 3, 7],
        "stage_id": [1, 2, 1],
        "energy_mwh": [5000.0, 1200.0, 1000.0],
        "discharge_mw": [None, None, 0.0],
    }
    if constraint:
        (rule,) = files["constraints/generic_constraints.json"]["constraints"]
        rule |= {"expression": constraint, "sense": "==", "slack": {"enabled": True, "penalty": 30.0}}
        files["constraints/generic_constraint_bounds.parquet"]["bound"] = [5.0, 12.0, 8.0]
    assert_training_ends_there(files)


@settings(max_examples=COUNT, deadline=None, suppress_health_check=slow_to_draw)
@given(cases())
def test_random_cases(files):
    assert_training_ends_there(files)


@settings(max_examples=max(COUNT // 20, 5), deadline=None, suppress_health_check=slow_to_draw)
@given(cases(), st.integers(0, 2**32 - 1))
def test_the_order_in_the_files_changes_no_bit(files, seed):
    one, other = (loaded(each).train() for each in (files, shuffled(files, seed)))
    assert one.bounds.tolist() == other.bounds.tolist()
    assert file_bytes(one.policy) == file_bytes(other.policy)


def test_the_noise_of_a_source_that_never_varies_is_nobody_elses():
    """It has a column in the openings, as all sources with statistics have."""
    files = shortened(CASES["cascade"](), 2, 2)
    wind = files["system/non_controllable_sources.json"]["non_controllable_sources"]
    wind.append({**wind[0], "id": 1})
    statistics, noise = (
        files[f"scenarios/{name}.parquet"] for name in ("non_controllable_stats", "noise_openings")
    )
    statistics |= {name: 2 * values for name, values in statistics.items()}
    statistics |= {"ncs_id": [0, 0, 1, 1], "std": [0.0, 0.0, 0.12, 0.12]}
    last = [i for i, entity in enumerate(noise["entity_index"]) if entity == 5]
    for name, values in noise.items():
        values += [
            6 if name == "entity_index" else 1 - values[i] if name == "value" else values[i] for i in last
        ]
    assert_training_ends_there(files)
