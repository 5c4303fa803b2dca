"""The linear programme of one stage of a hydrothermal system.

Variables, rows and costs are those of the Cobre specification (``lp-formulation`` and
``equipment-formulations``). A slack exists only where what it relaxes can be missed, so a plain case is a
small programme. Columns are called by kind, entity and block: ``turbined:3:0``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cobre.hydrothermal._rows import Rows
from cobre.system import GenericConstraint, Hydro, Stage, System, Term


class Affine(NamedTuple):
    """A right-hand side, or a column's upper bound, that is ``offset + factor · x`` of a random x."""

    place: int
    factor: float
    offset: float = 0.0


class StageProgram:
    """One stage, built when made.

    Args:
        system: what there is.
        number: which of its stages.
        orders: by hydro, how many past inflows are states.

    Attributes:
        rows: columns and rows; `Rows.program` makes arrays of them.
        incoming: state → column.
        outgoing: state → column.
        inflows: by hydro, the right-hand sides that its inflow without lags, in m³/s, changes.
        loads: by bus, the right-hand sides that its load in MW changes.
        availabilities: by source, the upper bounds that its availability in MW changes.
    """

    def __init__(self, system: System, number: int, orders: dict[int, int]) -> None:
        self.system, self.number, self._orders = system, number, orders
        self.stage: Stage = system.stages[number]
        self._hours, self._hm3 = self.stage.hours, self.stage.hm3_per_m3s
        self.rows = Rows()
        self.incoming: dict[str, int] = {}
        self.outgoing: dict[str, int] = {}
        self.inflows: dict[int, list[Affine]] = defaultdict(list)
        self.loads: dict[int, list[Affine]] = {}
        self.availabilities: dict[int, list[Affine]] = {}
        # What a column does to a bus in MW, and to a reservoir in m³/s, by block.
        self._power: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
        self._water: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
        for hydro in system.hydros:
            self._add_releases(hydro)
        self._add_pumping()
        for hydro in system.hydros:
            self._add_reservoir(hydro)
        self._add_generation()
        self._add_lines()
        self._add_buses()
        for constraint in system.constraints:
            self._add_constraint(constraint)

    @property
    def blocks(self) -> range:
        """The numbers of the blocks."""
        return range(len(self.stage.blocks))

    def _by_block(
        self, name: str, lower: float, upper: float | np.ndarray, cost_per_hour: float = 0.0
    ) -> list[int]:
        """A column per block."""
        uppers = np.broadcast_to(upper, len(self.stage.blocks))
        return [
            self.rows.column(f"{name}:{k}", cost=cost_per_hour * self._hours[k], lower=lower, upper=uppers[k])
            for k in self.blocks
        ]

    # Water

    def _add_releases(self, hydro: Hydro) -> None:
        """What leaves a plant, and where it goes."""
        t, penalties = self.number, hydro.penalties
        productivity, most = hydro.mw_per_m3s[t], hydro.max_turbined_m3s[t]
        if productivity > 0:
            most = min(most, hydro.max_generation_mw[t] / productivity)
        turbined = self._by_block(f"turbined:{hydro.id}", 0.0, most)
        spilled = self._by_block(f"spilled:{hydro.id}", 0.0, np.inf, penalties.spillage[t])
        ways = [(turbined, hydro.downstream), (spilled, hydro.downstream)]
        if hydro.diversion is not None:
            limit = hydro.max_diversion_m3s[t]
            diverted = self._by_block(f"diverted:{hydro.id}", 0.0, limit, penalties.diversion[t])
            ways.append((diverted, hydro.diversion))
        for columns, to in ways:
            for k, column in enumerate(columns):
                self._water[hydro.id, k][column] = -1.0
                if to is not None:
                    self._water[to, k][column] = 1.0
        for k in self.blocks:
            self._power[hydro.bus, k][turbined[k]] = productivity
            self._add_limits(hydro, k, turbined[k], spilled[k])

    def _add_limits(self, hydro: Hydro, k: int, turbined: int, spilled: int) -> None:
        """What should be released at least or at most, and what it costs not to."""
        t, penalties, hours = self.number, hydro.penalties, self._hours[k]
        outflow = {turbined: 1.0, spilled: 1.0}
        power = {turbined: float(hydro.mw_per_m3s[t])}
        for kind, entries, least, cost in (
            ("outflow_below", outflow, hydro.min_outflow_m3s[t], penalties.outflow_below[t]),
            ("turbined_below", {turbined: 1.0}, hydro.min_turbined_m3s[t], penalties.turbined_below[t]),
            ("generation_below", power, hydro.min_generation_mw[t], penalties.generation_below_per_mwh[t]),
        ):
            if least > 0:
                name = f"{kind}:{hydro.id}:{k}"
                slack = self.rows.column(name, cost=cost * hours)
                self.rows.row(name, {**entries, slack: 1.0}, lower=least)
        if np.isfinite(hydro.max_outflow_m3s[t]):
            name = f"outflow_above:{hydro.id}:{k}"
            slack = self.rows.column(name, cost=penalties.outflow_above[t] * hours)
            self.rows.row(name, {**outflow, slack: -1.0}, upper=hydro.max_outflow_m3s[t])

    def _add_pumping(self) -> None:
        for pumping in self.system.pumping:
            low, high = pumping.min_m3s[self.number], pumping.max_m3s[self.number]
            for k, column in enumerate(self._by_block(f"pumped:{pumping.id}", low, high)):
                self._water[pumping.source_hydro, k][column] = -1.0
                self._water[pumping.target_hydro, k][column] = 1.0
                self._power[pumping.bus, k][column] = -pumping.mw_per_m3s

    def _add_reservoir(self, hydro: Hydro) -> None:
        """Volumes before and after, and the balance between them: one for all blocks, or one for each."""
        state, t = f"storage:{hydro.id}", self.number
        before = self.incoming[state] = self.rows.column(f"storage_in:{hydro.id}", lower=-np.inf)
        steady = self._steady_flows(hydro)
        inflow = self._add_lagged_inflow(hydro)
        for name, period in self._periods(state):
            after = self.rows.column(name, upper=hydro.max_storage_hm3[t])
            self._add_least_volume(hydro, name, after)
            volume = float(np.sum(self._hm3[period]))
            row = self.rows.equation(
                f"balance:{name}", {after: 1.0, before: -1.0}, -volume * hydro.withdrawal_m3s[t]
            )
            for k in period:
                for column, sign in self._water[hydro.id, k].items():
                    self.rows.add(row, column, -sign * self._hm3[k])
            for column, sign in steady.items():
                self.rows.add(row, column, -sign * volume)
            if inflow is None:
                self.inflows[hydro.id].append(Affine(row, volume, -volume * hydro.withdrawal_m3s[t]))
            else:
                self.rows.add(row, inflow, -volume)
            before = after
        self.outgoing[state] = before
        if hydro.evaporation is not None:
            self._add_evaporation(hydro, self.incoming[state], self.outgoing[state])

    def _periods(self, state: str) -> Iterator[tuple[str, list[int]]]:
        """The name of the volume after each period that has a balance, and the period's blocks."""
        if not self.stage.chronological:
            yield state, list(self.blocks)
            return
        last = len(self.stage.blocks) - 1
        for k in self.blocks:
            yield (state if k == last else f"{state}:{k}"), [k]

    def _add_least_volume(self, hydro: Hydro, name: str, volume: int) -> None:
        least = hydro.min_storage_hm3[self.number]
        if least > 0:
            cost = hydro.penalties.storage_below_per_hm3[self.number]
            slack = self.rows.column(f"below:{name}", cost=cost)
            self.rows.row(f"least:{name}", {volume: 1.0, slack: 1.0}, lower=least)

    def _steady_flows(self, hydro: Hydro) -> dict[int, float]:
        """Flows that are the same in all blocks: into the reservoir, or out of it."""
        t, penalties, hours = self.number, hydro.penalties, float(np.sum(self._hours))
        flows: dict[int, float] = {}
        if "penalty" in self.system.negative_inflows:
            name = f"inflow_slack:{hydro.id}"
            flows[self.rows.column(name, cost=penalties.negative_inflow[t] * hours)] = 1.0
        if hydro.withdrawal_m3s[t] != 0:
            below = penalties.withdrawal_below[t] * hours
            flows[self.rows.column(f"withdrawal_below:{hydro.id}", cost=below)] = 1.0
            above = penalties.withdrawal_above[t] * hours
            flows[self.rows.column(f"withdrawal_above:{hydro.id}", cost=above)] = -1.0
        if hydro.evaporation is not None:
            flows[self.rows.column(f"evaporated:{hydro.id}")] = -1.0
        return flows

    def _add_evaporation(self, hydro: Hydro, before: int, after: int) -> None:
        if hydro.evaporation is None:
            return
        t, hours, penalties = self.number, float(np.sum(self._hours)), hydro.penalties
        slope = hydro.evaporation.slope_m3s_per_hm3[t]
        entries = {self.rows[f"evaporated:{hydro.id}"]: 1.0, before: -slope / 2, after: -slope / 2}
        below = penalties.evaporation_below[t] * hours
        entries[self.rows.column(f"evaporation_below:{hydro.id}", cost=below)] = 1.0
        above = penalties.evaporation_above[t] * hours
        entries[self.rows.column(f"evaporation_above:{hydro.id}", cost=above)] = -1.0
        self.rows.equation(f"evaporation:{hydro.id}", entries, hydro.evaporation.constant_m3s[t])

    def _add_lagged_inflow(self, hydro: Hydro) -> int | None:
        """The column of an inflow that depends on those before it, or that later ones depend on."""
        order = self._orders[hydro.id]
        if not order:
            return None
        coefficients = hydro.inflow.coefficients[self.number]
        inflow = self.rows.column(f"inflow:{hydro.id}", lower=-np.inf)
        entries = {inflow: 1.0}
        newer = inflow
        for lag in range(1, order + 1):
            state = f"inflow:{hydro.id}:{lag}"
            past = self.incoming[state] = self.rows.column(f"past_{state}", lower=-np.inf)
            if lag <= len(coefficients):
                entries[past] = -float(coefficients[lag - 1])
            if lag == 1:
                self.outgoing[state] = inflow
            else:
                kept = self.outgoing[state] = self.rows.column(f"kept_{state}", lower=-np.inf)
                self.rows.equation(f"kept_{state}", {kept: 1.0, newer: -1.0}, 0.0)
            newer = past
        row = self.rows.equation(f"inflow:{hydro.id}", entries, 0.0)
        self.inflows[hydro.id].append(Affine(row, 1.0))
        return inflow

    # Power

    def _add_generation(self) -> None:
        t = self.number
        for thermal in self.system.thermals:
            name, cost = f"thermal:{thermal.id}", thermal.cost_per_mwh[t]
            for k, column in enumerate(self._by_block(name, thermal.min_mw[t], thermal.max_mw[t], cost)):
                self._power[thermal.bus, k][column] = 1.0
        for source in self.system.sources:
            most = source.max_generation_mw[t] * min(max(source.mean[t], 0.0), 1.0) * source.factors[t]
            # What is curtailed costs; counted from nothing available, what is generated earns.
            columns = self._by_block(f"source:{source.id}", 0.0, most, -source.curtailment_cost_per_mwh[t])
            for k, column in enumerate(columns):
                self._power[source.bus, k][column] = 1.0
            self.availabilities[source.id] = [
                Affine(column, float(source.factors[t][k])) for k, column in enumerate(columns)
            ]
        for contract in self.system.contracts:
            name, cost = f"contract:{contract.id}", contract.price_per_mwh[t]
            for k, column in enumerate(self._by_block(name, contract.min_mw[t], contract.max_mw[t], cost)):
                self._power[contract.bus, k][column] = 1.0 if contract.imports else -1.0

    def _add_lines(self) -> None:
        t = self.number
        for line in self.system.lines:
            cost, arrives = line.exchange_cost_per_mwh[t], line.efficiency
            direct = self._by_block(f"direct:{line.id}", 0.0, line.direct_mw[t], cost)
            reverse = self._by_block(f"reverse:{line.id}", 0.0, line.reverse_mw[t], cost)
            for k in self.blocks:
                self._power[line.source_bus, k] |= {direct[k]: -1.0, reverse[k]: arrives}
                self._power[line.target_bus, k] |= {direct[k]: arrives, reverse[k]: -1.0}

    def _add_buses(self) -> None:
        t = self.number
        for bus in self.system.buses:
            for s, segment in enumerate(bus.deficit):
                columns = self._by_block(f"deficit:{bus.id}:{s}", 0.0, segment.depth_mw, segment.cost_per_mwh)
                for k, column in enumerate(columns):
                    self._power[bus.id, k][column] = 1.0
            excess = self._by_block(f"excess:{bus.id}", 0.0, np.inf, bus.excess_cost_per_mwh[t])
            for k, column in enumerate(excess):
                self._power[bus.id, k][column] = -1.0
            self.loads[bus.id] = []
            for k in self.blocks:
                factor = float(bus.load_factors[t][k])
                load = float(bus.load_mean_mw[t]) * factor
                row = self.rows.equation(f"load:{bus.id}:{k}", self._power[bus.id, k], load)
                self.loads[bus.id].append(Affine(row, factor))

    # What the user asks for

    def _add_constraint(self, constraint: GenericConstraint) -> None:
        for k, bound in enumerate(constraint.bounds[self.number]):
            if np.isnan(bound):
                continue
            name = f"constraint:{constraint.id}:{k}"
            entries: dict[int, float] = defaultdict(float)
            for term in constraint.terms:
                for column, factor in self._columns_of(term, k):
                    entries[column] += term.coefficient * factor
            if constraint.slack_cost is not None:
                cost = constraint.slack_cost * self._hours[k]
                for side, sign in (("short", 1.0), ("over", -1.0)):
                    if constraint.sense in ("==", ">=" if side == "short" else "<="):
                        entries[self.rows.column(f"{side}:{name}", cost=cost)] = sign
            lower = -np.inf if constraint.sense == "<=" else bound
            upper = np.inf if constraint.sense == ">=" else bound
            self.rows.row(name, entries, lower=lower, upper=upper)

    def _columns_of(self, term: Term, block: int) -> Iterator[tuple[int, float]]:
        """The columns that a term stands for in a constraint of a block, with what each counts for."""
        k = block if term.block is None else term.block
        if term.variable == "hydro_storage":
            yield self.outgoing[f"storage:{term.entity}"], 1.0
            return
        kinds = {
            "hydro_turbined": ["turbined"],
            "hydro_spillage": ["spilled"],
            "hydro_diversion": ["diverted"],
            "hydro_outflow": ["turbined", "spilled"],
            "hydro_generation": ["turbined"],
            "thermal_generation": ["thermal"],
            "line_direct": ["direct"],
            "line_reverse": ["reverse"],
            "line_exchange": ["direct", "reverse"],
            "bus_excess": ["excess"],
            "pumping_flow": ["pumped"],
            "non_controllable_generation": ["source"],
            "contract_import": ["contract"],
            "contract_export": ["contract"],
        }
        if term.variable == "bus_deficit":
            bus = next(bus for bus in self.system.buses if bus.id == term.entity)
            for s in range(len(bus.deficit)):
                yield self.rows[f"deficit:{bus.id}:{s}:{k}"], 1.0
            return
        for i, kind in enumerate(kinds[term.variable]):
            if f"{kind}:{term.entity}:{k}" not in self.rows:
                continue  # a plant without a channel diverts nothing
            column = self.rows[f"{kind}:{term.entity}:{k}"]
            if term.variable == "hydro_generation":
                hydro = next(hydro for hydro in self.system.hydros if hydro.id == term.entity)
                yield column, float(hydro.mw_per_m3s[self.number])
            else:
                yield column, -1.0 if term.variable == "line_exchange" and i else 1.0
