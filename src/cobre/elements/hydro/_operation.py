"""The table ``hydros``: how a solved stage fills it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cobre.elements.hydro.data import Hydro
from cobre.elements.hydro.network import WaterNetwork
from cobre.elements.hydro.noise import TRUNCATING
from cobre.elements.pumping_station.data import PumpingStation
from cobre.elements.solved import AT_LIMIT, Cube, Floats, SolvedStage, ids_of, operative_state, series
from cobre.elements.tables import Values


def rows(solved: SolvedStage, plants: Sequence[Hydro]) -> Values:
    """Return the values of the table ``hydros``."""
    ids, network = ids_of(plants), WaterNetwork(plants, solved.number)
    turbined, spilled = solved.values("turbined", ids), solved.values("spilled", ids)
    outflow = turbined + spilled
    natural = _natural_inflow(solved, network, plants)
    generation = _generation(solved, plants, turbined)
    initial, final = solved.stored("storage", ids)
    return {
        "hydro_id": np.array(ids)[:, None],
        "turbined_m3s": turbined,
        "spillage_m3s": spilled,
        "outflow_m3s": outflow,
        **_diverted(solved, network, plants),
        "evaporation_m3s": _or_missing(solved, "evaporated", ids, "stage"),
        "incremental_inflow_m3s": natural,
        "inflow_m3s": natural + _arriving(solved, network, plants, outflow),
        "storage_initial_hm3": initial,
        "storage_final_hm3": final,
        "generation_mw": generation,
        "generation_mwh": generation * solved.stage.hours,
        "productivity_mw_per_m3s": _productivity(solved, plants),
        "spillage_cost": solved.costs("spilled", ids),
        # One more hm³ on the right-hand side is one more in the reservoir, and that saves.
        "water_value_per_hm3": 0.0 - solved.duals("balance:storage", ids, "period"),
        "storage_binding_code": _binding(network, plants, final),
        "operative_state_code": operative_state(turbined, _turbine_capacity(network, plants)),
        "turbined_slack_m3s": solved.values("turbined_below", ids),
        "outflow_slack_below_m3s": solved.values("outflow_below", ids),
        "outflow_slack_above_m3s": solved.values("outflow_above", ids),
        "generation_slack_mw": solved.values("generation_below", ids)
        + solved.values("negative_generation", ids),
        "storage_violation_below_hm3": solved.values("below:storage", ids, "period"),
        "filling_target_violation_hm3": solved.values("retained_below", ids, "stage")
        + solved.values("filling_below", ids, "stage"),
        "evaporation_violation_pos_m3s": solved.values("evaporation_above", ids, "stage"),
        "evaporation_violation_neg_m3s": solved.values("evaporation_below", ids, "stage"),
        "inflow_nonnegativity_slack_m3s": _added_to_inflows(solved, network, plants),
        "water_withdrawal_violation_pos_m3s": solved.values("withdrawal_above", ids, "stage"),
        "water_withdrawal_violation_neg_m3s": solved.values("withdrawal_below", ids, "stage"),
    }


def _natural_inflow(solved: SolvedStage, network: WaterNetwork, plants: Sequence[Hydro]) -> Cube:
    """The inflow of each plant and of absent ones above it, before it is lifted to 0 by a slack."""
    ids, hm3 = ids_of(plants), solved.stage.hm3_per_m3s
    volume = hm3[0] if solved.stage.chronological else float(np.sum(hm3))
    balance = solved.rhs("balance:storage", ids, "period")[:, :, :1]
    inflow = balance / volume + series(plants, "withdrawal_m3s", solved.number)
    columns = solved.values("inflow", ids, "stage")
    for i, plant in enumerate(plants):
        if not network.is_present(plant.id):
            inflow[:, i] = 0.0
        for other in network.tributaries[plant.id]:
            inflow[:, i] += columns[:, ids.index(other.id)]
    if solved.system.negative_inflows in TRUNCATING:  # then the column is the lifted inflow
        inflow -= _added_to_inflows(solved, network, plants)
    return inflow


def _added_to_inflows(solved: SolvedStage, network: WaterNetwork, plants: Sequence[Hydro]) -> Cube:
    """The contribution of slacks to the inflow of each plant and of absent ones above it."""
    ids = ids_of(plants)
    slacks = solved.values("inflow_slack", ids, "stage")
    added = np.zeros_like(slacks)
    for i, plant in enumerate(plants):
        for other in network.tributaries[plant.id]:
            added[:, i] += slacks[:, ids.index(other.id)]
    return added


def _arriving(solved: SolvedStage, network: WaterNetwork, plants: Sequence[Hydro], outflow: Cube) -> Cube:
    """The flow that each plant gets from others: released, diverted and pumped."""
    ids, stations = ids_of(plants), solved.system.of(PumpingStation)
    arriving = np.zeros_like(outflow)
    diverted, pumped = solved.values("diverted", ids), solved.values("pumped", ids_of(stations))
    flows = [(plant.downstream, outflow[:, i]) for i, plant in enumerate(plants)]
    flows += [(plant.diversion, diverted[:, i]) for i, plant in enumerate(plants)]
    flows += [(station.target_hydro, pumped[:, i]) for i, station in enumerate(stations)]
    for target, flow in flows:
        to = network.arrival(target)
        if to is not None:
            arriving[:, ids.index(to)] += flow
    return arriving


def _diverted(solved: SolvedStage, network: WaterNetwork, plants: Sequence[Hydro]) -> Values:
    ids = ids_of(plants)
    out = solved.values("diverted", ids)
    into = np.full_like(out, np.nan)
    for i, plant in enumerate(plants):
        to = network.arrival(plant.diversion)
        if to is not None:
            place = ids.index(to)
            into[:, place] = np.nan_to_num(into[:, place]) + out[:, i]
        if plant.diversion is None:
            out[:, i] = np.nan
    return {"diverted_inflow_m3s": into, "diverted_outflow_m3s": out}


def _or_missing(solved: SolvedStage, kind: str, ids: tuple[int, ...], by: str) -> Cube:
    there = solved.places.columns(kind, ids, by) >= 0
    return np.where(there, solved.values(kind, ids, by), np.nan)


def _has_planes(solved: SolvedStage, ids: tuple[int, ...]) -> NDArray[np.bool_]:
    return solved.places.columns("generation", ids, "block") >= 0


def _generation(solved: SolvedStage, plants: Sequence[Hydro], turbined: Cube) -> Cube:
    """The power of each plant: a column where planes bound it, else the turbined flow's."""
    ids = ids_of(plants)
    constant = turbined * series(plants, "mw_per_m3s", solved.number)
    power = solved.values("generation", ids) - solved.values("negative_generation", ids)
    return np.where(_has_planes(solved, ids), power, constant)


def _productivity(solved: SolvedStage, plants: Sequence[Hydro]) -> Cube:
    planes = _has_planes(solved, ids_of(plants))
    return np.where(planes, np.nan, series(plants, "mw_per_m3s", solved.number))[None]


def _turbine_capacity(network: WaterNetwork, plants: Sequence[Hydro]) -> Floats:
    """The most that can be turbined; 0 where a plant is absent or its reservoir is being filled."""
    operating = np.array([network.is_operating(plant.id) for plant in plants])
    return operating[:, None] * series(plants, "max_turbined_m3s", network.number)


def _binding(network: WaterNetwork, plants: Sequence[Hydro], final: Cube) -> Cube:
    least, most = (series(plants, f"{side}_storage_hm3", network.number) for side in ("min", "max"))
    close = AT_LIMIT * np.maximum(most, 1.0)
    binding = np.where(final <= least + close, 1.0, 0.0) + np.where(final >= most - close, 2.0, 0.0)
    present = np.array([network.is_present(plant.id) for plant in plants])
    return np.where(present[:, None], binding, 0.0)
