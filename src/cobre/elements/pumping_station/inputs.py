"""Inputs of pumping stations: ``system/pumping_stations.json``, and limits by stage."""

from __future__ import annotations

from cobre.elements.pumping_station import labels
from cobre.elements.pumping_station.data import PumpingStation
from cobre.inputs.bounds import BoundsTable
from cobre.inputs.files import CaseFiles
from cobre.inputs.kind import JsonFile, KindInputs
from cobre.inputs.models import Document, Id, InService, NonNegative, Strict
from cobre.inputs.tables import bounds, by_stage, ids


class PumpingFlow(Strict):
    """Bounds."""

    min_m3s: NonNegative
    max_m3s: NonNegative


class PumpingStationInput(InService, title="PumpingStation"):
    """Lifts water from one reservoir to another."""

    bus_id: Id
    source_hydro_id: Id
    destination_hydro_id: Id
    consumption_mw_per_m3s: NonNegative
    flow: PumpingFlow


class PumpingStations(Document):
    """The whole file."""

    pumping_stations: list[PumpingStationInput]


BOUNDS = BoundsTable(
    by_stage(
        "constraints/pumping_bounds.parquet",
        "limits of pumps by stage",
        ids("station_id", "pumping_station"),
        *bounds("min_m3s", "max_m3s"),
    ),
    lambda station: {"min_m3s": station.flow.min_m3s, "max_m3s": station.flow.max_m3s},
    (("min_m3s", "max_m3s"),),
)


def resolve(files: CaseFiles, station: PumpingStationInput) -> PumpingStation:
    """Return a pumping station as resolved data."""
    flow = BOUNDS.in_service(files, station)
    return PumpingStation(
        station.id,
        station.name,
        station.bus_id,
        station.source_hydro_id,
        station.destination_hydro_id,
        station.consumption_mw_per_m3s,
        flow["min_m3s"],
        flow["max_m3s"],
    )


INPUTS = KindInputs(
    rank=5,
    noun="pumping station",
    element=PumpingStationInput,
    entries="pumping_stations",
    files=(JsonFile(labels.FILE, "pumps from one reservoir to another", PumpingStations),),
    resolve=resolve,
    references={"bus_id": "bus", "source_hydro_id": "hydro", "destination_hydro_id": "hydro"},
    bounds=BOUNDS,
)
