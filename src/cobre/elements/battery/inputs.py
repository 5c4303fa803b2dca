"""Inputs of batteries: ``system/batteries.json``, and limits by stage."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cobre.elements.battery import labels
from cobre.elements.battery.data import Battery
from cobre.inputs.bounds import BoundsTable
from cobre.inputs.files import CaseFiles
from cobre.inputs.kind import JsonFile, KindInputs
from cobre.inputs.models import Document, Id, InService, NonNegative, Strict
from cobre.inputs.tables import bounds, by_stage, ids

Efficiency = Annotated[float, Field(gt=0, le=1)]


class BatteryCapacity(Strict):
    """The most energy that is stored, and the most power at the bus."""

    energy_mwh: NonNegative
    charge_mw: NonNegative
    discharge_mw: NonNegative


class BatteryEfficiency(Strict):
    """One-way efficiencies: stored per MWh charged, and delivered per MWh taken from storage."""

    charge: Efficiency
    discharge: Efficiency


class BatteryCosts(Strict):
    """Costs per MWh at the bus, as of wear."""

    charge_per_mwh: NonNegative = 0.0
    discharge_per_mwh: NonNegative = 0.0


class BatteryInput(InService, title="Battery"):
    """Stores energy."""

    bus_id: Id
    capacity: BatteryCapacity
    efficiency: BatteryEfficiency
    self_discharge_per_hour: Annotated[float, Field(ge=0, lt=1)] = 0.0
    initial_energy_mwh: NonNegative = 0.0
    cycles_per_day: NonNegative = 1.0
    costs: BatteryCosts = BatteryCosts()


class Batteries(Document):
    """The whole file."""

    batteries: list[BatteryInput]


BOUNDS = BoundsTable(
    by_stage(
        "constraints/battery_bounds.parquet",
        "limits of batteries by stage",
        ids("battery_id", "battery"),
        *bounds("energy_mwh", "charge_mw", "discharge_mw"),
    ),
    lambda battery: battery.capacity.model_dump(),
)


def resolve(files: CaseFiles, battery: BatteryInput) -> Battery:
    """Return a battery as resolved data."""
    power = BOUNDS.in_service(files, battery)
    return Battery(
        id=battery.id,
        name=battery.name,
        bus=battery.bus_id,
        in_service=tuple(files.timeline.in_service(battery).tolist()),
        initial_mwh=battery.initial_energy_mwh,
        capacity_mwh=BOUNDS.by_stage(files, battery)["energy_mwh"],
        max_charge_mw=power["charge_mw"],
        max_discharge_mw=power["discharge_mw"],
        charge_efficiency=battery.efficiency.charge,
        discharge_efficiency=battery.efficiency.discharge,
        self_discharge_per_hour=battery.self_discharge_per_hour,
        cycles_per_day=battery.cycles_per_day,
        charge_cost_per_mwh=battery.costs.charge_per_mwh,
        discharge_cost_per_mwh=battery.costs.discharge_per_mwh,
    )


INPUTS = KindInputs(
    rank=8,
    noun="battery",
    element=BatteryInput,
    entries="batteries",
    files=(JsonFile(labels.FILE, "batteries: capacities and losses", Batteries),),
    resolve=resolve,
    references={"bus_id": "bus"},
    bounds=BOUNDS,
)
