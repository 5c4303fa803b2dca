"""From files that were found to be right to a system in which every number is resolved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cobre import system as resolved
from cobre.case import _entities, _evaporation, _expressions, _filling, _penalties
from cobre.case._bounds import Bounds
from cobre.case._config import Config
from cobre.case._constraints import ExchangeFactors
from cobre.case._costs import Costs
from cobre.case._inflows import Inflows
from cobre.case._penalties import Penalties
from cobre.case._raw import Raw
from cobre.case._scenario_files import LoadFactors, SourceFactors
from cobre.case._series import BlockSeries, Factors, Overrides, Series, Timeline
from cobre.case._stages import RiskAverse, Stage, Stages
from cobre.case._tables import ABSENT
from cobre.case._turbines import Turbines
from cobre.elements.bus.data import Bus, DeficitSegment
from cobre.elements.contract.data import Contract
from cobre.elements.generic_constraint.data import GenericConstraint
from cobre.elements.hydro.data import Hydro
from cobre.elements.line.data import Line
from cobre.elements.non_controllable_source.data import NonControllableSource
from cobre.elements.pumping_station.data import PumpingStation
from cobre.elements.thermal.data import Thermal
from cobre.system import System


@dataclass(frozen=True, eq=False)
class Resolver:
    """Makes a system of files that were found to be right."""

    raw: Raw
    config: Config
    penalties: Penalties
    stages: Stages
    timeline: Timeline
    inflows: Inflows

    def system(self) -> System:
        """All of it."""
        return System(
            stages=tuple(self._stage(stage) for stage in self.timeline.stages),
            elements={
                Hydro: tuple(self._hydro(plant) for plant in self.raw.hydros),
                Thermal: self._thermals(),
                Line: self._lines(),
                Bus: self._buses(),
                PumpingStation: self._pumping(),
                Contract: self._contracts(),
                NonControllableSource: self._sources(),
                GenericConstraint: self._constraints(),
            },
            negative_inflows=self.config.modeling.inflow_non_negativity.method,
        )

    @cached_property
    def _bounds(self) -> Bounds:
        return Bounds(self.raw, self.timeline)

    @cached_property
    def _costs(self) -> Costs:
        return Costs(self.raw, self.config, self.penalties, self.timeline)

    @cached_property
    def _turbines(self) -> Turbines:
        return Turbines(self.raw, self.timeline)

    def _overrides(self, file: str, key: str) -> Overrides:
        return Overrides(self.timeline, self.raw.table(file), key)

    def _stage(self, stage: Stage) -> resolved.Stage:
        risk = stage.risk_measure
        return resolved.Stage(
            id=stage.id,
            start=stage.start_date,
            end=stage.end_date,
            blocks=tuple(
                resolved.Block(block.id, block.name, block.hours)
                for block in sorted(stage.blocks, key=lambda block: block.id)
            ),
            chronological=stage.block_mode == "chronological",
            season=self.stages.season(stage),
            openings=stage.num_scenarios,
            risk=(risk.cvar.weight, risk.cvar.alpha) if isinstance(risk, RiskAverse) else (0.0, 1.0),
            discount=self._discount(stage),
        )

    def _discount(self, stage: Stage) -> float:
        graph = self.stages.policy_graph
        rates = [
            edge.annual_discount_rate_override for edge in graph.transitions if edge.source_id == stage.id
        ]
        rate = next((rate for rate in rates if rate is not None), graph.annual_discount_rate)
        return float((1 + rate) ** (-(stage.end_date - stage.start_date).days / 365.25))

    def _buses(self) -> tuple[Bus, ...]:
        loads = self._overrides("scenarios/load_seasonal_stats.parquet", "bus_id")
        file = self.raw.document("scenarios/load_factors.json", LoadFactors)
        factors: Factors = {
            (entry.bus_id, entry.stage_id): {block.block_id: block.factor for block in entry.block_factors}
            for entry in (file.load_factors if file else ())
        }
        return tuple(
            Bus(
                bus.id,
                bus.name,
                _segments(bus.deficit_segments or self.penalties.bus.deficit_segments),
                self._costs.bus_excess(bus.id),
                loads.over(bus.id, "mean_mw", 0.0),
                loads.over(bus.id, "std_mw", 0.0),
                self.timeline.factors(bus.id, factors),
            )
            for bus in self.raw.buses
        )

    def _lines(self) -> tuple[Line, ...]:
        file = self.raw.document("constraints/exchange_factors.json", ExchangeFactors)
        entries = file.exchange_factors if file else ()
        direct: Factors = {
            (entry.line_id, entry.stage_id): {b.block_id: b.direct_factor for b in entry.block_factors}
            for entry in entries
        }
        reverse: Factors = {
            (entry.line_id, entry.stage_id): {b.block_id: b.reverse_factor for b in entry.block_factors}
            for entry in entries
        }
        result = []
        for line in self.raw.lines:
            own = self._bounds.in_service("lines", line)
            result.append(
                Line(
                    line.id,
                    line.name,
                    line.source_bus_id,
                    line.target_bus_id,
                    self._by_block(own["direct_mw"], line.id, direct),
                    self._by_block(own["reverse_mw"], line.id, reverse),
                    self._costs.exchange(line),
                    1 - line.losses_percent / 100,
                )
            )
        return tuple(result)

    def _by_block(self, capacity: Series, entity: int, factors: Factors) -> BlockSeries:
        own = self.timeline.factors(entity, factors)
        return tuple(value * blocks for value, blocks in zip(capacity, own, strict=True))

    def _thermals(self) -> tuple[Thermal, ...]:
        result = []
        for plant in self.raw.thermals:
            own = self._bounds.by_block("thermals", plant)
            here = self.timeline.in_service(plant)
            result.append(
                Thermal(
                    plant.id,
                    plant.name,
                    plant.bus_id,
                    _while_in_service(own["min_generation_mw"], here),
                    _while_in_service(own["max_generation_mw"], here),
                    own["cost_per_mwh"],
                )
            )
        return tuple(result)

    def _sources(self) -> tuple[NonControllableSource, ...]:
        statistics = self._overrides("scenarios/non_controllable_stats.parquet", "ncs_id")
        file = self.raw.document("scenarios/non_controllable_factors.json", SourceFactors)
        factors: Factors = {
            (entry.ncs_id, entry.stage_id): {block.block_id: block.factor for block in entry.block_factors}
            for entry in (file.non_controllable_factors if file else ())
        }
        return tuple(
            NonControllableSource(
                source.id,
                source.name,
                source.bus_id,
                self._bounds.in_service("sources", source)["available_generation_mw"],
                statistics.over(source.id, "mean", 1.0),  # without statistics, all of it is always there
                statistics.over(source.id, "std", 0.0),
                self.timeline.factors(source.id, factors),
                self._costs.curtailment(source),
            )
            for source in self.raw.sources
        )

    def _pumping(self) -> tuple[PumpingStation, ...]:
        result = []
        for station in self.raw.stations:
            own = self._bounds.in_service("stations", station)
            result.append(
                PumpingStation(
                    station.id,
                    station.name,
                    station.bus_id,
                    station.source_hydro_id,
                    station.destination_hydro_id,
                    station.consumption_mw_per_m3s,
                    own["min_m3s"],
                    own["max_m3s"],
                )
            )
        return tuple(result)

    def _contracts(self) -> tuple[Contract, ...]:
        result = []
        for contract in self.raw.contracts:
            own = self._bounds.in_service("contracts", contract)
            prices = self._bounds.of("contracts", contract)["price_per_mwh"]
            imports = contract.type == "import"
            result.append(
                Contract(
                    contract.id, contract.name, contract.bus_id, imports, own["min_mw"], own["max_mw"], prices
                )
            )
        return tuple(result)

    def _hydro(self, hydro: _entities.Hydro) -> Hydro:
        own = self._bounds.of("hydros", hydro)
        given = self.raw.initial
        volumes = [*given.storage, *given.filling_storage] if given else []
        initial = [entry.value_hm3 for entry in volumes if entry.hydro_id == hydro.id]
        return Hydro(
            id=hydro.id,
            name=hydro.name,
            bus=hydro.bus_id,
            downstream=hydro.downstream_id,
            initial_hm3=initial[0] if initial else 0.0,
            min_storage_hm3=own["min_storage_hm3"],
            max_storage_hm3=own["max_storage_hm3"],
            min_outflow_m3s=own["min_outflow_m3s"],
            max_outflow_m3s=own["max_outflow_m3s"],
            min_turbined_m3s=own["min_turbined_m3s"],
            max_turbined_m3s=own["max_turbined_m3s"],
            min_generation_mw=own["min_generation_mw"],
            max_generation_mw=own["max_generation_mw"],
            mw_per_m3s=self._turbines.productivity(hydro),
            planes=self._turbines.planes(hydro),
            diversion=hydro.diversion.downstream_id if hydro.diversion else None,
            max_diversion_m3s=own["max_diversion_m3s"],
            withdrawal_m3s=own["water_withdrawal_m3s"],
            evaporation=_evaporation.resolve(hydro, self.raw.table(_evaporation.FILE), self.timeline),
            inflow=self.inflows.resolve(hydro.id),
            penalties=self._costs.hydro(hydro),
            phases=_filling.phases(hydro, self.timeline),
            filling=_filling.resolve(hydro, own, self.timeline),
        )

    def _constraints(self) -> tuple[GenericConstraint, ...]:
        table = self.raw.table("constraints/generic_constraint_bounds.parquet")
        places = {stage: place for place, stage in enumerate(self.timeline.ids)}
        result = []
        for constraint in self.raw.constraints:
            bounds = tuple(np.full(len(stage.blocks), np.nan) for stage in self.timeline.stages)
            for row in () if table is None else np.flatnonzero(table["constraint_id"] == constraint.id):
                assert table is not None  # noqa: S101 - for the type checker
                block = int(table["block_id"][row])
                where = slice(None) if block == ABSENT else block
                bounds[places[int(table["stage_id"][row])]][where] = table["bound"][row]
            cost = constraint.slack.penalty if constraint.slack.enabled else None
            terms = _expressions.parse(constraint.expression)
            result.append(
                GenericConstraint(constraint.id, constraint.name, terms, constraint.sense, bounds, cost)
            )
        return tuple(result)


def _while_in_service(values: BlockSeries, here: NDArray[np.bool_]) -> BlockSeries:
    """0 in stages without the entity."""
    return tuple(blocks * serves for blocks, serves in zip(values, here, strict=True))


def _segments(segments: list[_penalties.DeficitSegment]) -> tuple[DeficitSegment, ...]:
    return tuple(
        DeficitSegment(np.inf if one.depth_mw is None else one.depth_mw, one.cost) for one in segments
    )
