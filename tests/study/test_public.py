"""What programs call: `cobre.train` and its companions."""

import subprocess
import sys

import numpy as np
import pytest

import cobre
from cobre import results, sddp
from cobre.errors import CaseError, InvalidBackend, InvalidProblem
from cobre.study import Study
from tests.study.cases import copy


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return copy("one-reservoir", tmp_path_factory.mktemp("cases") / "case")


@pytest.fixture(scope="module")
def case(folder):
    return cobre.CaseLoader.load(folder)


@pytest.fixture(scope="module")
def trained(case):
    return cobre.train(case)


def test_a_case_tells_what_there_is(case):
    assert case.stages == 12
    assert [len(case.buses), len(case.lines), len(case.hydros), len(case.thermals)] == [1, 0, 1, 3]


def test_training_tells_how_it_ended(case, trained):
    study = Study.of(case)
    engine = sddp.train(study.problem, 4, trajectories=3, seed=case.scenarios.seed, risk=study.risk)
    assert trained.iterations == 4
    assert trained.final_lower_bound == engine.bound
    assert trained.final_upper_bound == engine.estimates[-1].mean
    assert trained.final_gap == pytest.approx(engine.estimates[-1].mean / engine.bound - 1)
    assert trained.termination_reason == "iteration_limit"
    assert trained.total_cuts == sum(len(engine.policy.cuts(name).intercepts) for name in engine.policy.nodes)
    assert trained.workers is None
    history = trained.convergence_history
    assert history["lower_bound"].to_pylist() == engine.bounds.tolist()
    assert history["upper_bound_mean"].to_pylist() == [estimate.mean for estimate in engine.estimates]


def test_workers_are_described_and_give_the_same(case, trained):
    result = cobre.train(case, num_workers=2)
    assert result.final_lower_bound == trained.final_lower_bound
    assert [worker.rank for worker in result.workers] == [0, 1]
    assert {worker.backend for worker in result.workers} == {"shm"}
    assert all(worker.wall_time_ms > 0 for worker in result.workers)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_progress_of_every_worker_is_told_in_rank_order(case, workers):
    events = []
    result = cobre.train(case, progress_callback=events.append, num_workers=workers)
    names = [None] if workers == 1 else list(range(workers))
    expected = [
        ("training", own.iteration, name, own.bound, round(1000 * rank.wall_s), round(1000 * rank.waiting_s))
        for own in result.engine.log
        for name, rank in zip(names, own.ranks, strict=True)
    ]
    assert expected == [
        (one.phase, one.iteration, one.worker_id, one.lower_bound, one.iteration_time_ms, one.waiting_ms)
        for one in events
    ]
    assert all(rank.selection_s > 0 for own in result.engine.log for rank in own.ranks)


def test_settings_can_be_overridden(case):
    result = cobre.train(
        case, {"training": {"forward_passes": 2, "stopping_rules": [{"type": "iteration_limit", "limit": 2}]}}
    )
    assert result.iterations == 2
    assert result.engine.estimates[0].count == 2
    with pytest.raises(CaseError) as caught:
        cobre.train(case, {"training": {"forward_passes": -1}, "simulaton": {}})
    assert {finding.field for finding in caught.value.findings} == {"training.forward_passes", "simulaton"}
    assert case.config.training.forward_passes == 3  # the case is as it was


def test_simulation_writes_tables(case, trained, tmp_path):
    events = []
    result = cobre.simulate(
        case, trained.policy, {"simulation": {"num_scenarios": 7}}, events.append, output=tmp_path
    )
    assert result.scenarios == 7
    assert result.output_directory == tmp_path
    assert "simulation/costs/scenario_id=0006/data.parquet" in result.output_files
    assert result.mean_cost == pytest.approx(np.mean(result.totals))
    assert result.std_cost == pytest.approx(np.std(result.totals, ddof=1))
    assert [(events[-1].phase, events[-1].scenarios_complete, events[-1].scenarios_total)] == [
        ("simulation", 7, 7)
    ]
    plain = sddp.simulate(Study.of(case).problem, trained.policy, 7, seed=case.scenarios.seed)
    np.testing.assert_array_equal(result.totals, plain.totals)
    assert "lake" in (tmp_path / "training" / "dictionaries" / "entities.csv").read_text()
    assert cobre.simulate(case, trained.policy, output=tmp_path).scenarios == 5  # again, to the same folder


def test_a_simulation_that_ends_badly_says_so(case, trained, tmp_path):
    def interrupt(event):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cobre.simulate(case, trained.policy, None, interrupt, output=tmp_path)
    found = results.read(tmp_path, partial=True).simulation_manifest
    assert (found["status"], found["error"]) == ("failed", "interrupted")


def test_a_run_leaves_everything_in_a_folder(folder, trained, tmp_path):
    done = cobre.run(folder, output=tmp_path / "out")
    assert done.training.final_lower_bound == trained.final_lower_bound
    found = results.read(tmp_path / "out")
    assert found.manifest["status"] == "complete"
    assert found.manifest["convergence"]["termination_reason"] == "iteration_limit"
    assert found.convergence["lower_bound"].to_pylist() == trained.engine.bounds.tolist()
    assert found.simulation("costs").num_rows == 5 * 12
    policy = cobre.Policy.load(found.policy_path)
    assert policy.bound == trained.final_lower_bound
    assert policy.fingerprint == trained.policy.fingerprint


def test_a_policy_of_before_can_be_simulated_or_built_upon(tmp_path):
    first = cobre.run(copy("one-reservoir", tmp_path / "case"), output=tmp_path / "out")
    overrides = {"training": {"enabled": False}, "simulation": {"num_scenarios": 9}}
    again = cobre.run(tmp_path / "case", overrides, output=tmp_path / "out")
    assert again.training is None
    assert again.simulation.scenarios == 9
    warm = cobre.run(tmp_path / "case", {"policy": {"mode": "warm_start"}}, output=tmp_path / "out")
    assert warm.training.engine.bounds[0] > first.training.engine.bounds[0]
    assert warm.training.engine.bounds[0] >= first.training.final_lower_bound * (1 - 1e-12)


def test_a_run_goes_on_where_it_stopped(tmp_path):
    """With other workers, and to the bits of the run that was not disturbed."""
    whole = cobre.run(copy("one-reservoir", tmp_path / "case", iterations=6), output=tmp_path / "whole")
    limit = [{"type": "iteration_limit", "limit": 3}]
    cobre.run(tmp_path / "case", {"training": {"stopping_rules": limit}}, output=tmp_path / "out")
    done = cobre.run(tmp_path / "case", output=tmp_path / "out", resume=True, num_workers=2)
    assert done.training.engine.bounds.tolist() == whole.training.engine.bounds.tolist()
    same = (tmp_path / "out/policy/policy.cobre").read_bytes()
    assert same == (tmp_path / "whole/policy/policy.cobre").read_bytes()
    columns = [
        name for name in whole.training.convergence_history.column_names if not name.startswith("time")
    ]
    tables = [results.read(tmp_path / name).convergence.select(columns) for name in ("out", "whole")]
    assert tables[0].equals(tables[1])


def test_what_cannot_work_is_refused_before_anything_is_lost(tmp_path, monkeypatch):
    cobre.run(copy("one-reservoir", tmp_path / "case"), output=tmp_path / "out")
    before = snapshot(tmp_path / "out")
    for mistake in (
        {"num_workers": 2, "backend": "mpi"},
        {"num_workers": 2, "backend": "pigeons"},
        {"num_workers": 0},
        {"threads": 0},
        {"config_overrides": {"training": {"forward_passes": -1}}},
        {"config_overrides": "fast"},
    ):
        with pytest.raises(cobre.CobreError):
            cobre.run(tmp_path / "case", output=tmp_path / "out", **mistake)
        assert snapshot(tmp_path / "out") == before, mistake


def snapshot(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_that_was_not_finished_is_not_lost_by_typing_the_same_again(tmp_path):
    case = copy(
        "one-reservoir",
        tmp_path / "case",
        iterations=30,
        policy={"checkpointing": {"interval_iterations": 1}},
    )

    def interrupt(event):
        if isinstance(event, sddp.IterationFinished) and event.iteration == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cobre.run(case, output=tmp_path / "out", listeners=[interrupt])
    before = snapshot(tmp_path / "out")
    with pytest.raises(cobre.IOError, match="[23] iterations of a run that was not finished"):
        cobre.run(case, output=tmp_path / "out")
    assert snapshot(tmp_path / "out") == before
    assert cobre.run(case, output=tmp_path / "out", resume=True).training.iterations == 30
    cobre.run(case, output=tmp_path / "out")  # that one was finished
    other = {"modeling": {"inflow_non_negativity": {"method": "none"}}}
    before = snapshot(tmp_path / "out")
    for change, words in (
        (other, "another problem"),
        ({"training": {"forward_passes": 2}}, "training.forward_passes was 3"),
    ):
        with pytest.raises(cobre.IOError, match=words):
            cobre.run(case, change, output=tmp_path / "out", resume=True)
    assert snapshot(tmp_path / "out") == before


def test_a_setting_that_needs_a_policy_says_so(folder, tmp_path):
    with pytest.raises(cobre.IOError, match="training.enabled is false"):
        cobre.run(folder, {"training": {"enabled": False}}, output=tmp_path)
    with pytest.raises(cobre.IOError, match="'warm_start'"):
        cobre.run(folder, {"policy": {"mode": "warm_start"}}, output=tmp_path)
    with pytest.raises(cobre.ValidationError, match=r"give resume or warm_start, or call cobre\.run"):
        cobre.train(folder, {"policy": {"mode": "resume"}})
    assert list(tmp_path.iterdir()) == []


def test_a_policy_may_be_what_training_gave_a_file_or_a_folder(folder, trained, tmp_path):
    cobre.run(folder, output=tmp_path / "out")
    few = {"simulation": {"num_scenarios": 2}}
    totals = [
        cobre.simulate(folder, policy, few, output=tmp_path / "again").totals.tolist()
        for policy in (trained, trained.policy, tmp_path / "out/policy/policy.cobre", tmp_path / "out")
    ]
    assert totals == [totals[0]] * 4
    warm = cobre.train(folder, warm_start=trained)
    assert warm.engine.bounds[0] >= trained.final_lower_bound * (1 - 1e-12)


def test_only_costs_are_simulated_if_nothing_is_to_be_written(folder, tmp_path):
    done = cobre.run(folder, {"exports": {"simulation": False}}, output=tmp_path)
    assert done.simulation.scenarios == 5
    assert results.read(tmp_path).simulation_manifest is None


def test_results_are_short_to_look_at(case, trained, tmp_path):
    assert (
        repr(trained)
        == f"TrainingResult(4 iterations, lower bound {trained.final_lower_bound:,.2f}, iteration_limit)"
    )
    assert len(repr(case)) < 300
    assert {"train", "simulate", "results", "Policy"} <= set(dir(cobre))


def test_there_must_be_something_to_go_on_from(folder, tmp_path):
    with pytest.raises(cobre.IOError, match="no such checkpoint"):
        cobre.run(folder, output=tmp_path / "none", resume=True)
    assert not (tmp_path / "none").exists()


def test_a_folder_is_validated(folder, tmp_path):
    assert cobre.validate(folder).valid
    assert cobre.validate(folder).layers_completed == 5
    bad = copy("one-reservoir", tmp_path / "bad", training={"forward_passes": 0})
    result = cobre.validate(bad)
    assert not result.valid
    assert result.layers_completed == 1
    assert [finding.field for finding in result.errors] == ["training.forward_passes"]
    with pytest.raises(cobre.IOError, match="no such folder"):
        cobre.validate(tmp_path / "nothing")


def test_bad_arguments_are_refused_before_anything_starts(folder, monkeypatch):
    with pytest.raises(InvalidProblem, match="num_workers is 0"):
        cobre.train(folder, num_workers=0)
    with pytest.raises(InvalidBackend):
        cobre.train(folder, num_workers=2, backend="pigeons")
    with pytest.raises(cobre.IOError):
        cobre.train(folder / "nothing")


@pytest.mark.parametrize(("variable", "backend"), [(None, "shm"), ("127.0.0.1", "tcp")])
def test_the_backend_of_several_workers(folder, variable, backend, monkeypatch):
    if variable:
        monkeypatch.setenv("COBRE_TCP_COORDINATOR", variable)
    assert {worker.backend for worker in cobre.train(folder, num_workers=2).workers} == {backend}


def test_a_script_needs_no_guard(folder, tmp_path):
    """Ranks import nothing of the script, so one that starts them at its top level starts them once."""
    script = tmp_path / "script.py"
    script.write_text(
        "import cobre\n"
        f"result = cobre.train({str(folder)!r}, num_workers=2)\n"
        "print('once', result.iterations)\n"
    )
    ended = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout == "once 4\n"


def test_importing_cobre_is_light():
    heavy = ["numpy", "pyarrow", "pydantic", "highspy"]
    assert _output("-c", f"import sys, cobre; print([m for m in {heavy} if m in sys.modules])") == "[]\n"


def _output(*arguments):
    return subprocess.check_output([sys.executable, *arguments], text=True, timeout=60)


def test_stages_with_the_same_columns_have_them_in_memory_once(case):
    """Names would otherwise take more memory than numbers, in every process."""
    nodes = Study.of(case).problem.nodes
    assert len(nodes) > 1
    for of in (
        lambda node: node.program.column_names,
        lambda node: node.program.row_names,
        lambda node: node.incoming,
        lambda node: node.outgoing,
    ):
        assert len({id(of(node)) for node in nodes}) == len({str(of(node)) for node in nodes})
