"""Linear programmes without a solution: who is told what, and what is left to look at."""

from pathlib import Path

import highspy
import numpy as np
import pytest

from cobre.errors import SolveError
from cobre.lp import LinearProgram, Noise
from cobre.sddp import Given, IterationFinished, MultistageProblem, Node, simulate, train
from tests.lp.batches import hard
from tests.sddp.bodies import node


def stock(name, *, demands, sell=0.0, lower=0.0, upper=10.0):
    """What arrives, and what is bought, leaves or meets the demand: nothing else can."""
    # arrives, leaves, bought, sold
    program = LinearProgram(
        [0.0, 0.5, 1.0, -sell],
        [[1.0, -1.0, 1.0, -1.0]],
        row_lower=[0.0],
        row_upper=[0.0],
        column_lower=[-np.inf, lower, 0.0, 0.0],
        column_upper=[np.inf, upper, 3.0, np.inf],
        column_names=["stock_in", "stock out", "bought", "sold"],
        row_names=["balance"],
    )
    return Node(name, program, {"stock": 0}, {"stock": 1}, Noise(rhs={0: demands}))


def without_recourse():
    """What the first stages leave may be too little for a demand of 5, when 3 can be bought."""
    nodes = [
        stock("one", demands=[1.0]),
        stock("two", demands=[0.0, 1.0]),
        stock("t three", demands=[1.0, 5.0]),
    ]
    return MultistageProblem.linear(nodes, {"stock": 1.0})


def without_bound():
    """The last stage sells what it does not have."""
    last = LinearProgram(
        [0.0, 0.0, -1.0], [[1.0, -1.0, 0.0]], row_lower=[0.0], column_upper=[np.inf, 5, np.inf]
    )
    end = Node("end", last, {"stock": 0}, {"stock": 1}, Noise(cost={2: [1.0, -1.0]}))
    return MultistageProblem.linear([stock("one", demands=[0.5]), end], {"stock": 2.0}, value_bound=-100.0)


STATUS = {
    "infeasible": highspy.HighsModelStatus.kInfeasible,
    "unbounded": highspy.HighsModelStatus.kUnbounded,
}


def status_of(path):
    """What highspy says of a file, and the bounds in it, by the name of their column."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    lp = highs.getLp()
    bounds = {name: (lp.col_lower_[j], lp.col_upper_[j]) for j, name in enumerate(lp.col_names_)}
    highs.setOptionValue("presolve", "off")
    highs.run()
    return highs.getModelStatus(), bounds


WORKERS = [{}, {"threads": 2}, {"num_workers": 2}, {"num_workers": 3, "backend": "tcp"}]


@pytest.mark.parametrize("where", WORKERS, ids=str)
def test_an_infeasible_programme_is_named_saved_and_explained(where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SolveError) as caught:
        train(without_recourse(), 20, trajectories=4, **where)
    error = caught.value
    assert error.status == "infeasible"
    assert error.node == "t three"
    assert error.realization == 1
    assert error.state.keys() == {"stock"}
    assert error.state["stock"] < 2
    assert "'t three', realisation 1, incoming state stock = " in str(error)
    assert "relatively complete recourse" in str(error)
    assert "slack column with a high cost" in str(error)
    path = Path(error.saved)
    assert path.resolve().parent == tmp_path.resolve()
    assert error.saved in str(error)
    status, bounds = status_of(path)
    assert status == STATUS["infeasible"]
    assert bounds["stock_in"] == pytest.approx((error.state["stock"],) * 2)


def test_the_same_failure_is_found_wherever_it_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = []
    for where in WORKERS:
        with pytest.raises(SolveError) as caught:
            train(without_recourse(), 20, trajectories=4, **where)
        assert caught.value.rank in ({0, 1, 2} if "num_workers" in where else {None})
        found.append((caught.value.args[:-1], Path(caught.value.saved).read_bytes()))
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("where", [{}, {"num_workers": 2}], ids=str)
def test_an_unbounded_programme_is_named_saved_and_explained(where, tmp_path):
    """Next to the checkpoint, where there is one."""
    folder = tmp_path / "run"
    folder.mkdir()
    with pytest.raises(SolveError) as caught:
        train(without_bound(), 5, checkpoint=folder / "checkpoint", **where)
    error = caught.value
    assert error.status == "unbounded"
    assert error.node == "end"
    assert error.realization == 1
    assert "wrong sign" in str(error)
    assert Path(error.saved).parent == folder
    status, _ = status_of(error.saved)
    assert status == STATUS["unbounded"]


def test_cuts_are_in_the_file(tmp_path, monkeypatch):
    """A failure after some iterations shows the programme with what was learnt."""
    monkeypatch.chdir(tmp_path)
    good = [stock("one", demands=[1.0]), stock("two", demands=[0.5, 2.0]), stock("three", demands=[1.0, 2.0])]
    problem = MultistageProblem.linear(good, {"stock": 1.0})
    policy = train(problem, 5).policy
    bad = Given([[("one", 0), ("two", [50.0])]])
    with pytest.raises(SolveError) as caught:
        simulate(problem, policy, 2, sampling=bad)
    assert caught.value.node == "two"
    assert caught.value.realization is None  # none of the node's own
    text = Path(caught.value.saved).read_text()
    assert "cut_0" in text
    status, _ = status_of(caught.value.saved)
    assert status == STATUS["infeasible"]


def test_a_folder_that_cannot_be_written_costs_the_file_and_not_the_error(tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(SolveError) as caught:
        train(without_recourse(), 20, trajectories=4)
    assert caught.value.saved is None
    assert "The programme was saved to" not in str(caught.value)


def test_maximising_names_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ends = [node(0, "a", count=1, sense="max"), stock("b", demands=[99.0])]
    lost = Node("b", ends[1].program, {"v0": 0}, {}, ends[1].noise)
    problem = MultistageProblem.linear(
        [ends[0], lost], {f"v{i}": 1.0 for i in range(3)}, sense="max", value_bound=0
    )
    with pytest.raises(SolveError, match="node 'b', realisation 0, incoming state v0 = ") as caught:
        train(problem, 2)
    assert status_of(caught.value.saved)[0] == STATUS["infeasible"]


@pytest.mark.parametrize("seed", [36, 623])
def test_a_programme_that_takes_another_attempt_is_counted_and_does_no_harm(seed, caplog):
    """And logged. The bound is the mean of the values, which `tests.lp.test_solver` knows to be right."""
    program, noise = hard(seed)
    # A cost that could change makes it harder still: our solver leaves some of these to the general one.
    table = np.column_stack([noise.table, np.full(len(noise), program.costs[0])])
    noise = Noise.from_table([*noise.places, ("cost", 0)], table, noise.probabilities)
    problem = MultistageProblem.linear([Node("hard", program, noise=noise)], {})
    found = []
    for where in ({}, {"threads": 3}, {"num_workers": 2}):
        events = []
        trained = train(problem, 3, trajectories=6, listeners=[events.append], **where)
        finished = [event for event in events if isinstance(event, IterationFinished)]
        assert finished[0].retries > 0
        assert sum(event.retries for event in finished) == trained.statistics.retries
        found.append(trained.bounds.tobytes())
    assert len(set(found)) == 1
    assert "runs of the solver were retries" in caplog.text
