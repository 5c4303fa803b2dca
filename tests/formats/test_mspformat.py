"""MSPFormat: known values, lattices, and findings."""

import gzip
import json

import pytest

from cobre.errors import InvalidProblem
from cobre.formats import read_mspformat
from cobre.sddp import train
from tests.formats.files import FALLING, NEWSVENDOR, mspformat, term, variable, write
from tests.sddp.extensive import optimal_value


def written(folder, problem, lattice):
    write(folder / "a.lattice.json", lattice)
    return write(folder / "a.problem.json", problem)


@pytest.mark.parametrize(
    ("prices", "expected"), [(None, NEWSVENDOR), ((5, 5, 5), NEWSVENDOR), ((5, 3, 5), FALLING)]
)
def test_a_newsvendor(prices, expected, tmp_path):
    problem = read_mspformat(written(tmp_path, *mspformat(prices=prices)))
    assert [node.name for node in problem.nodes] == ["first", "low", "middle", "high"]
    assert optimal_value(problem) == pytest.approx(expected)
    assert train(problem, 20).bound == pytest.approx(expected)


def test_an_investor(tmp_path):
    """Birge and Louveaux (2011), section 1.2: 55 should become 80 in three steps; the optimum is 1.514."""
    returns = {"up": {"stocks": 1.25, "bonds": 1.14}, "down": {"stocks": 1.06, "bonds": 1.12}}
    assets = ("stocks", "bonds")
    problem = {
        "maximize": False,
        "variables": [variable(name, t) for t in range(3) for name in assets]
        + [variable("surplus", 3, -1.0), variable("shortfall", 3, 4.0)],
        "constraints": [{"type": "EQ", "lhs": [term(name, 0) for name in assets], "rhs": [55.0]}],
    }
    for t in (1, 2, 3):
        arrives = [term(name, t - 1, name) for name in assets]
        leaves = [term(name, t, -1.0) for name in assets]
        goal = [term("surplus", 3, -1.0), term("shortfall", 3)]
        lhs, rhs = arrives + (goal if t == 3 else leaves), [80.0] if t == 3 else [0.0]
        problem["constraints"].append({"type": "EQ", "lhs": lhs, "rhs": rhs})
    ways = [{f"{t}{way}": 0.5 for way in returns} for t in (1, 2, 3)] + [{}]
    lattice = {"now": {"stage": 0, "successors": ways[0]}}
    for t in (1, 2, 3):
        for way, state in returns.items():
            lattice[f"{t}{way}"] = {"stage": t, "state": state, "successors": ways[t]}
    found = read_mspformat(written(tmp_path, problem, lattice))
    assert optimal_value(found) == pytest.approx(1.514, abs=1e-3)
    assert train(found, 40).bound == pytest.approx(1.514, abs=1e-3)


def test_the_lattice_may_lie_elsewhere_and_be_compressed(tmp_path):
    problem, lattice = mspformat()
    path = write(tmp_path / "a.problem.json", problem)
    packed = gzip.compress(json.dumps(lattice).encode())
    (tmp_path / "a.lattice.json.gz").write_bytes(packed)
    (tmp_path / "other.gz").write_bytes(packed)
    for where in (None, tmp_path / "other.gz"):
        assert optimal_value(read_mspformat(path, where)) == pytest.approx(NEWSVENDOR)


def test_probabilities_with_few_digits_are_taken_for_what_they_mean(tmp_path):
    problem, lattice = mspformat()
    lattice["first"]["successors"] = {"low": 0.5, "middle": 0.30002, "high": 0.20003}
    found = read_mspformat(written(tmp_path, problem, lattice))
    assert sum(found.transitions["first"].values()) == pytest.approx(1, abs=1e-15)
    lattice["first"]["successors"]["high"] = 0.4
    with pytest.raises(InvalidProblem, match=r"the ways from 'first' sum to 1\.2"):
        read_mspformat(written(tmp_path, problem, lattice))


@pytest.mark.parametrize(("kind", "expected"), [("INTEGER", NEWSVENDOR), ("BINARY", 5 - 2)])
def test_integers_are_relaxed_only_if_asked(kind, expected, tmp_path):
    path = written(tmp_path, *mspformat(kind=kind))
    with pytest.raises(InvalidProblem, match="1 are integer"):
        read_mspformat(path)
    with pytest.warns(UserWarning, match="1 integer variables are taken as continuous"):
        assert optimal_value(read_mspformat(path, relax_integers=True)) == pytest.approx(expected)


def test_all_findings_of_both_files_come_at_once(tmp_path):
    problem, lattice = mspformat(prices=(5, 5, 5))
    problem["variables"] += [variable("x", 0), variable("late", 2, [{"SUB": 1.0}])]
    problem["constraints"] += [
        {"name": "far", "type": "EQ", "lhs": [term("late", 2), term("x", 0)], "rhs": [None]},
        {"name": "none", "type": "EQ", "lhs": [term("y", 1)], "rhs": [0.0]},
    ]
    del lattice["low"]["state"]["half"]
    lattice["middle"]["successors"] = {"nowhere": 1.0, "first": 0.0}
    lattice["high"]["stage"] = 7
    with pytest.raises(InvalidProblem) as caught:
        read_mspformat(written(tmp_path, problem, lattice))
    told = "\n".join(caught.value.findings)
    for words in (
        "a.problem.json: variables.2: stage 0 has another variable 'x'",
        "variables.3.obj: {'SUB': 1.0} is neither a number nor a name, nor an ADD or MUL of one",
        "constraints.2.rhs: None is neither a number nor a name",
        "constraints.2.lhs.1: variable 'x' is of stage 0, with others of stage 2",
        "constraints.3.lhs.0: stage 1 has no variable 'y'",
        "a.lattice.json: low.state: 'half' missing",
        "middle.successors: there is no node 'nowhere'",
        "middle.successors: node 'first' is not of stage 2",
        "high.stage: the problem has no variables of stage 7",
        "first.successors: node 'high' is not of stage 1",
    ):
        assert words in told
    assert len(caught.value.findings) == 10


def test_a_mistake_in_thousands_of_places_is_told_a_few_times(tmp_path):
    problem, lattice = mspformat()
    lattice |= {f"{i}": {"stage": 1, "state": {}, "successors": {}} for i in range(1000)}
    with pytest.raises(InvalidProblem) as caught:
        read_mspformat(written(tmp_path, problem, lattice))
    assert len(caught.value.findings) == 31
    assert caught.value.findings[-1].endswith("and 970 more findings")


@pytest.mark.parametrize(
    ("problem", "lattice", "words"),
    [
        ("{}", "{}", ["maximize: field required", "nodes: dictionary should have at least 1 item"]),
        ("[", "{}", ["a.problem.json: file: it is not JSON"]),
        ("{}", '{"0": {"state": {}}}', ["nodes.0.stage: field required"]),
    ],
)
def test_what_are_no_such_files_is_told(problem, lattice, words, tmp_path):
    (tmp_path / "a.problem.json").write_text(problem)
    (tmp_path / "a.lattice.json").write_text(lattice)
    with pytest.raises(InvalidProblem) as caught:
        read_mspformat(tmp_path / "a.problem.json")
    for each in words:
        assert each in str(caught.value)
