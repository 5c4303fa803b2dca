"""Tables of solved stages: balances and costs recomputed from the tables and the system alone."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest

from cobre import results, sddp
from cobre.elements.battery.data import Battery
from cobre.elements.bus.data import Bus
from cobre.elements.contract.data import Contract
from cobre.elements.generic_constraint.data import GenericConstraint
from cobre.elements.hydro.data import Hydro
from cobre.elements.line.data import Line
from cobre.elements.non_controllable_source.data import NonControllableSource
from cobre.elements.pumping_station.data import PumpingStation
from cobre.elements.thermal.data import Thermal
from cobre.hydrothermal import SimulationTables
from cobre.study import Study
from cobre.study._scenarios import noise_of
from tests.case.folders import write
from tests.hydrothermal.full_case import full_case
from tests.hydrothermal.small_cases import HOURS, VOLUME, hydro, small_case, thermal
from tests.hydrothermal.test_boundary import SPLIT, STAGES, boundary
from tests.hydrothermal.test_boundary import study as boundary_study

SCENARIOS = 40


class Simulated:
    """A case, its simulation, and tables by their keys."""

    def __init__(self, folder, scenarios):
        self.study = Study.load(folder)
        self.system = self.study.case.system
        policy = self.study.train().policy
        self.visits = []
        self.totals = sddp.simulate_streaming(self.study.problem, policy, self.visits.extend, scenarios)
        self.simulation_tables = SimulationTables(self.system, self.study.problem)
        self.tables = self.simulation_tables.tables(self.visits)
        self.policy = policy

    def rows(self, name, key=None):
        """Rows of a table, by scenario, stage, and block and entity if there are any."""
        keys = ["scenario_id", "stage_id"] + (["block_id", key] if key else [])
        return {tuple(row[k] for k in keys): row for row in self.tables[name].to_pylist()}

    def arrival(self, plant, stage):
        """Where water that runs to a plant ends up: there, or at the first below that is there."""
        hydros = {hydro.id: hydro for hydro in self.system.of(Hydro)}
        while plant is not None and hydros[plant].phases[stage] == "absent":
            plant = hydros[plant].downstream
        return plant

    def moments(self):
        for scenario in range(len(self.totals)):
            for number, stage in enumerate(self.system.stages):
                yield scenario, number, stage


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return Simulated(write(tmp_path_factory.mktemp("full"), full_case()), SCENARIOS)


def test_every_scenario_stage_block_and_entity_has_its_row(full):
    blocks = sum(len(stage.blocks) for stage in full.system.stages)
    system = full.system
    for name, entities in {
        "hydros": system.of(Hydro),
        "thermals": system.of(Thermal),
        "exchanges": system.of(Line),
        "buses": system.of(Bus),
        "pumping_stations": system.of(PumpingStation),
        "contracts": system.of(Contract),
        "non_controllables": system.of(NonControllableSource),
        "batteries": system.of(Battery),
    }.items():
        assert full.tables[name].num_rows == SCENARIOS * blocks * len(entities)
    assert full.tables["costs"].num_rows == SCENARIOS * len(system.stages)
    assert full.tables.keys() == results.SIMULATION.keys()


def test_power_balances_at_every_bus_in_every_block(full):
    system = full.system
    buses, plants = full.rows("buses", "bus_id"), full.rows("hydros", "hydro_id")
    thermals, sources = (
        full.rows("thermals", "thermal_id"),
        full.rows("non_controllables", "non_controllable_id"),
    )
    stations, trade = (
        full.rows("pumping_stations", "pumping_station_id"),
        full.rows("contracts", "contract_id"),
    )
    lines, batteries = full.rows("exchanges", "line_id"), full.rows("batteries", "battery_id")
    for scenario, number, stage in full.moments():
        for k in range(len(stage.blocks)):
            at = (scenario, number, k)
            power = defaultdict(float)
            for entities, rows, column, sign in (
                (system.of(Hydro), plants, "generation_mw", 1),
                (system.of(Thermal), thermals, "generation_mw", 1),
                (system.of(NonControllableSource), sources, "generation_mw", 1),
                (system.of(Contract), trade, "power_mw", 1),
                (system.of(PumpingStation), stations, "power_consumption_mw", -1),
                (system.of(Battery), batteries, "discharge_mw", 1),
                (system.of(Battery), batteries, "charge_mw", -1),
            ):
                for entity in entities:
                    power[entity.bus] += sign * rows[*at, entity.id][column]
            for line in system.of(Line):
                row = lines[*at, line.id]
                power[line.source_bus] += line.efficiency * row["reverse_flow_mw"] - row["direct_flow_mw"]
                power[line.target_bus] += line.efficiency * row["direct_flow_mw"] - row["reverse_flow_mw"]
            for bus in system.of(Bus):
                row = buses[*at, bus.id]
                served = power[bus.id] + row["deficit_mw"] - row["excess_mw"]
                assert served == pytest.approx(row["load_mw"], abs=1e-6)


def test_energy_balances_in_every_battery(full):
    """By block in chronological stages, else by stage, and from each stage to the next."""
    rows, modes, codes = full.rows("batteries", "battery_id"), set(), set()
    for scenario, number, stage in full.moments():
        periods = (
            [[k] for k in range(len(stage.blocks))] if stage.chronological else [range(len(stage.blocks))]
        )
        for battery in full.system.of(Battery):
            energy = battery.initial_mwh
            if number:
                before = len(full.system.stages[number - 1].blocks) - 1
                energy = rows[scenario, number - 1, before, battery.id]["soc_final_mwh"]
            modes.add((stage.chronological, battery.in_service[number]))
            for period in periods:
                here = [rows[scenario, number, k, battery.id] for k in period]
                codes |= {row["operative_state_code"] for row in here}
                assert all(row["soc_initial_mwh"] == pytest.approx(energy, abs=1e-6) for row in here)
                if battery.in_service[number]:
                    energy *= (1 - battery.self_discharge_per_hour) ** stage.hours[list(period)].sum()
                for k, row in zip(period, here, strict=True):
                    taken = row["discharge_mw"] / battery.discharge_efficiency
                    energy += stage.hours[k] * (row["charge_mw"] * battery.charge_efficiency - taken)
                assert all(row["soc_final_mwh"] == pytest.approx(energy, abs=1e-6) for row in here)
                assert energy <= battery.capacity_mwh[number] + 1e-6
    assert modes >= {(True, True), (False, True), (False, False)}
    assert codes == {0, 2, 3}


def test_water_balances_in_every_reservoir(full):
    """In all blocks together, or in each of a chronological stage."""
    system, plants = full.system, full.rows("hydros", "hydro_id")
    stations = full.rows("pumping_stations", "pumping_station_id")
    for scenario, number, stage in full.moments():
        hm3 = [block.hours * 3600 / 1e6 for block in stage.blocks]
        blocks = range(len(hm3))
        for period in [[k] for k in blocks] if stage.chronological else [list(blocks)]:
            for plant in system.of(Hydro):
                gained = 0.0
                if plant.phases[number] == "absent":
                    period_rows = [plants[scenario, number, k, plant.id] for k in period]
                    assert {row["storage_initial_hm3"] for row in period_rows} == {
                        row["storage_final_hm3"] for row in period_rows
                    }
                    assert not any(row["inflow_m3s"] or row["outflow_m3s"] for row in period_rows)
                    continue
                for k in period:
                    row = plants[scenario, number, k, plant.id]
                    above, below = (row[f"water_withdrawal_violation_{side}_m3s"] for side in ("pos", "neg"))
                    flow = row["incremental_inflow_m3s"] + row["inflow_nonnegativity_slack_m3s"]
                    flow -= row["outflow_m3s"] + (row["diverted_outflow_m3s"] or 0.0)
                    flow -= (row["evaporation_m3s"] or 0.0) + plant.withdrawal_m3s[number] + above - below
                    for other in system.of(Hydro):
                        up = plants[scenario, number, k, other.id]
                        if full.arrival(other.downstream, number) == plant.id:
                            flow += up["outflow_m3s"]
                        if full.arrival(other.diversion, number) == plant.id:
                            flow += up["diverted_outflow_m3s"]
                    for station in system.of(PumpingStation):
                        pumped = stations[scenario, number, k, station.id]["pumped_flow_m3s"]
                        flow += pumped * (
                            (station.target_hydro == plant.id) - (station.source_hydro == plant.id)
                        )
                    gained += hm3[k] * flow
                first, last = (plants[scenario, number, k, plant.id] for k in (period[0], period[-1]))
                change = last["storage_final_hm3"] - first["storage_initial_hm3"]
                assert change == pytest.approx(gained, abs=1e-6)


def test_all_that_arrives_is_the_inflow(full):
    system, plants = full.system, full.rows("hydros", "hydro_id")
    stations = full.rows("pumping_stations", "pumping_station_id")
    for (scenario, number, k, plant), row in plants.items():
        arrives = row["incremental_inflow_m3s"] + (row["diverted_inflow_m3s"] or 0.0)
        ups = [hydro.id for hydro in system.of(Hydro) if full.arrival(hydro.downstream, number) == plant]
        arrives += sum(plants[scenario, number, k, up]["outflow_m3s"] for up in ups)
        pumps = [station.id for station in system.of(PumpingStation) if station.target_hydro == plant]
        arrives += sum(stations[scenario, number, k, pump]["pumped_flow_m3s"] for pump in pumps)
        assert row["inflow_m3s"] == pytest.approx(arrives, abs=1e-9)


def test_volumes_and_past_inflows_go_on_from_stage_to_stage(full):
    plants, lags = full.rows("hydros", "hydro_id"), full.tables["inflow_lags"].to_pylist()
    for scenario, number, _stage in full.moments():
        for plant in full.system.of(Hydro):
            first = plants[scenario, number, 0, plant.id]["storage_initial_hm3"]
            before = plant.initial_hm3
            if number:
                last = len(full.system.stages[number - 1].blocks) - 1
                before = plants[scenario, number - 1, last, plant.id]["storage_final_hm3"]
            assert first == pytest.approx(before, abs=1e-9)
    assert len(lags) == SCENARIOS * len(full.system.stages)  # only plant 0 remembers, one month
    half = {
        row["scenario_id"]: row["inflow_m3s"]
        for row in full.tables["inflow_means"].to_pylist()
        if row["stage_id"] == 1 and (row["hydro_id"], row["mean_index"]) == (0, 1)
    }
    for row in lags:
        scenario, number = row["scenario_id"], row["stage_id"]
        assert (row["hydro_id"], row["lag_index"]) == (0, 1)
        later = plants[scenario, 1, 0, 0]["incremental_inflow_m3s"]
        known = half[scenario] + 16 / 31 * later if number == 2 else 45.0
        assert row["inflow_m3s"] == pytest.approx(known, abs=1e-9)


def test_what_is_random_is_what_was_drawn(full):
    """Inflows, loads and availabilities by their models, from the noise that each scenario met."""
    system, noise = full.system, noise_of(full.study.case)
    drawn = {
        (int(scenario), visit.node): noise[visit.node][row]
        for visit in full.visits
        for scenario, row in zip(visit.trajectories, visit.realizations, strict=True)
    }
    lags = {
        (row["scenario_id"], row["stage_id"]): row["inflow_m3s"]
        for row in full.tables["inflow_lags"].to_pylist()
    }
    for (scenario, t, _, plant), row in full.rows("hydros", "hydro_id").items():
        inflow = 0.0  # of all plants whose water arrives at this one first
        for place, other in enumerate(system.of(Hydro)):
            if full.arrival(other.id, t) == plant:
                model = other.inflow
                inflow += model.base_m3s[t] + model.scale_m3s[t] * drawn[scenario, t][place]
                inflow += model.coefficients[t][0] * lags[scenario, t] if other.id == 0 else 0.0
        assert row["incremental_inflow_m3s"] == pytest.approx(inflow, abs=1e-6)
    for (scenario, t, k, bus), row in full.rows("buses", "bus_id").items():
        model = system.of(Bus)[bus]
        eta = drawn[scenario, t][len(system.of(Hydro))] if bus == 1 else 0.0  # the load of bus 0 is certain
        load = max(model.load_mean_mw[t] + model.load_std_mw[t] * eta, 0.0) * model.load_factors[t][k]
        assert row["load_mw"] == pytest.approx(load, abs=1e-9)
    for (scenario, t, k, source), row in full.rows("non_controllables", "non_controllable_id").items():
        model = next(one for one in system.of(NonControllableSource) if one.id == source)
        eta = drawn[scenario, t][len(system.of(Hydro)) + 1] if source == 0 else 0.0
        share = min(max(model.mean[t] + model.std[t] * eta, 0.0), 1.0)
        available = model.max_generation_mw[t] * share * model.factors[t][k]
        assert row["available_mw"] == pytest.approx(available, abs=1e-9)
        assert row["generation_mw"] + row["curtailment_mw"] == pytest.approx(available, abs=1e-9)


def component_costs(full, scenario, number, stage, rows):
    """Each component of a stage's cost, from amounts in the tables and prices in the system."""
    system, cost = full.system, defaultdict(float)
    hours = [block.hours for block in stage.blocks]
    for k, h in enumerate(hours):
        at = (scenario, number, k)
        for plant in system.of(Thermal):
            power = rows["thermals"][*at, plant.id]["generation_mw"]
            cost["thermal_cost"] += h * power * plant.cost_per_mwh[number][k]
        for contract in system.of(Contract):
            power = abs(rows["contracts"][*at, contract.id]["power_mw"])
            cost["contract_cost"] += h * power * contract.price_per_mwh[number]
        for line in system.of(Line):
            row = rows["exchanges"][*at, line.id]
            sent = row["direct_flow_mw"] + row["reverse_flow_mw"]
            cost["exchange_cost"] += h * sent * line.exchange_cost_per_mwh[number]
        for bus in system.of(Bus):
            row = rows["buses"][*at, bus.id]
            cost["excess_cost"] += h * row["excess_mw"] * bus.excess_cost_per_mwh[number]
            left = row["deficit_mw"]
            for segment in bus.deficit:  # the cheaper first
                cost["deficit_cost"] += h * min(left, segment.depth_mw) * segment.cost_per_mwh
                left -= min(left, segment.depth_mw)
        for source in system.of(NonControllableSource):
            row = rows["non_controllables"][*at, source.id]
            price = source.curtailment_cost_per_mwh[number]
            cost["curtailment_cost"] += h * row["curtailment_mw"] * price
            cost["constant"] += h * row["available_mw"] * price
        for plant in system.of(Hydro):
            row, prices = rows["hydros"][*at, plant.id], plant.penalties
            volumes = stage.chronological or k == len(hours) - 1
            for component, column, price, factor in (
                (
                    "fpha_turbined_cost",
                    "turbined_m3s",
                    prices.turbined,
                    h * (plant.planes[number] is not None),
                ),
                ("filling_target_cost", "filling_target_violation_hm3", prices.filling_below_per_hm3, k == 0),
                ("spillage_cost", "spillage_m3s", prices.spillage, h),
                ("spillage_cost", "diverted_outflow_m3s", prices.diversion, h),
                ("outflow_violation_below_cost", "outflow_slack_below_m3s", prices.outflow_below, h),
                ("outflow_violation_above_cost", "outflow_slack_above_m3s", prices.outflow_above, h),
                ("turbined_violation_cost", "turbined_slack_m3s", prices.turbined_below, h),
                ("generation_violation_cost", "generation_slack_mw", prices.generation_below_per_mwh, h),
                ("evaporation_violation_cost", "evaporation_violation_pos_m3s", prices.evaporation_above, h),
                ("evaporation_violation_cost", "evaporation_violation_neg_m3s", prices.evaporation_below, h),
                (
                    "withdrawal_violation_cost",
                    "water_withdrawal_violation_pos_m3s",
                    prices.withdrawal_above,
                    h,
                ),
                (
                    "withdrawal_violation_cost",
                    "water_withdrawal_violation_neg_m3s",
                    prices.withdrawal_below,
                    h,
                ),
                ("inflow_penalty_cost", "inflow_nonnegativity_slack_m3s", prices.negative_inflow, h),
                (
                    "storage_violation_cost",
                    "storage_violation_below_hm3",
                    prices.storage_below_per_hm3,
                    volumes,
                ),
            ):
                cost[component] += (row[column] or 0.0) * price[number] * factor
        for battery in system.of(Battery):
            row = rows["batteries"][*at, battery.id]
            own = h * row["charge_mw"] * battery.charge_cost_per_mwh
            own += h * row["discharge_mw"] * battery.discharge_cost_per_mwh
            assert row["cycle_cost"] == pytest.approx(own, abs=1e-9)
            cost["battery_cost"] += own
        for constraint in system.of(GenericConstraint):
            row = rows["violations/generic"].get((*at, constraint.id))
            if row is not None:
                cost["generic_violation_cost"] += h * abs(row["slack_value"]) * constraint.slack_cost
    return cost


KEYS = {
    "thermals": "thermal_id",
    "batteries": "battery_id",
    "contracts": "contract_id",
    "exchanges": "line_id",
    "buses": "bus_id",
    "non_controllables": "non_controllable_id",
    "hydros": "hydro_id",
    "violations/generic": "constraint_id",
}

PARTS = [column.name for column in results.SIMULATION["costs"] if column.unit == "$"][3:]


def test_costs_are_amounts_times_prices_and_sum_to_the_cost_of_the_stage(full):
    rows = {name: full.rows(name, key) for name, key in KEYS.items()}
    costs = full.rows("costs")
    violations = [
        part
        for part in PARTS
        if "violation" in part and part.split("_")[0] not in ("storage", "generic", "hydro")
    ]
    assert len(violations) == 6
    paid = {
        (int(scenario), visit.step): cost
        for visit in full.visits
        for scenario, cost in zip(visit.trajectories, visit.costs.tolist(), strict=True)
    }
    seen = defaultdict(float)
    for scenario, number, stage in full.moments():
        row, made = costs[scenario, number], component_costs(full, scenario, number, stage, rows)
        constant = made.pop("constant")
        for part, value in made.items():
            assert row[part] == pytest.approx(value, rel=1e-9, abs=1e-6), part
            seen[part] = max(seen[part], abs(value))
        assert row["hydro_violation_cost"] == pytest.approx(sum(row[part] for part in violations), rel=1e-12)
        total = sum(row[part] for part in PARTS if part not in violations)
        assert total == pytest.approx(row["immediate_cost"] + constant, rel=1e-12, abs=1e-7)
        assert row["immediate_cost"] == paid[scenario, number]
        assert row["total_cost"] == pytest.approx(row["immediate_cost"] + row["future_cost"], rel=1e-12)
    rare = {"pumping_cost", "hydro_violation_cost"}
    assert {part for part, most in seen.items() if most > 1e-3} == set(PARTS) - rare


def test_costs_by_entity_sum_to_those_of_the_stage(full):
    for name, column, part in (
        ("thermals", "generation_cost", "thermal_cost"),
        ("exchanges", "exchange_cost", "exchange_cost"),
        ("contracts", "total_cost", "contract_cost"),
        ("non_controllables", "curtailment_cost", "curtailment_cost"),
        ("violations/generic", "slack_cost", "generic_violation_cost"),
    ):
        sums = full.tables[name].group_by(["scenario_id", "stage_id"]).aggregate([(column, "sum")])
        found = {(row["scenario_id"], row["stage_id"]): row[f"{column}_sum"] for row in sums.to_pylist()}
        for key, row in full.rows("costs").items():
            assert found.get(key, 0.0) == pytest.approx(row[part], rel=1e-9, abs=1e-7)


def test_discounted_costs_sum_to_the_total_of_the_trajectory(full):
    costs = full.rows("costs")
    for scenario, total in enumerate(full.totals):
        rows = [costs[scenario, number] for number in range(len(full.system.stages))]
        assert sum(row["discount_factor"] * row["immediate_cost"] for row in rows) == pytest.approx(total)


def test_the_future_cost_is_what_the_policy_says(full):
    names = full.study.problem.states
    for visit in full.visits:
        node = full.study.problem.nodes[visit.node]
        for scenario, state in list(zip(visit.trajectories.tolist(), visit.outgoing, strict=True))[:5]:
            value = full.policy.value(node.name, dict(zip(names, state, strict=True))).value
            row = full.rows("costs")[scenario, visit.step]
            assert row["future_cost"] == pytest.approx(node.discount * value, rel=1e-7, abs=1e-5)


def test_energies_are_powers_times_hours(full):
    hours = {
        (t, k): block.hours
        for t, stage in enumerate(full.system.stages)
        for k, block in enumerate(stage.blocks)
    }
    for table in full.tables.values():
        for energy in [
            column
            for column in table.column_names
            if column.endswith("_mwh") and "per" not in column and "soc" not in column
        ]:
            power = energy.removesuffix("h").replace("energy", "power")
            for row in table.to_pylist():
                assert row[energy] == pytest.approx(row[power] * hours[row["stage_id"], row["block_id"]])


def test_slacks_are_what_is_missing(full):
    """Where something costs when it is missed, no more is given as missing than is."""
    for (_, t, _, plant), row in full.rows("hydros", "hydro_id").items():
        limits = next(hydro for hydro in full.system.of(Hydro) if hydro.id == plant)
        if limits.phases[t] != "operating":
            continue
        least = max(limits.min_outflow_m3s[t] - row["outflow_m3s"], 0.0)
        most = max(row["outflow_m3s"] - limits.max_outflow_m3s[t], 0.0)
        turbined = max(limits.min_turbined_m3s[t] - row["turbined_m3s"], 0.0)
        generation = max(limits.min_generation_mw[t] - row["generation_mw"], 0.0)
        volume = max(limits.min_storage_hm3[t] - row["storage_final_hm3"], 0.0)
        given = [row[f"outflow_slack_{side}_m3s"] for side in ("below", "above")]
        given += [row["turbined_slack_m3s"], row["generation_slack_mw"], row["storage_violation_below_hm3"]]
        assert given == pytest.approx([least, most, turbined, generation, volume], abs=1e-6)


def test_lines_lose_what_does_not_arrive(full):
    (line,) = full.system.of(Line)
    assert 0 < line.efficiency < 1
    for row in full.tables["exchanges"].to_pylist():
        sent = row["direct_flow_mw"] + row["reverse_flow_mw"]
        assert row["losses_mw"] == pytest.approx(sent - line.efficiency * sent, abs=1e-9)
        assert row["net_flow_mw"] == row["direct_flow_mw"] - row["reverse_flow_mw"]


def test_constraints_are_missed_by_what_is_missing(full):
    """An equation also the other way round."""
    thermals, plants = full.rows("thermals", "thermal_id"), full.rows("hydros", "hydro_id")
    found = defaultdict(list)
    for (scenario, t, k, rule), row in full.rows("violations/generic", "constraint_id").items():
        first, second = (thermals[scenario, t, k, plant]["generation_mw"] for plant in (0, 1))
        missed = {
            2: max(60.0 - second, 0.0),
            3: 90.0 - first,
            5: 1.0 - (plants[scenario, t, k, 1]["generation_mw"] + second),
        }
        if rule in missed:
            assert row["slack_value"] == pytest.approx(missed[rule], abs=1e-6)
            found[rule].append(row["slack_value"])
    assert max(found[2]) > 0
    assert max(found[3]) > 0
    assert min(found[5]) < 0


def test_codes_tell_states_and_binding_volumes(full):
    plants = full.rows("hydros", "hydro_id")
    assert {row["operative_state_code"] for (*_, plant), row in plants.items() if plant == 7} == {0}
    for (_, t, _, plant), row in plants.items():
        limits = next(hydro for hydro in full.system.of(Hydro) if hydro.id == plant)
        low = row["storage_final_hm3"] <= limits.min_storage_hm3[t] + 1e-6
        high = row["storage_final_hm3"] >= limits.max_storage_hm3[t] - 1e-6
        assert row["storage_binding_code"] == (low + 2 * high if limits.phases[t] != "absent" else 0)
        assert (row["operative_state_code"] == 0) == (plant == 7 or limits.phases[t] != "operating")
    lines = full.rows("exchanges", "line_id")
    assert {row["operative_state_code"] for (_, t, *_), row in lines.items() if t == 0} == {0}  # enters later
    assert {row["operative_state_code"] for (_, t, *_), row in lines.items() if t > 0} <= {2, 3}
    for (_, t, k, plant), row in full.rows("thermals", "thermal_id").items():
        full_power = row["generation_mw"] >= full.system.of(Thermal)[plant].max_mw[t][k] - 1e-4
        assert row["operative_state_code"] == (3 if full_power else 2)


def test_power_of_planes_is_below_the_lowest(full):
    planes = next(hydro for hydro in full.system.of(Hydro) if hydro.id == 11).planes
    tight = 0
    for (_, t, _, plant), row in full.rows("hydros", "hydro_id").items():
        assert (row["productivity_mw_per_m3s"] is None) == (plant == 11 and t > 0)
        if plant != 11 or t == 0:
            continue
        # The parallel stage has volumes of the stage, the chronological one those of blocks.
        volume = (row["storage_initial_hm3"] + row["storage_final_hm3"]) / 2
        heights = planes[t].constant_mw + planes[t].mw_per_hm3 * volume
        heights = heights + planes[t].mw_per_m3s_turbined * row["turbined_m3s"]
        heights = heights + planes[t].mw_per_m3s_spilled * row["spillage_m3s"]
        assert row["generation_mw"] <= min(heights) + 1e-6
        tight += row["generation_mw"] >= min(heights) - 1e-6
    assert tight > SCENARIOS


def test_what_a_plant_has_not_is_null(full):
    first, second, third = (
        next(row for (*_, plant), row in full.rows("hydros", "hydro_id").items() if plant == number)
        for number in (0, 1, 7)
    )
    names = ("evaporation_m3s", "diverted_inflow_m3s", "diverted_outflow_m3s")
    assert [[row[name] is None for name in names] for row in (first, second, third)] == [
        [False, True, False],
        [True, False, True],
        [True, True, True],
    ]


def test_tables_do_not_depend_on_who_simulates_what(full):
    """One scenario at a time gives the bits of all at once."""

    def part(visit, scenario):
        mine = visit.trajectories == scenario
        arrays = {name: getattr(visit, name)[mine] for name in vars(visit) if name not in ("step", "node")}
        return type(visit)(step=visit.step, node=visit.node, **arrays)

    alone = [
        full.simulation_tables.tables([part(visit, scenario) for visit in full.visits])
        for scenario in range(SCENARIOS)
    ]
    for name, table in full.tables.items():
        assert pa.concat_tables(tables[name] for tables in alone).combine_chunks().equals(table)


@pytest.mark.parametrize("name", results.SIMULATION)
def test_a_table_has_its_columns_and_no_nulls_but_where_they_may_be(full, name):
    table = full.tables[name]
    assert table.schema.remove(0) == results.schema_of(results.SIMULATION[name])
    table.validate(full=True)
    for field in table.schema:
        assert field.nullable or table[field.name].null_count == 0
    assert np.all(np.diff(table["scenario_id"].to_numpy()) >= 0)


def test_cuts_of_another_study_are_what_follows_and_no_cost_of_the_last_stage(tmp_path):
    later = boundary_study(tmp_path / "later", SPLIT, STAGES - 1, (80.0, 40.0))
    policy = sddp.train(later.problem, 10, seed=1).policy
    policy.save(tmp_path / "policy.cobre")
    cuts = boundary("../policy.cobre", SPLIT)
    boundary_study(tmp_path / "sooner", SPLIT - 1, SPLIT, (50.0, 20.0), cuts=cuts)
    sooner = Simulated(tmp_path / "sooner", 2)
    row = sooner.rows("costs")[1, 1]
    end = {
        f"storage:{plant}": sooner.rows("hydros", "hydro_id")[1, 1, 0, plant]["storage_final_hm3"]
        for plant in (0, 1)
    }
    discount = sooner.system.stages[1].discount
    assert row["future_cost"] == pytest.approx(discount * policy.value(str(SPLIT), end).value, rel=1e-7)
    assert row["future_cost"] > 1.0
    parts = sum(row[part] for part in ("thermal_cost", "deficit_cost", "excess_cost", "spillage_cost"))
    assert row["immediate_cost"] == pytest.approx(parts, abs=1e-6)
    assert row["total_cost"] == pytest.approx(row["immediate_cost"] + row["future_cost"])


def test_prices_and_water_values_on_paper(tmp_path):
    """A hm³ of the upper plant replaces fuel at 10 twice, and one of the lower once."""
    plants = [hydro(0, inflow=40.0, most_hm3=60.0, downstream=1), hydro(1, inflow=5.0, most_hm3=50.0)]
    folder = small_case(
        tmp_path, stages=4, hydros=plants, thermals=[thermal(0, 60.0, 10.0)], initial={0: 50.0, 1: 20.0}
    )
    small = Simulated(folder, 2)
    assert small.tables["buses"]["spot_price"].to_pylist() == pytest.approx([10.0] * 8)
    saved = {0: 2 * 10.0 * HOURS / VOLUME, 1: 10.0 * HOURS / VOLUME}
    for (*_, plant), row in small.rows("hydros", "hydro_id").items():
        assert row["water_value_per_hm3"] == pytest.approx(saved[plant])


def test_the_price_of_unserved_load_is_that_of_its_segment(tmp_path):
    small = Simulated(small_case(tmp_path, thermals=[thermal(0, 90.0, 10.0)]), 1)
    assert set(small.tables) == {"costs", "thermals", "buses"}
    assert small.tables["buses"]["spot_price"].to_pylist() == pytest.approx([1000.0, 1000.0])
    assert small.tables["buses"]["deficit_mw"].to_pylist() == pytest.approx([10.0, 10.0])
