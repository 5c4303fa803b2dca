"""StochOptFormat: known values, round trips, and findings."""

import gzip
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings

from cobre.errors import InvalidProblem
from cobre.formats import read_stochoptformat, write_stochoptformat
from cobre.lp import LinearProgram, Noise
from cobre.sddp import MultistageProblem, Node, train
from tests.formats.files import FALLING, NEWSVENDOR, affine, product, stochoptformat, write
from tests.sddp.bodies import markov
from tests.sddp.extensive import optimal_value
from tests.sddp.random_problems import circles, problems
from tests.sddp.test_guards_random import unrolled


def test_a_newsvendor(tmp_path):
    problem = read_stochoptformat(write(tmp_path / "a.sof.json", stochoptformat()))
    assert (problem.sense, [node.name for node in problem.nodes]) == ("max", ["buy", "sell"])
    assert optimal_value(problem) == pytest.approx(NEWSVENDOR)
    assert train(problem, 20).bound == pytest.approx(NEWSVENDOR)


@pytest.mark.parametrize(("prices", "expected"), [((5, 5, 5), NEWSVENDOR), ((5, 3, 5), FALLING)])
def test_random_variables_multiply_decisions(prices, expected, tmp_path):
    problem = read_stochoptformat(write(tmp_path / "a.sof.json", stochoptformat(prices=prices)))
    assert optimal_value(problem) == pytest.approx(expected)


def test_rewards_and_costs_may_be_mixed(tmp_path):
    content = stochoptformat()
    content["subproblems"]["selling"]["subproblem"]["objective"] = {
        "sense": "min",
        "function": affine(u=-5.0),
    }
    assert optimal_value(read_stochoptformat(write(tmp_path / "a", content))) == pytest.approx(NEWSVENDOR)


def test_a_file_may_be_compressed(tmp_path):
    path = tmp_path / "a.sof.json.gz"
    path.write_bytes(gzip.compress(json.dumps(stochoptformat()).encode()))
    assert optimal_value(read_stochoptformat(path)) == pytest.approx(NEWSVENDOR)


def test_integers_are_relaxed_only_if_asked(tmp_path):
    content = stochoptformat()
    whole = {"function": {"type": "Variable", "name": "x_out"}, "set": {"type": "Integer"}}
    content["subproblems"]["buying"]["subproblem"]["constraints"].append(whole)
    path = write(tmp_path / "a.sof.json", content)
    with pytest.raises(InvalidProblem, match=r"1 are integer \('x_out'\); relax_integers"):
        read_stochoptformat(path)
    with pytest.warns(UserWarning, match="1 integer variables are taken as continuous"):
        assert optimal_value(read_stochoptformat(path, relax_integers=True)) == pytest.approx(NEWSVENDOR)


def spoilt():
    content = stochoptformat()
    content["nodes"]["buy"]["subproblem"] = "nothing"
    content["nodes"]["sell"]["realizations"][1]["support"] = {"demand": 1.0}
    buying, selling = (content["subproblems"][name]["subproblem"] for name in ("buying", "selling"))
    buying["objective"]["function"] = product(1.0, "x_out", "x_out")
    selling["constraints"] += [
        {"function": affine(v=1.0), "set": {"type": "LessThan", "upper": 1.0}},
        {"function": {"type": "VectorOfVariables"}, "set": {"type": "Nonnegatives"}},
        {"function": affine(u=1.0), "set": {"type": "LessThan"}},
    ]
    return content


def test_all_findings_come_at_once(tmp_path):
    with pytest.raises(InvalidProblem) as caught:
        read_stochoptformat(write(tmp_path / "a.sof.json", spoilt()))
    told = "\n".join(caught.value.findings)
    assert len(caught.value.findings) == 7  # a set without a bound, and a function that is none, are two
    for words in (
        "subproblems.buying.subproblem.objective: the decisions 'x_out' and 'x_out' are multiplied",
        "subproblems.selling.subproblem.constraints.3: there is no variable 'v'",
        "subproblems.selling.subproblem.constraints.4: a function of type 'VectorOfVariables' is not",
        "subproblems.selling.subproblem.constraints.4: a set of type 'Nonnegatives' is not supported",
        "subproblems.selling.subproblem.constraints.5: a LessThan set takes 'upper', a number",
        "nodes.buy: there is no subproblem 'nothing'",
        "nodes.sell.realizations.1: 'd', 'demand' should be in both",
    ):
        assert words in told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is not JSON"),
        ("{}", "version: field required"),
        ('{"version": {"major": 0, "minor": 1}}', "version.major: input should be 1"),
    ],
)
def test_what_is_no_such_file_is_told(text, words, tmp_path):
    path = tmp_path / "a.sof.json"
    path.write_text(text)
    with pytest.raises(InvalidProblem, match=words):
        read_stochoptformat(path)


def test_a_missing_file_is_a_finding(tmp_path):
    with pytest.raises(InvalidProblem, match="cannot be read"):
        read_stochoptformat(tmp_path / "none.sof.json")


def through_a_file(problem, path):
    write_stochoptformat(problem, path)
    return read_stochoptformat(path)


@settings(max_examples=40)
@given(problems(risk_averse=False))
def test_a_round_trip_keeps_the_optimum(tmp_path_factory, drawn):
    """All kinds of noise, discounts, early ends and both senses; the whole tree as one programme tells."""
    value = optimal_value(drawn.problem)
    again = through_a_file(drawn.problem, tmp_path_factory.mktemp("files") / "a.sof.json")
    assert optimal_value(again) == pytest.approx(value, rel=1e-7, abs=1e-7)


@settings(max_examples=5)
@given(circles())
def test_a_circle_comes_back_as_a_circle(tmp_path_factory, drawn):
    """Its discounts are probabilities of an end now, which a chain of its nodes keeps."""
    again = through_a_file(drawn.problem, tmp_path_factory.mktemp("files") / "a.sof.json")
    assert again.has_cycle
    chain = unrolled(drawn.problem, 0, 5)
    ways = {f"{t}": {f"{t + 1}": again.transitions[again.nodes[t % len(again.nodes)].name]} for t in range(4)}
    nodes = [replace(again.nodes[t % len(again.nodes)], name=f"{t}") for t in range(5)]
    transitions = {name: {child: sum(p.values()) for child, p in way.items()} for name, way in ways.items()}
    other = MultistageProblem(nodes, again.initial_state, {"0": 1.0}, transitions, again.sense)
    assert optimal_value(other) == pytest.approx(optimal_value(chain), rel=1e-7, abs=1e-7)


def test_names_that_occur_twice_are_told_apart(tmp_path):
    program = LinearProgram([1.0, 2.0], [[1, 1]], 3, 3, column_names=["x", "x"], row_names=["cost_0"])
    noise = Noise(None, cost={0: [1.0, 3.0]})
    problem = MultistageProblem.linear([Node("only", program, noise=noise)], {})
    assert optimal_value(through_a_file(problem, tmp_path / "a")) == pytest.approx((3 * 1 + 3 * 2) / 2)


def test_what_the_format_cannot_say_is_refused(tmp_path):
    program = LinearProgram([1.0], [[1]], 0, 3)
    for noise, words in (
        (Noise(None, column_upper={0: [1.0, float("inf")]}), "no infinite random numbers"),
        (Noise(None, fix={0: [1.0, 2.0]}, cost={0: [1.0, 2.0]}), "column 'x0' is random, and so is a number"),
    ):
        problem = MultistageProblem.linear([Node("only", program, noise=noise)], {})
        with pytest.raises(InvalidProblem, match=words):
            write_stochoptformat(problem, tmp_path / "a")
        assert not (tmp_path / "a").exists()


def test_training_a_problem_from_a_file_is_training_it(tmp_path):
    problem = markov()
    again = through_a_file(problem, tmp_path / "a")
    assert train(again, 25).bound == pytest.approx(train(problem, 25).bound, rel=1e-6)
