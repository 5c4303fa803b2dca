"""Hydro plants that come, go, and have their reservoirs filled, in cases solved on paper."""

import copy

import pytest

from cobre.elements.hydro.data import Hydro
from cobre.sddp import simulate
from cobre.study import Study
from tests.hydrothermal.small_cases import HOURS, VOLUME, given, hydro, small_case, thermal
from tests.hydrothermal.test_simulation_tables import Simulated

FUEL = [thermal(0, 200.0, 10.0)]


def study(folder, **case):
    return Study.load(small_case(folder, thermals=FUEL, **case))


def bound(folder, **case):
    return study(folder, **case).train().bound


def test_a_plant_that_enters_later_has_its_initial_volume_then(tmp_path):
    plant = hydro(0, inflow=30.0) | {"entry_stage_id": 1}
    found = bound(tmp_path, hydros=[plant], initial={0: 20 * VOLUME})
    assert found == pytest.approx(10 * HOURS * (100 + 100 - 30 - 20))


def test_a_plant_that_leaves_takes_its_water_with_it(tmp_path):
    plant = hydro(0, inflow=30.0, turbines=40.0) | {"exit_stage_id": 1}
    found = bound(tmp_path, hydros=[plant], initial={0: 50 * VOLUME})
    assert found == pytest.approx(10 * HOURS * (100 - 40 + 100))


def test_water_runs_past_a_plant_that_is_absent(tmp_path):
    """In stage 0 the last plant gets what the first releases, and the inflow between them too."""
    plants = [
        hydro(0, inflow=10.0, most_hm3=0.0, downstream=1),
        hydro(1, inflow=5.0, most_hm3=0.0, productivity=2.0, downstream=2) | {"entry_stage_id": 1},
        hydro(2, inflow=1.0, most_hm3=0.0),
    ]
    found = bound(tmp_path, hydros=plants, initial={0: 0.0, 1: 0.0, 2: 0.0})
    assert found == pytest.approx(10 * HOURS * (100 - 10 - 16 + 100 - 10 - 2 * 15 - 16))


def test_what_is_diverted_or_pumped_to_a_plant_that_is_absent_runs_on(tmp_path):
    """Of 30 m³/s, 10 are diverted and 5 pumped to where nothing is yet: they make power further down."""
    plants = [
        hydro(0, inflow=30.0, most_hm3=0.0, productivity=0.1)
        | {"diversion": {"downstream_id": 1, "max_flow_m3s": 10.0}},
        hydro(1, inflow=0.0, productivity=9.0, downstream=2) | {"entry_stage_id": 5},
        hydro(2, inflow=0.0, most_hm3=0.0),
    ]
    station = {
        "id": 0,
        "name": "pump",
        "bus_id": 0,
        "source_hydro_id": 0,
        "destination_hydro_id": 1,
        "consumption_mw_per_m3s": 0.2,
        "flow": {"min_m3s": 0.0, "max_m3s": 5.0},
    }
    pump = given("system/pumping_stations.json", {"pumping_stations": [station]})
    found = bound(tmp_path, stages=1, hydros=plants, initial={0: 0.0, 1: 0.0, 2: 0.0}, pump=pump)
    assert found == pytest.approx(HOURS * (10 * (100 - 1.5 - 10 - 5 + 1.0) + 0.1 * 10))


def test_nothing_is_pumped_from_a_plant_that_is_absent(tmp_path):
    plants = [hydro(0, inflow=30.0) | {"entry_stage_id": 1}, hydro(1, inflow=0.0)]
    station = {
        "id": 0,
        "name": "pump",
        "bus_id": 0,
        "source_hydro_id": 0,
        "destination_hydro_id": 1,
        "consumption_mw_per_m3s": 0.2,
        "flow": {"min_m3s": 5.0, "max_m3s": 5.0},
    }
    pump = given("system/pumping_stations.json", {"pumping_stations": [station]})
    found = bound(tmp_path, hydros=plants, initial={0: 0.0, 1: 0.0}, pump=pump)
    assert found == pytest.approx(10 * HOURS * (100 + 100 - 25 - 5 + 1))


def random_inflows(files):
    """Two plants whose inflows remember the last one, and two openings in each of three stages."""
    numbers = range(3)
    files["initial_conditions.json"]["past_inflows"] = [
        {"hydro_id": 0, "values_m3s": [25.0]},
        {"hydro_id": 1, "values_m3s": [9.0]},
    ]
    files["scenarios/inflow_seasonal_stats.parquet"] |= {"std_m3s": [4.0] * 3 + [2.0] * 3}
    files["scenarios/inflow_ar_coefficients.parquet"] = {
        "hydro_id": [0, 0],  # the other's has no memory
        "stage_id": [1, 2],
        "lag": [1, 1],
        "coefficient": [0.6, 0.5],
        "residual_std_ratio": [0.8, 0.8],
    }
    rows = [(stage, opening, entity) for stage in numbers for opening in range(2) for entity in range(2)]
    files["scenarios/noise_openings.parquet"] = {
        "stage_id": [stage for stage, _, _ in rows],
        "opening_index": [opening for _, opening, _ in rows],
        "entity_index": [entity for _, _, entity in rows],
        "value": [(-1.0) ** opening * (1 + 0.3 * entity) for _, opening, entity in rows],
    }
    for stage in files["stages.json"]["stages"]:
        stage["num_scenarios"] = 2


@pytest.mark.parametrize("above", [0, 1])
def test_an_absent_plant_is_like_one_that_can_only_spill(tmp_path, above):
    """With inflows that are random and remember, whether the plant above has the lower or the higher id."""
    spills = hydro(above, inflow=20.0, most_hm3=0.0, turbines=0.0, productivity=0.0, downstream=1 - above)
    spills |= {"penalties": {"spillage_cost": 1e-9}}
    absent = hydro(above, inflow=20.0, downstream=1 - above) | {"entry_stage_id": 7}
    below = hydro(1 - above, inflow=20.0, most_hm3=40.0, turbines=60.0)
    bounds = []
    for name, plant in (("spills", spills), ("absent", absent)):
        plants = sorted(copy.deepcopy([plant, below]), key=lambda one: one["id"])
        case = {"stages": 3, "hydros": plants, "initial": {0: 0.0, 1: 0.0}, "noise": random_inflows}
        bounds.append(bound(tmp_path / name, **case))
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-9)
    assert bounds[0] < 10 * HOURS * 300  # there is something to compare


def new_reservoir(inflow, least, start=0, entry=2, **more):
    """A plant whose reservoir is filled up to a volume."""
    plant = hydro(0, inflow=inflow, **more)
    plant["reservoir"]["min_storage_hm3"] = least
    return plant | {"entry_stage_id": entry, "filling": {"start_stage_id": start}}


def filled_from(volume):
    return lambda files: files["initial_conditions.json"].update(
        filling_storage=[{"hydro_id": 0, "value_hm3": volume}]
    )


def test_a_reservoir_is_filled_before_the_plant_works(tmp_path):
    """Two stages keep 20 m³/s each. The third has 60 beside 5 from before, and 30 have to stay."""
    plant = new_reservoir(20.0, 30 * VOLUME)
    prepared = study(tmp_path, stages=3, hydros=[plant], filling=filled_from(5 * VOLUME))
    result = prepared.train()
    assert result.bound == pytest.approx(10 * HOURS * (100 + 100 + 100 - 35))
    table = simulate(prepared.problem, result.policy, 1).table.to_pylist()
    volumes = [row["storage:0_out"] / VOLUME for row in table]
    assert volumes == pytest.approx([25.0, 45.0, 30.0])


def test_a_reservoir_that_is_filled_later_does_not_exist_before(tmp_path):
    """The water of stage 0 is lost; that of stage 1 is kept."""
    plant = new_reservoir(20.0, 10 * VOLUME, start=1)
    found = bound(tmp_path, stages=3, hydros=[plant], filling=filled_from(5 * VOLUME))
    assert found == pytest.approx(10 * HOURS * (100 + 100 + 100 - 35))


def test_a_reservoir_that_nature_does_not_fill_costs(tmp_path):
    """After two stages 20 of 30 are there, and at the end all 30, so that nothing is turbined."""
    plant = new_reservoir(10.0, 30 * VOLUME)
    found = bound(tmp_path, stages=3, hydros=[plant], filling=filled_from(0.0))
    assert found == pytest.approx(10 * HOURS * 300 + 1e5 * 10 * VOLUME)


@pytest.mark.parametrize(("override", "kept"), [(None, 15.0 + 15.0), (18.0, 15.0 + 18.0)])
def test_water_is_retained_though_it_would_make_power_below(tmp_path, override, kept):
    above = new_reservoir(20.0, 5 * VOLUME, downstream=1)
    above["filling"]["filling_inflow_m3s"] = 15.0
    bounds = {"hydro_id": [0], "stage_id": [1], "filling_inflow_m3s": [override]}
    found = bound(
        tmp_path,
        hydros=[above, hydro(1, inflow=0.0)],
        initial={1: 0.0},
        filling=filled_from(0.0),
        bounds=given("constraints/hydro_bounds.parquet", bounds),
    )
    assert found == pytest.approx(HOURS * (10 * 200 - (10 - 0.001) * (40 - kept)))


def test_what_evaporates_was_retained_before(tmp_path):
    """Of 20 m³/s 15 are retained, and 5 run on, though 1 of the 15 evaporates from 100 km²."""
    above = new_reservoir(20.0, 5 * VOLUME, downstream=1) | {"evaporation": {"coefficients_mm": [25.92] * 12}}
    above["filling"]["filling_inflow_m3s"] = 15.0
    area = {"hydro_id": [0, 0], "volume_hm3": [0.0, 1000.0], "height_m": [1.0, 2.0]}
    prepared = study(
        tmp_path,
        hydros=[above, hydro(1, inflow=0.0)],
        initial={1: 0.0},
        filling=filled_from(0.0),
        area=given("system/hydro_geometry.parquet", area | {"area_km2": [100.0, 100.0]}),
    )
    result = prepared.train()
    assert result.bound == pytest.approx(HOURS * (10 * 200 - (10 - 0.001) * 10))
    table = simulate(prepared.problem, result.policy, 1).table.to_pylist()
    assert [row["storage:0_out"] / VOLUME for row in table] == pytest.approx([14.0, 28.0])


def test_a_river_below_a_reservoir_that_is_filled_gets_its_least_flow(tmp_path):
    """All of it would be kept to come nearer to the target, but for 4 m³/s."""
    above = new_reservoir(20.0, 100 * VOLUME, downstream=1)
    above["outflow"]["min_outflow_m3s"] = 4.0
    found = bound(tmp_path, hydros=[above, hydro(1, inflow=0.0)], initial={1: 0.0}, filling=filled_from(0.0))
    assert found == pytest.approx(HOURS * (10 * 200 - (10 - 0.001) * 8) + 1e5 * (100 - 32) * VOLUME)


def test_a_study_may_end_before_the_filling_does(tmp_path):
    above = new_reservoir(20.0, 100 * VOLUME, entry=3, downstream=1)
    found = bound(tmp_path, hydros=[above, hydro(1, inflow=0.0)], initial={1: 0.0}, filling=filled_from(0.0))
    assert found == pytest.approx(HOURS * (10 * 200 - (10 - 0.001) * 40))


def test_tables_of_plants_that_come_and_are_filled_balance(tmp_path):
    """0 → 1 → 2: the second does not exist, then is filled, then works; the first diverts to it as well."""
    plants = [
        hydro(0, inflow=20.0, most_hm3=30.0, downstream=1)
        | {"diversion": {"downstream_id": 1, "max_flow_m3s": 3.0}, "penalties": {"diversion_cost": 1e-6}},
        hydro(1, inflow=5.0, downstream=2) | {"entry_stage_id": 2, "filling": {"start_stage_id": 1}},
        hydro(2, inflow=4.0, most_hm3=30.0),
    ]
    plants[1]["reservoir"]["min_storage_hm3"] = 6 * VOLUME
    plants[1]["filling"]["filling_inflow_m3s"] = 4.0

    def filling(files):
        random_inflows(files)
        files["initial_conditions.json"]["filling_storage"] = [{"hydro_id": 1, "value_hm3": 1.0}]
        numbers = files["scenarios/inflow_seasonal_stats.parquet"]
        numbers["std_m3s"] = [1.0 for _ in numbers["hydro_id"]]
        noise = files["scenarios/noise_openings.parquet"]
        rows = [(stage, opening, 2) for stage in range(3) for opening in range(2)]
        for name, column in zip(
            ("stage_id", "opening_index", "entity_index"), zip(*rows, strict=True), strict=True
        ):
            noise[name] += column
        noise["value"] += [0.5, -0.7] * 3

    case = {"stages": 3, "hydros": plants, "thermals": FUEL, "initial": {0: 5.0, 2: 5.0}, "filling": filling}
    simulated = Simulated(small_case(tmp_path, **case), 8)
    rows = simulated.rows("hydros", "hydro_id")
    phases = {plant: simulated.system.of(Hydro)[plant].phases for plant in range(3)}
    assert phases[1] == ("absent", "filling", "operating")
    for (_scenario, stage, _block, plant), row in rows.items():
        gained = (row["storage_final_hm3"] - row["storage_initial_hm3"]) / VOLUME
        left = row["outflow_m3s"] + (row["diverted_outflow_m3s"] or 0.0)
        if phases[plant][stage] == "absent":
            assert (gained, left, row["generation_mw"]) == (0.0, 0.0, 0.0)
        else:
            assert gained == pytest.approx(row["inflow_m3s"] - left, abs=1e-6)
        assert (row["operative_state_code"] == 0) == (phases[plant][stage] != "operating")
    for scenario in range(8):
        first, second, third = (rows[scenario, 0, 0, plant] for plant in range(3))
        arrives = first["outflow_m3s"] + first["diverted_outflow_m3s"]
        arrives += second["incremental_inflow_m3s"] + third["incremental_inflow_m3s"]
        assert third["inflow_m3s"] == pytest.approx(arrives)
