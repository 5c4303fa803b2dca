"""Stage programme of batteries: power from and to the bus, and the energy stored, which is a state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cobre.elementary import power
from cobre.elements.battery.data import Battery
from cobre.elements.frame import BuildStep, StageFrame, Variable


def add_to_stage(frame: StageFrame, batteries: Sequence[Battery]) -> None:
    """Add the energy of each battery, and what it charges and discharges to the power balances."""
    t = frame.number
    for battery in batteries:
        charge = frame.add_per_block(
            f"charge:{battery.id}", 0.0, battery.max_charge_mw[t], battery.charge_cost_per_mwh
        )
        discharge = frame.add_per_block(
            f"discharge:{battery.id}", 0.0, battery.max_discharge_mw[t], battery.discharge_cost_per_mwh
        )
        for k in frame.blocks:
            frame.power[battery.bus, k] |= {charge[k]: -1.0, discharge[k]: 1.0}
        state = f"energy:{battery.id}"
        frame.incoming[state] = frame.program.add_column(f"energy_in:{battery.id}", lower=-np.inf)
        if not battery.in_service[t]:
            _keep_energy(frame, state)
            continue
        _add_balances(frame, battery, charge, discharge)
        if not frame.stage.chronological:
            _limit_cycles(frame, battery, charge)


def _keep_energy(frame: StageFrame, state: str) -> None:
    after = frame.outgoing[state] = frame.program.add_column(state)
    frame.program.add_equation(f"kept:{state}", {after: 1.0, frame.incoming[state]: -1.0}, 0.0)


def _add_balances(
    frame: StageFrame, battery: Battery, charge: Sequence[int], discharge: Sequence[int]
) -> None:
    """Add the energy balance of the stage, or of each block if blocks are chronological."""
    t, program, state = frame.number, frame.program, f"energy:{battery.id}"
    before = frame.incoming[state]
    # Without it, there was no solution where the capacity falls faster than the battery is discharged.
    drop = battery.capacity_drop(t, frame.system.graph)
    lost = {program.add_column(f"energy_lost:{battery.id}", upper=drop): 1.0} if drop > 0 else {}
    for name, period in frame.periods(state):
        after = program.add_column(name, upper=battery.capacity_mwh[t])
        kept = power(1.0 - battery.self_discharge_per_hour, float(np.sum(frame.hours[period])))
        row = program.add_equation(f"balance:{name}", {after: 1.0, before: -kept, **lost}, 0.0)
        for k in period:
            program.add_to_entry(row, charge[k], -battery.charge_efficiency * frame.hours[k])
            program.add_to_entry(row, discharge[k], frame.hours[k] / battery.discharge_efficiency)
        before, lost = after, {}
    frame.outgoing[state] = before


def _limit_cycles(frame: StageFrame, battery: Battery, charge: Sequence[int]) -> None:
    """Limit the energy charged: parallel blocks have no order, which would limit how often it is filled."""
    cycles = battery.cycles_per_day * frame.all_hours / 24.0
    entries = {charge[k]: frame.hours[k] for k in frame.blocks}
    frame.program.add_row(f"cycles:{battery.id}", entries, upper=cycles * battery.capacity_mwh[frame.number])


def states(batteries: Sequence[Battery]) -> dict[str, float]:
    """Return the energy before the first stage."""
    return {f"energy:{battery.id}": battery.initial_mwh for battery in batteries}


def _charge(frame: StageFrame, battery: Battery, k: int) -> dict[int, float]:
    return {frame.program[f"charge:{battery.id}:{k}"]: 1.0}


def _discharge(frame: StageFrame, battery: Battery, k: int) -> dict[int, float]:
    return {frame.program[f"discharge:{battery.id}:{k}"]: 1.0}


def _energy(frame: StageFrame, battery: Battery, _k: int) -> dict[int, float]:
    return {frame.outgoing[f"energy:{battery.id}"]: 1.0}


STEPS = {BuildStep.GENERATION: add_to_stage}

VARIABLES = {
    "battery_charge": Variable(_charge),
    "battery_discharge": Variable(_discharge),
    "battery_energy": Variable(_energy, by_stage=True),
}
