"""Ids that name nothing or two things, and data that is missing or too much."""

import pytest

from tests.case.changes import (
    AVAILABILITY,
    BUSES,
    COEFFICIENTS,
    CORRELATION,
    GENERIC,
    GENERIC_BOUNDS,
    GEOMETRY,
    HYDROS,
    INFLOWS,
    INITIAL,
    LINES,
    LOAD_FACTORS,
    LOADS,
    OPENINGS,
    PRODUCTION,
    STAGES,
    STATIONS,
    THERMAL_BOUNDS,
    assert_found,
    at,
    more_rows,
    no_last_row,
    without,
)

GROUP = "profiles.default.correlation_groups.0"
RANGE = "production_models.0.stage_ranges.0"
PLANES = "system/fpha_hyperplanes.parquet"


def planes(**more):
    """A change: plant 1 has planes in stages 1 and 2, and one is given."""
    plane = {"hydro_id": [1], "stage_id": [None], "plane_id": [0], "gamma_0": [0.0]}
    plane |= {"gamma_v": [0.0], "gamma_q": [1.0], "gamma_s": [0.0]}

    def change(files):
        choice = files[PRODUCTION]["production_models"][0]["stage_ranges"][0]
        choice |= {"model": "fpha", "fpha_config": {"source": "precomputed"}}
        del choice["productivity_override"]
        files[PLANES] = plane | more

    return change


def fitted(files):
    """A change: planes of plant 0, whose geometry is there, are to be fitted."""
    config = {"model": "fpha", "fpha_config": {"source": "computed"}, "start_stage_id": 0}
    content = {"hydro_id": 0, "selection_mode": "stage_ranges", "stage_ranges": [config]}
    files[PRODUCTION]["production_models"].append(content)
    files[HYDROS]["hydros"][0] |= {
        "tailrace": {"type": "polynomial", "coefficients": [5.0]},
        "hydraulic_losses": {"type": "factor", "value": 0.0},
        "efficiency": {"type": "constant", "value": 0.9},
    }


def external(files):
    files["scenarios/external_load_scenarios.parquet"] = {
        "bus_id": [0, 0, 1],
        "stage_id": [0, 1, 0],
        "scenario_id": [0, 0, 1],
        "value_mw": [1.0, 1.0, 1.0],
    }


#: A change, and what it must lead to: kind, file, part of the field, part of the message.
CASES = {
    "stage of a plane": (planes(stage_id=[9]), "reference", PLANES, "stage_id", "no stage 9"),
    "plane that falls": (planes(gamma_v=[-1.0]), "schema", PLANES, "gamma_v", "at least 0"),
    "planes of a stage": (planes(stage_id=[2]), "dimension", PRODUCTION, "model", "no planes"),
    "planes and a productivity": (
        lambda files: (planes()(files), at(PRODUCTION, f"{RANGE}.productivity_override", 1.0)(files)),
        "dimension",
        PRODUCTION,
        "model",
        "no meaning where there are planes",
    ),
    "neither": (
        lambda files: (
            at(HYDROS, "hydros.1.generation.model", "fpha")(files),
            without(HYDROS, "hydros.1.generation.productivity_mw_per_m3s")(files),
        ),
        "dimension",
        PRODUCTION,
        "model",
        "no planes",
    ),
    "no productivity": (
        lambda files: (
            at(HYDROS, "hydros.1.generation.model", "fpha")(files),
            without(HYDROS, "hydros.1.generation.productivity_mw_per_m3s")(files),
            without(PRODUCTION, f"{RANGE}.productivity_override")(files),
            at(PRODUCTION, f"{RANGE}.start_stage_id", 0)(files),
        ),
        "dimension",
        PRODUCTION,
        "model",
        "no productivity",
    ),
    "planes without an efficiency": (
        lambda files: (fitted(files), without(HYDROS, "hydros.0.efficiency")(files)),
        "dimension",
        PRODUCTION,
        "model",
        "without efficiency",
    ),
    "planes without a geometry": (
        lambda files: (fitted(files), no_last_row(GEOMETRY)(files), no_last_row(GEOMETRY)(files)),
        "dimension",
        PRODUCTION,
        "model",
        "two points",
    ),
    "planes of a plant without a fall": (
        lambda files: (fitted(files), at(HYDROS, "hydros.0.tailrace.coefficients", [99.0])(files)),
        "dimension",
        PRODUCTION,
        "model",
        "no power",
    ),
    "bus of a plant": (at(HYDROS, "hydros.0.bus_id", 9), "reference", HYDROS, "bus_id", "no bus 9"),
    "downstream": (
        at(HYDROS, "hydros.1.downstream_id", 9),
        "reference",
        HYDROS,
        "downstream_id",
        "no hydro 9",
    ),
    "bus of a line": (at(LINES, "lines.0.target_bus_id", 9), "reference", LINES, "target_bus_id", "no bus 9"),
    "pumping from": (
        at(STATIONS, "pumping_stations.0.source_hydro_id", 9),
        "reference",
        STATIONS,
        "source",
        "hydro 9",
    ),
    "storage of": (
        at(INITIAL, "storage.0.hydro_id", 9),
        "reference",
        INITIAL,
        "storage[0].hydro_id",
        "no hydro 9",
    ),
    "factors of": (
        at(LOAD_FACTORS, "load_factors.0.stage_id", 9),
        "reference",
        LOAD_FACTORS,
        "stage_id",
        "no stage 9",
    ),
    "row of a bus": (at(LOADS, "bus_id.0", 9), "reference", LOADS, "bus_id", "no bus 9"),
    "row of a stage": (
        at(THERMAL_BOUNDS, "stage_id.0", 9),
        "reference",
        THERMAL_BOUNDS,
        "stage_id",
        "no stage 9",
    ),
    "in an expression": (
        at(GENERIC, "constraints.0.expression", "bus_deficit(9)"),
        "reference",
        GENERIC,
        "expression",
        "no bus 9",
    ),
    "correlated": (
        at(CORRELATION, f"{GROUP}.entities.0.id", 9),
        "reference",
        CORRELATION,
        "groups",
        "no hydro 9",
    ),
    "profile": (
        at(CORRELATION, "schedule", [{"stage_id": 0, "profile_name": "x"}]),
        "reference",
        CORRELATION,
        "schedule[0].profile_name",
        "no profile 'x'",
    ),
    "transition": (
        at(STAGES, "policy_graph.transitions.0.target_id", 9),
        "reference",
        STAGES,
        "target_id",
        "stage 9",
    ),
    "unknown thermal in the pipeline": (
        at(INITIAL, "gnl_pipeline.0.thermal_id", 7),
        "reference",
        INITIAL,
        "gnl_pipeline[0].thermal_id",
        "no thermal 7",
    ),
    "committed twice": (
        at(INITIAL, "gnl_pipeline.1", {"thermal_id": 1, "stage_offset": 1, "committed_mw": 0.0}),
        "duplicate",
        INITIAL,
        "",
        "thermal and stage_offset (1, 1) appears 2 times",
    ),
    "same id": (at(BUSES, "buses.1.id", 0), "duplicate", BUSES, "", "bus id 0 appears 2 times"),
    "same stage": (at(STAGES, "stages.1.id", 0), "duplicate", STAGES, "", "stage id 0"),
    "same row": (more_rows(LOADS), "duplicate", LOADS, "", "bus_id 1, stage_id 2"),
    "same storage": (at(INITIAL, "storage.1.hydro_id", 0), "duplicate", INITIAL, "", "hydro 0"),
    "block ids": (at(STAGES, "stages.0.blocks.1.id", 2), "dimension", STAGES, "blocks", "0 to 1"),
    "a missing row": (no_last_row(INFLOWS), "dimension", INFLOWS, "stage_id", "no row in stage 2"),
    "a missing load": (no_last_row(LOADS), "dimension", LOADS, "stage_id", "no row in stage 2"),
    "half of a source": (
        no_last_row(AVAILABILITY),
        "dimension",
        AVAILABILITY,
        "stage_id",
        "no row in stage 2",
    ),
    "a gap in lags": (at(COEFFICIENTS, "lag.0", 2), "dimension", COEFFICIENTS, "lag", "without a gap"),
    "no such block": (
        at(LOAD_FACTORS, "load_factors.0.block_factors.0.block_id", 2),
        "dimension",
        LOAD_FACTORS,
        "block_id",
        "no block 2",
    ),
    "no block of a plant": (
        at(THERMAL_BOUNDS, "block_id", [2]),
        "dimension",
        THERMAL_BOUNDS,
        "block_id",
        "no block 2",
    ),
    "no block to bound": (
        at(GENERIC_BOUNDS, "block_id.1", 2),
        "dimension",
        GENERIC_BOUNDS,
        "block_id",
        "no block 2",
    ),
    "no block to sum": (
        at(GENERIC, "constraints.0.expression", "line_direct(0, 2)"),
        "dimension",
        GENERIC,
        "expression",
        "block 2",
    ),
    "openings": (no_last_row(OPENINGS), "dimension", OPENINGS, "", "7 rows"),
    "more openings": (
        at(STAGES, "stages.0.num_scenarios", 3),
        "dimension",
        OPENINGS,
        "opening_index",
        "3 openings",
    ),
    "entities": (at(OPENINGS, "entity_index.0", 4), "dimension", OPENINGS, "entity_index", "0 to 3"),
    "stages of openings": (
        at(OPENINGS, "stage_id", [0] * 24),
        "dimension",
        OPENINGS,
        "stage_id",
        "all 3 stages",
    ),
    "matrix": (at(CORRELATION, f"{GROUP}.matrix", [[1.0]]), "dimension", CORRELATION, "matrix", "2 by 2"),
    "unknown past season": (
        lambda files: (
            at(INITIAL, "past_inflows.0.season_ids", [99])(files),
            at(
                STAGES,
                "season_definitions",
                {
                    "cycle_type": "monthly",
                    "seasons": [{"id": i, "label": str(i), "month_start": i + 1} for i in range(12)],
                },
            )(files),
        ),
        "reference",
        INITIAL,
        "season_ids",
        "no season 99",
    ),
    "seasons of the past": (
        at(INITIAL, "past_inflows.0.season_ids", [1, 2]),
        "dimension",
        INITIAL,
        "season_ids",
        "2",
    ),
    "no geometry": (without(GEOMETRY), "dimension", HYDROS, "evaporation", "areas"),
    "no past statistics": (at(INFLOWS, "stage_id.0", -5), "dimension", INFLOWS, "stage_id", "looks back 1"),
    "given scenarios": (
        external,
        "dimension",
        "scenarios/external_load_scenarios.parquet",
        "stage_id",
        "all stages",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_finding_says_what_and_where(tmp_path, name):
    assert_found(tmp_path, CASES[name])
