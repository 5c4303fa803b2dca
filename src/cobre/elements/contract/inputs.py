"""Inputs of energy contracts: ``system/energy_contracts.json``, limits and prices by stage."""

from __future__ import annotations

from typing import Literal

from cobre.elements.contract import labels
from cobre.elements.contract.data import Contract
from cobre.inputs.bounds import BoundsTable
from cobre.inputs.files import CaseFiles
from cobre.inputs.kind import JsonFile, KindInputs
from cobre.inputs.models import Document, Id, InService, NonNegative, Number, Strict
from cobre.inputs.tables import ColumnSpec, bounds, by_stage, ids


class ContractLimits(Strict):
    """Bounds."""

    min_mw: NonNegative
    max_mw: NonNegative


class ContractInput(InService, title="Contract"):
    """Power bought or sold."""

    bus_id: Id
    type: Literal["import", "export"]
    price_per_mwh: Number
    limits: ContractLimits


class Contracts(Document):
    """The whole file."""

    contracts: list[ContractInput]


BOUNDS = BoundsTable(
    by_stage(
        "constraints/contract_bounds.parquet",
        "limits and prices of contracts by stage",
        ids("contract_id", "contract"),
        *bounds("min_mw", "max_mw"),
        ColumnSpec("price_per_mwh", required=False),
    ),
    lambda contract: {
        "min_mw": contract.limits.min_mw,
        "max_mw": contract.limits.max_mw,
        "price_per_mwh": contract.price_per_mwh,
    },
    (("min_mw", "max_mw"),),
)


def resolve(files: CaseFiles, contract: ContractInput) -> Contract:
    """Return a contract as resolved data."""
    limits = BOUNDS.in_service(files, contract)
    return Contract(
        contract.id,
        contract.name,
        contract.bus_id,
        contract.type == "import",
        limits["min_mw"],
        limits["max_mw"],
        BOUNDS.by_stage(files, contract)["price_per_mwh"],
    )


INPUTS = KindInputs(
    rank=6,
    noun="contract",
    element=ContractInput,
    entries="contracts",
    files=(JsonFile(labels.FILE, "power bought and sold", Contracts),),
    resolve=resolve,
    references={"bus_id": "bus"},
    bounds=BOUNDS,
)
