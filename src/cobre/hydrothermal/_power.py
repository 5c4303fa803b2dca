"""What makes, carries and takes power."""

from __future__ import annotations

import numpy as np

from cobre.elements.bus.data import Bus
from cobre.elements.contract.data import Contract
from cobre.elements.line.data import Line
from cobre.elements.non_controllable_source.data import NonControllableSource
from cobre.elements.thermal.data import Thermal
from cobre.hydrothermal._frame import Affine, Frame


def add_generation(frame: Frame) -> None:
    """Add thermal plants, sources and contracts."""
    t = frame.number
    for thermal in frame.system.of(Thermal):
        name, cost = f"thermal:{thermal.id}", thermal.cost_per_mwh[t]
        for k, column in enumerate(frame.by_block(name, thermal.min_mw[t], thermal.max_mw[t], cost)):
            frame.power[thermal.bus, k][column] = 1.0
    for source in frame.system.of(NonControllableSource):
        most = source.max_generation_mw[t] * min(max(source.mean[t], 0.0), 1.0) * source.factors[t]
        # What is curtailed costs; counted from nothing available, what is generated earns.
        columns = frame.by_block(f"source:{source.id}", 0.0, most, -source.curtailment_cost_per_mwh[t])
        for k, column in enumerate(columns):
            frame.power[source.bus, k][column] = 1.0
        frame.availabilities[source.id] = [
            Affine(column, float(source.factors[t][k])) for k, column in enumerate(columns)
        ]
    for contract in frame.system.of(Contract):
        name, cost = f"contract:{contract.id}", contract.price_per_mwh[t]
        for k, column in enumerate(frame.by_block(name, contract.min_mw[t], contract.max_mw[t], cost)):
            frame.power[contract.bus, k][column] = 1.0 if contract.imports else -1.0


def add_lines(frame: Frame) -> None:
    """Add what lines carry in both directions."""
    t = frame.number
    for line in frame.system.of(Line):
        cost, arrives = line.exchange_cost_per_mwh[t], line.efficiency
        direct = frame.by_block(f"direct:{line.id}", 0.0, line.direct_mw[t], cost)
        reverse = frame.by_block(f"reverse:{line.id}", 0.0, line.reverse_mw[t], cost)
        for k in frame.blocks:
            frame.power[line.source_bus, k] |= {direct[k]: -1.0, reverse[k]: arrives}
            frame.power[line.target_bus, k] |= {direct[k]: arrives, reverse[k]: -1.0}


def add_buses(frame: Frame) -> None:
    """Add what goes unserved or unused, and the balance of each bus: after all else that has power."""
    t = frame.number
    for bus in frame.system.of(Bus):
        for s, segment in enumerate(bus.deficit):
            columns = frame.by_block(f"deficit:{bus.id}:{s}", 0.0, segment.depth_mw, segment.cost_per_mwh)
            for k, column in enumerate(columns):
                frame.power[bus.id, k][column] = 1.0
        excess = frame.by_block(f"excess:{bus.id}", 0.0, np.inf, bus.excess_cost_per_mwh[t])
        for k, column in enumerate(excess):
            frame.power[bus.id, k][column] = -1.0
        frame.loads[bus.id] = []
        for k in frame.blocks:
            factor = float(bus.load_factors[t][k])
            load = float(bus.load_mean_mw[t]) * factor
            row = frame.rows.equation(f"load:{bus.id}:{k}", frame.power[bus.id, k], load)
            frame.loads[bus.id].append(Affine(row, factor))
