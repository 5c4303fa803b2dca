"""Inputs of thermal plants: ``system/thermals.json``, bounds and costs by stage and block."""

from __future__ import annotations

from cobre.elements.thermal import labels
from cobre.elements.thermal.data import Thermal
from cobre.inputs.bounds import BoundsTable
from cobre.inputs.files import CaseFiles
from cobre.inputs.kind import JsonFile, KindInputs
from cobre.inputs.models import Document, Id, InService, NonNegative, Strict
from cobre.inputs.tables import BLOCK, bounds, by_stage, ids
from cobre.inputs.timeline import while_in_service


class ThermalGeneration(Strict):
    """Bounds."""

    min_mw: NonNegative
    max_mw: NonNegative


class AnticipatedDispatch(Strict):
    """Gas must be ordered so many stages before."""

    lag_stages: Id


class ThermalInput(InService, title="Thermal"):
    """Burns fuel."""

    bus_id: Id
    cost_per_mwh: NonNegative
    generation: ThermalGeneration
    gnl_config: AnticipatedDispatch | None = None


class Thermals(Document):
    """The whole file."""

    thermals: list[ThermalInput]


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
    own = BOUNDS.by_block(files, plant)
    here = files.timeline.in_service(plant)
    return Thermal(
        plant.id,
        plant.name,
        plant.bus_id,
        while_in_service(own["min_generation_mw"], here),
        while_in_service(own["max_generation_mw"], here),
        own["cost_per_mwh"],
    )


INPUTS = KindInputs(
    rank=3,
    noun="thermal",
    element=ThermalInput,
    entries="thermals",
    files=(JsonFile(labels.FILE, "thermal plants: capacities and costs", Thermals, required=True),),
    resolve=resolve,
    references={"bus_id": "bus"},
    bounds=BOUNDS,
)
