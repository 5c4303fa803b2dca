"""Evaporation of reservoirs, linear in the mean volume of a stage."""

from __future__ import annotations

from cobre.elements.frame import StageFrame
from cobre.elements.hydro.data import Evaporation, Hydro


def add_evaporation(frame: StageFrame, plant: Hydro, model: Evaporation) -> None:
    """Tie the evaporated flow to the volumes before and after the stage; deviating from that costs."""
    t, hours, penalties, program = frame.number, frame.all_hours, plant.penalties, frame.program
    before, after = (states[f"storage:{plant.id}"] for states in (frame.incoming, frame.outgoing))
    slope = model.slope_m3s_per_hm3[t]
    entries = {program[f"evaporated:{plant.id}"]: 1.0, before: -slope / 2, after: -slope / 2}
    below = penalties.evaporation_below[t] * hours
    entries[program.add_column(f"evaporation_below:{plant.id}", cost=below)] = 1.0
    above = penalties.evaporation_above[t] * hours
    entries[program.add_column(f"evaporation_above:{plant.id}", cost=above)] = -1.0
    program.add_equation(f"evaporation:{plant.id}", entries, model.constant_m3s[t])
