"""Nodes that differ in data alone are one node in training, and all of themselves in every result."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobre.errors import PolicyFileError, SolveError
from cobre.lp import LinearProgram, Noise, realized
from cobre.sddp import (
    AVaR,
    ExecutionOptions,
    Given,
    Level1,
    MultistageProblem,
    Node,
    Policy,
    SimulationTask,
    TrainingStarted,
    TrainingTask,
    execute,
    simulate,
    simulate_streaming,
    train,
)
from cobre.sddp._method import Method
from cobre.sddp._structure import Structure
from tests.sddp.bits import Bits, first_difference
from tests.sddp.bodies import STUDIES, chain, circle, lattice
from tests.sddp.extensive import optimal_value, value_after
from tests.sddp.random_problems import CAPACITY, problems
from tests.sddp.test_right import EXACT, measures, train_to

pytestmark = pytest.mark.timeout(400)

STATE = {"v0": 9.0, "v1": 11.0, "v2": 4.0}


def structure_of(problem, **method):
    return Structure.found(problem, Method(**method))


def test_a_lattice_of_independent_stages_becomes_a_chain():
    problem = lattice()
    found = structure_of(problem)
    assert found.groups == (
        ("t0.0",),
        ("t1.0", "t1.1", "t1.2"),
        ("t2.0", "t2.1", "t2.2"),
        ("t3.0", "t3.1", "t3.2"),
    )
    chain = found.trained
    assert list(chain.index) == ["t0.0", "t1.0", "t2.0", "t3.0"]
    assert [len(node.noise) for node in chain.nodes] == [2, 6, 6, 6]
    assert chain.nodes[1].noise.probabilities == pytest.approx(np.repeat([0.5, 0.2, 0.3], 2) / 2)
    assert chain.nodes[0] is problem.nodes[0]
    assert list(chain.findings()) == []
    assert str(found) == "10 nodes merged into 4, of which they are realisations"


@settings(max_examples=150)
@given(problems(independent=True))
def test_the_merged_problem_has_the_same_value(drawn):
    found = structure_of(drawn.problem, risk=measures(drawn.risk))
    value = optimal_value(drawn.problem, drawn.risk)
    assert optimal_value(found.trained, drawn.risk) == pytest.approx(value, rel=1e-8, abs=1e-8)


@settings(max_examples=150)
@given(problems())
def test_whatever_is_merged_keeps_the_value(drawn):
    """Markov chains and trees: here and there two leaves are alike."""
    found = structure_of(drawn.problem, risk=measures(drawn.risk))
    value = optimal_value(drawn.problem, drawn.risk)
    assert optimal_value(found.trained, drawn.risk) == pytest.approx(value, rel=1e-8, abs=1e-8)


@settings(max_examples=30)
@given(problems(independent=True), st.booleans(), st.integers(0, 2**32))
def test_training_finds_the_value_with_and_without_merging(drawn, merge_nodes, seed):
    value = optimal_value(drawn.problem, drawn.risk)
    result = train_to(drawn.problem, value, drawn.risk, seed=seed, merge_nodes=merge_nodes, limit=1000)
    assert result.bound == pytest.approx(value, rel=EXACT, abs=EXACT)


@settings(max_examples=30)
@given(problems(independent=True), st.data())
def test_cuts_of_all_nodes_are_valid(drawn, data):
    problem, sign = drawn.problem, 1 if drawn.problem.sense == "min" else -1
    policy = train(problem, 3, risk=measures(drawn.risk), trajectories=3).policy
    assert policy.nodes == tuple(problem.index)
    node = data.draw(st.sampled_from(problem.nodes))
    state = {name: data.draw(st.floats(0, CAPACITY)) for name in problem.states}
    if problem.children(node.name):
        true = value_after(problem, node.name, state, drawn.risk)
        assert sign * policy.value(node.name, state).value <= sign * true + 1e-6 * (1 + abs(true))


def split(node):
    """A node for each realisation."""
    return [
        replace(
            node,
            name=f"{node.name}.{k}",
            program=realized(node.program, node.noise.places, row),
            noise=Noise(),
        )
        for k, row in enumerate(node.noise.table)
    ]


def as_lattice(problem):
    """A chain with a node for each realisation."""
    layers = [split(node) for node in problem.nodes]
    ways = [
        [node.noise.probabilities.tolist()] * before
        for before, node in zip([1, *map(len, layers)], problem.nodes, strict=False)
    ]
    return MultistageProblem.markovian(layers, ways, problem.initial_state, sense=problem.sense)


@pytest.mark.parametrize("sense", ["min", "max"])
def test_a_lattice_converges_like_the_chain_that_it_is(sense):
    """With few trajectories most nodes of a lattice have no cut for long, if each has to find its own."""
    problem = chain(4, count=12, sense=sense)
    stages, merged, apart = (
        train(each, 12, trajectories=2, **how).bound
        for each, how in (
            (problem, {}),
            (as_lattice(problem), {}),
            (as_lattice(problem), {"merge_nodes": False}),
        )
    )
    sign = 1 if sense == "min" else -1
    assert merged == pytest.approx(stages, rel=1e-3)
    assert sign * (stages - apart) > 0.02 * abs(stages)


def test_a_cycle_of_independent_stages_is_merged():
    """Its nodes follow each other for ever; each stage is one node again, with the value of the circle."""
    problem = circle()
    seasons = [split(node) for node in problem.nodes]
    chances = [node.noise.probabilities for node in problem.nodes]
    ways = [
        {node.name: float(chance) for node, chance in zip(season, own, strict=True)}
        for season, own in zip(seasons, chances, strict=True)
    ]
    transitions = {node.name: ways[(i + 1) % 3] for i, season in enumerate(seasons) for node in season}
    every = [node for season in seasons for node in season]
    whole = MultistageProblem(every, problem.initial_state, ways[0], transitions)
    assert [len(group) for group in structure_of(whole).groups] == [3, 3, 3]
    assert train(whole, 8, trajectories=3).bound == pytest.approx(
        train(problem, 8, trajectories=3).bound, rel=1e-3
    )


def alike(**changes):
    """Two leaves after one node, which differ in a cost and as the changes say."""
    costs = changes.pop("costs", (1.0, 2.0))
    program = LinearProgram([0.0, 1.0], [[1, 1]], row_lower=1, column_lower=[-np.inf, 0])
    leaves = [
        Node(name, replace(program, costs=np.array([0.0, cost])), {"x": 0}, {"x": 1})
        for name, cost in zip("bc", costs, strict=True)
    ]
    leaves[1] = replace(leaves[1], **changes)
    first = Node("a", LinearProgram([1.0], np.zeros((0, 1)), column_upper=3), {}, {"x": 0})
    return MultistageProblem([first, *leaves], {}, {"a": 1.0}, {"a": {"b": 0.5, "c": 0.25}})


def test_siblings_without_successors_are_merged_whatever_their_probabilities():
    """The quarter that is missing is the end, after both."""
    found = structure_of(alike())
    assert found.groups == (("a",), ("b", "c"))
    assert found.trained.children("a") == {"b": 0.75}
    assert found.trained.nodes[1].noise.places == (("cost", 1),)
    assert found.trained.nodes[1].noise.probabilities == pytest.approx([2 / 3, 1 / 3])


def program_of(*, lower=(-np.inf, 0.0), matrix=((1, 1),), offset=0.0):
    return LinearProgram([0.0, 2.0], matrix, row_lower=1, column_lower=lower, offset=offset)


@pytest.mark.parametrize(
    "changes",
    [
        {"program": program_of(offset=1.0)},
        {"program": program_of(lower=(0.0, 0.0))},  # the bound of an incoming column
        {"program": program_of(matrix=((1, 1), (1, 0)))},
        {"outgoing": {}},
    ],
    ids=["offset", "incoming bound", "rows", "states"],
)
def test_what_noise_cannot_express_is_not_merged(changes):
    problem = alike(**changes)
    found = structure_of(problem)
    assert found.trained is problem
    assert str(found) == ""


def test_entries_of_the_matrix_that_one_of_them_lacks_are_merged():
    problem = alike(program=program_of(matrix=((1, 0),)), costs=(1.0, 2.0))
    found = structure_of(problem)
    assert found.trained.nodes[1].noise.places == (("cost", 1), ("coefficient", (0, 1)))
    assert found.trained.nodes[1].noise.table.tolist() == [[1, 1], [2, 0]]


@pytest.mark.parametrize(
    "method",
    [
        {"risk": {"t1.1": AVaR(0.5)}},  # the others of its stage remain alike
        {},
    ],
    ids=["risk", "none"],
)
def test_a_node_with_its_own_risk_measure_keeps_its_value_function(method):
    groups = structure_of(lattice(), **method).groups
    assert (("t1.1",) in groups) == bool(method)


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ({"merge_nodes": False}, "merge_nodes is off"),
        ({"cuts": "multi"}, "cuts are by outcome"),
        ({"sampling": Given([[("t0.0", 0)]])}, "the sampling has its own trajectories or realisations"),
    ],
)
def test_why_nodes_are_not_merged_is_said(method, reason):
    problem, events = lattice(), []
    train(problem, 1, trajectories=1, listeners=events.append, **method)
    assert isinstance(events[0], TrainingStarted)
    assert events[0].merging == f"nodes that differ in data alone were not merged: {reason}"
    assert structure_of(problem, **method).trained is problem


@pytest.mark.parametrize("name", ["plain", "markov", "circle", "level1"])
def test_problems_of_stages_are_trained_as_they_are(name):
    problem = STUDIES[name].problem
    found = structure_of(problem)
    assert found.trained is problem
    assert str(found) == ""


def test_events_tell_of_the_nodes_as_given():
    events = []
    train(lattice(), 1, listeners=events.append)
    assert (events[0].nodes, events[0].merging) == (
        10,
        "10 nodes merged into 4, of which they are realisations",
    )


@pytest.fixture(scope="module")
def trained():
    return train(lattice(), 6, seed=3)


def test_the_file_of_a_policy_has_shared_cuts_once(trained, tmp_path):
    trained.policy.save(tmp_path / "policy")
    read = Policy.load(tmp_path / "policy")
    assert first_difference(Bits.of(trained), Bits.of(replace(trained, source=read))) is None
    assert len(trained.policy.arrays()["sizes"]) == 4
    assert read.records["t1.0"] is read.records["t1.2"]
    assert read.value("t1.2", STATE) == trained.policy.value("t1.0", STATE)


def test_a_simulation_has_the_nodes_as_given(trained):
    problem = lattice()
    table = simulate(problem, trained.policy, 300, columns=["thermal1"]).table
    assert set(table["node"].to_pylist()) == set(problem.index)
    assert max(table["realization"].to_pylist()) == 1


def test_a_simulation_by_merged_nodes_is_that_by_all_nodes(trained):
    """The same trajectories, on the nodes as given; columns and duals, too, up to the last bits."""
    problem, policy = lattice(), trained.policy
    names = {"columns": ("thermal1", "release0"), "duals": ("demand",)}
    merged = SimulationTask.checked(problem, policy, 120, seed=7)
    assert len(merged.merged.trained.nodes) == 4
    tables = [
        execute(partial(task.tabulate, policy, **names), ExecutionOptions()).table
        for task in (merged, replace(merged, merged=None))
    ]
    for name in ("trajectory", "step", "node", "realization"):
        assert tables[0][name].to_pylist() == tables[1][name].to_pylist()
    for name in tables[0].column_names[4:]:
        one, two = (table[name].to_numpy() for table in tables)
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-6, err_msg=name)


def test_nodes_that_were_trained_apart_are_simulated_apart():
    problem = lattice()
    policy = train(problem, 2, merge_nodes=False).policy
    assert SimulationTask.checked(problem, policy, 10).merged.trained is problem


def test_a_recorder_sees_the_nodes_as_given(trained):
    problem, seen = lattice(), []
    totals = simulate_streaming(problem, trained.policy, seen.extend, 40, seed=7)
    assert totals == pytest.approx(simulate(problem, trained.policy, 40, seed=7).totals)
    for visit in seen:
        noise = problem.nodes[visit.node].noise
        np.testing.assert_array_equal(visit.noise, noise.table[visit.realizations])
    assert {visit.node for visit in seen} == set(range(10))


def test_a_resumed_training_has_the_bits_of_one_that_was_not_interrupted(tmp_path):
    """Cut selection has a memory by trained node, too."""
    how = {"seed": 3, "trajectories": 4, "selection": Level1(every=2)}
    whole = train(lattice(), 7, **how)
    train(lattice(), 4, checkpoint=tmp_path / "saved", **how)
    resumed = train(lattice(), 7, resume=tmp_path / "saved", **how)
    assert first_difference(Bits.of(whole), Bits.of(resumed)) is None


@pytest.mark.parametrize("merge_nodes", [True, False])
def test_a_training_is_resumed_with_the_nodes_that_it_had(merge_nodes, tmp_path):
    train(lattice(), 2, checkpoint=tmp_path / "saved", merge_nodes=merge_nodes)
    with pytest.raises(PolicyFileError, match="merged other nodes"):
        train(lattice(), 3, resume=tmp_path / "saved", merge_nodes=not merge_nodes)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("after", [True, False])
def test_a_warm_start_has_the_cuts_of_either_way(before, after):
    start = train(lattice(), 6, seed=3, merge_nodes=before)
    warm = train(lattice(), 1, seed=4, warm_start=start, merge_nodes=after)
    assert warm.bound >= start.bound * (1 - 1e-9)


def test_states_are_those_of_all_nodes_of_a_group():
    problem = lattice()
    task = replace(TrainingTask.checked(problem, Method(), 2), keeps_states=True)
    visited = task.run(ExecutionOptions()).visited
    assert list(visited) == [name for name in problem.index if problem.children(name)]
    assert np.array_equal(visited["t1.0"], visited["t1.2"])


def test_a_failure_is_that_of_the_node_as_given(tmp_path, monkeypatch):
    """The second of two leaves, in its second realisation, asks for more than there is."""
    monkeypatch.chdir(tmp_path)
    program = LinearProgram([0.0, 0.0], [[1, 1]], column_lower=[-np.inf, 0], column_upper=[np.inf, 1])
    leaves = [
        Node(name, program, {"x": 0}, {"x": 1}, Noise(row_lower={0: needs}))
        for name, needs in (("b", [0.0, 0.5, 1.0]), ("c", [1.0, 9.0]))
    ]
    first = Node("a", LinearProgram([1.0], np.zeros((0, 1)), column_upper=3), {}, {"x": 0})
    problem = MultistageProblem([first, *leaves], {}, {"a": 1.0}, {"a": {"b": 0.5, "c": 0.5}})
    assert len(structure_of(problem).trained.nodes) == 2
    with pytest.raises(SolveError) as caught:
        train(problem, 3)
    assert (caught.value.node, caught.value.realization) == ("c", 1)
