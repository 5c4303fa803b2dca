"""A case in a few numbers, against numbers worked out by hand from its files."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from cobre import case
from cobre.case._summary import mean_inflow
from cobre.elements.hydro.data import Inflow
from tests.study.cases import EXAMPLES, copy


@pytest.fixture(scope="module")
def cascade():
    return case.summary(case.load(EXAMPLES / "cascade"))


def test_counts_and_time(cascade):
    assert {kind: number for kind, number in cascade.counts.items() if number} == {
        "stages": 12,
        "buses": 3,
        "lines": 2,
        "hydros": 5,
        "thermals": 4,
        "sources": 1,
        "pumping": 1,
        "contracts": 1,
        "constraints": 1,
    }
    assert (cascade.start, cascade.end, cascade.blocks, cascade.openings) == (
        "2026-01-01",
        "2027-01-01",
        (3, 3),
        (8, 8),
    )
    assert cascade.annual_discount_percent == pytest.approx(8)
    assert cascade.random == {"inflow": 5, "ncs": 1}
    assert cascade.given_openings


def test_energy_is_that_of_the_whole_way_down(cascade):
    """From the spring water runs through gorge, plain and mouth; the side lake's through plain and mouth."""
    files = {
        hydro["name"]: hydro
        for hydro in json.loads((EXAMPLES / "cascade/system/hydros.json").read_text())["hydros"]
    }
    own = {
        name: hydro["generation"]["productivity_mw_per_m3s"]
        for name, hydro in files.items()
        if "productivity_mw_per_m3s" in hydro["generation"]
    }
    found = {hydro.name: hydro for hydro in cascade.hydros}
    ways = {
        "spring": ["spring", "gorge", "plain", "mouth"],
        "side lake": ["side lake", "plain", "mouth"],
        "mouth": ["mouth"],
    }
    for name, way in ways.items():
        reservoir = files[name]["reservoir"]
        volume = reservoir["max_storage_hm3"] - reservoir["min_storage_hm3"]
        productivity = sum(own[plant] for plant in way)
        assert found[name].useful_hm3 == volume
        # 1 hm³ is 1 m³/s for 1e6 seconds.
        assert found[name].stored_gwh == pytest.approx(volume * productivity * 1e6 / 3600 / 1e3)
        assert found[name].inflow_mw == pytest.approx(found[name].inflow_m3s * productivity)
    assert cascade.stored_gwh == pytest.approx(sum(hydro.stored_gwh for hydro in cascade.hydros))
    assert (found["gorge"].downstream, found["mouth"].downstream) == (3, None)


def test_one_lake_and_one_city():
    """Twelve stages without lags: means over the hours of the year."""
    loaded = case.load(EXAMPLES / "one-reservoir")
    found = case.summary(loaded)
    hours = np.array([stage.hours.sum() for stage in loaded.system.stages])
    (lake,), (city,) = found.hydros, found.buses
    assert lake.inflow_m3s == pytest.approx(np.average(loaded.hydros[0].inflow.base_m3s, weights=hours))
    assert city.load_mw == pytest.approx(np.average(loaded.buses[0].load_mean_mw, weights=hours))
    assert (city.peak_mw, city.thermal_mw, city.hydro_mw, city.line_mw) == (
        pytest.approx(loaded.buses[0].load_mean_mw.max()),
        sum(plant.max_mw[0][0] for plant in loaded.thermals),
        loaded.hydros[0].max_generation_mw[0],
        0,
    )
    assert found.initial_gwh == pytest.approx(found.stored_gwh / 2)  # 500 of 1000 hm³
    assert found.load_gwh == pytest.approx(hours @ loaded.buses[0].load_mean_mw / 1000)


def test_inflows_with_a_memory_are_followed_without_noise():
    inflow = Inflow(
        base_m3s=np.array([10.0, 10.0, 1.0]),
        coefficients=(np.array([0.5]), np.array([0.5, 0.25]), np.array([])),
        scale_m3s=np.zeros(3),
        past_m3s=(4.0, 8.0),  # the latest first
    )
    assert mean_inflow(SimpleNamespace(inflow=inflow)).tolist() == [12.0, 17.0, 1.0]


def test_settings_in_words(tmp_path):
    rules = [
        {"type": "iteration_limit", "limit": 7},
        {"type": "bound_stalling", "iterations": 3, "tolerance": 0.01},
        {"type": "time_limit", "seconds": 60},
    ]
    folder = copy(
        "one-reservoir",
        tmp_path / "case",
        training={"stopping_rules": rules, "cut_selection": {"enabled": True, "method": "lml1"}},
        scenarios=0,
    )
    found = case.summary(case.load(folder))
    assert found.training == (
        "3 forward passes in each iteration",
        "stops after 7 iterations or when 3 iterations move the bound by less than 1 % or after 60 s",
        "cut selection: lml1",
        "seed 1",
    )
    assert found.simulated_scenarios == 0


def test_it_is_plain_data(cascade):
    again = json.loads(json.dumps(cascade.to_dict()))
    assert again["hydros"][0]["name"] == "spring"
    assert [bus["name"] for bus in again["buses"]] == ["mountains", "town", "coast"]
