"""Inputs of thermal plants: their file, bounds and costs by stage and block, generation committed before."""

from __future__ import annotations

from cobre.elements.thermal import labels
from cobre.elements.thermal.data import Thermal
from cobre.elements.thermal.inputs import commitment
from cobre.elements.thermal.inputs.models import ThermalInitialConditions, ThermalInput, Thermals
from cobre.inputs.bounds import BoundsTable
from cobre.inputs.files import CaseFiles
from cobre.inputs.kind import JsonFile, KindInputs
from cobre.inputs.tables import BLOCK, bounds, by_stage, ids
from cobre.inputs.timeline import BlockSeries, while_in_service

BOUNDS = BoundsTable(
    by_stage(
        "constraints/thermal_bounds.parquet",
        "limits and costs of thermal plants by stage",
        ids("thermal_id", "thermal"),
        *bounds("min_generation_mw", "max_generation_mw", "cost_per_mwh"),
        BLOCK,
        key="block_id",
    ),
    lambda plant: {
        "min_generation_mw": plant.generation.min_mw,
        "max_generation_mw": plant.generation.max_mw,
        "cost_per_mwh": plant.cost_per_mwh,
    },
    (("min_generation_mw", "max_generation_mw"),),
)


def resolve(files: CaseFiles, plant: ThermalInput) -> Thermal:
    """Return a thermal plant as resolved data."""
    lower, upper = limits(files, plant)
    cost = BOUNDS.by_block(files, plant)["cost_per_mwh"]
    ahead = commitment.resolve(files, plant, lower, upper)
    return Thermal(plant.id, plant.name, plant.bus_id, lower, upper, cost, ahead)


def limits(files: CaseFiles, plant: ThermalInput) -> tuple[BlockSeries, BlockSeries]:
    """Return the least and the most that a plant generates by block: 0 while it is not in service."""
    own, here = BOUNDS.by_block(files, plant), files.timeline.in_service(plant)
    return while_in_service(own["min_generation_mw"], here), while_in_service(own["max_generation_mw"], here)


INPUTS = KindInputs(
    rank=3,
    noun="thermal",
    element=ThermalInput,
    entries="thermals",
    files=(JsonFile(labels.FILE, "thermal plants: capacities and costs", Thermals, required=True),),
    resolve=resolve,
    references={"bus_id": "bus"},
    bounds=BOUNDS,
    initial=ThermalInitialConditions,
)
