"""Checks of pumping stations across files."""

from __future__ import annotations

from cobre.elements.pumping_station import labels
from cobre.elements.pumping_station.inputs import PumpingStationInput
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.kind import KindFindings


def check_reservoirs(files: CaseFiles, report: Report) -> None:
    """Report stations that pump from a reservoir into the same."""
    for station in files.of(PumpingStationInput):
        if station.source_hydro_id == station.destination_hydro_id:
            message = "it pumps from a reservoir into the same"
            owner = f"pumping station {station.id}"
            remedy = "name two reservoirs"
            report.error("meaning", labels.FILE, message, remedy, entity=owner, field="destination_hydro_id")


FINDINGS = KindFindings(meaning=check_reservoirs)
