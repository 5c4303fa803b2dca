"""Numbers that make no sense together."""

import pytest

from tests.case.changes import (
    BUSES,
    COEFFICIENTS,
    CONFIG,
    CONTRACTS,
    CORRELATION,
    GENERIC,
    GEOMETRY,
    HYDROS,
    INITIAL,
    LINES,
    PENALTIES,
    STAGES,
    STATIONS,
    THERMAL_BOUNDS,
    assert_found,
    at,
)

GROUP = "profiles.default.correlation_groups.0"

#: A change, and what it must lead to: kind, file, part of the field, part of the message.
CASES = {
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
    "sale that is none": (
        at(GENERIC, "constraints.0.expression", "contract_export(0)"),
        "meaning",
        GENERIC,
        "expression",
        "one of import",
    ),
    "filling without an end": (
        at(HYDROS, "hydros.0.filling", {"start_stage_id": 0}),
        "meaning",
        HYDROS,
        "filling.start_stage_id",
        "entry_stage_id is missing",
    ),
    "filling after the entry": (
        lambda files: files[HYDROS]["hydros"][0].update(entry_stage_id=1, filling={"start_stage_id": 1}),
        "meaning",
        HYDROS,
        "filling.start_stage_id",
        "enters in stage 1",
    ),
    "filled without a filling": (
        at(INITIAL, "filling_storage.0", {"hydro_id": 1, "value_hm3": 1.0}),
        "meaning",
        INITIAL,
        "filling_storage",
        "has no filling",
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
}


@pytest.mark.parametrize("name", CASES)
def test_a_finding_says_what_and_where(tmp_path, name):
    assert_found(tmp_path, CASES[name])
