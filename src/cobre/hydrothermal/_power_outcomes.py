"""What solved stages mean for those who make, move, sell and need power."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cobre.elements.bus.data import Bus
from cobre.elements.contract.data import Contract
from cobre.elements.line.data import Line
from cobre.elements.non_controllable_source.data import NonControllableSource
from cobre.elements.pumping_station.data import PumpingStation
from cobre.elements.thermal.data import Thermal
from cobre.hydrothermal._solved import Cube, Solved
from cobre.lp import Floats
from cobre.system import System

#: How close to a limit is at it, relatively.
AT_LIMIT = 1e-6

#: Of ``operative_state_code``. The format also has 1, maintenance, which no case tells.
OUT_OF_SERVICE, OPERATING, SATURATED = 0, 2, 3


def ids_of(entities: Sequence[Any]) -> tuple[int, ...]:
    """The ids of entities."""
    return tuple(entity.id for entity in entities)


def series(entities: Sequence[Any], name: str, stage: int) -> Floats:
    """A number of each entity in a stage, as a column."""
    return np.array([float(getattr(entity, name)[stage]) for entity in entities]).reshape(-1, 1)


def block_series(entities: Sequence[Any], name: str, stage: int, blocks: int) -> Floats:
    """A number of each entity in each block of a stage."""
    return np.array([getattr(entity, name)[stage] for entity in entities]).reshape(len(entities), blocks)


def operative_state(value: Cube, limit: Floats) -> Cube:
    """Whether something is out of service, works, or works at its limit."""
    saturated = value >= limit - AT_LIMIT * np.maximum(limit, 1.0)
    return np.where(limit == 0, OUT_OF_SERVICE, np.where(saturated, SATURATED, OPERATING))


def thermals(system: System, stage: int, solved: Solved) -> dict[str, Any]:
    """The columns of ``thermals``."""
    ids = ids_of(system.of(Thermal))
    power = solved.values("thermal", ids)
    limits = block_series(system.of(Thermal), "max_mw", stage, power.shape[-1])
    return {
        "thermal_id": np.array(ids)[:, None],
        "generation_mw": power,
        "generation_mwh": power * solved.places.stage.hours,
        "generation_cost": solved.costs("thermal", ids),
        "is_gnl": False,
        "gnl_committed_mw": None,
        "gnl_decision_mw": None,
        "operative_state_code": operative_state(power, limits),
    }


def exchanges(system: System, stage: int, solved: Solved) -> dict[str, Any]:
    """The columns of ``exchanges``."""
    ids, hours = ids_of(system.of(Line)), solved.places.stage.hours
    direct, reverse = solved.values("direct", ids), solved.values("reverse", ids)
    lost = np.array([1.0 - line.efficiency for line in system.of(Line)])[:, None] * (direct + reverse)
    limits = [block_series(system.of(Line), name, stage, len(hours)) for name in ("direct_mw", "reverse_mw")]
    states = [operative_state(*pair) for pair in zip((direct, reverse), limits, strict=True)]
    return {
        "line_id": np.array(ids)[:, None],
        "direct_flow_mw": direct,
        "reverse_flow_mw": reverse,
        "net_flow_mw": direct - reverse,
        "net_flow_mwh": (direct - reverse) * hours,
        "losses_mw": lost,
        "losses_mwh": lost * hours,
        "exchange_cost": solved.costs("direct", ids) + solved.costs("reverse", ids),
        "operative_state_code": np.maximum(*states),
    }


def buses(system: System, _stage: int, solved: Solved) -> dict[str, Any]:
    """The columns of ``buses``."""
    ids, hours = ids_of(system.of(Bus)), solved.places.stage.hours
    load, excess = solved.rhs("load", ids), solved.values("excess", ids)
    unserved = np.zeros_like(load)
    for i, bus in enumerate(system.of(Bus)):
        for segment in range(len(bus.deficit)):
            unserved[:, i] += solved.values(f"deficit:{bus.id}", (segment,))[:, 0]
    return {
        "bus_id": np.array(ids)[:, None],
        "load_mw": load,
        "load_mwh": load * hours,
        "deficit_mw": unserved,
        "deficit_mwh": unserved * hours,
        "excess_mw": excess,
        "excess_mwh": excess * hours,
        "spot_price": solved.duals("load", ids) / hours,
    }


def pumping_stations(system: System, stage: int, solved: Solved) -> dict[str, Any]:
    """The columns of ``pumping_stations``."""
    ids, blocks = ids_of(system.of(PumpingStation)), solved.places.stage
    flow = solved.values("pumped", ids)
    power = flow * np.array([station.mw_per_m3s for station in system.of(PumpingStation)])[:, None]
    return {
        "pumping_station_id": np.array(ids)[:, None],
        "pumped_flow_m3s": flow,
        "pumped_volume_hm3": flow * blocks.hm3_per_m3s,
        "power_consumption_mw": power,
        "energy_consumption_mwh": power * blocks.hours,
        "pumping_cost": solved.costs("pumped", ids),
        "operative_state_code": operative_state(flow, series(system.of(PumpingStation), "max_m3s", stage)),
    }


def contracts(system: System, stage: int, solved: Solved) -> dict[str, Any]:
    """The columns of ``contracts``."""
    ids = ids_of(system.of(Contract))
    power = solved.values("contract", ids)
    signed = (
        power * np.array([1.0 if contract.imports else -1.0 for contract in system.of(Contract)])[:, None]
    )
    return {
        "contract_id": np.array(ids)[:, None],
        "power_mw": signed,
        "energy_mwh": signed * solved.places.stage.hours,
        "price_per_mwh": series(system.of(Contract), "price_per_mwh", stage),
        "total_cost": solved.costs("contract", ids),
        "operative_state_code": operative_state(power, series(system.of(Contract), "max_mw", stage)),
    }


def sources(system: System, stage: int, solved: Solved) -> dict[str, Any]:
    """The columns of ``non_controllables``."""
    ids, hours = ids_of(system.of(NonControllableSource)), solved.places.stage.hours
    power, available = solved.values("source", ids), solved.uppers("source", ids)
    curtailed = available - power
    price = series(system.of(NonControllableSource), "curtailment_cost_per_mwh", stage)
    return {
        "non_controllable_id": np.array(ids)[:, None],
        "generation_mw": power,
        "generation_mwh": power * hours,
        "available_mw": available,
        "curtailment_mw": curtailed,
        "curtailment_mwh": curtailed * hours,
        "curtailment_cost": curtailed * hours * price,
        "operative_state_code": operative_state(
            power, series(system.of(NonControllableSource), "max_generation_mw", stage)
        ),
    }
