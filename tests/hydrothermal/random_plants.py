"""Other plants in random cases: with planes, that come or go, and whose reservoirs are being filled."""

from typing import Any

from hypothesis import strategies as st

Plant = dict[str, Any]


def vary(case: Any) -> None:
    """Make some plants of a drawn case other ones; there is a solution as before."""
    plants = case.files["system/hydros.json"]["hydros"]
    planes = [row for plant in plants if case.draw(st.booleans()) for row in _planes(case, plant)]
    if planes:
        names = "hydro_id stage_id plane_id gamma_0 gamma_v gamma_q gamma_s kappa"
        case.files["system/fpha_hyperplanes.parquet"] = case.rows(names, planes)
    for plant in plants if case.stages > 1 else ():
        match case.draw(st.sampled_from(["stays", "enters", "leaves", "is filled", "is filled"])):
            case "enters":
                plant["entry_stage_id"] = case.draw(st.integers(1, case.stages))
            case "leaves":
                plant["exit_stage_id"] = case.draw(st.integers(1, case.stages - 1))
            case "is filled":
                _fill(case, plant)


def _planes(case: Any, plant: Plant) -> list[tuple[Any, ...]]:
    """Rows of planes, which may be below 0: for all stages, and of their own for the first."""
    del plant["generation"]["productivity_mw_per_m3s"]
    plant["generation"]["model"] = "fpha"
    one = case.one
    return [
        (plant["id"], stage, m, one(-3, 8), one(0, 0.2), one(0.2, 1.3), one(-0.2, 0), one(0.9, 1))
        for stage in ([None, 0] if case.draw(st.booleans()) else [None])
        for m in range(case.draw(st.integers(1, 3)))
    ]


def _fill(case: Any, plant: Plant) -> None:
    """Let a reservoir be filled before its plant enters; there is less in it than it is to be filled to."""
    entry = case.draw(st.integers(1, case.stages))
    start = case.draw(st.integers(0, entry - 1))
    plant["entry_stage_id"] = entry
    plant["filling"] = {"start_stage_id": start, "filling_inflow_m3s": case.one(0, 10)}
    initial = case.files["initial_conditions.json"]
    initial["storage"] = [entry for entry in initial["storage"] if entry["hydro_id"] != plant["id"]]
    volume = round(plant["reservoir"]["min_storage_hm3"] * case.one(0, 1), 6)
    initial["filling_storage"].append({"hydro_id": plant["id"], "value_hm3": volume})
