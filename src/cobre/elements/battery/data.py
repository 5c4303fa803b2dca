"""Batteries as resolved data."""

from __future__ import annotations

from dataclasses import dataclass

from cobre.system import PolicyGraph, Series


@dataclass(frozen=True, eq=False)
class Battery:
    """A battery, which is charged from a bus and discharged to it, with losses.

    Powers are those at the bus. Out of service it is neither charged nor discharged, and its energy stays
    what it is: ``initial_mwh`` before it enters.

    Attributes:
        id: as in the case.
        name: as in the case.
        bus: the id of the bus.
        in_service: by stage.
        initial_mwh: the energy stored when the study begins.
        capacity_mwh: the most energy that it stores.
        max_charge_mw: 0 out of service, as is ``max_discharge_mw``.
        max_discharge_mw: see above.
        charge_efficiency: the share of the energy charged that is stored.
        discharge_efficiency: the share of the energy taken from storage that reaches the bus.
        self_discharge_per_hour: the share of the stored energy that is lost in an hour.
        cycles_per_day: the energy charged in a day where blocks are parallel, in capacities.
        charge_cost_per_mwh: per MWh at the bus, as is ``discharge_cost_per_mwh``.
        discharge_cost_per_mwh: see above.
    """

    id: int
    name: str
    bus: int
    in_service: tuple[bool, ...]
    initial_mwh: float
    capacity_mwh: Series
    max_charge_mw: Series
    max_discharge_mw: Series
    charge_efficiency: float
    discharge_efficiency: float
    self_discharge_per_hour: float
    cycles_per_day: float
    charge_cost_per_mwh: float
    discharge_cost_per_mwh: float

    def capacity_drop(self, stage: int, graph: PolicyGraph) -> float:
        """Return by how much its capacity is less than before: energy that may no longer fit."""
        preceding = graph.preceding[stage]
        before = [float(self.capacity_mwh[one]) for one in preceding] + [self.initial_mwh] * (stage == 0)
        if graph.horizon is not None and not all(self.in_service[one] for one in preceding):
            before += [self.initial_mwh, float(self.capacity_mwh.max())]  # what it left with comes back
        return max(max(before) - float(self.capacity_mwh[stage]), 0.0)
