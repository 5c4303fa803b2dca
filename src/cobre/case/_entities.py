"""``system/*.json``: what the system is made of."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cobre.case._base import Document, Id, InService, Named, NonNegative, Number, Positive, Strict
from cobre.case._penalties import DeficitSegment, HydroOverrides

Twelve = Annotated[list[Number], Field(min_length=12, max_length=12)]


class Bus(Named):
    """Where power meets."""

    deficit_segments: Annotated[list[DeficitSegment], Field(min_length=1)] | None = None


class Buses(Document):
    """The whole file."""

    buses: list[Bus]


class LineCapacity(Strict):
    """By direction."""

    direct_mw: NonNegative
    reverse_mw: NonNegative


class Line(InService):
    """Carries power between two buses."""

    source_bus_id: Id
    target_bus_id: Id
    capacity: LineCapacity
    exchange_cost: Positive | None = None
    losses_percent: Annotated[float, Field(ge=0, lt=100)] = 0.0


class Lines(Document):
    """The whole file."""

    lines: list[Line]


class ThermalGeneration(Strict):
    """Bounds."""

    min_mw: NonNegative
    max_mw: NonNegative


class AnticipatedDispatch(Strict):
    """Gas must be ordered so many stages before."""

    lag_stages: Id


class Thermal(InService):
    """Burns fuel."""

    bus_id: Id
    cost_per_mwh: NonNegative
    generation: ThermalGeneration
    gnl_config: AnticipatedDispatch | None = None


class Thermals(Document):
    """The whole file."""

    thermals: list[Thermal]


class Reservoir(Strict):
    """Bounds."""

    min_storage_hm3: NonNegative
    max_storage_hm3: NonNegative


class Outflow(Strict):
    """Bounds; without an upper one there is none."""

    min_outflow_m3s: NonNegative
    max_outflow_m3s: NonNegative | None = None


class TurbineBounds(Strict):
    """Bounds of all generation models."""

    min_turbined_m3s: NonNegative
    max_turbined_m3s: NonNegative
    min_generation_mw: NonNegative
    max_generation_mw: NonNegative


class ConstantProductivity(TurbineBounds):
    """Power is proportional to the flow."""

    model: Literal["constant_productivity"]
    productivity_mw_per_m3s: NonNegative


class LinearizedHead(TurbineBounds):
    """Power is proportional to the flow, at a head that may differ by stage."""

    model: Literal["linearized_head"]
    productivity_mw_per_m3s: NonNegative


class Fpha(TurbineBounds):
    """Power is below planes in volume, flow and spillage."""

    model: Literal["fpha"]


Generation = Annotated[ConstantProductivity | LinearizedHead | Fpha, Field(discriminator="model")]


class PolynomialTailrace(Strict):
    """The level below the plant as a polynomial of the outflow."""

    type: Literal["polynomial"]
    coefficients: list[Number]


class TailracePoint(Strict):
    """The level at an outflow."""

    outflow_m3s: Number
    height_m: Number


class PiecewiseTailrace(Strict):
    """The level below the plant between points."""

    type: Literal["piecewise"]
    points: list[TailracePoint]


class LossFactor(Strict):
    """A share of the head."""

    type: Literal["factor"]
    value: Number


class ConstantLoss(Strict):
    """So many metres."""

    type: Literal["constant"]
    value_m: Number


class Efficiency(Strict):
    """Of the turbines."""

    type: Literal["constant"]
    value: Number


class Evaporation(Strict):
    """Millimetres a month, from January to December."""

    coefficients_mm: Twelve
    reference_volumes_hm3: Twelve | None = None


class Diversion(Strict):
    """A channel to another plant."""

    downstream_id: Id
    max_flow_m3s: NonNegative


class Filling(Strict):
    """A new reservoir, filled for the first time."""

    start_stage_id: Id
    filling_inflow_m3s: NonNegative = 0.0


class Hydro(InService):
    """A reservoir and its turbines."""

    bus_id: Id
    downstream_id: Id | None = None
    reservoir: Reservoir
    outflow: Outflow
    generation: Generation
    tailrace: Annotated[PolynomialTailrace | PiecewiseTailrace, Field(discriminator="type")] | None = None
    hydraulic_losses: Annotated[LossFactor | ConstantLoss, Field(discriminator="type")] | None = None
    efficiency: Efficiency | None = None
    evaporation: Evaporation | None = None
    diversion: Diversion | None = None
    filling: Filling | None = None
    penalties: HydroOverrides | None = None


class Hydros(Document):
    """The whole file."""

    hydros: list[Hydro]


class Source(InService):
    """Wind or sun."""

    bus_id: Id
    max_generation_mw: NonNegative
    curtailment_cost: Positive | None = None


class Sources(Document):
    """The whole file."""

    non_controllable_sources: list[Source]


class PumpingFlow(Strict):
    """Bounds."""

    min_m3s: NonNegative
    max_m3s: NonNegative


class PumpingStation(InService):
    """Lifts water from one reservoir to another."""

    bus_id: Id
    source_hydro_id: Id
    destination_hydro_id: Id
    consumption_mw_per_m3s: NonNegative
    flow: PumpingFlow


class PumpingStations(Document):
    """The whole file."""

    pumping_stations: list[PumpingStation]


class ContractLimits(Strict):
    """Bounds."""

    min_mw: NonNegative
    max_mw: NonNegative


class Contract(InService):
    """Power bought or sold."""

    bus_id: Id
    type: Literal["import", "export"]
    price_per_mwh: Number
    limits: ContractLimits


class Contracts(Document):
    """The whole file."""

    contracts: list[Contract]
