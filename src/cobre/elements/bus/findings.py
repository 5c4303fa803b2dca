"""Checks of buses across files: loads of all stages, and the order of deficit segments."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from cobre.elements.bus import labels
from cobre.elements.bus.inputs import STATISTICS, BusInput, BusPenalties, DeficitSegmentInput
from cobre.inputs.checks import check_coverage
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.kind import KindFindings


def check_loads(files: CaseFiles, report: Report) -> None:
    """Report buses without statistics of their load in some stage."""
    table = files.table(STATISTICS)
    if table is not None and table.rows:
        buses = {bus.id: files.timeline.always for bus in files.of(BusInput)}
        check_coverage(files, STATISTICS, "bus", buses, report)


def check_meaning(files: CaseFiles, report: Report) -> None:
    """Report a system without buses, and deficit segments that make no sense."""
    if files.has_penalties:
        general = files.penalties(BusPenalties).deficit_segments
        _check_segments(general, "penalties.json", "", "bus.", report)
    for bus in files.of(BusInput):
        if bus.deficit_segments:
            _check_segments(bus.deficit_segments, labels.FILE, f"bus {bus.id}", "", report)
    if files.ids("bus") == set():
        remedy = "add at least one"
        report.error("meaning", labels.FILE, "there are no buses", remedy, field="buses")


def _check_segments(
    segments: Sequence[DeficitSegmentInput], file: str, entity: str, prefix: str, report: Report
) -> None:
    field = f"{prefix}deficit_segments"
    for index, (one, next_) in enumerate(itertools.pairwise(segments)):
        if next_.cost <= one.cost:
            message = f"costs must increase, but {next_.cost:g} follows {one.cost:g}"
            where = f"{field}[{index + 1}].cost"
            remedy = "order the segments by cost"
            report.error("meaning", file, message, remedy, entity=entity, field=where, value=next_.cost)
        if one.depth_mw is None:
            message = "only the last segment may be without a depth"
            remedy = "give it a depth, or remove the segments after it"
            report.error("meaning", file, message, remedy, entity=entity, field=f"{field}[{index}].depth_mw")
    if segments[-1].depth_mw is not None:
        message = "the last segment must be without a depth (null), so that any load can go unserved"
        where = f"{field}[{len(segments) - 1}].depth_mw"
        remedy = "set its depth to null, or add a segment without a depth"
        report.error(
            "meaning", file, message, remedy, entity=entity, field=where, value=segments[-1].depth_mw
        )


FINDINGS = KindFindings(amounts=check_loads, meaning=check_meaning)
