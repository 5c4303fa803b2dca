"""Stage programme of energy contracts: power bought or sold between bounds, at a price."""

from __future__ import annotations

from collections.abc import Sequence

from cobre.elements.contract.data import Contract
from cobre.elements.frame import BuildStep, StageFrame, Variable


def add_to_stage(frame: StageFrame, contracts: Sequence[Contract]) -> None:
    """Add the power of each contract and block to the power balances."""
    t = frame.number
    for contract in contracts:
        name, cost = f"contract:{contract.id}", contract.price_per_mwh[t]
        for k, column in enumerate(frame.add_per_block(name, contract.min_mw[t], contract.max_mw[t], cost)):
            frame.power[contract.bus, k][column] = 1.0 if contract.imports else -1.0


def _power(frame: StageFrame, contract: Contract, k: int) -> dict[int, float]:
    return {frame.program[f"contract:{contract.id}:{k}"]: 1.0}


STEPS = {BuildStep.TRADE: add_to_stage}

VARIABLES = {"contract_import": Variable(_power), "contract_export": Variable(_power)}
