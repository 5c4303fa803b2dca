"""A kind of element that no other file knows, as the text of its modules: a tank of energy."""

DATA = '''from dataclasses import dataclass

from cobre.system import Series


@dataclass(frozen=True, eq=False)
class Tank:
    """A tank of energy."""

    id: int
    name: str
    bus: int
    capacity_mwh: float
    max_mw: Series
    initial_mwh: float
'''

INPUTS = '''from cobre.elements.tank.data import Tank
from pydantic import Field

from cobre.inputs.bounds import BoundsTable
from cobre.inputs.kind import JsonFile, KindInputs
from cobre.inputs.models import Document, Id, InService, NonNegative, Positive, Strict
from cobre.inputs.tables import bounds, by_stage, ids


class TankInput(InService, title="Tank"):
    """A tank of energy."""

    bus_id: Id
    capacity_mwh: Positive
    max_mw: NonNegative


class Tanks(Document):
    """The whole file."""

    tanks: list[TankInput]


class TankEnergy(Strict):
    """The energy in a tank."""

    tank_id: Id
    value_mwh: NonNegative


class TankInitialConditions(Strict):
    """What is in tanks when the study begins."""

    tank_energy: list[TankEnergy] = Field(default_factory=list)


BOUNDS = BoundsTable(
    by_stage(
        "constraints/tank_bounds.parquet",
        "power of tanks by stage",
        ids("tank_id", "tank"),
        *bounds("max_mw"),
    ),
    lambda tank: {"max_mw": tank.max_mw},
)


def resolve(files, tank):
    """Return a tank as resolved data: without power while it is not in service."""
    given = files.initial(TankInitialConditions)
    energy = {entry.tank_id: entry.value_mwh for entry in given.tank_energy} if given else {}
    power = BOUNDS.in_service(files, tank)["max_mw"]
    return Tank(tank.id, tank.name, tank.bus_id, tank.capacity_mwh, power, energy.get(tank.id, 0.0))


INPUTS = KindInputs(
    rank=8,
    noun="tank",
    element=TankInput,
    entries="tanks",
    files=(JsonFile("system/tanks.json", "tanks of energy", Tanks),),
    resolve=resolve,
    references={"bus_id": "bus"},
    bounds=BOUNDS,
    initial=TankInitialConditions,
)
'''

FINDINGS = '''from cobre.elements.tank.inputs import TankInitialConditions, TankInput
from cobre.inputs.kind import KindFindings, Reference


def references(files):
    """Yield the tanks that initial conditions name."""
    given = files.initial(TankInitialConditions)
    for index, entry in enumerate(given.tank_energy if given else ()):
        field = f"tank_energy[{index}].tank_id"
        yield Reference("initial_conditions.json", "", field, "tank", entry.tank_id)


def check_energy(files, report):
    """Report tanks that hold more than they can."""
    given, tanks = files.initial(TankInitialConditions), {tank.id: tank for tank in files.of(TankInput)}
    for entry in given.tank_energy if given else ():
        tank = tanks.get(entry.tank_id)
        if tank is not None and entry.value_mwh > tank.capacity_mwh:
            report.error(
                "meaning",
                "initial_conditions.json",
                f"the energy is above the capacity of {tank.capacity_mwh:g} MWh",
                entity=f"tank {tank.id}",
                field="tank_energy",
                value=entry.value_mwh,
                suggestion="give at most that",
            )


FINDINGS = KindFindings(references=references, meaning=check_energy)
'''

LABELS = """
SINGULAR, PLURAL, NAME, KEY, ENTITY_CODE, IN_METADATA = "tank", "tanks", "tank", "tanks", None, False
FILE, TABLE, ID_COLUMN, POWER_BALANCE = "system/tanks.json", None, "tank_id", ()
"""

MODULES = {"data": DATA, "inputs": INPUTS, "findings": FINDINGS, "labels": LABELS}
