"""A risk-averse run: what it records and prints, and what it may begin with."""

import json
from types import SimpleNamespace

import pytest

import cobre
from cobre import report, results
from cobre.report._facts import Facts
from cobre.report._key import key_figures
from tests.cli.commands import cobre as command
from tests.study.cases import copy

CVAR = {"cvar": {"alpha": 0.3, "lambda": 0.4}}
SPEC = {"measure": "eavar", "weight": 0.6, "level": 0.3}
WORDS = "0.6 mean + 0.4 CVaR of the worst 30 %"


def risky(folder, *, stages=None, measure=CVAR):
    """A case whose stages, all unless some are named, have a risk measure."""
    copy("one-reservoir", folder)
    path = folder / "stages.json"
    content = json.loads(path.read_text())
    for stage in content["stages"]:
        if stages is None or stage["id"] in stages:
            stage["risk_measure"] = measure
    path.write_text(json.dumps(content))
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("risk")
    code, printed, _ = command("run", risky(folder / "case"), "--output", folder / "out")
    assert code == 0
    return SimpleNamespace(folder=folder / "out", case=folder / "case", printed=printed)


def test_the_measures_are_recorded_by_stage_and_by_node(run):
    found = results.read(run.folder)
    ids = [str(stage.id) for stage in cobre.CaseLoader.load(run.case).system.stages]
    assert found.risk_measures == dict.fromkeys(ids, SPEC)
    assert found.risk_averse
    policy = cobre.Policy.load(found.policy_path)
    parts = [
        {"weight": 0.6, "measure": "expectation"},
        {"weight": 0.4, "measure": "avar", "level": 0.3},
    ]
    mixture = {"measure": "mixture", "parts": parts}
    assert policy.method["risk"] == dict.fromkeys(["root", *ids[:-1]], mixture)


def test_there_is_no_gap_between_a_risk_adjusted_bound_and_a_mean(run):
    found = results.read(run.folder)
    assert found.convergence["gap_percent"].null_count == found.convergence.num_rows
    assert found.manifest["convergence"]["final_gap_percent"] is None
    summary = report.summary(found)
    assert (summary.training.gap_percent, summary.simulation.gap_percent) == (None, None)
    assert summary.training.risk == WORDS


def test_what_is_printed_names_the_measure_and_no_gap(run):
    assert f"risk measure: {WORDS}" in run.printed
    assert ", risk-adjusted; stopped by" in run.printed
    assert "gap: undefined: the lower bound is of the risk-adjusted cost" in run.printed
    _, shown, _ = command("summary", run.folder)
    assert f", of the risk-adjusted cost: {WORDS}" in " ".join(shown.split())
    assert "the mean is" not in shown


def test_the_report_names_the_measure_and_no_gap(run):
    facts = Facts(results.read(run.folder))
    figures = {figure.label: figure for figure in key_figures(facts)}
    assert figures["Lower bound"].note == f"minimum risk-adjusted cost: {WORDS}"
    assert figures["Gap"].note == "undefined with a risk measure"
    assert (
        f"not comparable: the bound is of the risk-adjusted cost ({WORDS})" in report.reading(run.folder)[0]
    )
    page = report.write(run.folder).read_text()
    assert "risk-adjusted lower bound: " in page
    assert "minimum expected cost" not in page


def test_results_in_python_have_no_gap(tmp_path):
    events = []
    done = cobre.run(risky(tmp_path / "case", stages=[0]), progress_callback=events.append)
    assert not done.training.risk_neutral
    assert done.training.final_gap is None
    assert {event.gap for event in events} == {None}
    assert results.read(done.output_directory).risk_measures["1"] == {"measure": "expectation"}
    plain = cobre.run(copy("one-reservoir", tmp_path / "plain"))
    assert plain.training.risk_neutral
    assert plain.training.final_gap is not None
    changed = report.compare(done.output_directory, plain.output_directory).settings
    assert "risk_measure.0.measure" in [change.name for change in changed]


def test_json_for_programs_has_no_gap(tmp_path):
    for name, measure, neutral in (("averse", CVAR, False), ("neutral", "expectation", True)):
        case = risky(tmp_path / name, measure=measure)
        _, printed, _ = command("run", case, "--output-format", "json")
        training, simulation = (json.loads(printed)[part] for part in ("training", "simulation"))
        assert training["risk_neutral"] is neutral
        assert (training["gap"] is not None) is neutral
        assert (simulation["lower_bound_inside"] is not None) is neutral


def test_a_run_under_other_measures_is_not_resumed(tmp_path):
    case = risky(tmp_path / "case")
    cobre.run(case, output=tmp_path / "out")
    path = case / "stages.json"
    path.write_text(path.read_text().replace('"alpha": 0.3', '"alpha": 0.2'))
    more = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 9}]}}
    with pytest.raises(cobre.CobreError, match="set up differently: risk_measure was"):
        cobre.run(case, more, output=tmp_path / "out", resume=True)
    with pytest.warns(
        UserWarning, match="the cuts of the warm start at node '0' and .* another risk measure"
    ):
        cobre.run(case, {"policy": {"mode": "warm_start"}}, output=tmp_path / "out")
