"""Checks of all elements that follow from what their kinds declare: ids, factors, entry and exit, bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from cobre.case import _correlation
from cobre.elements import findings
from cobre.inputs.bounds import BoundsTable
from cobre.inputs.checks import check_blocks
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.kind import FactorsFile, KindInputs, Reference, Repeated
from cobre.inputs.models import InService
from cobre.inputs.tables import ABSENT, ANY_STAGE, STAGE, ColumnSpec, Table, TableFile

#: How many findings of one sort a table may have before the rest are only counted.
MANY = 5


def check_references(files: CaseFiles, tables: list[TableFile], report: Report) -> None:
    """Report ids that name nothing, and ids that name two things."""
    for reference in _references(files):
        known = files.ids(reference.kind)
        if known is not None and reference.id not in known:
            report.error(
                "reference",
                reference.file,
                f"there is no {files.noun(reference.kind)} {reference.id}",
                entity=reference.entity,
                field=reference.field,
                value=reference.id,
                suggestion=f"add it to {files.file_of(reference.kind)}, or name another",
            )
    for file in tables:
        table = files.table(file)
        if table is not None:
            for column in file.columns:
                _check_column(files, file, table, column, report)
            _check_keys(file, table, report)
    for repeated in _lists(files):
        _check_repeated(repeated, report)


def _references(files: CaseFiles) -> Iterator[Reference]:
    for name, kind in files.kinds.items():
        for element in files.elements(name):
            for field, target in kind.references.items():
                named = _value(element, field)
                if named is not None:
                    yield Reference(kind.file, kind.name(element.id), field, target, named)
        checks = findings(name)
        if checks:
            yield from checks.references(files)
    for name, kind in files.kinds.items():
        if kind.factors:
            for index, entry in enumerate(files.entries(kind.factors)):
                where = f"{kind.factors.entries}[{index}]"
                for field, target in ((kind.factors.key, name), ("stage_id", STAGE)):
                    file = kind.factors.file.name
                    yield Reference(file, "", f"{where}.{field}", target, getattr(entry, field))
    yield from _correlation.references(files)


def _value(element: Any, field: str) -> Any:
    """The value of a field; dots lead into an object, which may be missing."""
    for name in field.split("."):
        element = None if element is None else getattr(element, name)
    return element


def _check_column(
    files: CaseFiles, file: TableFile, table: Table, column: ColumnSpec, report: Report
) -> None:
    kind = STAGE if column.of == ANY_STAGE else column.of
    known = files.ids(kind) if kind else None
    if known is None:
        return
    absent = set() if column.required else {ABSENT}
    wrong = [value for value in np.unique(table[column.name]).tolist() if value not in known | absent]
    if column.of == ANY_STAGE:
        wrong = [value for value in wrong if value >= 0]
    for value in wrong[:MANY]:
        message = f"there is no {files.noun(kind)} {value}"
        remedy = f"add it to {files.file_of(kind)}, or remove its rows"
        report.error("reference", file.name, message, remedy, field=column.name, value=value)
    if len(wrong) > MANY:
        remedy = "correct these rows too"
        report.error(
            "reference", file.name, f"nor are there {len(wrong) - MANY} others", remedy, field=column.name
        )


def _check_keys(file: TableFile, table: Table, report: Report) -> None:
    keys = np.stack([table[name].astype(np.float64) for name in file.key], axis=1)
    rows, counts = np.unique(keys, axis=0, return_counts=True)
    optional = {column.name for column in file.columns if not column.required}
    for row in rows[counts > 1][:MANY]:
        given = zip(file.key, row, strict=True)
        which = ", ".join(
            f"{name} {value:g}" for name, value in given if value != ABSENT or name not in optional
        )
        report.error("duplicate", file.name, f"there are several rows for {which}", suggestion="keep one")


def _lists(files: CaseFiles) -> Iterator[Repeated]:
    """All lists of ids of which none may appear twice."""
    for name, kind in files.kinds.items():
        yield Repeated(kind.file, f"{kind.noun} id", [element.id for element in files.elements(name)])
    if files.stages:
        stages, definitions = files.stages, files.stages.season_definitions
        yield Repeated("stages.json", "stage id", [stage.id for stage in stages.stages])
        yield Repeated("stages.json", "pre-study stage id", [stage.id for stage in stages.pre_study_stages])
        seasons = definitions.seasons if definitions else ()
        yield Repeated("stages.json", "season id", [season.id for season in seasons])
    for name, kind in files.kinds.items():
        checks = findings(name)
        if checks:
            yield from checks.repeated(files)
        if kind.factors:
            pairs = [(getattr(e, kind.factors.key), e.stage_id) for e in files.entries(kind.factors)]
            yield Repeated(kind.factors.file.name, f"{kind.noun} and stage", pairs)


def _check_repeated(given: Repeated, report: Report) -> None:
    for value, count in sorted(Counter(given.ids).items(), key=lambda item: str(item[0])):
        if count > 1:
            report.error(
                "duplicate",
                given.file,
                f"{given.subject} {value} appears {count} times",
                value=str(value),
                suggestion="keep one",
            )


def check_amounts(files: CaseFiles, report: Report) -> None:
    """Report data that elements lack, and blocks that stages do not have."""
    for name in files.kinds:
        checks = findings(name)
        if checks:
            checks.amounts(files, report)
    for kind in files.kinds.values():
        if kind.factors:
            _check_factors(files, kind, kind.factors, report)
        if kind.bounds and kind.bounds.has_blocks:
            _check_bound_blocks(files, kind, kind.bounds.table, report)


def _check_factors(files: CaseFiles, kind: KindInputs, factors: FactorsFile, report: Report) -> None:
    file = factors.file.name
    for entry in files.entries(factors):
        blocks = [factor.block_id for factor in entry.block_factors]
        where = f"{kind.name(getattr(entry, factors.key))}, stage {entry.stage_id}"
        check_blocks(files, file, where, entry.stage_id, blocks, report)
        if len(set(blocks)) < len(blocks):
            remedy = "keep one of its factors"
            report.error("duplicate", file, "a block appears twice", remedy, entity=where, field="block_id")


def _check_bound_blocks(files: CaseFiles, kind: KindInputs, file: TableFile, report: Report) -> None:
    table = files.table(file)
    if table is not None:
        columns = (table[name].tolist() for name in (file.columns[0].name, "stage_id", "block_id"))
        for element, stage, block in zip(*columns, strict=True):
            where = f"{kind.name(element)}, stage {stage}"
            check_blocks(files, file.name, where, stage, [block], report)


def check_meaning(files: CaseFiles, report: Report) -> None:
    """Report elements that make no sense."""
    for name, kind in files.kinds.items():
        for element in files.elements(name):
            if isinstance(element, InService):
                _check_service(kind, element, report)
        checks = findings(name)
        if checks:
            checks.meaning(files, report)
        if kind.bounds and files.has_stages:
            for element in files.elements(name):
                _check_bounds(files, kind, kind.bounds, element, report)


def _check_service(kind: KindInputs, element: InService, report: Report) -> None:
    entry, leave = element.entry_stage_id, element.exit_stage_id
    if entry is not None and leave is not None and entry >= leave:
        message = f"it leaves in stage {leave}, but enters in stage {entry}"
        owner = kind.name(element.id)
        remedy = "let it leave after it has entered, or leave exit_stage_id out"
        report.error("meaning", kind.file, message, remedy, entity=owner, field="exit_stage_id", value=leave)


def _check_bounds(
    files: CaseFiles, kind: KindInputs, bounds: BoundsTable, element: Any, report: Report
) -> None:
    for low, high, lower, upper in bounds.crossed(files, element):
        wrong = lower > upper
        worst = int(np.argmax(wrong))
        stages = files.timeline.names(wrong)
        message = f"{low} {lower[worst]:g} is above {high} {upper[worst]:g} {stages}"
        changed = files.table(bounds.table) is not None and not wrong.all()
        file = bounds.table.name if changed else kind.file
        owner = kind.name(element.id)
        remedy = "correct one of the two"
        report.error("meaning", file, message, remedy, entity=owner, field=low, value=float(lower[worst]))


def check_unsupported(files: CaseFiles, report: Report) -> None:
    """Report what of the elements cannot be used yet."""
    for name in files.kinds:
        checks = findings(name)
        if checks:
            checks.unsupported(files, report)
