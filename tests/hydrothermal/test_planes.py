"""Power below planes in volume, turbined and spilled flow: on paper, and as the original program has it."""

import pytest

from cobre.case import load
from cobre.elements.hydro.data import Hydro
from cobre.errors import CaseError
from cobre.study import Study
from tests.hydrothermal.small_cases import HOURS, VOLUME, given, hydro, small_case, thermal, two_blocks
from tests.hydrothermal.test_simulation_tables import Simulated

GIVEN, FITTED = {"source": "precomputed"}, {"source": "computed"}


def with_planes(number, **more):
    """A plant whose own entry has no productivity."""
    limits = {name: more.pop(name) for name in list(more) if name.startswith(("min_", "max_"))}
    plant = hydro(number, **more)
    del plant["generation"]["productivity_mw_per_m3s"]
    plant["generation"] |= {"model": "fpha", **limits}
    return plant


def models(*ranges):
    """A change: the generation models of plant 0, as first and last stage, model and more."""
    entries = [
        {"start_stage_id": first, "end_stage_id": last, "model": model, **more}
        for first, last, model, more in ranges
    ]
    content = [{"hydro_id": 0, "selection_mode": "stage_ranges", "stage_ranges": entries}]
    return given("system/hydro_production_models.json", {"production_models": content})


def seasonal(default, *seasons):
    entries = [{"season_id": season, "model": model, **more} for season, model, more in seasons]
    content = {"hydro_id": 0, "selection_mode": "seasonal", "default_model": default, "seasons": entries}
    return given("system/hydro_production_models.json", {"production_models": [content]})


def planes(*rows):
    """A change: stage, constant, slopes and factor of each plane of plant 0."""
    stages, *numbers = zip(*rows, strict=True)
    names = ("gamma_0", "gamma_v", "gamma_q", "gamma_s", "kappa")
    table = {"hydro_id": [0] * len(rows), "stage_id": list(stages), "plane_id": list(range(len(rows)))}
    table |= {name: list(column) for name, column in zip(names, numbers, strict=True)}
    return given("system/fpha_hyperplanes.parquet", table)


def bound(folder, **case):
    case = {"stages": 1, "thermals": [thermal(0, 200.0, 10.0)], **case}
    return Study.load(small_case(folder, **case)).train().bound


@pytest.mark.parametrize(("by_volume", "released"), [(0.1, 40 + 100 / VOLUME), (0.5, 0.0)])
def test_water_is_released_or_kept_for_its_head(tmp_path, by_volume, released):
    """Of the 40 m³/s and 100 hm³ all is turbined, or, where the head makes more power, nothing."""
    found = bound(
        tmp_path,
        hydros=[with_planes(0, inflow=40.0)],
        initial={0: 100.0},
        planes=planes((None, 10.0, by_volume, 0.5, 0.0, 0.5)),
    )
    end = 100 + (40 - released) * VOLUME
    power = 10.0 * 0.5 + by_volume * (100 + end) / 2 + 0.5 * released
    assert found == pytest.approx(HOURS * (10 * (100 - power) + 0.05 * released))


def test_what_is_spilled_takes_from_the_power(tmp_path):
    found = bound(
        tmp_path,
        hydros=[with_planes(0, inflow=40.0, most_hm3=0.0, turbines=10.0)],
        initial={0: 0.0},
        planes=planes((None, 5.0, 0.0, 0.5, -0.2, None)),
    )
    power = 5 + 0.5 * 10 - 0.2 * 30
    assert found == pytest.approx(HOURS * (10 * (100 - power) + 0.05 * 10 + 0.001 * 30))


def test_the_lowest_plane_and_the_greatest_power_count(tmp_path):
    for number, (most, power) in enumerate([(1000.0, 22.0), (15.0, 15.0)]):
        found = bound(
            tmp_path / str(number),
            hydros=[with_planes(0, inflow=40.0, most_hm3=0.0, max_generation_mw=most)],
            initial={0: 0.0},
            planes=planes((None, 0.0, 0.0, 1.0, 0.0, None), (None, 2.0, 0.0, 0.5, 0.0, None)),
        )
        if most > power:  # otherwise water is spilled instead, which costs less
            assert found == pytest.approx(HOURS * (10 * (100 - power) + 0.05 * 40))
        else:
            turbined = (15 - 2) / 0.5
            assert found == pytest.approx(
                HOURS * (10 * (100 - 15) + 0.05 * turbined + 0.001 * (40 - turbined))
            )


WRONG_TAILRACES = {
    "coefficients": {"type": "polynomial", "coefficients": []},
    "no points": {"type": "piecewise", "points": []},
    "two points at 5 m³/s": {
        "type": "piecewise",
        "points": [{"outflow_m3s": 5.0, "height_m": height} for height in (1.0, 2.0)],
    },
}


@pytest.mark.parametrize("words", WRONG_TAILRACES)
def test_a_tailrace_without_a_level_is_refused(tmp_path, words):
    plant = with_planes(0, inflow=40.0) | {"tailrace": WRONG_TAILRACES[words]}
    plant |= {"hydraulic_losses": {"type": "factor", "value": 0.0}}
    plant |= {"efficiency": {"type": "constant", "value": 0.9}}
    geometry = {
        "hydro_id": [0, 0],
        "volume_hm3": [0.0, 900.0],
        "height_m": [9.0, 20.0],
        "area_km2": [1.0, 2.0],
    }
    points = given("system/hydro_geometry.parquet", geometry)
    with pytest.raises(CaseError, match=words):
        load(small_case(tmp_path, hydros=[plant], initial={0: 50.0}, points=points))


def test_a_flood_that_drowns_the_turbines_costs(tmp_path):
    """Planes 20 MW below 0 take that from the bus, and there is a solution."""
    folder = small_case(
        tmp_path,
        stages=1,
        thermals=[thermal(0, 200.0, 10.0)],
        hydros=[with_planes(0, inflow=40.0, most_hm3=0.0, turbines=10.0)],
        initial={0: 0.0},
        planes=planes((None, 5.0, 0.0, 0.5, -1.0, None)),
    )
    simulated = Simulated(folder, 1)
    (row,) = simulated.rows("hydros", "hydro_id").values()
    assert (row["generation_mw"], row["generation_slack_mw"]) == pytest.approx((-20.0, 20.0))
    (costs,) = simulated.rows("costs").values()
    assert costs["generation_violation_cost"] == pytest.approx(HOURS * 1e5 * 20)
    expected = HOURS * (10 * (100 + 20) + 1e5 * 20 + 0.05 * 10 + 0.001 * 30)
    assert costs["total_cost"] == pytest.approx(expected)


@pytest.mark.parametrize("mode", ["parallel", "chronological"])
def test_the_volume_is_that_of_the_time(tmp_path, mode):
    """20 m³/s are released in the first block. The head is lower in the second, if they follow each other."""

    def release(files):
        files["stages.json"]["stages"][0]["block_mode"] = mode
        rule = {"id": 0, "name": "release", "expression": "hydro_turbined(0)", "sense": ">="}
        rule["slack"] = {"enabled": False}
        files["constraints/generic_constraints.json"] = {"constraints": [rule]}
        bounds = {"constraint_id": [0], "stage_id": [0], "block_id": [0], "bound": [20.0]}
        files["constraints/generic_constraint_bounds.parquet"] = bounds

    found = bound(
        tmp_path,
        hydros=[with_planes(0, inflow=0.0)],
        initial={0: 100.0},
        blocks=two_blocks,
        planes=planes((None, 5.0, 0.5, 0.3, 0.0, None)),
        release=release,
    )
    end = 100 - 20 * VOLUME / 2
    later = end if mode == "chronological" else (100 + end) / 2
    power = 5 + 0.5 * (100 + end) / 2 + 0.3 * 20 + 5 + 0.5 * later
    assert found == pytest.approx(HOURS / 2 * (10 * (200 - power) + 0.05 * 20))


GEOMETRY = {
    "hydro_id": [0] * 5,
    "volume_hm3": [20.0, 60.0, 120.0, 180.0, 240.0],
    "height_m": [350.0, 357.0, 364.0, 369.0, 372.0],
    "area_km2": [1.0, 2.0, 3.0, 4.0, 5.0],
}
TAILRACES = {
    "constant": {"type": "polynomial", "coefficients": [300.0]},
    "polynomial": {"type": "polynomial", "coefficients": [300.0, 0.02, 1e-5]},
    "piecewise": {
        "type": "piecewise",
        "points": [
            {"outflow_m3s": flow, "height_m": level}
            for flow, level in ((0.0, 300.0), (60.0, 301.0), (200.0, 305.0))
        ],
    },
}
LOSSES = {"factor": {"type": "factor", "value": 0.04}, "metres": {"type": "constant", "value_m": 2.0}}
WINDOW = FITTED | {
    "volume_discretization_points": 7,
    "turbine_discretization_points": 9,
    "spillage_discretization_points": 3,
    "max_planes_per_hydro": 4,
    "fitting_window": {"volume_min_percentile": 0.2, "volume_max_hm3": 200.0},
}
ROWS = (
    (None, 1.0, 0.05, 0.5, 0.0, 1.0),
    (None, 5.0, 0.02, 0.45, -0.01, 0.9),
    (None, 20.0, 0.0, 0.3, -0.02, None),
    (2, 0.0, 0.1, 0.4, -0.03, 0.95),
    (2, 3.0, 0.01, 0.6, 0.0, 1.0),
)
ALWAYS = models((0, None, "fpha", {"fpha_config": FITTED}))


def limits(files):
    rule = {"id": 0, "name": "rule", "expression": "hydro_generation(0) - 0.2 * hydro_generation(1, 0)"}
    rule |= {"sense": "<=", "slack": {"enabled": True, "penalty": 20.0}}
    files["constraints/generic_constraints.json"] = {"constraints": [rule]}
    bounds = {"constraint_id": [0, 0], "stage_id": [0, 1], "block_id": [None, 1], "bound": [20.0, 25.0]}
    files["constraints/generic_constraint_bounds.parquet"] = bounds
    own = files["system/hydros.json"]["hydros"][0]["generation"]
    own |= {"min_generation_mw": 30.0, "max_generation_mw": 38.0, "min_turbined_m3s": 15.0}


def override(value):
    return {"productivity_override": value}


#: Tailrace, losses, further changes, and the bound that cobre-python 0.5.1 finds for the same folder.
PEER = {
    "level tailrace": ("constant", "factor", [ALWAYS], 248253.95035909218),
    "polynomial": ("polynomial", "metres", [ALWAYS], 237822.6148791482),
    "piecewise": ("piecewise", "factor", [ALWAYS], 258931.96926181714),
    "window": (
        "polynomial",
        "factor",
        [models((0, None, "fpha", {"fpha_config": WINDOW}))],
        236482.47279219993,
    ),
    "ranges": (
        "polynomial",
        "factor",
        [
            models(
                (0, 1, "fpha", {"fpha_config": FITTED}),
                (2, None, "constant_productivity", override(0.5)),
            )
        ],
        281192.17164568184,
    ),
    "seasons": (
        "polynomial",
        "factor",
        [
            seasonal(
                "constant_productivity",
                (0, "fpha", {"fpha_config": FITTED}),
                (3, "fpha", {"fpha_config": FITTED}),
                (1, "constant_productivity", override(0.4)),
                (2, "constant_productivity", override(0.45)),
            )
        ],
        462800.9513721257,
    ),
    "given": (
        "polynomial",
        "factor",
        [models((0, None, "fpha", {"fpha_config": GIVEN})), planes(*ROWS)],
        317181.4012530243,
    ),
    "limits": (
        "polynomial",
        "factor",
        [models((0, None, "fpha", {"fpha_config": GIVEN})), planes(*ROWS), limits],
        785421.5410848563,
    ),
}


def peer_case(folder, tailrace, losses, changes):
    first = with_planes(0, inflow=70.0, most_hm3=240.0, turbines=120.0, downstream=1)
    first["reservoir"]["min_storage_hm3"] = 20.0
    first |= {"tailrace": TAILRACES[tailrace], "hydraulic_losses": LOSSES[losses]}
    first["efficiency"] = {"type": "constant", "value": 0.9}
    second = hydro(1, inflow=10.0, most_hm3=100.0, productivity=0.05)
    changes = {f"change {i}": change for i, change in enumerate(changes)}
    return small_case(
        folder,
        stages=4,
        hydros=[first, second],
        thermals=[thermal(0, 20.0, 10.0), thermal(1, 20.0, 50.0)],
        load={0: 60.0},
        initial={0: 150.0, 1: 20.0},
        blocks=two_blocks,
        geometry=given("system/hydro_geometry.parquet", GEOMETRY),
        **changes,
    )


@pytest.mark.parametrize("name", PEER)
def test_planes_given_or_fitted_have_the_value_of_the_original(tmp_path, name):
    tailrace, losses, changes, value = PEER[name]
    found = Study.load(peer_case(tmp_path, tailrace, losses, changes)).train().bound
    assert found == pytest.approx(value, rel=1e-9)


def test_tables_have_the_power_that_planes_allow(tmp_path):
    simulated = Simulated(peer_case(tmp_path, *PEER["limits"][:3]), 1)
    plants, fuels = simulated.rows("hydros", "hydro_id"), simulated.rows("thermals", "thermal_id")
    for (*moment, _), bus in simulated.rows("buses", "bus_id").items():
        own = plants[*moment, 0]
        made = sum(rows[*moment, i]["generation_mw"] for rows in (plants, fuels) for i in (0, 1))
        assert made + bus["deficit_mw"] - bus["excess_mw"] == pytest.approx(60.0, abs=1e-6)
        planes = [row for row in ROWS if row[0] == (2 if moment[1] == 2 else None)]
        volume = (own["storage_initial_hm3"] + own["storage_final_hm3"]) / 2
        most = min(
            constant * (share or 1.0) + v * volume + q * own["turbined_m3s"] + s * own["spillage_m3s"]
            for _, constant, v, q, s, share in planes
        )
        assert own["generation_mw"] <= min(most, 38.0) + 1e-6
        assert own["productivity_mw_per_m3s"] is None


def test_fitted_planes_of_a_level_head_are_one_plane(tmp_path):
    """A head that nothing changes makes power proportional to the flow: 9.81 kW per metre and m³/s."""
    level = given("system/hydro_geometry.parquet", GEOMETRY | {"height_m": [350.0] * 5})
    folder = peer_case(tmp_path, "constant", "metres", [ALWAYS, level])
    (found,) = {id(one): one for one in load(folder).system.of(Hydro)[0].planes}.values()
    assert found.mw_per_m3s_turbined == pytest.approx([0.9 * 9.81 * (350 - 300 - 2) / 1000])
    for zero in (found.constant_mw, found.mw_per_hm3, found.mw_per_m3s_spilled):
        assert zero == pytest.approx([0.0], abs=1e-12)
