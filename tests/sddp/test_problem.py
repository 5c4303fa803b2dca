"""A multistage problem: its graphs, all findings at once, and a fingerprint of every number."""

import dataclasses
import pickle

import numpy as np
import pytest

from cobre.errors import InvalidProblem
from cobre.lp import LinearProgram, Noise
from cobre.sddp import MultistageProblem, Node
from cobre.sddp.problem import ROOT


def node(name="a", *, discount=1.0, noise=None, incoming=None, outgoing=None, **changes):
    """Stock carried over: column 0 comes in, column 1 goes out, column 2 is bought."""
    numbers = {"costs": [0.0, 0.1, 2.0], "matrix": [[1, -1, 1]], "row_lower": [3], "row_upper": [3]} | changes
    return Node(
        name,
        LinearProgram(**numbers),
        {"stock": 0} if incoming is None else incoming,
        {"stock": 1} if outgoing is None else outgoing,
        noise or Noise([0.5, 0.5], rhs={0: [1, 4]}),
        discount,
    )


def chain(*names, **changes):
    return MultistageProblem.linear([node(name) for name in names], {"stock": 1.0}, **changes)


def test_a_linear_graph():
    problem = chain("a", "b", "c", sense="max", value_bound=7)
    problem.check()
    assert problem.children(ROOT) == {"a": 1.0}
    assert [problem.children(name) for name in "abc"] == [{"b": 1.0}, {"c": 1.0}, {}]
    assert (problem.sense, problem.value_bound, problem.states) == ("max", 7, ("stock",))
    assert problem.index == {"a": 0, "b": 1, "c": 2}
    assert not problem.has_cycle


def test_a_cyclic_graph():
    nodes = [node("a"), node("b", discount=0.9)]
    problem = MultistageProblem.cyclic(nodes, {"stock": 1.0}, sense="max", value_bound=7)
    problem.check()
    assert problem.children("b") == {"a": 1.0}
    assert problem.has_cycle
    assert (problem.sense, problem.value_bound) == ("max", 7)


def test_a_markovian_graph():
    stages = [[node("dry1"), node("wet1")], [node("dry2"), node("wet2"), node("flood2")]]
    matrices = [[[0.4, 0.6]], [[0.7, 0.3, 0.0], [0.2, 0.7, 0.1]]]
    problem = MultistageProblem.markovian(stages, matrices, {"stock": 1.0}, sense="max", value_bound=7)
    problem.check()
    assert [each.name for each in problem.nodes] == ["dry1", "wet1", "dry2", "wet2", "flood2"]
    assert problem.children(ROOT) == {"dry1": 0.4, "wet1": 0.6}
    assert problem.children("dry1") == {"dry2": 0.7, "wet2": 0.3}  # what cannot happen is no child
    assert problem.children("flood2") == {}
    assert (problem.sense, problem.value_bound) == ("max", 7)


@pytest.mark.parametrize(
    ("matrices", "words"),
    [
        ([[[1.0]]], "2 stages take as many matrices, not 1"),
        (
            [[[1.0, 0.0]], [[1.0]]],
            r"matrices\[0\] should have 1 rows of 1 probabilities: .* of root, .* of a",
        ),
        ([[[1.0]], [[1.0], [1.0]]], r"matrices\[1\] should have 1 rows of 1 probabilities: .* of a, .* of b"),
    ],
)
def test_a_matrix_that_does_not_fit_is_refused(matrices, words):
    with pytest.raises(ValueError, match=words):
        MultistageProblem.markovian([[node("a")], [node("b")]], matrices, {"stock": 1.0})


def test_states_in_the_order_of_their_appearance():
    first = Node("a", LinearProgram([0] * 4, np.zeros((0, 4))), {"z": 0}, {"z": 1, "b": 2})
    last = Node("b", LinearProgram([0] * 4, np.zeros((0, 4))), {"b": 2, "z": 0}, {"a": 1})
    assert MultistageProblem.linear([first, last], {"z": 0.0}).states == ("z", "b", "a")


BAD_NODES = [
    ({"costs": [np.nan, 0, 0]}, "the cost of column 'x0' is nan"),
    ({"noise": Noise(rhs={5: [1]})}, "rhs of 5: there is no row 5"),
    ({"discount": 0.0}, "the discount is 0; it must be above 0 and at most 1"),
    ({"discount": 1.5}, "the discount is 1.5; it must be above 0 and at most 1"),
    ({"discount": np.nan}, "the discount is nan; it must be above 0 and at most 1"),
    ({"incoming": {"stock": 3}}, "incoming state 'stock' is in column 3, which does not exist"),
    ({"outgoing": {"stock": -1}}, "outgoing state 'stock' is in column -1, which does not exist"),
    ({"outgoing": {"stock": 1.5}}, "outgoing state 'stock' is in column 1.5, which does not exist"),
    (
        {"outgoing": {"stock": 0}},
        "outgoing state 'stock' is in column 0, where incoming state 'stock' is too",
    ),
    ({"noise": Noise(fix={0: [1]})}, "fix of 0: incoming state 'stock' is there, and the engine fixes it"),
    ({"noise": Noise(column_upper={0: [1]})}, "column_upper of 0: incoming state 'stock' is there"),
    ({"noise": Noise(column_lower={0: [1]})}, "column_lower of 0: incoming state 'stock' is there"),
]


@pytest.mark.parametrize(("changes", "finding"), BAD_NODES)
def test_a_finding_in_a_node(changes, finding):
    [found] = MultistageProblem.linear([node("first"), node("bad", **changes)], {"stock": 1.0}).findings()
    assert found.startswith(f"node 'bad': {finding}")


def test_noise_of_a_broken_programme_is_not_looked_at():
    broken = node(costs=[1.0], noise=Noise(rhs={5: [1]}))
    [found] = MultistageProblem.linear([broken], {"stock": 1.0}).findings()
    assert "costs has 1 elements" in found


def ways(beginning=None, transitions=None, discounts=(1.0, 1.0), **changes):
    nodes = [node(name, discount=discount) for name, discount in zip("ab", discounts, strict=True)]
    graph = ({"a": 1.0} if beginning is None else beginning, transitions or {"a": {"b": 1.0}})
    return MultistageProblem(nodes, {"stock": 1.0}, *graph, **changes)


BAD_GRAPHS = [
    (ways({"a": 0.9}), "the probabilities of the ways from 'root' sum to 0.9, not to 1"),
    (
        ways(transitions={"a": {"b": 1.1}}),
        "the probabilities of the ways from 'a' sum to 1.1, which is above 1",
    ),
    (ways({"a": 1.5, "b": -0.5}), "the probabilities of the ways from 'root' are 1.5, -0.5: each must be"),
    (ways(transitions={"a": {"b": 1.0}, "z": {"a": 1.0}}), "there are ways from a node 'z', which does not"),
    (ways(transitions={"a": {"b": 0.5, "z": 0.5}}), "there is a way from 'a' to a node 'z', which does not"),
    (ways({"a": 0.5, "z": 0.5}), "there is a way from 'root' to a node 'z', which does not exist"),
    (ways(transitions={"a": {"b": 0.0}}), "node 'b' cannot be reached from the beginning"),
    (ways(transitions={"a": {"a": 0.5}}), "node 'b' cannot be reached from the beginning"),
    (
        ways(transitions={"a": {"b": 1.0}, "b": {"a": 1.0}}),
        "('a', 'b'): give a node of it a discount below 1",
    ),
    (
        ways(transitions={"a": {"b": 1.0}, "b": {"b": 1.0}}, discounts=(0.5, 1)),
        "nothing leads out of it ('b')",
    ),
    (ways(sense="minimum"), "the sense is 'minimum'; it must be 'min' or 'max'"),
    (ways(value_bound=np.inf), "the value bound is inf"),
]


@pytest.mark.parametrize(("problem", "finding"), BAD_GRAPHS)
def test_a_finding_in_the_graph(problem, finding):
    found = list(problem.findings())
    assert len(found) == 1
    assert finding in found[0]


@pytest.mark.parametrize(
    "problem",
    [
        ways(transitions={"a": {"b": 1.0}, "b": {"a": 1.0}}, discounts=(1.0, 0.9)),
        ways(transitions={"a": {"b": 1.0}, "b": {"a": 0.9}}),
        ways(transitions={"a": {"a": 0.9, "b": 0.1}}),
        ways(transitions={"a": {"a": 0.5, "b": 0.5}, "b": {"a": 1.0}}, discounts=(1.0, 0.9)),
        ways({"a": 0.1 + 0.2, "b": 0.7}),
    ],
)
def test_a_graph_without_findings(problem):
    problem.check()


def test_a_sum_that_only_rounding_keeps_from_one_is_no_end():
    tenths = ways(transitions={"a": {"b": 1.0}, "b": {"a": 0.7, "b": 0.2 + 0.1 - 1e-16}})
    assert any("for ever" in finding for finding in tenths.findings())


def test_no_nodes():
    found = list(MultistageProblem.linear([], {}).findings())
    assert "there are no nodes" in found
    assert MultistageProblem.cyclic([], {}).nodes == ()


def test_names_that_are_taken():
    assert "2 nodes are called 'a'" in list(chain("a", "a").findings())
    found = list(chain("a", "root").findings())
    assert "a node is called 'root', which is the name of the beginning" in found


def test_states_on_their_way():
    keeps = node("b", incoming={"stock": 0, "water": 2})
    problem = MultistageProblem.linear([node("a"), keeps], {"stock": np.nan, "gas": 1.0})
    assert list(problem.findings()) == [
        "the initial value of state 'stock' is nan",
        "no column carries state 'gas': it has an initial value, and is incoming nowhere",
        "state 'water' is incoming in node 'b', but is not outgoing in node 'a', which comes before",
    ]
    [found] = MultistageProblem.linear([node("a")], {}).findings()
    assert found == "state 'stock' is incoming in node 'a', but has no initial value"


def test_check_raises_all_findings():
    problem = MultistageProblem.linear([node(discount=2.0)], {}, value_bound=np.nan)
    with pytest.raises(InvalidProblem) as raised:
        problem.check()
    assert raised.value.findings == tuple(problem.findings())
    assert len(raised.value.findings) == 3


def test_the_fingerprint_stays_when_nothing_that_matters_changes():
    problem = chain("a", "b")
    assert problem.fingerprint == chain("a", "b").fingerprint
    assert pickle.loads(pickle.dumps(problem)).fingerprint == problem.fingerprint
    renamed = [node(name, column_names=["p", "q", "r"], row_names=["s"]) for name in "ab"]
    assert MultistageProblem.linear(renamed, {"stock": 1}).fingerprint == problem.fingerprint
    numpy = [node(n, incoming={"stock": np.int64(0)}, discount=np.float64(1)) for n in "ab"]
    assert MultistageProblem.linear(numpy, {"stock": np.float32(1)}).fingerprint == problem.fingerprint


def _others():
    def first(**changes):
        return MultistageProblem.linear([node("a", **changes), node("b")], {"stock": 1.0})

    base = chain("a", "b")
    even = Noise([0.5, 0.5], rhs={0: [1, 4]})
    yield "name", chain("a", "c")
    yield "number of nodes", chain("a")
    yield "initial state", dataclasses.replace(base, initial_state={"stock": 2.0})
    yield "sense", dataclasses.replace(base, sense="max")
    yield "value bound", dataclasses.replace(base, value_bound=0.0)
    yield "beginning", dataclasses.replace(base, beginning={"b": 1.0})
    yield "transitions", dataclasses.replace(base, transitions={"a": {"b": 0.5}})
    yield "discount", first(discount=0.5)
    yield "incoming", first(incoming={"stock": 2})
    yield "outgoing", first(outgoing={"stock": 2})
    yield "another state", first(outgoing={"stock": 1, "more": 2})
    yield "costs", first(costs=[0.0, 0.1, 2.5])
    yield "matrix", first(matrix=[[1, -1, 2]])
    yield "matrix rows", first(matrix=[[1, -1, 1], [0, 0, 0]], row_lower=3, row_upper=3)
    yield "row lower", first(row_lower=[2])
    yield "row upper", first(row_upper=[4])
    yield "column lower", first(column_lower=-1)
    yield "column upper", first(column_upper=5)
    yield "offset", first(offset=1.0)
    yield "places", first(noise=Noise(even.probabilities, row_lower={0: [1, 4]}))
    yield "table", first(noise=Noise([0.5, 0.5], rhs={0: [1, 5]}))
    yield "probabilities", first(noise=Noise([0.4, 0.6], rhs={0: [1, 4]}))


OTHERS = dict(_others())


@pytest.mark.parametrize("name", OTHERS)
def test_the_fingerprint_changes_with(name):
    assert OTHERS[name].fingerprint != chain("a", "b").fingerprint


def test_the_fingerprint_knows_the_order_of_children():
    """Sums over children run in it, so it can change the last bit of a result."""
    one, other = ways({"a": 0.5, "b": 0.5}), ways({"b": 0.5, "a": 0.5})
    assert one.fingerprint != other.fingerprint
