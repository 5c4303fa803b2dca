"""The numbers of figures, computed again from the files, row by row."""

import json
from collections import defaultdict
from datetime import date

import numpy as np
import pyarrow.parquet as pq
import pytest

from cobre import report, results
from cobre.report import _convergence, _costs, _panel, _power, _source, _timeline, _value
from cobre.sddp import Estimate, Policy


def scenarios(folder, table):
    """The rows of a table, scenario by scenario, as dicts."""
    paths = sorted((folder / "simulation" / table).glob("scenario_id=*/data.parquet"))
    assert paths
    return [pq.read_table(path, partitioning=None).to_pylist() for path in paths]


def close(found, wanted):
    """Equal as far as the rounding for pictures allows, to six digits."""
    np.testing.assert_allclose(np.array(found, float), np.array(wanted, float), rtol=5.1e-6, atol=1e-6)


def hours_of(case):
    stages = json.loads((case / "stages.json").read_text())["stages"]
    return [[block["hours"] for block in stage["blocks"]] for stage in stages]


def test_volumes_are_those_at_the_end_of_stages(cascade, cascade_case):
    """A chronological stage has a volume for each block: the last counts."""
    ends = defaultdict(lambda: defaultdict(list))
    begin = {}
    for rows in scenarios(cascade.output_directory, "hydros"):
        last = {}
        for row in rows:
            begin.setdefault(row["hydro_id"], row["storage_initial_hm3"])
            last[row["hydro_id"], row["stage_id"]] = row["storage_final_hm3"]
        for (hydro, stage), volume in last.items():
            ends[hydro][stage].append(volume)
    for hydro, by_stage in ends.items():
        found = report.rows(cascade.output_directory, "storage", hydro=hydro)
        assert found["min"][0] == found["max"][0] == pytest.approx(begin[hydro])
        for name, share in {
            "min": 0,
            "p5": 5,
            "p25": 25,
            "median": 50,
            "p75": 75,
            "p95": 95,
            "max": 100,
        }.items():
            close(found[name][1:], [np.percentile(volumes, share) for volumes in by_stage.values()])
        close(found["mean"][1:], [np.mean(volumes) for volumes in by_stage.values()])
    chronological = {
        (row["block_id"], row["storage_final_hm3"])
        for row in scenarios(cascade.output_directory, "hydros")[0]
        if row["stage_id"] == 3 and row["hydro_id"] == 0
    }
    assert len({volume for _, volume in chronological}) > 1  # else the test above tells nothing


def test_limits_are_those_of_the_case(cascade, cascade_case):
    hydros = json.loads((cascade_case / "system" / "hydros.json").read_text())["hydros"]
    reservoir = next(hydro for hydro in hydros if hydro["id"] == 0)["reservoir"]
    found = report.rows(cascade.output_directory, "storage", hydro=0)
    assert {*found["least"]} == {reservoir["min_storage_hm3"]}
    assert {*found["most"]} == {reservoir["max_storage_hm3"]}
    assert len(found["most"]) == len(found["mean"])


def test_stages_are_where_their_days_are(cascade, cascade_case):
    stages = json.loads((cascade_case / "stages.json").read_text())["stages"]
    found = report.rows(cascade.output_directory, "storage", hydro=0)
    assert found["to"] == [stages[0]["start_date"], *(stage["end_date"] for stage in stages)]
    assert found["label"][:3] == ["beginning", "Jan 2026, stage 0", "Feb 2026, stage 1"]


PARTS = {
    "hydro": ("hydros", "generation_mw", "hydro_id", "hydros"),
    "thermal": ("thermals", "generation_mw", "thermal_id", "thermals"),
    "non-controllable": (
        "non_controllables",
        "generation_mw",
        "non_controllable_id",
        "non_controllable_sources",
    ),
    "contracts": ("contracts", "power_mw", "contract_id", "energy_contracts"),
    "deficit": ("buses", "deficit_mw", "bus_id", None),
    "excess": ("buses", "excess_mw", "bus_id", None),
    "pumping": ("pumping_stations", "power_consumption_mw", "pumping_station_id", "pumping_stations"),
    "battery charge": ("batteries", "charge_mw", "battery_id", "batteries"),
    "battery discharge": ("batteries", "discharge_mw", "battery_id", "batteries"),
    "load": ("buses", "load_mw", "bus_id", None),
}


def mean_power(folder, case, part):
    """MW by bus and stage, over scenarios and hours, the hours being those of the case."""
    table, column, key, file = PARTS[part]
    bus_of = {}
    if file:
        listed = json.loads((case / "system" / f"{file}.json").read_text())
        bus_of = {
            entity["id"]: entity["bus_id"]
            for entity in next(v for v in listed.values() if isinstance(v, list))
        }
    hours, found = hours_of(case), defaultdict(float)
    every = scenarios(folder, table)
    for rows in every:
        for row in rows:
            weight = hours[row["stage_id"]][row["block_id"]] / sum(hours[row["stage_id"]]) / len(every)
            found[bus_of.get(row[key], row[key]), row["stage_id"]] += weight * row[column]
    return found


def brought(folder, case):
    """MW that lines bring to each bus, net of what they take from it."""
    lines = {line["id"]: line for line in json.loads((case / "system" / "lines.json").read_text())["lines"]}
    hours, found = hours_of(case), defaultdict(float)
    every = scenarios(folder, "exchanges") if lines else []
    for rows in every:
        for row in rows:
            line, stage = lines[row["line_id"]], row["stage_id"]
            weight = hours[stage][row["block_id"]] / sum(hours[stage]) / len(every)
            kept = 1 - line.get("losses_percent", 0.0) / 100
            ends = line["source_bus_id"], line["target_bus_id"]
            for sent, (start, end) in ((row["direct_flow_mw"], ends), (row["reverse_flow_mw"], ends[::-1])):
                found[start, stage] -= weight * sent
                found[end, stage] += weight * sent * kept
    return found


@pytest.mark.parametrize("name", ["cascade", "regions", "surplus"])
def test_power_adds_up_to_the_load(name, request):
    """Bus by bus: what is generated, brought by lines and missing is the load and what else takes power."""
    run, case = request.getfixturevalue(name), request.getfixturevalue(f"{name}_case")
    folder = run.output_directory
    read = results.read(folder)
    lines, stages = brought(folder, case), len(hours_of(case))
    wanted = {part: mean_power(folder, case, part) for part in PARTS if PARTS[part][0] in read.tables}
    for bus in _panel.panel(read, "buses").ids:
        found = _power.balance(read, bus)
        for part, by_place in wanted.items():
            sign = -1 if part in {"excess", "pumping", "battery charge"} else 1
            np.testing.assert_allclose(
                found[part], [sign * by_place[bus, t] for t in range(stages)], atol=1e-6
            )
        np.testing.assert_allclose(found[_power.EXCHANGED], [lines[bus, t] for t in range(stages)], atol=1e-3)
    if name == "surplus":
        assert found["excess"].min() < -1
    whole = _power.balance(read)
    load = whole.pop("load")
    np.testing.assert_allclose(sum(whole.values()), load, rtol=1e-9)


def test_the_stack_of_power_ends_at_the_load(cascade):
    found = report.rows(cascade.output_directory, "generation")
    tops, bottoms, loads = defaultdict(float), defaultdict(float), {}
    for label, series, low, high, power in zip(
        *(found[name] for name in ("label", "series", "low", "high", "power")), strict=True
    ):
        if series == "load":
            loads[label] = power
        else:
            assert high - low == pytest.approx(power, abs=1e-3)
            tops[label], bottoms[label] = max(tops[label], high), min(bottoms[label], high)
    for label, load in loads.items():
        assert tops[label] + bottoms[label] == pytest.approx(load, rel=3e-3)  # what is too thin is left out


def test_prices_are_means_over_the_hours(regions, regions_case):
    hours, found = hours_of(regions_case), defaultdict(list)
    for rows in scenarios(regions.output_directory, "buses"):
        by_stage = defaultdict(float)
        for row in rows:
            stage = hours[row["stage_id"]]
            by_stage[row["bus_id"], row["stage_id"]] += (
                row["spot_price"] * stage[row["block_id"]] / sum(stage)
            )
        for place, price in by_stage.items():
            found[place].append(price)
    for bus in range(5):
        one = report.rows(regions.output_directory, "prices", bus=bus)
        wanted = [found[bus, stage] for stage in range(len(hours))]
        close(one["mean"], [np.mean(prices) for prices in wanted])
        close(one["p95"], [np.percentile(prices, 95) for prices in wanted])
        close(one["p25"], [np.percentile(prices, 25) for prices in wanted])
    every = report.rows(regions.output_directory, "prices")
    assert every["mean"][: len(hours)] == report.rows(regions.output_directory, "prices", bus=0)["mean"]
    assert every["series"][-1] == "hub"
    assert {*every["p95"]} == {None}


@pytest.mark.parametrize("name", ["cascade", "regions", "reservoir", "surplus"])
def test_costs_of_scenarios_are_those_of_the_simulation(name, request):
    run = request.getfixturevalue(name)
    np.testing.assert_allclose(
        _costs.totals(results.read(run.output_directory)), run.simulation.totals, rtol=1e-9
    )


def test_the_bars_of_costs_hold_all_scenarios(reservoir):
    found, totals = report.rows(reservoir.output_directory, "costs"), reservoir.simulation.totals
    bars = [i for i, mark in enumerate(found["mark"]) if mark is None]
    assert sum(found["count"][i] for i in bars) == len(totals)
    assert sum(found["share"][i] for i in bars) == pytest.approx(100)
    for i in bars[1:-1]:
        inside = (totals >= found["from"][i] * (1 - 1e-6)) & (totals < found["to"][i] * (1 + 1e-6))
        assert abs(int(inside.sum()) - found["count"][i]) <= 1  # an edge is rounded
    levels = _costs.levels(results.read(reservoir.output_directory))
    assert levels["mean"] == pytest.approx(totals.mean())
    assert levels["P95"] == pytest.approx(np.percentile(totals, 95))
    assert levels["CVaR 95 %"] == pytest.approx(np.sort(totals)[-2:].mean())  # 5 % of 40
    assert levels["lower bound"] == pytest.approx(reservoir.training.final_lower_bound)


def test_the_dearest_are_counted_in_part():
    """CVaR by its definition of Rockafellar and Uryasev (2000): the least of t + E[(X - t)+] / share."""
    costs = np.random.default_rng(5).gamma(2.0, 3.0, 37)
    for share in (0.05, 0.1, 0.33, 1.0):
        wanted = min(t + np.maximum(costs - t, 0).mean() / share for t in costs)
        assert _costs.tail_mean(costs, share) == pytest.approx(wanted)


def test_components_add_up_to_the_mean_cost(reservoir, regions, regions_case):
    """Curtailment counts from what is available, as the page on outputs says."""
    found = report.rows(reservoir.output_directory, "components")
    assert sum(found["cost"]) == pytest.approx(reservoir.simulation.mean_cost, rel=1e-5)
    found = report.rows(regions.output_directory, "components")
    price = json.loads((regions_case / "penalties.json").read_text())["non_controllable_source"][
        "curtailment_cost"
    ]
    hours, every = hours_of(regions_case), scenarios(regions.output_directory, "costs")
    discount = [row["discount_factor"] for row in every[0]]
    available = [
        discount[row["stage_id"]] * hours[row["stage_id"]][row["block_id"]] * row["available_mw"]
        for rows in scenarios(regions.output_directory, "non_controllables")
        for row in rows
    ]
    wanted = regions.simulation.mean_cost + price * sum(available) / len(every)
    assert sum(found["cost"]) == pytest.approx(wanted, rel=1e-6)
    fuel = [
        cost for cost, name in zip(found["cost"], found["series"], strict=True) if name.startswith("fuel")
    ]
    close(
        fuel, [discount[t] * np.mean([rows[t]["thermal_cost"] for rows in every]) for t in range(len(fuel))]
    )


@pytest.mark.parametrize("name", ["cascade", "regions", "reservoir"])
def test_the_value_is_that_of_the_policy(name, request):
    """Single cuts with past inflows as states, and cuts by outcome."""
    read = results.read(request.getfixturevalue(name).output_directory)
    policy = Policy.load(read.policy_path)
    options = report.FIGURES["value"].options(read)
    assert list(options["stage"]) == list(range(len(policy.nodes) - 1))  # nothing follows the last
    for hydro in options["hydro"]:
        for stage in (0, 5, len(policy.nodes) - 2):
            found = _value.sliced(read, hydro, stage)
            states = {name: values[stage] for name, values in _value.mean_states(read).items()}
            for i in range(0, len(found.volume), 10):
                wanted = policy.value(policy.nodes[stage], states | {f"storage:{hydro}": found.volume[i]})
                assert found.value[i] == pytest.approx(wanted.value, rel=1e-12)
            wanted = policy.value(policy.nodes[stage], states)
            assert found.at_mean == pytest.approx(wanted.value, rel=1e-12)
            assert found.slope_at_mean == pytest.approx(wanted.slopes[f"storage:{hydro}"], rel=1e-9, abs=1e-9)


def test_the_lines_below_the_value_are_cuts_of_the_policy(regions):
    """Through both ends of a line goes a cut, with all other states as they are in the mean."""
    read = results.read(regions.output_directory)
    policy, stage, hydro = Policy.load(read.policy_path), 4, 0
    found = report.rows(read, "value", hydro=hydro, stage=stage)
    states = {name: values[stage] for name, values in _value.mean_states(read).items()}
    cuts, place = policy.cuts(policy.nodes[stage]), policy.states.index(f"storage:{hydro}")
    point = np.array([states[name] for name in policy.states])
    lines = defaultdict(list)
    for line, volume, value in zip(found["line"], found["volume"], found["value"], strict=True):
        if line:
            lines[line].append((volume, value))
    assert 1 < len(lines) <= _value.LINES
    for (x0, y0), (x1, y1) in lines.values():
        at = cuts.intercepts + cuts.slopes @ point
        ends = [at + cuts.slopes[:, place] * (x - point[place]) for x in (x0, x1)]
        assert np.min(np.abs(ends[0] / y0 - 1) + np.abs(ends[1] / y1 - 1)) < 1e-4


def test_past_inflows_after_a_stage_are_those_the_next_one_knows(regions):
    read = results.read(regions.output_directory)
    table = read.simulation("inflow_lags").to_pylist()
    states, stages = _value.mean_states(read), 24
    wanted = defaultdict(list)
    for row in table:
        wanted[f"inflow:{row['hydro_id']}:{row['lag_index']}", row["stage_id"] - 1].append(row["inflow_m3s"])
    policy = Policy.load(read.policy_path)
    for name in policy.states:
        if name.startswith("inflow"):
            close(states[name][:-1], [np.mean(wanted[name, stage]) for stage in range(stages - 1)])


def test_convergence_shows_the_table(reservoir):
    table = pq.read_table(reservoir.output_directory / "training" / "convergence.parquet").to_pydict()
    found = report.rows(reservoir.output_directory, "convergence")
    close(found["bound"], table["lower_bound"])
    close(found["sampled"], table["upper_bound_mean"])
    half = Estimate.of(reservoir.simulation.totals.tolist()).half_width()
    assert found["simulated_high"][0] == pytest.approx(reservoir.simulation.mean_cost + half, rel=1e-5)


def test_samples_of_several_iterations_are_put_together():
    random = np.random.default_rng(1)
    samples = [random.normal(1e10, 1e9, size) for size in (3, 5, 2, 8, 4)]
    columns = (
        np.array([one.mean() for one in samples]),
        np.array([one.std(ddof=1) for one in samples]),
        np.array([len(one) for one in samples], float),
    )
    for window in (1, 3, 5):
        mean, deviation, size = _convergence.pooled(*columns, window)
        for i in range(len(samples)):
            together = np.concatenate(samples[max(0, i - window + 1) : i + 1])
            assert (mean[i], deviation[i], size[i]) == (
                pytest.approx(together.mean()),
                pytest.approx(together.std(ddof=1)),
                len(together),
            )


def test_ranks_have_all_of_their_time(regions):
    read = results.read(regions.output_directory)
    time = _timeline.timeline(read)
    rows = pq.read_table(read.folder / "training" / "timing" / "mpi_ranks.parquet").to_pylist()
    assert time.computing.shape == (9, 2)
    for row in rows:
        place = row["iteration"] - 1, row["rank"]
        together = time.communicating[place] + time.waiting[place]
        assert together == pytest.approx(row["communication_time_ms"] / 1000)
        both = time.computing[place] + together
        assert both == pytest.approx((row["forward_time_ms"] + row["backward_time_ms"]) / 1000)
        assert time.waiting[place] == pytest.approx(row["idle_time_ms"] / 1000)
    parts = time.computing + time.communicating + time.waiting + time.other
    np.testing.assert_allclose(parts, np.diff(time.elapsed)[:, None] * [1, 1], atol=1e-9)
    found = report.rows(read, "timeline")
    assert {*found["lane"]} == {"rank 0", "rank 1"}
    assert sum(found["share"]) == pytest.approx(100 * 2 * 9, rel=1e-3)


def test_labels_of_stages_shorter_than_a_month_have_a_day():
    assert _source.Period(date(2026, 1, 3), date(2026, 1, 10)).label == "3 Jan 2026"
    assert _source.Period(date(2026, 2, 1), date(2026, 3, 1)).label == "Feb 2026"
