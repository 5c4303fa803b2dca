"""What leaves hydro plants, and where it goes."""

from __future__ import annotations

import numpy as np

from cobre.elements.hydro.data import Hydro
from cobre.elements.pumping_station.data import PumpingStation
from cobre.hydrothermal._frame import Frame


def add_releases(frame: Frame, hydro: Hydro) -> None:
    """Add what leaves a plant. While its reservoir is filled, that is only what is spilled."""
    t, penalties = frame.number, hydro.penalties
    operating = frame.phase(hydro.id) == "operating"
    turbined = _add_turbines(frame, hydro) if operating else []
    spilled = frame.by_block(f"spilled:{hydro.id}", 0.0, np.inf, penalties.spillage[t])
    ways = [(turbined, hydro.downstream), (spilled, hydro.downstream)]
    if hydro.diversion is not None and operating:
        limit = hydro.max_diversion_m3s[t]
        diverted = frame.by_block(f"diverted:{hydro.id}", 0.0, limit, penalties.diversion[t])
        ways.append((diverted, hydro.diversion))
    for columns, target in ways:
        for k, column in enumerate(columns):
            frame.move(column, k, hydro.id, target)
    for k in frame.blocks:
        if operating:
            frame.power[hydro.bus, k] |= power_of(frame, hydro, k)
        _add_limits(frame, hydro, k, [columns[k] for columns in (turbined, spilled) if columns])


def _add_turbines(frame: Frame, hydro: Hydro) -> list[int]:
    """Add what is turbined, no more than makes the greatest power, and the power if planes bound it."""
    t, name = frame.number, f"turbined:{hydro.id}"
    productivity, most = hydro.mw_per_m3s[t], hydro.max_turbined_m3s[t]
    planes = hydro.planes[t]
    if planes is not None:
        turbined = frame.by_block(name, 0.0, most, hydro.penalties.turbined[t])
        frame.by_block(f"generation:{hydro.id}", 0.0, hydro.max_generation_mw[t])
        if np.any(planes.constant_mw < 0) or np.any(planes.mw_per_m3s_spilled < 0):
            # A flood, or an empty reservoir, must not leave the programme without a solution.
            cost = hydro.penalties.generation_below_per_mwh[t]
            frame.by_block(f"negative_generation:{hydro.id}", 0.0, np.inf, cost)
        return turbined
    if productivity > 0:
        most = min(most, hydro.max_generation_mw[t] / productivity)
    return frame.by_block(name, 0.0, most)


def power_of(frame: Frame, hydro: Hydro, k: int) -> dict[int, float]:
    """Return what columns add to the power of a plant in a block, in MW."""
    if hydro.planes[frame.number] is not None:
        columns = {f"generation:{hydro.id}:{k}": 1.0, f"negative_generation:{hydro.id}:{k}": -1.0}
        return {frame.rows[name]: sign for name, sign in columns.items() if name in frame.rows}
    return {frame.rows[f"turbined:{hydro.id}:{k}"]: float(hydro.mw_per_m3s[frame.number])}


def _add_limits(frame: Frame, hydro: Hydro, k: int, released: list[int]) -> None:
    """Add what should be released at least or at most, and what it costs not to."""
    t, penalties, hours = frame.number, hydro.penalties, frame.hours[k]
    outflow = dict.fromkeys(released, 1.0)
    limits = [("outflow_below", outflow, hydro.min_outflow_m3s[t], penalties.outflow_below[t])]
    if frame.phase(hydro.id) == "operating":
        turbined, power = {released[0]: 1.0}, power_of(frame, hydro, k)
        limits += [
            ("turbined_below", turbined, hydro.min_turbined_m3s[t], penalties.turbined_below[t]),
            ("generation_below", power, hydro.min_generation_mw[t], penalties.generation_below_per_mwh[t]),
        ]
    for kind, entries, least, cost in limits:
        if least > 0:
            name = f"{kind}:{hydro.id}:{k}"
            slack = frame.rows.column(name, cost=cost * hours)
            frame.rows.row(name, {**entries, slack: 1.0}, lower=least)
    if np.isfinite(hydro.max_outflow_m3s[t]):
        name = f"outflow_above:{hydro.id}:{k}"
        slack = frame.rows.column(name, cost=penalties.outflow_above[t] * hours)
        frame.rows.row(name, {**outflow, slack: -1.0}, upper=hydro.max_outflow_m3s[t])


def add_pumping(frame: Frame) -> None:
    """Add what is pumped from one plant to another. From a plant that is absent nothing is."""
    for pumping in frame.system.of(PumpingStation):
        there = frame.phase(pumping.source_hydro) != "absent"
        low, high = (pumping.min_m3s[frame.number], pumping.max_m3s[frame.number]) if there else (0.0, 0.0)
        for k, column in enumerate(frame.by_block(f"pumped:{pumping.id}", low, high)):
            if there:
                frame.move(column, k, pumping.source_hydro, pumping.target_hydro)
            frame.power[pumping.bus, k][column] = -pumping.mw_per_m3s
