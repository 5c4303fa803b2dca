"""Checks of transmission lines across files."""

from __future__ import annotations

from cobre.elements.line import labels
from cobre.elements.line.inputs import LineInput
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.kind import KindFindings


def check_ends(files: CaseFiles, report: Report) -> None:
    """Report lines that begin and end at the same bus."""
    for line in files.of(LineInput):
        if line.source_bus_id == line.target_bus_id:
            message = "it joins a bus to itself"
            remedy = "name two buses"
            report.error(
                "meaning", labels.FILE, message, remedy, entity=f"line {line.id}", field="target_bus_id"
            )


FINDINGS = KindFindings(meaning=check_ends)
