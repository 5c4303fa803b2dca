"""Checks of generic constraints across files: what their expressions name, and the blocks of their bounds."""

from __future__ import annotations

from collections.abc import Iterator

from cobre.elements.contract.inputs import ContractInput
from cobre.elements.generic_constraint import labels
from cobre.elements.generic_constraint.data import Term
from cobre.elements.generic_constraint.expressions import parse, variables
from cobre.elements.generic_constraint.inputs import RIGHT_HAND_SIDES, GenericConstraintInput
from cobre.inputs.checks import check_blocks
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.kind import KindFindings, Reference
from cobre.inputs.tables import ABSENT


def _terms(constraint: GenericConstraintInput) -> tuple[Term, ...]:
    """The terms of a constraint; none if its expression is wrong, which `check_expressions` reports."""
    try:
        return parse(constraint.expression)
    except ValueError:
        return ()


def references(files: CaseFiles) -> Iterator[Reference]:
    """Yield the elements that expressions name."""
    for constraint in files.of(GenericConstraintInput):
        owner = f"constraint {constraint.id}"
        for term in _terms(constraint):
            yield Reference(labels.FILE, owner, "expression", variables()[term.variable], term.entity)


def check_stage_blocks(files: CaseFiles, report: Report) -> None:
    """Report bounds and terms for blocks that a stage does not have."""
    table, blocks = files.table(RIGHT_HAND_SIDES), files.timeline.block_counts
    bounded: dict[int, dict[int, set[int]]] = {}
    if table is not None:
        columns = (table[name].tolist() for name in ("constraint_id", "stage_id", "block_id"))
        for constraint, stage, block in zip(*columns, strict=True):
            bounded.setdefault(constraint, {}).setdefault(stage, set()).add(block)
    for constraint, stages in sorted(bounded.items()):
        for stage, found in sorted(stages.items()):
            where = f"constraint {constraint}, stage {stage}"
            check_blocks(files, RIGHT_HAND_SIDES.name, where, stage, found, report)
            if ABSENT in found and len(found) > 1:
                message = "there is a row for all blocks and another for one of them"
                remedy = "keep either the row for all blocks or those for single ones"
                report.error(
                    "duplicate", RIGHT_HAND_SIDES.name, message, remedy, entity=where, field="block_id"
                )
    for entry in files.of(GenericConstraintInput):
        fewest = min((blocks[stage] for stage in bounded.get(entry.id, {}) if stage in blocks), default=None)
        for term in _terms(entry):
            if term.block is not None and fewest is not None and term.block >= fewest:
                message = f"not all stages with a bound have a block {term.block}"
                where = f"constraint {entry.id}"
                remedy = "give bounds only in stages that have the block"
                report.error("dimension", labels.FILE, message, remedy, entity=where, field="expression")


def check_expressions(files: CaseFiles, report: Report) -> None:
    """Report expressions that cannot be read, and exports of contracts that import."""
    types = {contract.id: contract.type for contract in files.of(ContractInput)}
    for constraint in files.of(GenericConstraintInput):
        where = {"entity": f"constraint {constraint.id}", "field": "expression"}
        try:
            terms = parse(constraint.expression)
        except ValueError as error:
            remedy = "write it as in: 2.5 * thermal_generation(0) - hydro_outflow(3)"
            report.error("meaning", labels.FILE, str(error), remedy, value=constraint.expression, **where)
            continue
        for term in terms:
            kind = term.variable.removeprefix("contract_")
            if kind in ("import", "export") and types.get(term.entity, kind) != kind:
                message = f"contract {term.entity} is one of {types[term.entity]}"
                remedy = f"write contract_{types[term.entity]}({term.entity})"
                report.error("meaning", labels.FILE, message, remedy, value=term.variable, **where)


FINDINGS = KindFindings(references=references, amounts=check_stage_blocks, meaning=check_expressions)
