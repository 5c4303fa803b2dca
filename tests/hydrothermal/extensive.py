"""The whole scenario tree of a hydrothermal system as one linear programme: slow, simple, independent.

It reads the system and the noise, and shares nothing with what it checks: the equations are written again
from the specification (lp-formulation and equipment-formulations). Inflows are numbers here, not columns: a
node of the tree knows its whole past.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import highspy
import numpy as np

from cobre.case import NoiseEntity
from cobre.elements.battery.data import Battery
from cobre.elements.bus.data import Bus
from cobre.elements.contract.data import Contract
from cobre.elements.generic_constraint.data import GenericConstraint
from cobre.elements.hydro.data import Hydro
from cobre.elements.line.data import Line
from cobre.elements.non_controllable_source.data import NonControllableSource
from cobre.elements.pumping_station.data import PumpingStation
from cobre.elements.thermal.data import Thermal
from cobre.system import Stage, System

INF = highspy.kHighsInf
#: A linear expression: column → coefficient, and a number under None.
Linear = dict[int | None, float]
#: Volumes and energies by kind and id; generation committed, by the number of stages before and id.
Stored = dict[tuple[str | int, int], Linear]
#: Noise by entity.
Noise = Mapping[NoiseEntity, float]
#: Inflows before a stage by hydro, the latest first.
Past = dict[int, list[float]]
#: What the inflows of plants are by, in place of the system's own models.
Rivers = Mapping[int, "River"]
#: By stage, opening and hydro, the most water that is added to a negative inflow.
Limits = Mapping[tuple[int, int, int], float]


class River(Protocol):
    """The inflow of a plant, before anything is done to a negative one."""

    def inflow(self, t: int, inflows: Sequence[float], noise: float) -> float:
        """The inflow of a stage, given those of the stages before it in their order."""


def optimal_value(
    system: System,
    entities: Sequence[NoiseEntity],
    openings: Mapping[int, np.ndarray],
    *,
    limits: Limits | None = None,
    first: int = 0,
    past: Past | None = None,
    steps: int = 99,
    rivers: Rivers | None = None,
) -> float:
    """Return the least cost, with the risk measures of the stages nested, that of the first one outermost.

    ``openings`` has, by stage id, a row for each realisation. By "penalty", an inflow may be lifted by as
    much as it is below 0; or by ``limits``, whatever its lags. The tree may begin at another stage, after
    another past. Inflows are by the system's models, or by ``rivers``, which know their past. It follows the
    ways of the policy graph for a number of steps; a measure other than the expectation takes stages of which
    one follows.
    """
    tree = Tree()
    stored: Stored = {("hydro", hydro.id): {None: hydro.initial_hm3} for hydro in system.of(Hydro)}
    stored |= {("battery", battery.id): {None: battery.initial_mwh} for battery in system.of(Battery)}
    stored |= {
        (t, plant.id): {None: mw}
        for plant in system.of(Thermal)
        if plant.commitment
        for t, mw in enumerate(plant.commitment.initial_mw)
    }

    def follows(t: int, left: int, stored: Stored, past: Past) -> Linear:
        """The expected cost of what follows stage t."""
        ways = system.graph.following[t] if left else {}
        return total(*((p, value(one, left, stored, past)) for one, p in ways.items()))

    def value(t: int, left: int, stored: Stored, past: Past) -> Linear:
        """The risk-adjusted cost of stage t and all after it, V_t, at a state."""
        stage, costs = system.stages[t], []
        for k, row in enumerate(openings[stage.id]):
            node = Node(tree, system, t, dict(zip(entities, row, strict=True)), past, rivers)
            node.step = t if first else steps - left
            node.limits = {hydro: most for (s, o, hydro), most in (limits or {}).items() if (s, o) == (t, k)}
            after = node.build(stored)
            known = inflows_after(system, node.inflows, past)
            costs.append(total((1.0, node.cost), (stage.discount, follows(t, left - 1, after, known))))
        return tree.measured(costs, stage.risk)

    return tree.least(value(first, steps, stored, past or known_past(system, rivers)))


def known_past(system: System, rivers: Rivers | None = None) -> Past:
    """The inflows before the study, for models that do not know them."""
    return {hydro.id: [] if rivers else list(hydro.inflow.past_m3s) for hydro in system.of(Hydro)}


def inflows_after(system: System, inflows: Mapping[int, float], past: Past) -> Past:
    """The past of the next stage: truncated inflows stay so."""
    least = 0.0 if "truncation" in system.negative_inflows else -INF
    return {hydro: [max(inflow, least), *past[hydro]] for hydro, inflow in inflows.items()}


def inflow_ranges(
    system: System,
    entities: Sequence[NoiseEntity],
    openings: Mapping[int, np.ndarray],
    rivers: Rivers | None = None,
) -> dict[tuple[int, int, int], tuple[float, float]]:
    """By stage, opening and hydro, the least and the most inflow after all pasts, before truncation."""
    found: dict[tuple[int, int, int], tuple[float, float]] = {}

    def walk(t: int, past: Past) -> None:
        if t == len(system.stages):
            return
        for k, row in enumerate(openings[system.stages[t].id]):
            node = Node(Tree(), system, t, dict(zip(entities, row, strict=True)), past, rivers)
            for hydro, inflow in node.inflows.items():
                low, high = found.get((t, k, hydro), (INF, -INF))
                found[t, k, hydro] = min(low, inflow), max(high, inflow)
            walk(t + 1, inflows_after(system, node.inflows, past))

    walk(0, known_past(system, rivers))
    return found


class Tree:
    """Columns and rows."""

    def __init__(self) -> None:
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.rows: list[tuple[float, float, Linear]] = []

    def column(self, lower: float = 0.0, upper: float = INF) -> Linear:
        self.lower.append(float(lower))
        self.upper.append(float(upper))
        return {len(self.lower) - 1: 1.0}

    def between(self, lower: float, terms: Linear, upper: float) -> None:
        constant = terms.get(None, 0.0)
        entries = {column: value for column, value in terms.items() if column is not None and value != 0}
        self.rows.append((lower - constant, upper - constant, entries))

    def measured(self, costs: Sequence[Linear], risk: Mapping[str, Any]) -> Linear:
        """A risk measure of equally probable costs; CVaR by Rockafellar and Uryasev (2000).

        It is the least of eta + E[excess] / alpha, with excess >= cost - eta and excess >= 0.
        """
        p = 1 / len(costs)
        mean = total(*((p, cost) for cost in costs))
        if risk["measure"] == "expectation":
            return mean
        eta, cvar = self.column(-INF), []
        for cost in costs:
            excess = self.column()
            self.between(0.0, total((1.0, excess), (1.0, eta), (-1.0, cost)), INF)
            cvar.append((p / risk["level"], excess))
        weight = risk["weight"]
        return total((weight, mean), (1 - weight, total((1.0, eta), *cvar)))

    def least(self, objective: Linear) -> float:
        """Minimise an expression."""
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(self.lower), len(self.rows)
        lp.offset_ = objective.get(None, 0.0)
        lp.col_cost_ = np.array([objective.get(column, 0.0) for column in range(len(self.lower))])
        lp.col_lower_, lp.col_upper_ = map(np.array, (self.lower, self.upper))
        lp.row_lower_ = np.array([low for low, _, _ in self.rows])
        lp.row_upper_ = np.array([high for _, high, _ in self.rows])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.cumsum([0, *(len(terms) for _, _, terms in self.rows)]).astype(np.int32)
        lp.a_matrix_.index_ = np.array([column for _, _, terms in self.rows for column in terms], np.int32)
        lp.a_matrix_.value_ = np.array([value for _, _, terms in self.rows for value in terms.values()])
        highs = highspy.Highs()
        highs.silent()
        for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            highs.setOptionValue(option, 1e-9)
        highs.passModel(lp)
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise AssertionError(f"the scenario tree ended with {highs.getModelStatus()}")
        return float(highs.getInfo().objective_function_value)


def total(*terms: tuple[float, Linear]) -> Linear:
    """The sum of factors times expressions."""
    result: Linear = defaultdict(float)
    for factor, linear in terms:
        for column, value in linear.items():
            result[column] += factor * value
    return result


@dataclass
class Node:
    """One realisation of a stage, after one past."""

    tree: Tree
    system: System
    t: int
    noise: Noise
    past: Mapping[int, list[float]]
    rivers: Rivers | None = None

    def __post_init__(self) -> None:
        #: The cost of the stage.
        self.cost: Linear = {}
        #: What a variable is: by kind, entity and block, or None for the stage.
        self.value: dict[tuple[str, int, int | None], Linear] = {}
        self.stage: Stage = self.system.stages[self.t]
        self.hours = [block.hours for block in self.stage.blocks]
        self.blocks = range(len(self.hours))
        self.inflows = {hydro.id: self.inflow(hydro) for hydro in self.system.of(Hydro)}
        self.limits: Mapping[int, float] = {}
        #: How many stages come before, by which commitments are known.
        self.step = self.t

    def inflow(self, hydro: Hydro) -> float:
        """By the autoregressive model, before anything is done to a negative one."""
        model, noise = hydro.inflow, self.noise[NoiseEntity("inflow", hydro.id)]
        if self.rivers is not None:
            return self.rivers[hydro.id].inflow(self.t, self.past[hydro.id][::-1], noise)
        lags = zip(model.coefficients[self.t], self.past[hydro.id], strict=False)
        return float(
            model.base_m3s[self.t] + sum(psi * a for psi, a in lags) + model.scale_m3s[self.t] * noise
        )

    def lifted(self, hydro: Hydro) -> Linear:
        """What is added to a negative inflow: as much as is worth its cost, or all that it lacks."""
        lacking, method = max(0.0, -self.inflows[hydro.id]), self.system.negative_inflows
        if method == "none":
            return {None: 0.0}
        if method == "truncation":
            return {None: lacking}
        least = lacking if method == "truncation_with_penalty" else 0.0
        most = self.limits.get(hydro.id, lacking)
        return self.new(hydro.penalties.negative_inflow[self.t], least, most, sum(self.hours))

    def new(
        self, cost: float = 0.0, lower: float = 0.0, upper: float = INF, hours: float | None = None
    ) -> Linear:
        """A column whose cost is per hour if hours are given."""
        column = self.tree.column(lower, upper)
        self.cost |= dict.fromkeys(column, cost * (1.0 if hours is None else hours))
        return column

    def soft(self, least: float, terms: Linear, most: float, cost: float, hours: float | None = None) -> None:
        """A row that may be missed at a cost, by its own column on each side."""
        slacks: list[tuple[float, Linear]] = []
        if np.isfinite(least):
            slacks.append((1.0, self.new(cost, hours=hours)))
        if np.isfinite(most):
            slacks.append((-1.0, self.new(cost, hours=hours)))
        self.tree.between(least, total((1.0, terms), *slacks), most)

    def build(self, stored: Stored) -> Stored:
        """Add all of it; return what is stored after the stage."""
        self.add_flows()
        #: The natural inflow of each plant, lifted if it is negative.
        self.natural = {
            hydro.id: total((1.0, {None: self.inflows[hydro.id]}), (1.0, self.lifted(hydro)))
            for hydro in self.system.of(Hydro)
        }
        after = {
            (kind, one.id): add(one, stored[kind, one.id])
            for kind, add, elements in (
                ("hydro", self.add_reservoir, self.system.of(Hydro)),
                ("battery", self.add_battery, self.system.of(Battery)),
            )
            for one in elements
        }
        for hydro in self.system.of(Hydro):
            self.add_turbine_limits(hydro)
        after |= {key: each for key, each in stored.items() if isinstance(key[0], int)}
        after |= self.add_commitments()
        self.add_trade(after)
        self.add_balances()
        for constraint in self.system.of(GenericConstraint):
            self.add_constraint(constraint)
        return after

    def add_flows(self) -> None:
        """What is turbined, spilled, diverted and pumped, in m³/s."""
        t = self.t
        for k in self.blocks:
            for hydro in self.system.of(Hydro):
                turbined, diverted, power = self.operated(hydro, k)
                spilled: Linear = {}
                if hydro.phases[t] != "absent":
                    spilled = self.new(hydro.penalties.spillage[t], hours=self.hours[k])
                self.value["hydro_turbined", hydro.id, k] = turbined
                self.value["hydro_spillage", hydro.id, k] = spilled
                self.value["hydro_diversion", hydro.id, k] = diverted
                self.value["hydro_outflow", hydro.id, k] = total((1.0, turbined), (1.0, spilled))
                self.value["hydro_generation", hydro.id, k] = power
            for station in self.system.of(PumpingStation):
                pumped: Linear = {}
                if self.phase(station.source_hydro) != "absent":
                    pumped = self.new(0.0, station.min_m3s[t], station.max_m3s[t])
                self.value["pumping_flow", station.id, k] = pumped
                self.value["pumping_power", station.id, k] = total((station.mw_per_m3s, pumped))

    def operated(self, hydro: Hydro, k: int) -> tuple[Linear, Linear, Linear]:
        """What is turbined and diverted, and the power of it; nothing unless the plant operates."""
        t, hours, costs, planes = self.t, self.hours[k], hydro.penalties, hydro.planes[self.t]
        if hydro.phases[t] != "operating":
            return {}, {}, {}
        cost = 0.0 if planes is None else costs.turbined[t]
        turbined = self.new(cost, upper=hydro.max_turbined_m3s[t], hours=hours)
        most = hydro.max_diversion_m3s[t] if hydro.diversion is not None else 0.0
        diverted = self.new(costs.diversion[t], upper=most, hours=hours)
        if planes is None:
            power = total((hydro.mw_per_m3s[t], turbined))
            self.tree.between(-INF, power, hydro.max_generation_mw[t])
            return turbined, diverted, power
        made = self.new(upper=hydro.max_generation_mw[t])
        lacking = self.new(costs.generation_below_per_mwh[t], hours=hours)  # where planes are below 0
        return turbined, diverted, total((1.0, made), (-1.0, lacking))

    def phase(self, hydro: int) -> str:
        """The phase of a plant."""
        return next(one.phases[self.t] for one in self.system.of(Hydro) if one.id == hydro)

    def landing(self, hydro: int | None) -> int | None:
        """Where water that runs to a plant ends up: there, or at the first plant below that is there."""
        below = {one.id: one.downstream for one in self.system.of(Hydro)}
        while hydro is not None and self.phase(hydro) == "absent":
            hydro = below[hydro]
        return hydro

    def arriving(self, hydro: Hydro, k: int) -> Iterator[tuple[float, Linear]]:
        """What the releases of all plants and the pumps do to a reservoir."""
        for other in self.system.of(Hydro):
            outflow = self.value["hydro_outflow", other.id, k]
            diverted = self.value["hydro_diversion", other.id, k]
            ways = ((outflow, other.downstream), (diverted, other.diversion))
            for flow, target in ways:
                if other.id == hydro.id:
                    yield -1.0, flow
                if self.landing(target) == hydro.id:
                    yield 1.0, flow
        for station in self.system.of(PumpingStation):
            pumped = self.value["pumping_flow", station.id, k]
            if station.source_hydro == hydro.id:
                yield -1.0, pumped
            if self.landing(station.target_hydro) == hydro.id:
                yield 1.0, pumped

    def add_reservoir(self, hydro: Hydro, before: Linear) -> Linear:
        """The balance of water: for the stage, or block after block."""
        t, costs, everything = self.t, hydro.penalties, sum(self.hours)
        if hydro.phases[t] == "absent":
            for kind in ("storage", "evaporation", "withdrawal"):
                self.value[f"hydro_{kind}", hydro.id, None] = {}
            return before
        withdrawn: Linear = {None: hydro.withdrawal_m3s[t]}
        if hydro.withdrawal_m3s[t] != 0:
            below = self.new(costs.withdrawal_below[t], hours=everything)
            above = self.new(costs.withdrawal_above[t], hours=everything)
            withdrawn = total((1.0, withdrawn), (-1.0, below), (1.0, above))
        evaporated = self.new() if hydro.evaporation else {None: 0.0}
        steady = total(
            *((1.0, inflow) for source, inflow in self.natural.items() if self.landing(source) == hydro.id),
            (-1.0, withdrawn),
            (-1.0, evaporated),
        )
        periods = [[k] for k in self.blocks] if self.stage.chronological else [list(self.blocks)]
        volume = before
        for period in periods:
            after = self.new(upper=hydro.max_storage_hm3[t])
            if hydro.phases[t] == "operating":
                self.soft(hydro.min_storage_hm3[t], after, INF, costs.storage_below_per_hm3[t])
            gained = [
                (0.0036 * self.hours[k] * factor, flow)
                for k in period
                for factor, flow in (*self.arriving(hydro, k), (1.0, steady))
            ]
            self.tree.between(0.0, total((1.0, volume), (-1.0, after), *gained), 0.0)
            for k in period:
                self.add_planes(hydro, k, volume, after)
            volume = after
        if hydro.evaporation:
            mean = total((0.5, before), (0.5, volume))
            law = total((1.0, evaporated), (-hydro.evaporation.slope_m3s_per_hm3[t], mean))
            below = self.new(costs.evaporation_below[t], hours=everything)
            above = self.new(costs.evaporation_above[t], hours=everything)
            law, should = total((1.0, law), (1.0, below), (-1.0, above)), hydro.evaporation.constant_m3s[t]
            self.tree.between(should, law, should)
        if hydro.filling is not None:
            kept = 0.0036 * everything * hydro.filling.retained_m3s[t]
            gained = total((1.0, volume), (-1.0, before), (0.0036 * everything, evaporated))
            for least, amount in ((kept, gained), (hydro.filling.target_hm3[t], volume)):
                if least > 0:
                    self.soft(least, amount, INF, costs.filling_below_per_hm3[t])
        self.value["hydro_storage", hydro.id, None] = volume
        self.value["hydro_evaporation", hydro.id, None] = evaporated
        self.value["hydro_withdrawal", hydro.id, None] = withdrawn
        return volume

    def add_planes(self, hydro: Hydro, k: int, before: Linear, after: Linear) -> None:
        planes = hydro.planes[self.t]
        if planes is None:
            return
        for m, constant in enumerate(planes.constant_mw):
            below = total(
                (1.0, self.value["hydro_generation", hydro.id, k]),
                (-planes.mw_per_hm3[m] / 2, before),
                (-planes.mw_per_hm3[m] / 2, after),
                (-planes.mw_per_m3s_turbined[m], self.value["hydro_turbined", hydro.id, k]),
                (-planes.mw_per_m3s_spilled[m], self.value["hydro_spillage", hydro.id, k]),
            )
            self.tree.between(-INF, below, constant)

    def add_turbine_limits(self, hydro: Hydro) -> None:
        t, costs = self.t, hydro.penalties
        if hydro.phases[t] == "absent":
            return
        for k, hours in enumerate(self.hours):
            outflow = self.value["hydro_outflow", hydro.id, k]
            turbined, power = (
                self.value[kind, hydro.id, k] for kind in ("hydro_turbined", "hydro_generation")
            )
            self.soft(hydro.min_outflow_m3s[t], outflow, INF, costs.outflow_below[t], hours)
            if np.isfinite(hydro.max_outflow_m3s[t]):
                self.soft(-INF, outflow, hydro.max_outflow_m3s[t], costs.outflow_above[t], hours)
            if hydro.phases[t] != "operating":
                continue
            self.soft(hydro.min_turbined_m3s[t], turbined, INF, costs.turbined_below[t], hours)
            if hydro.min_generation_mw[t] > 0:  # below 0, where planes can be, it is charged for being so
                self.soft(hydro.min_generation_mw[t], power, INF, costs.generation_below_per_mwh[t], hours)

    def add_battery(self, battery: Battery, before: Linear) -> Linear:
        """The energy of a battery: its balance, and how much may be charged if blocks have no order."""
        t, value = self.t, self.value
        for k, hours in enumerate(self.hours):
            most = (battery.max_charge_mw[t], battery.max_discharge_mw[t])
            costs = (battery.charge_cost_per_mwh, battery.discharge_cost_per_mwh)
            value["battery_charge", battery.id, k] = self.new(costs[0], 0.0, most[0], hours)
            value["battery_discharge", battery.id, k] = self.new(costs[1], 0.0, most[1], hours)
        energy = before
        if battery.in_service[t]:
            capacity = battery.capacity_mwh[t]
            room = battery.capacity_mwh[t - 1] if t else battery.initial_mwh
            energy = total((1.0, before))
            lost = self.new(upper=max(room - capacity, 0.0))
            for period in [[k] for k in self.blocks] if self.stage.chronological else [list(self.blocks)]:
                left = np.exp(sum(self.hours[k] for k in period) * np.log1p(-battery.self_discharge_per_hour))
                flows = [
                    (factor * self.hours[k], value[kind, battery.id, k])
                    for k in period
                    for kind, factor in (
                        ("battery_charge", battery.charge_efficiency),
                        ("battery_discharge", -1.0 / battery.discharge_efficiency),
                    )
                ]
                after = self.new(upper=capacity)
                self.tree.between(0.0, total((left, energy), (-1.0, after), (-1.0, lost), *flows), 0.0)
                energy, lost = after, {None: 0.0}
            if not self.stage.chronological:
                charged = total(
                    *((self.hours[k], value["battery_charge", battery.id, k]) for k in self.blocks)
                )
                self.tree.between(-INF, charged, capacity * battery.cycles_per_day * sum(self.hours) / 24)
        value["battery_energy", battery.id, None] = energy
        return energy

    def add_commitments(self) -> Stored:
        """What is committed now for a later stage: one number for all of its blocks."""
        decided: Stored = {}
        for plant in self.system.of(Thermal):
            ahead = [self.t] if plant.commitment else []
            for _ in range(plant.commitment.lag_stages if plant.commitment else 0):
                ahead = [later for stage in ahead for later in self.system.graph.following[stage]]
            for later in ahead[:1]:  # of which there is one, where graphs are followed with commitments
                lag = plant.commitment.lag_stages
                decided[self.step + lag, plant.id] = self.new(
                    0.0, max(plant.min_mw[later]), min(plant.max_mw[later])
                )
        return decided

    def add_trade(self, stored: Stored) -> None:
        """Thermal plants, sources, contracts and lines, in MW."""
        t, value = self.t, self.value
        for k, hours in enumerate(self.hours):
            for plant in self.system.of(Thermal):
                low, high, cost = (each[t][k] for each in (plant.min_mw, plant.max_mw, plant.cost_per_mwh))
                if plant.commitment is None:
                    value["thermal_generation", plant.id, k] = self.new(cost, low, high, hours)
                else:
                    value["thermal_generation", plant.id, k] = stored[self.step, plant.id]
                    self.cost = total((1.0, self.cost), (cost * hours, stored[self.step, plant.id]))
            for source in self.system.of(NonControllableSource):
                noise = self.noise.get(NoiseEntity("ncs", source.id), 0.0)
                share = min(max(source.mean[t] + source.std[t] * noise, 0.0), 1.0)
                most = source.max_generation_mw[t] * share * source.factors[t][k]
                used = self.new(-source.curtailment_cost_per_mwh[t], 0.0, most, hours)
                value["non_controllable_generation", source.id, k] = used
                value["non_controllable_curtailment", source.id, k] = total((1.0, {None: most}), (-1.0, used))
            for contract in self.system.of(Contract):
                kind = "contract_import" if contract.imports else "contract_export"
                value[kind, contract.id, k] = self.new(
                    contract.price_per_mwh[t], contract.min_mw[t], contract.max_mw[t], hours
                )
            for line in self.system.of(Line):
                cost = line.exchange_cost_per_mwh[t]
                direct = self.new(cost, 0.0, line.direct_mw[t][k], hours)
                reverse = self.new(cost, 0.0, line.reverse_mw[t][k], hours)
                value["line_direct", line.id, k], value["line_reverse", line.id, k] = direct, reverse
                value["line_exchange", line.id, k] = total((1.0, direct), (-1.0, reverse))

    def add_balances(self) -> None:
        t, system, value = self.t, self.system, self.value
        for k, hours in enumerate(self.hours):
            for bus in system.of(Bus):
                segments = [self.new(s.cost_per_mwh, 0.0, s.depth_mw, hours) for s in bus.deficit]
                value["bus_deficit", bus.id, k] = total(*((1.0, segment) for segment in segments))
                value["bus_excess", bus.id, k] = self.new(bus.excess_cost_per_mwh[t], hours=hours)
                made: list[tuple[float, Linear]] = [
                    (1.0, value["bus_deficit", bus.id, k]),
                    (-1.0, value["bus_excess", bus.id, k]),
                ]
                for kind, sign, entities in (
                    ("hydro_generation", 1.0, system.of(Hydro)),
                    ("thermal_generation", 1.0, system.of(Thermal)),
                    ("non_controllable_generation", 1.0, system.of(NonControllableSource)),
                    ("contract_import", 1.0, [one for one in system.of(Contract) if one.imports]),
                    ("contract_export", -1.0, [one for one in system.of(Contract) if not one.imports]),
                    ("pumping_power", -1.0, system.of(PumpingStation)),
                    ("battery_discharge", 1.0, system.of(Battery)),
                    ("battery_charge", -1.0, system.of(Battery)),
                ):
                    made += [(sign, value[kind, one.id, k]) for one in entities if one.bus == bus.id]
                for line in system.of(Line):
                    direct, reverse = value["line_direct", line.id, k], value["line_reverse", line.id, k]
                    if line.source_bus == bus.id:
                        made += [(-1.0, direct), (line.efficiency, reverse)]
                    if line.target_bus == bus.id:
                        made += [(line.efficiency, direct), (-1.0, reverse)]
                noise = self.noise.get(NoiseEntity("load", bus.id))
                load = bus.load_mean_mw[t] + bus.load_std_mw[t] * (noise or 0.0)
                demand = (load if noise is None else max(load, 0.0)) * bus.load_factors[t][k]
                self.tree.between(demand, total(*made), demand)

    def add_constraint(self, constraint: GenericConstraint) -> None:
        by_stage = ("hydro_storage", "hydro_evaporation", "hydro_withdrawal", "battery_energy")
        for k, bound in enumerate(constraint.bounds[self.t]):
            if np.isnan(bound):
                continue
            terms = []
            for term in constraint.terms:
                block = None if term.variable in by_stage else k if term.block is None else term.block
                terms.append((term.coefficient, self.value[term.variable, term.entity, block]))
            least = -INF if constraint.sense == "<=" else bound
            most = INF if constraint.sense == ">=" else bound
            if constraint.slack_cost is None:
                self.tree.between(least, total(*terms), most)
            else:
                self.soft(least, total(*terms), most, constraint.slack_cost, self.hours[k])
