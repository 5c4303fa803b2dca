"""Everything that is wrong with a case is found, at once, and named."""

import contextlib
import copy

import pytest

from cobre import case
from cobre.case import CaseError
from tests.case import folders

CONFIG, STAGES, PENALTIES, INITIAL = "config.json", "stages.json", "penalties.json", "initial_conditions.json"
BUSES, LINES, HYDROS, THERMALS = (f"system/{name}.json" for name in ("buses", "lines", "hydros", "thermals"))
SOURCES = "system/non_controllable_sources.json"
STATIONS, CONTRACTS = "system/pumping_stations.json", "system/energy_contracts.json"
PRODUCTION, GEOMETRY = "system/hydro_production_models.json", "system/hydro_geometry.parquet"
INFLOWS, COEFFICIENTS = "scenarios/inflow_seasonal_stats.parquet", "scenarios/inflow_ar_coefficients.parquet"
LOADS, AVAILABILITY = "scenarios/load_seasonal_stats.parquet", "scenarios/non_controllable_stats.parquet"
OPENINGS, CORRELATION = "scenarios/noise_openings.parquet", "scenarios/correlation.json"
GENERIC, GENERIC_BOUNDS = (
    "constraints/generic_constraints.json",
    "constraints/generic_constraint_bounds.parquet",
)
THERMAL_BOUNDS, HYDRO_BOUNDS = "constraints/thermal_bounds.parquet", "constraints/hydro_bounds.parquet"
EXCHANGE, LOAD_FACTORS = "constraints/exchange_factors.json", "scenarios/load_factors.json"


def at(file, path, value):
    """A change of one value; an index just beyond the end of a list appends to it."""

    def change(files):
        here = files[file]
        *steps, last = path.split(".")
        for step in steps:
            here = here[int(step) if isinstance(here, list) else step]
        if isinstance(here, list) and int(last) == len(here):
            here.append(value)
        else:
            here[int(last) if isinstance(here, list) else last] = value

    return change


def without(file, path=None):
    def change(files):
        if path is None:
            del files[file]
            return
        here = files[file]
        *steps, last = path.split(".")
        for step in steps:
            here = here[int(step) if isinstance(here, list) else step]
        del here[int(last) if isinstance(here, list) else last]

    return change


def no_last_row(file):
    def change(files):
        files[file] = {name: values[:-1] for name, values in files[file].items()}

    return change


def more_rows(file):
    def change(files):
        files[file] = {name: [*values, values[-1]] for name, values in files[file].items()}

    return change


def content(file, text):
    return lambda files: files.update({file: text})


def history(files):
    files["scenarios/inflow_history.parquet"] = {"hydro_id": [0], "date": [0], "value_m3s": [1.0]}
    del files[COEFFICIENTS]


def external(files):
    files["scenarios/external_load_scenarios.parquet"] = {
        "bus_id": [0, 0, 1],
        "stage_id": [0, 1, 0],
        "scenario_id": [0, 0, 1],
        "value_mw": [1.0, 1.0, 1.0],
    }


SEASONS = {"cycle_type": "custom", "seasons": [{"id": 0, "label": "a", "month_start": 1}]}
GROUP = "profiles.default.correlation_groups.0"
RANGE = "production_models.0.stage_ranges.0"

#: A change, and a finding that it must lead to: kind, file, part of the field, part of the message.
CASES = {
    # structure
    "no config": (without(CONFIG), "missing_file", CONFIG, "", "missing"),
    "no hydros": (without(HYDROS), "missing_file", HYDROS, "", "missing"),
    "no inflows": (without(INFLOWS), "missing_file", INFLOWS, "", "statistics"),
    "misspelt file": (
        content("scenarios/load_factor.json", "{}"),
        "unknown_file",
        "scenarios/load_factor.json",
        "",
        "",
    ),
    # syntax
    "bad JSON": (
        content(STAGES, '{"stages": [\n  1,]}'),
        "syntax",
        STAGES,
        "line 2, column 5",
        "is not JSON",
    ),
    "empty": (content(BUSES, ""), "syntax", BUSES, "line 1, column 1", "is not JSON"),
    "not UTF-8": (content(LINES, b'{"lines": "\xff"}'), "syntax", LINES, "", "UTF-8"),
    "NaN": (content(BUSES, '{"buses": NaN}'), "syntax", BUSES, "", "NaN"),
    "too deep": (content(BUSES, "[" * 100_000), "syntax", BUSES, "", "nested too deeply"),
    "name twice": (content(BUSES, '{"buses": [], "buses": []}'), "duplicate", BUSES, "buses", "twice"),
    "not Parquet": (content(LOADS, b"PAR1 nonsense"), "unreadable", LOADS, "", "Parquet"),
    # schema
    "no object": (content(THERMALS, "[]"), "schema", THERMALS, "", "object"),
    "no field": (without(HYDROS, "hydros.1.bus_id"), "schema", HYDROS, "hydros[1].bus_id", "is required"),
    "unknown field": (at(BUSES, "buses.0.nam", "x"), "schema", BUSES, "buses[0].nam", "no such field"),
    "text for a number": (
        at(THERMALS, "thermals.0.cost_per_mwh", "5"),
        "schema",
        THERMALS,
        "cost_per_mwh",
        "number",
    ),
    "fraction for an id": (at(BUSES, "buses.0.id", 0.5), "schema", BUSES, "buses[0].id", "integer"),
    "id too large": (at(BUSES, "buses.0.id", 2**31), "schema", BUSES, "buses[0].id", "less than"),
    "negative capacity": (
        at(LINES, "lines.0.capacity.direct_mw", -1.0),
        "schema",
        LINES,
        "direct_mw",
        "greater",
    ),
    "zero penalty": (
        at(PENALTIES, "line.exchange_cost", 0.0),
        "schema",
        PENALTIES,
        "exchange_cost",
        "greater than 0",
    ),
    "infinite": (
        content(PENALTIES, '{"bus": {"excess_cost": 1e999}}'),
        "schema",
        PENALTIES,
        "excess_cost",
        "finite",
    ),
    "bad date": (at(STAGES, "stages.0.start_date", "2024-13-01"), "schema", STAGES, "start_date", "date"),
    "no scenarios": (at(STAGES, "stages.0.num_scenarios", 0), "schema", STAGES, "num_scenarios", "greater"),
    "CVaR": (
        at(STAGES, "stages.0.risk_measure", {"cvar": {"alpha": 0.0, "lambda": 1.0}}),
        "schema",
        STAGES,
        "alpha",
        "",
    ),
    "bad model": (at(HYDROS, "hydros.0.generation.model", "magic"), "schema", HYDROS, "generation", "tag"),
    "in a model": (
        at(HYDROS, "hydros.0.generation.max_turbined_m3s", None),
        "schema",
        HYDROS,
        "hydros[0].generation.max_turbined_m3s",
        "number",
    ),
    "eleven months": (
        at(HYDROS, "hydros.0.evaporation.coefficients_mm", [1.0] * 11),
        "schema",
        HYDROS,
        "coefficients_mm",
        "12",
    ),
    "no limit": (
        at(CONFIG, "training.stopping_rules", [{"type": "time_limit", "seconds": 1.0}]),
        "schema",
        CONFIG,
        "training",
        "iteration_limit",
    ),
    "moved": (at(STAGES, "scenario_source", {}), "schema", STAGES, "scenario_source", "no longer"),
    "slack for nothing": (
        at(GENERIC, "constraints.0.slack", {"enabled": True}),
        "schema",
        GENERIC,
        "slack",
        "penalty",
    ),
    "no column": (without(LOADS, "mean_mw"), "schema", LOADS, "mean_mw", "missing"),
    "unknown column": (at(LOADS, "mean", [1.0] * 6), "schema", LOADS, "mean", "no such column"),
    "wrong type": (
        at(LOADS, "mean_mw", folders.pa.array(["x"] * 6)),
        "schema",
        LOADS,
        "mean_mw",
        "type string",
    ),
    "null": (at(LOADS, "mean_mw.2", None), "schema", LOADS, "mean_mw", "null"),
    "NaN in a table": (at(LOADS, "mean_mw.2", float("nan")), "schema", LOADS, "mean_mw[2]", "finite"),
    "negative deviation": (at(INFLOWS, "std_m3s.1", -1.0), "schema", INFLOWS, "std_m3s[1]", "at least 0"),
    "ratio": (
        at(COEFFICIENTS, "residual_std_ratio.0", 0.0),
        "schema",
        COEFFICIENTS,
        "[0]",
        "above 0 and at most 1",
    ),
    "custom season": (at(STAGES, "season_definitions", SEASONS), "schema", STAGES, "", "day_start"),
    # references
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
    "same id": (at(BUSES, "buses.1.id", 0), "duplicate", BUSES, "", "bus id 0 appears 2 times"),
    "same stage": (at(STAGES, "stages.1.id", 0), "duplicate", STAGES, "", "stage id 0"),
    "same row": (more_rows(LOADS), "duplicate", LOADS, "", "bus_id 1, stage_id 2"),
    "same storage": (at(INITIAL, "storage.1.hydro_id", 0), "duplicate", INITIAL, "", "hydro 0"),
    # dimensions
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
    # meaning
    "no stages": (at(STAGES, "stages", []), "meaning", STAGES, "stages", "no stages"),
    "no buses": (at(BUSES, "buses", []), "meaning", BUSES, "buses", "no buses"),
    "circle": (at(HYDROS, "hydros.1.downstream_id", 0), "meaning", HYDROS, "downstream_id", "0 → 1 → 0"),
    "own downstream": (at(HYDROS, "hydros.0.downstream_id", 0), "meaning", HYDROS, "downstream_id", "0 → 0"),
    "own diversion": (
        at(HYDROS, "hydros.0.diversion.downstream_id", 0),
        "meaning",
        HYDROS,
        "diversion",
        "to itself",
    ),
    "min above max": (
        at(HYDROS, "hydros.0.reservoir.min_storage_hm3", 200.0),
        "meaning",
        HYDROS,
        "min_storage",
        "all",
    ),
    "min above max in a stage": (
        at(THERMAL_BOUNDS, "min_generation_mw.0", 90.0),
        "meaning",
        THERMAL_BOUNDS,
        "min_generation_mw",
        "in stage 1",
    ),
    "min flow": (
        at(STATIONS, "pumping_stations.0.flow.min_m3s", 4.0),
        "meaning",
        STATIONS,
        "min_m3s",
        "above max_m3s",
    ),
    "contract": (
        at(CONTRACTS, "contracts.0.limits.min_mw", 16.0),
        "meaning",
        CONTRACTS,
        "min_mw",
        "above max_mw",
    ),
    "cheaper deficit": (
        at(PENALTIES, "bus.deficit_segments.1.cost", 1000.0),
        "meaning",
        PENALTIES,
        "bus.deficit_segments[1].cost",
        "increase",
    ),
    "bounded deficit": (
        at(BUSES, "buses.1.deficit_segments.0.depth_mw", 5.0),
        "meaning",
        BUSES,
        "deficit_segments[0].depth_mw",
        "last segment",
    ),
    "endless deficit": (
        at(PENALTIES, "bus.deficit_segments.0.depth_mw", None),
        "meaning",
        PENALTIES,
        "[0]",
        "only the",
    ),
    "dates": (
        at(STAGES, "stages.0.end_date", "2023-01-01"),
        "meaning",
        STAGES,
        "end_date",
        "ends on 2023-01-01",
    ),
    "overlap": (
        at(STAGES, "stages.1.start_date", "2024-01-15"),
        "meaning",
        STAGES,
        "start_date",
        "before stage 0",
    ),
    "long season": (
        lambda files: (
            at(STAGES, "stages.2.end_date", "2024-06-01")(files),
            at(STAGES, "stages.2.season_id", 0)(files),
        ),
        "meaning",
        STAGES,
        "season_id",
        "31 to 92 days",
    ),
    "probabilities": (
        at(STAGES, "policy_graph.transitions.0.probability", 0.5),
        "meaning",
        STAGES,
        "transitions",
        "sum to 0.5",
    ),
    "short past": (
        at(INITIAL, "past_inflows.0.values_m3s", []),
        "meaning",
        INITIAL,
        "past_inflows",
        "looks back 1",
    ),
    "two ratios": (
        lambda files: files[COEFFICIENTS].update(
            hydro_id=[0, 0, 0], stage_id=[2, 2, 2], lag=[1, 2, 3], residual_std_ratio=[0.9, 0.8, 0.9]
        ),
        "meaning",
        COEFFICIENTS,
        "residual_std_ratio",
        "same",
    ),
    "leaves before it enters": (
        at(LINES, "lines.0.exit_stage_id", 1),
        "meaning",
        LINES,
        "exit_stage_id",
        "enters",
    ),
    "line to itself": (at(LINES, "lines.0.target_bus_id", 0), "meaning", LINES, "target_bus_id", "itself"),
    "expression": (
        at(GENERIC, "constraints.0.expression", "2 *"),
        "meaning",
        GENERIC,
        "expression",
        "position 0",
    ),
    "two signs": (
        at(GENERIC, "constraints.0.expression", "bus_excess(0) bus_excess(1)"),
        "meaning",
        GENERIC,
        "expression",
        "position 14",
    ),
    "variable": (
        at(GENERIC, "constraints.0.expression", "wind(0)"),
        "meaning",
        GENERIC,
        "expression",
        "no variable",
    ),
    "storage by block": (
        at(GENERIC, "constraints.0.expression", "hydro_storage(0, 1)"),
        "meaning",
        GENERIC,
        "expression",
        "has no block",
    ),
    "asymmetric": (
        at(CORRELATION, f"{GROUP}.matrix.0.1", 0.4),
        "meaning",
        CORRELATION,
        "matrix",
        "not symmetric",
    ),
    "diagonal": (at(CORRELATION, f"{GROUP}.matrix.0.0", 0.9), "meaning", CORRELATION, "matrix", "diagonal"),
    "mixed group": (
        at(CORRELATION, f"{GROUP}.entities.1.type", "load"),
        "meaning",
        CORRELATION,
        "entities",
        "same type",
    ),
    "area": (at(GEOMETRY, "area_km2.2", 7.0), "meaning", GEOMETRY, "area_km2", "must not decrease"),
    "reference volume": (
        at(HYDROS, "hydros.0.evaporation.reference_volumes_hm3", [60.0] * 11 + [5.0]),
        "meaning",
        HYDROS,
        "reference_volumes_hm3[11]",
        "between 10 and 110",
    ),
    "no external file": (
        at(CONFIG, "training.scenario_source", {"inflow": {"scheme": "external"}}),
        "missing_file",
        CONFIG,
        "training.scenario_source.inflow",
        "external_inflow_scenarios",
    ),
    "historical load": (
        at(CONFIG, "training.scenario_source", {"load": {"scheme": "historical"}}),
        "meaning",
        CONFIG,
        "training.scenario_source.load",
        "only inflows",
    ),
    # unsupported
    "planes": (
        content("system/fpha_hyperplanes.parquet", b""),
        "unsupported",
        "system/fpha_hyperplanes.parquet",
        "",
        "FPHA",
    ),
    "annual": (
        content("scenarios/inflow_annual_component.parquet", b""),
        "unsupported",
        "scenarios/inflow_annual_component.parquet",
        "",
        "PAR-A",
    ),
    "production by planes": (
        at(PRODUCTION, f"{RANGE}.model", "fpha"),
        "unsupported",
        PRODUCTION,
        "model",
        "FPHA",
    ),
    "fpha": (
        lambda files: (
            at(HYDROS, "hydros.0.generation.model", "fpha")(files),
            without(HYDROS, "hydros.0.generation.productivity_mw_per_m3s")(files),
        ),
        "unsupported",
        HYDROS,
        "generation.model",
        "FPHA",
    ),
    "filling": (
        at(HYDROS, "hydros.0.filling", {"start_stage_id": 0}),
        "unsupported",
        HYDROS,
        "filling",
        "filling",
    ),
    "new plant": (
        at(HYDROS, "hydros.0.entry_stage_id", 1),
        "unsupported",
        HYDROS,
        "entry_stage_id",
        "in stage 0",
    ),
    "gas": (
        at(THERMALS, "thermals.0.gnl_config", {"lag_stages": 1}),
        "unsupported",
        THERMALS,
        "gnl_config",
        "gas",
    ),
    "bounds by block": (
        at(THERMAL_BOUNDS, "block_id", [0]),
        "unsupported",
        THERMAL_BOUNDS,
        "block_id",
        "by block",
    ),
    "cyclic": (
        at(STAGES, "policy_graph.type", "cyclic"),
        "unsupported",
        STAGES,
        "policy_graph.type",
        "without an end",
    ),
    "other graphs": (
        at(STAGES, "policy_graph.transitions.0.target_id", 2),
        "unsupported",
        STAGES,
        "transitions",
        "graph",
    ),
    "observations": (
        at(
            INITIAL,
            "recent_observations",
            [{"hydro_id": 0, "start_date": "2024-01-01", "end_date": "2024-01-05", "value_m3s": 1.0}],
        ),
        "unsupported",
        INITIAL,
        "recent_observations",
        "within a season",
    ),
    "estimation": (history, "unsupported", "scenarios/inflow_history.parquet", "", "fitting"),
    "boundary": (
        at(CONFIG, "policy", {"boundary": {"path": "x", "source_stage": 1}}),
        "unsupported",
        CONFIG,
        "policy.boundary",
        "yet",
    ),
    "vertices": (
        at(CONFIG, "simulation", {"policy_type": "inner"}),
        "unsupported",
        CONFIG,
        "policy_type",
        "vertices",
    ),
}

#: A change, and the warning that it must lead to.
DOUBTS = {
    "a file beside": (content("notes.json", "{}"), "unknown_file", "notes.json", ""),
    "no storage": (without(INITIAL, "storage.1"), "dimension", INITIAL, "taken to be 0"),
    "full": (at(INITIAL, "storage.1.value_hm3", 200.0), "meaning", INITIAL, "not between 10 and 110"),
    "gap": (
        at(STAGES, "stages.1.start_date", "2024-02-03"),
        "meaning",
        STAGES,
        "nothing is said of the time",
    ),
    "no lags": (without(STAGES, "stages.1.state_variables"), "meaning", STAGES, "inflow_lags"),
    "inside": (at(CONFIG, "simulation", {"io_channel_capacity": 8}), "unsupported", CONFIG, "no effect"),
    "head": (at(HYDROS, "hydros.0.generation.model", "linearized_head"), "unsupported", HYDROS, "head"),
    "efficiency": (
        at(HYDROS, "hydros.0.efficiency", {"type": "constant", "value": 0.9}),
        "unsupported",
        HYDROS,
        "no effect",
    ),
}


def findings(tmp_path, *changes):
    files = copy.deepcopy(folders.valid())
    for change in changes:
        change(files)
    with pytest.raises(CaseError) as raised:
        case.load(folders.write(tmp_path, files))
    return raised.value.findings


@pytest.mark.parametrize("name", CASES)
def test_a_finding_says_what_and_where(tmp_path, name):
    change, kind, file, field, message = CASES[name]
    found = findings(tmp_path, change)
    assert any(
        one.kind == kind and one.file == file and field in one.field and message in one.message
        for one in found
    ), [str(one) for one in found]


@pytest.mark.parametrize(("change", "kind", "file", "message"), DOUBTS.values(), ids=DOUBTS.keys())
def test_a_doubt_is_a_warning(tmp_path, change, kind, file, message):
    files = copy.deepcopy(folders.valid())
    change(files)
    found = case.load(folders.write(tmp_path, files)).warnings
    assert any(one.kind == kind and one.file == file and message in one.message for one in found), found


def test_all_layers_are_found_at_once(tmp_path):
    """A wrong entry does not hide what is wrong with its neighbours, nor with other files."""
    found = findings(
        tmp_path,
        without(PENALTIES),
        at(HYDROS, "hydros.0.name", 5),
        at(HYDROS, "hydros.1.bus_id", 9),
        at(THERMALS, "thermals.1.generation.min_mw", 90.0),
        no_last_row(LOADS),
        at(LINES, "lines.0.source_bus_id", 7),
        content(CORRELATION, "{"),
        at(STAGES, "policy_graph.type", "cyclic"),
    )
    assert {(one.kind, one.file) for one in found} == {
        ("missing_file", PENALTIES),
        ("schema", HYDROS),
        ("reference", HYDROS),
        ("meaning", THERMALS),
        ("dimension", LOADS),
        ("reference", LINES),
        ("syntax", CORRELATION),
        ("unsupported", STAGES),
    }


def test_a_finding_names_the_entity_and_what_may_have_been_meant(tmp_path):
    (found,) = findings(tmp_path, at(BUSES, "buses.1.nme", "x"))
    assert (found.entity, found.suggestion) == ("bus 1", "remove it")
    (found,) = findings(tmp_path / "2", at(HYDROS, "hydros.1.downstream", 0))
    assert found.suggestion == "did you mean 'downstream_id'?"


def test_no_folder(tmp_path):
    for path in (tmp_path / "nowhere", folders.write(tmp_path, {"file": "x"}) / "file", "a\0b"):
        with pytest.raises(CaseError) as raised:
            case.load(path)
        (found,) = raised.value.findings
        assert (found.kind, found.file) == ("missing_file", "")


def test_a_folder_where_a_file_should_be(tmp_path):
    files = folders.valid()
    del files[BUSES]
    folders.write(tmp_path, {**files, f"{BUSES}/x": "x"})
    with pytest.raises(CaseError) as raised:
        case.load(tmp_path)
    assert [(one.kind, one.file) for one in raised.value.findings] == [("unreadable", BUSES)]


def _leaves(value, path=()):
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from _leaves(inner, (*path, str(key)))
    yield path


LEAVES = [
    (file, ".".join(path))
    for file, document in folders.valid().items()
    if file.endswith(".json")
    for path in _leaves(document)
    if path
]


@pytest.mark.parametrize("value", [None, "x", -1, 10**30, [], {}, [[]], True], ids=str)
def test_whatever_stands_in_a_file_there_is_no_other_error(tmp_path, value):
    """Every eleventh place, another start for each value, so that together they come by most of them."""
    start = len(str(value)) % 11
    files = folders.valid()
    folder = folders.write(tmp_path, files)
    for file, path in LEAVES[start::11]:
        changed = {file: copy.deepcopy(files[file])}
        at(file, path, value)(changed)
        folders.write(folder, changed)
        with contextlib.suppress(CaseError):
            case.load(folder)
        folders.write(folder, {file: files[file]})
