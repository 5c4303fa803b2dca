"""Files that are missing, unknown or unreadable, and fields and columns that are not as the format says."""

import pytest

from tests.case import folders
from tests.case.changes import (
    BUSES,
    COEFFICIENTS,
    CONFIG,
    GENERIC,
    HYDROS,
    INFLOWS,
    LINES,
    LOADS,
    PENALTIES,
    STAGES,
    THERMALS,
    assert_found,
    at,
    content,
    without,
)

SEASONS = {"cycle_type": "custom", "seasons": [{"id": 0, "label": "a", "month_start": 1}]}

#: A change, and what it must lead to: kind, file, part of the field, part of the message.
CASES = {
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
    "fraction for an id": (at(BUSES, "buses.0.id", 0.5), "schema", BUSES, "buses[0].id", "whole number"),
    "id too large": (at(BUSES, "buses.0.id", 2**31), "schema", BUSES, "buses[0].id", "below"),
    "negative capacity": (
        at(LINES, "lines.0.capacity.direct_mw", -1.0),
        "schema",
        LINES,
        "direct_mw",
        "at least 0",
    ),
    "zero penalty": (
        at(PENALTIES, "line.exchange_cost", 0.0),
        "schema",
        PENALTIES,
        "exchange_cost",
        "above 0",
    ),
    "infinite": (
        content(PENALTIES, '{"bus": {"excess_cost": 1e999}}'),
        "schema",
        PENALTIES,
        "excess_cost",
        "finite",
    ),
    "bad date": (at(STAGES, "stages.0.start_date", "2024-13-01"), "schema", STAGES, "start_date", "date"),
    "no scenarios": (
        at(STAGES, "stages.0.num_scenarios", 0),
        "schema",
        STAGES,
        "num_scenarios",
        "at least 1",
    ),
    "CVaR": (
        at(STAGES, "stages.0.risk_measure", {"cvar": {"alpha": 0.0, "lambda": 1.0}}),
        "schema",
        STAGES,
        "alpha",
        "",
    ),
    "bad model": (at(HYDROS, "hydros.0.generation.model", "magic"), "schema", HYDROS, "generation", "one of"),
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
}


@pytest.mark.parametrize("name", CASES)
def test_a_finding_says_what_and_where(tmp_path, name):
    assert_found(tmp_path, CASES[name])
