"""Checks of thermal plants across files."""

from __future__ import annotations

from cobre.elements.thermal import labels
from cobre.elements.thermal.inputs import ThermalInput
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.kind import KindFindings


def check_unsupported(files: CaseFiles, report: Report) -> None:
    """Report plants whose gas must be ordered in advance."""
    for plant in files.of(ThermalInput):
        if plant.gnl_config is not None:
            message = "ordering gas in advance cannot be modelled yet"
            owner = f"thermal {plant.id}"
            report.error("unsupported", labels.FILE, message, entity=owner, field="gnl_config")


FINDINGS = KindFindings(unsupported=check_unsupported)
