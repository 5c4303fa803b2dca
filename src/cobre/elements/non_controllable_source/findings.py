"""Checks of non-controllable sources across files."""

from __future__ import annotations

from cobre.elements.non_controllable_source.inputs import STATISTICS, SourceInput, random_sources
from cobre.inputs.checks import check_coverage
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.kind import KindFindings


def check_statistics(files: CaseFiles, report: Report) -> None:
    """Report sources that have statistics of some stages only."""
    random = set(random_sources(files) or ())
    sources = {source.id: files.timeline.always for source in files.of(SourceInput) if source.id in random}
    check_coverage(files, STATISTICS, "source", sources, report)


FINDINGS = KindFindings(amounts=check_statistics)
