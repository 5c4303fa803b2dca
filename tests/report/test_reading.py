"""The three lines: every number in them counted again from the tables, every case of them once."""

import dataclasses
import math
import shlex
import statistics
from collections import defaultdict

import pytest

import cobre
from cobre import report, results
from cobre.formatting import money, money_between
from cobre.report._facts import Facts
from cobre.report._key import key_figures
from cobre.report._reading import gap_words, policy_line, run_line
from tests.study.cases import copy


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    return cobre.run(
        copy("cascade", tmp_path_factory.mktemp("reading") / "cascade", scenarios=7, iterations=5)
    )


@pytest.fixture(scope="module")
def read(done):
    return results.read(done.output_directory)


def changed(read, *, training=(), simulation=(), **summary):
    """The facts of other numbers."""
    facts = Facts(read)
    known = facts.summary
    facts.__dict__["summary"] = dataclasses.replace(
        known,
        training=training and dataclasses.replace(known.training, **dict(training)),
        simulation=simulation and dataclasses.replace(known.simulation, **dict(simulation)),
        **summary,
    )
    return facts


def test_the_policy_costs_what_its_scenarios_cost(done, read):
    totals = done.simulation.totals.tolist()
    half = 1.959964 * statistics.stdev(totals) / math.sqrt(len(totals))
    mean, bound = statistics.fmean(totals) / 1e6, done.training.final_lower_bound / 1e6
    line = report.reading(read)[0]
    assert line.startswith(f"Simulated mean {mean:.1f} ± {half / 1e6:.1f} million $ (95 % CI, 7 scenarios); ")
    assert f"lower bound {bound:.2f} million $, " in line


def test_shares_prices_and_deficits_are_those_of_the_tables(read):
    energy = {
        words: math.fsum(read.simulation(table)["generation_mwh"].to_pylist())
        for words, table in {"hydro": "hydros", "thermal": "thermals", "other": "non_controllables"}.items()
    }
    paid, load, by_stage, by_bus = 0.0, 0.0, defaultdict(lambda: [0.0, 0.0]), defaultdict(lambda: [0.0, 0.0])
    short = set()
    for row in read.simulation("buses").to_pylist():
        weight, price = row["load_mwh"], row["spot_price"]
        paid, load = paid + weight * price, load + weight
        for sums in (by_stage[row["stage_id"]], by_bus[row["bus_id"]]):
            sums[0] += weight * price
            sums[1] += weight
        if row["deficit_mwh"] > 1e-3:
            short.add(row["scenario_id"])
    stage = max(by_stage, key=lambda number: by_stage[number][0] / by_stage[number][1])
    bus = max(by_bus, key=lambda number: by_bus[number][0] / by_bus[number][1])
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    line = report.reading(read)[1]
    share = round(100 * energy["hydro"] / sum(energy.values()))
    assert line.startswith(f"Generation mix: hydro {share} %, ")
    assert f"Mean marginal cost {paid / load:,.0f} $/MWh, highest " in line
    assert f"in {months[stage]} 2026 ({by_stage[stage][0] / by_stage[stage][1]:,.0f})" in line
    assert f"at {('mountains', 'town', 'coast')[bus]} (" in line
    assert (f"Deficit in {len(short)} of 7 scenarios" if short else "No deficit in 7 scenarios") in line


@pytest.mark.parametrize(
    ("mean", "half", "words"),
    [
        (101.0, 2.0, "within sampling error"),
        (98.5, 2.0, "within sampling error"),
        (105.0, 2.0, "gap 5.0 %, more than sampling error"),
        (
            95.0,
            2.0,
            "mean 5.0 % below the bound, as for out-of-sample scenarios",
        ),
        (105.0, None, "gap unknown from one scenario; simulate more"),
    ],
)
def test_a_gap_is_judged_by_the_sampling_error(read, mean, half, words):
    facts = changed(read, training={"lower_bound": 100.0}, simulation={"mean": mean, "half_width": half})
    assert gap_words(facts) == words
    assert words in policy_line(facts)


def test_what_to_do_next_depends_on_the_bound_and_the_gap(read, monkeypatch):
    wide = changed(read, training={"lower_bound": 100.0}, simulation={"mean": 110.0, "half_width": 2.0})
    near = changed(read, training={"lower_bound": 100.0}, simulation={"mean": 101.0, "half_width": 2.0})
    monkeypatch.setattr(Facts, "rise", (0.005, 15))
    assert run_line(near).endswith(
        "The bound still rose by 0.50 % in the last 15 iterations; more would tighten it."
    )
    monkeypatch.setattr(Facts, "rise", (0.0001, 15))
    assert run_line(near).endswith("The bound is stable.")
    assert run_line(wide).endswith("The gap is large; more iterations may reduce it.")
    monkeypatch.setattr(Facts, "busy", 0.4)
    assert run_line(near).endswith("Fewer workers would take about as long.")


def test_the_bound_rises_by_what_the_table_says(done, read):
    bounds = read.convergence["lower_bound"].to_pylist()
    assert Facts(read).rise == pytest.approx(((bounds[-1] - bounds[-2]) / bounds[-1], 1))


def test_the_band_of_key_figures(done, read):
    band = {figure.label: figure for figure in key_figures(Facts(read))}
    assert list(band) == ["Simulated cost", "Lower bound", "Gap", "Iterations", "Time", "Scenarios", "Cuts"]
    assert f"{band['Lower bound'].value} {band['Lower bound'].unit}" == money(done.training.final_lower_bound)
    assert (band["Iterations"].value, band["Iterations"].note) == ("5", "stopped by the iteration limit")
    assert (band["Scenarios"].value, band["Scenarios"].note) == ("7", "of 12 stages")
    assert band["Cuts"].value == f"{done.training.total_cuts:,}"
    share = 100 * (done.simulation.mean_cost / done.training.final_lower_bound - 1)
    assert float(band["Gap"].value.replace("\N{MINUS SIGN}", "-")) == pytest.approx(share, abs=0.6)
    assert band["Gap"].unit == "%"


def test_the_command_to_go_on_with_is_the_one_that_began(done, read, tmp_path):
    assert shlex.split(Facts(read).next_command) == [
        "cobre",
        "run",
        read.metadata["data_integrity"]["case"],
        "--resume",
    ]
    elsewhere = dataclasses.replace(read, folder=tmp_path / "my results", simulation_manifest=None)
    assert shlex.split(Facts(elsewhere).next_command)[3:] == ["--output", str(tmp_path / "my results")]


@pytest.mark.parametrize(
    ("mean", "half", "words"),
    [
        (1234.0, 5.0, "1,234.0 ± 5.0 $"),
        (999_999_999.0, 1.0, "999.999999 ± 0.000001 million $"),
        (-2.5e9, 1e8, "-2.50 ± 0.10 billion $"),
    ],
)
def test_an_interval_has_the_digits_that_are_certain(mean, half, words):
    assert money_between(mean, half) == words
