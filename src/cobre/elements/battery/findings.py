"""Checks of batteries across files."""

from __future__ import annotations

from cobre.elements.battery import labels
from cobre.elements.battery.inputs import BOUNDS, BatteryInput
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.kind import KindFindings


def check_initial_energy(files: CaseFiles, report: Report) -> None:
    """Report batteries that store more than fits when they enter."""
    for battery in files.of(BatteryInput):
        capacity = _first_capacity(files, battery)
        if battery.initial_energy_mwh > capacity:
            report.error(
                "meaning",
                labels.FILE,
                f"the initial energy is above the capacity of {capacity:g} MWh",
                entity=f"battery {battery.id}",
                field="initial_energy_mwh",
                value=battery.initial_energy_mwh,
                suggestion=f"use at most {capacity:g}, or raise capacity.energy_mwh",
            )


def _first_capacity(files: CaseFiles, battery: BatteryInput) -> float:
    """The capacity in the first stage in service; the battery's own if there is none."""
    if files.has_stages:
        capacity = BOUNDS.by_stage(files, battery)["energy_mwh"][files.timeline.in_service(battery)]
        if capacity.size:
            return float(capacity[0])
    return battery.capacity.energy_mwh


FINDINGS = KindFindings(meaning=check_initial_energy)
