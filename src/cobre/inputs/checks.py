"""Checks that several kinds share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.tables import ABSENT, TableFile


def check_coverage(
    files: CaseFiles,
    file: TableFile,
    noun: str,
    needed: Mapping[int, NDArray[np.bool_]],
    report: Report,
) -> None:
    """Report elements that lack a row of a table in some of the stages in which they need one."""
    table = files.table(file)
    if table is None:
        return
    pairs, stages = table.pairs(file.columns[0].name), files.timeline.ids
    for element, wanted in needed.items():
        absent = wanted & np.array([(element, stage) not in pairs for stage in stages], dtype=bool)
        if absent.any():
            message = f"there is no row {files.timeline.names(absent)}"
            remedy = "add the missing rows"
            report.error(
                "dimension", file.name, message, remedy, entity=f"{noun} {element}", field="stage_id"
            )


def check_blocks(  # noqa: PLR0913, PLR0917 - where, and which blocks
    files: CaseFiles, file: str, entity: str, stage: int, blocks: Iterable[int], report: Report
) -> None:
    """Report blocks that a stage does not have."""
    count = files.timeline.block_counts.get(stage)
    for block in blocks:
        if block != ABSENT and count is not None and block >= count:
            message = f"the stage has no block {block}"
            remedy = "use a block of that stage, or add the block to it"
            report.error("dimension", file, message, remedy, entity=entity, field="block_id", value=block)
