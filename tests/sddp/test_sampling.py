"""Which ways trajectories go: frequencies, ends, given ways, and the same draw for any partition."""

import json
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from cobre.lp import LinearProgram, Noise
from cobre.sddp import Given, InSample, MultistageProblem, Node, OutOfSample, simulate, train
from cobre.sddp.sampling import SIMULATION, TRAINING, Draw
from tests.sddp.bodies import chain, circle, given_ways, markov, other_realisations

COUNT = 20_000


def draw(count=COUNT, *, first=0, total=None, iteration=1, depth=4, seed=1, purpose=TRAINING):
    return Draw(seed, iteration, first, count, total or count, depth, purpose)


def chi_square(found, probabilities):
    """The statistic of counts against probabilities, and a limit that chance passes once in 100 000."""
    expected = np.asarray(probabilities) * np.sum(found)
    positive = expected > 0
    assert np.all(np.asarray(found)[~positive] == 0)
    freedom = np.count_nonzero(positive) - 1
    statistic = np.sum((np.asarray(found) - expected)[positive] ** 2 / expected[positive])
    # Wilson and Hilferty 1931; 4.27 is the normal quantile.
    limit = freedom * (1 - 2 / (9 * freedom) + 4.27 * np.sqrt(2 / (9 * freedom))) ** 3 if freedom else 1e-9
    return statistic, limit


def check_frequencies(found, probabilities):
    statistic, limit = chi_square(found, probabilities)
    assert statistic < limit, (found, probabilities)


def test_the_limit_tells_wrong_from_right():
    """1 % more of one and less of another is noticed in 20 000 draws; what they should be is not."""
    with pytest.raises(AssertionError):
        check_frequencies([5400, 4600, 10_000], [0.25, 0.25, 0.5])
    check_frequencies([5050, 4950, 10_000], [0.25, 0.25, 0.5])


# In sample.


@pytest.mark.parametrize("problem", [chain(3), markov(), circle()], ids=["chain", "markov", "circle"])
def test_nodes_and_realisations_come_with_their_probabilities(problem):
    sample = InSample().sample(problem, draw())
    number = dict(problem.index)
    for name in ("root", *number):
        ways = problem.children(name)
        if not ways:
            continue
        if name == "root":
            after = sample.nodes[0]
        else:
            before = sample.nodes[:-1] == number[name]
            after = sample.nodes[1:][before]
        counts = Counter(after.tolist())
        found = [counts[number[child]] for child in ways] + [counts[-1]]
        if sum(found) > 1000:
            check_frequencies(found, [*ways.values(), 1 - sum(ways.values())])
    for node in problem.nodes:
        rows = sample.rows[sample.nodes == number[node.name]]
        if len(rows) > 1000:
            check_frequencies(np.bincount(rows, minlength=len(node.noise)), node.noise.probabilities)


def test_steps_trajectories_iterations_and_purposes_are_independent():
    """No pair of them agrees more often than chance: the tables of pairs have the product's frequencies."""
    problem = chain(3, count=3, first=3)
    one = InSample().sample(problem, draw(depth=3)).rows
    two = InSample().sample(problem, draw(depth=3, iteration=2)).rows
    three = InSample().sample(problem, draw(depth=3, purpose=SIMULATION)).rows
    p = [node.noise.probabilities for node in problem.nodes]
    for a, b, i, j in (
        (one[0], one[1], 0, 1),
        (one[1], one[2], 1, 2),
        (one[1], two[1], 1, 1),
        (one[1], three[1], 1, 1),
        (one[1][:-1], one[1][1:], 1, 1),
    ):
        check_frequencies(np.bincount(3 * a + b, minlength=9), np.outer(p[i], p[j]).reshape(-1))


def test_what_is_missing_to_one_is_the_end():
    one = Node("one", LinearProgram([1.0], [[1.0]]))
    two = Node("two", LinearProgram([1.0], [[1.0]]))
    problem = MultistageProblem([one, two], {}, {"one": 1.0}, {"one": {"two": 0.3}, "two": {"one": 0.5}})
    nodes = InSample().sample(problem, draw(depth=5)).nodes
    lengths = np.bincount(np.count_nonzero(nodes >= 0, axis=0), minlength=6)
    check_frequencies(lengths, [0, 0.7, 0.3 * 0.5, 0.15 * 0.7, 0.15 * 0.3 * 0.5, 0.15 * 0.15])
    ended = nodes[:-1] < 0
    assert np.all(nodes[1:][ended] < 0)  # what has ended does not begin again


def test_an_impossible_realisation_is_never_drawn():
    program = LinearProgram([1.0], [[1.0]])
    noise = Noise([0.0, 0.5, 0.0, 0.5, 0.0], rhs={0: [1, 2, 3, 4, 5]})
    problem = MultistageProblem.linear([Node("a", program, noise=noise)], {})
    rows = InSample().sample(problem, draw(depth=1)).rows[0]
    assert set(rows.tolist()) == {1, 3}


def test_probabilities_that_sum_to_a_bit_less_than_one_end_nothing():
    """A sum of 1 - 1e-16 is one; a number beyond it goes to the last that is possible."""
    program = LinearProgram([1.0], [[1.0]])
    nodes = [Node(f"n{i}", program, noise=Noise([0.1] * 10, rhs={0: range(10)})) for i in range(2)]
    problem = MultistageProblem.linear(nodes, {})
    sample = InSample().sample(problem, draw(depth=2))
    assert np.all(sample.nodes >= 0)
    assert sample.rows.max() == 9


# Any partition.


@pytest.mark.parametrize("purpose", [TRAINING, SIMULATION])
@pytest.mark.parametrize(
    ("problem", "sampling"),
    [
        (chain(3), InSample()),
        (markov(), InSample()),
        (circle(), InSample()),
        (chain(3), other_realisations(chain(3))),
        (chain(3), given_ways(chain(3))),
    ],
    ids=["chain", "markov", "circle", "out of sample", "given"],
)
def test_parts_are_parts_of_the_same_whole(problem, sampling, purpose):
    """Whoever draws: nodes, numbers of realisations, and the realisations themselves."""
    total = 23
    for iteration in (1, 2, 7):
        whole = sampling.sample(problem, draw(total, iteration=iteration, purpose=purpose))
        for cuts in ([0, 23], [0, 1, 23], [0, 7, 7, 15, 23], list(range(24))):
            for first, end in pairwise(cuts):
                part = sampling.sample(
                    problem, draw(end - first, first=first, total=total, iteration=iteration, purpose=purpose)
                )
                steps = len(part.nodes)
                np.testing.assert_array_equal(part.nodes, whole.nodes[:steps, first:end])
                np.testing.assert_array_equal(part.rows, whole.rows[:steps, first:end])
                assert np.all(whole.nodes[steps:, first:end] < 0)
                assert part.tables.keys() == whole.tables.keys()
                for number, table in part.tables.items():
                    np.testing.assert_array_equal(table, whole.tables[number])


# Out of sample.


def test_out_of_sample_draws_from_other_realisations():
    problem = chain(2)
    own = problem.nodes[1].noise
    other = Noise.from_table(own.places[::-1], own.table[:3, ::-1] * 2, [0.2, 0.0, 0.8])
    sample = OutOfSample({"t1": other}).sample(problem, draw(depth=2))
    check_frequencies(np.bincount(sample.rows[1], minlength=3), [0.2, 0.0, 0.8])
    assert sample.tables.keys() == {1}
    np.testing.assert_array_equal(
        sample.tables[1], own.table[:3] * 2
    )  # in the order of the node's own places


def test_out_of_sample_that_does_not_fit_is_found():
    problem = chain(2)
    wrong = OutOfSample({"nowhere": Noise(), "t1": Noise(rhs={0: [1.0, np.nan]})})
    found = "\n".join(wrong.findings(problem))
    assert "there is no node 'nowhere'" in found
    assert "changes other numbers than the node's own" in found
    assert "nan" in found


def test_specs_tell_samplings_apart():
    problem = chain(2)
    own = problem.nodes[1].noise
    one = OutOfSample({"t1": own})
    two = OutOfSample({"t1": Noise.from_table(own.places, own.table * 2, own.probabilities)})
    swapped = OutOfSample({"t1": Noise.from_table(own.places[::-1], own.table, own.probabilities)})
    assert one.spec() == OutOfSample({"t1": own}).spec()
    specs = [
        each.spec() for each in (InSample(), one, two, swapped, Given([[("t0", 0)]]), Given([[("t0", 1)]]))
    ]
    assert len({repr(spec) for spec in specs}) == len(specs)
    assert [json.loads(json.dumps(spec)) for spec in specs] == specs  # as a checkpoint gives them back


# Given.


def test_given_ways_take_turns():
    problem = chain(2, count=3)
    ways = [[("t0", 0), ("t1", k)] for k in range(3)]
    rows = [Given(ways).sample(problem, draw(2, iteration=i, depth=2)).rows[1].tolist() for i in (1, 2, 3, 4)]
    assert rows == [[0, 1], [2, 0], [1, 2], [0, 1]]
    again = Given(ways).sample(problem, draw(4, iteration=3, depth=2, purpose=SIMULATION))
    assert again.rows[1].tolist() == [0, 1, 2, 0]


def test_given_ways_may_be_short_and_have_values_of_their_own():
    problem = chain(3, count=2)
    own = problem.nodes[1].noise.table
    sample = Given([[("t0", 0), ("t1", own[0] * 3)], [("t0", 0)], [("t0", 0), ("t1", 1), ("t2", 0)]]).sample(
        problem, draw(3, depth=3)
    )
    assert sample.nodes.tolist() == [[0, 0, 0], [1, -1, 1], [-1, -1, 2]]
    np.testing.assert_array_equal(sample.tables[1][sample.rows[1, 0]], own[0] * 3)
    np.testing.assert_array_equal(sample.tables[1][sample.rows[1, 2]], own[1])


def test_a_simulation_follows_given_ways():
    problem = chain(3, count=2)
    policy = train(problem, 2, trajectories=2).policy
    table = simulate(
        problem, policy, 3, sampling=Given([[("t0", 0), ("t1", 1), ("t2", 0)], [("t0", 0)]])
    ).table
    assert table["trajectory"].to_pylist() == [0, 0, 0, 1, 2, 2, 2]
    assert table["node"].to_pylist() == ["t0", "t1", "t2", "t0", "t0", "t1", "t2"]
    assert table["realization"].to_pylist() == [0, 1, 0, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("ways", "words"),
    [
        ([], "there are no sequences"),
        ([[]], "sequence 0 is empty"),
        ([[("t1", 0)]], "node 't1' cannot follow 'root'"),
        ([[("t0", 0)], [("t0", 0), ("t2", 0)]], "sequence 1, step 1: node 't2' cannot follow 't0'"),
        ([[("t0", 0), ("t1", 9)]], "node 't1' has no realisation 9"),
        ([[("t0", 0), ("t1", [1.0])]], "give"),
    ],
)
def test_ways_that_leave_the_graph_are_found(ways, words):
    assert any(words in finding for finding in Given(ways).findings(chain(3)))
