"""Policies: what they are worth at a state, as files, and as the beginning of another training."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from cobre.errors import PolicyFileError
from cobre.lp import LinearProgram
from cobre.sddp import (
    AVaR,
    EAVaR,
    Expectation,
    Level1,
    Method,
    MultistageProblem,
    Node,
    Policy,
    TrainingTask,
    _archive,
    simulate,
    train,
)
from tests.sddp.bits import file_bytes
from tests.sddp.bodies import chain, circle, markov

TRAINED = {
    "min": lambda: (chain(4), {}),
    "max": lambda: (chain(4, sense="max"), {"selection": Level1(every=2)}),
    "min multi": lambda: (chain(4), {"cuts": "multi", "risk": EAVaR(0.5, 0.3)}),
    "max multi": lambda: (markov("max"), {"cuts": "multi"}),
    "circle": lambda: (circle(), {}),
}


@pytest.fixture(scope="module")
def trained():
    results = {}
    for name, make in TRAINED.items():
        problem, method = make()
        results[name] = problem, train(problem, 5, trajectories=4, seed=2, **method)
    return results


def by_brute_force(policy, node, state):
    """The value in the user's sense, from the cuts alone, one after the other."""
    cuts = policy.cuts(node)
    better = max if policy.sense == "min" else min
    worst = policy.value_bounds[node] * (1 if policy.sense == "min" else -1)
    mixtures = policy.records[node].mixtures
    point = [state[name] for name in policy.states]
    values = [worst] + [np.inf if policy.sense == "max" else -np.inf] * mixtures.shape[1]
    for intercept, slopes, active, outcome in zip(*cuts, strict=True):
        if active:
            height = intercept + sum(s * x for s, x in zip(slopes, point, strict=True))
            values[outcome + 1] = better(values[outcome + 1], height)
    return better(
        [values[0], *(sum(w * v for w, v in zip(mix, values[1:], strict=True)) for mix in mixtures)]
    )


def states_of(policy, count=25):
    rng = np.random.default_rng(1)
    return [
        dict(zip(policy.states, point, strict=True))
        for point in rng.uniform(0, 30, (count, len(policy.states)))
    ]


# What it is worth.


@pytest.mark.parametrize("name", TRAINED)
def test_a_value_is_that_of_the_cuts(trained, name):
    policy = trained[name][1].policy
    for node in policy.nodes:
        for state in states_of(policy):
            assert policy.value(node, state).value == pytest.approx(
                by_brute_force(policy, node, state), rel=1e-12
            )


@pytest.mark.parametrize("name", TRAINED)
def test_slopes_are_finite_differences(trained, name):
    policy, sign = trained[name][1].policy, 1 if "min" in name or name == "circle" else -1
    step = 1e-6
    for node in policy.nodes[:-1]:
        for state in states_of(policy, 10):
            value, slopes = policy.value(node, state)
            assert slopes.keys() == state.keys()
            for each, slope in slopes.items():
                up = policy.value(node, {**state, each: state[each] + step}).value
                down = policy.value(node, {**state, each: state[each] - step}).value
                forward, backward = sign * (up - value) / step, sign * (value - down) / step
                assert backward - 1e-4 <= sign * slope <= forward + 1e-4  # a subgradient, between both


def test_more_of_what_is_good_is_better_in_either_sense(trained):
    """Water saves costs, and adds to rewards."""
    assert all(
        slope <= 0
        for slope in trained["min"][1].policy.value("t0", {"v0": 1, "v1": 1, "v2": 1}).slopes.values()
    )
    assert all(
        slope >= 0
        for slope in trained["max"][1].policy.value("t0", {"v0": 1, "v1": 1, "v2": 1}).slopes.values()
    )


def test_a_last_node_is_worth_nothing_more(trained):
    assert trained["min"][1].policy.value("t3", {"v0": 1, "v1": 1, "v2": 1}).value == 0


def test_a_value_bounds_what_follows(trained):
    """After the only first stage, costs of it and the value of what it leaves make the bound."""
    problem, result = trained["min"]
    table = simulate(problem, result.policy, 1).table.to_pylist()[0]
    left = {name: table[f"{name}_out"] for name in problem.states}
    assert table["cost"] + result.policy.value("t0", left).value == pytest.approx(result.bound)


@pytest.mark.parametrize("wrong", [("nowhere", {"v0": 1.0, "v1": 1.0, "v2": 1.0}), ("t0", {"v0": 1.0})])
def test_what_does_not_exist_is_a_key_error(trained, wrong):
    with pytest.raises(KeyError):
        trained["min"][1].policy.value(*wrong)


def test_cuts_are_copies(trained):
    policy = trained["min"][1].policy
    before = file_bytes(policy)
    policy.cuts("t0").intercepts[:] = 0
    policy.cuts("t0").slopes[:] = 0
    assert file_bytes(policy) == before


# As a file.


@pytest.mark.parametrize("name", TRAINED)
def test_a_policy_is_read_as_it_was_written(trained, name, tmp_path):
    problem, result = trained[name]
    policy, path = result.policy, tmp_path / "policy"
    policy.save(path)
    read = Policy.load(path)
    assert read.header() == policy.header()
    assert file_bytes(read) == path.read_bytes()
    assert (read.states, read.sense, read.nodes, read.bound) == (
        policy.states,
        policy.sense,
        policy.nodes,
        policy.bound,
    )
    for state in states_of(policy, 5):
        for node in policy.nodes:
            assert read.value(node, state) == policy.value(node, state)
    assert simulate(problem, read, 5).table == simulate(problem, policy, 5).table


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_file_that_was_cut_short_is_refused(trained, share, tmp_path):
    path = tmp_path / "policy"
    whole = file_bytes(trained["min"][1].policy)
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(PolicyFileError, match=r"damaged|not a policy") as caught:
        Policy.load(path)
    assert caught.value.path == str(path)


def test_a_flipped_bit_is_found_wherever_it_is(trained, tmp_path):
    path = tmp_path / "policy"
    whole = file_bytes(trained["min"][1].policy)
    refused = 0
    for place in range(0, len(whole), 97):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            read = Policy.load(path)
        except PolicyFileError:
            refused += 1
        else:  # in what ZIP says twice, or nobody reads
            assert file_bytes(read) == whole
    assert refused > 20


def test_a_foreign_file_is_refused(tmp_path):
    path = tmp_path / "policy"
    path.write_text("volume,cost\n1,2\n")
    with pytest.raises(PolicyFileError, match="not a policy of cobre"):
        Policy.load(path)
    with pytest.raises(PolicyFileError, match="there is no such file"):
        Policy.load(tmp_path / "nowhere")


def rewritten(path, change):
    """The same file with another header."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    change(header)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**members, "header.json": json.dumps(header).encode()}.items():
            archive.writestr(name, content)


def test_a_file_of_a_newer_version_is_refused(trained, tmp_path):
    path = tmp_path / "policy"
    trained["min"][1].policy.save(path)
    rewritten(path, lambda header: header.update(version=header["version"] + 1))
    with pytest.raises(PolicyFileError, match="install a newer one"):
        Policy.load(path)


def test_a_file_of_the_first_version_is_read_without_its_bases(trained, tmp_path):
    """They were of programmes with other rows and columns."""
    problem, path = trained["min"][0], tmp_path / "checkpoint"
    found = train(problem, 3, seed=2, checkpoint=path)
    with zipfile.ZipFile(path) as archive:
        members = {name.replace("bases", "anchors"): archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    header["version"], digests = 1, header["sha256"]
    header["sha256"] = {name.replace("bases", "anchors"): digest for name, digest in digests.items()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**members, "header.json": json.dumps(header).encode()}.items():
            archive.writestr(name, content)
    policy = Policy.load(path)
    assert all(record.basis is None for record in policy.records.values())
    for node in policy.nodes:
        np.testing.assert_array_equal(policy.cuts(node).slopes, found.policy.cuts(node).slopes)
    simulate(problem, policy, 5)
    assert train(problem, 4, seed=2, resume=path).bound >= found.bound - 1e-9


@pytest.mark.parametrize("field", ["nodes", "method", "states", "value_bounds", "bound"])
def test_a_whole_file_that_lacks_something_is_refused(trained, field, tmp_path):
    path = tmp_path / "policy"
    trained["min"][1].policy.save(path)
    rewritten(path, lambda header: header.pop(field))
    with pytest.raises(PolicyFileError, match="not a policy that this version can read"):
        Policy.load(path)


def _unknown_status(bases):
    bases[-1] = 4


def _one_basic_too_many(bases):
    bases[np.flatnonzero(bases[1:] != 1)[-1] + 1] = 1


def _far_cut(bases):
    bases[0] = 10**6


#: Arrays of a file, and damage that its checksums would not show if it was there when the file was written.
DAMAGE = {
    "a status that does not exist": ("bases", _unknown_status),
    "as many basic variables as rows": ("bases", _one_basic_too_many),
    "fewer cuts than it says": ("bases", _far_cut),
    "a cut is of a family that exists": ("families", lambda families: np.add(families, 7, out=families)),
    "a cut exists": ("active", lambda active: np.add(active, 10**6, out=active)),
}


@pytest.mark.parametrize("reason", DAMAGE)
@pytest.mark.parametrize("kind", ["policy", "checkpoint"])
def test_damaged_numbers_do_not_reach_the_solver(reason, kind, tmp_path):
    problem, path = chain(4), tmp_path / "policy"
    result = train(problem, 3, trajectories=4, seed=2, checkpoint=path)
    if kind == "policy":
        result.policy.save(path)
    header, arrays = _archive.read(path)
    name, damage = DAMAGE[reason]
    damage(arrays[name])
    _archive.write(path, header, arrays)
    use = {
        "policy": lambda: simulate(problem, Policy.load(path), 5),
        "checkpoint": lambda: train(problem, 5, trajectories=4, seed=2, resume=path),
    }
    with pytest.raises(PolicyFileError, match=f"damaged .*{reason}.* use an earlier copy"):
        use[kind]()


def test_a_policy_of_another_solver_says_so(trained, tmp_path):
    path = tmp_path / "policy"
    policy = trained["min"][1].policy
    assert policy.of_another_solver is None
    policy.save(path)
    rewritten(path, lambda header: header["method"].update(highs="1.2.3"))
    assert Policy.load(path).of_another_solver == "1.2.3"


# As a beginning.


@pytest.mark.parametrize("name", TRAINED)
def test_a_warm_start_has_the_old_bound_at_once(trained, name, tmp_path):
    problem, result = trained[name]
    _, method = TRAINED[name]()
    path = tmp_path / "policy"
    result.policy.save(path)
    sign = 1 if problem.sense == "min" else -1
    for start in (result.policy, path):
        again = train(problem, 1, trajectories=2, seed=77, **method, warm_start=start)
        assert sign * again.bounds[0] >= sign * result.bound - 1e-9 * abs(result.bound)
        cold = train(problem, 1, trajectories=2, seed=77, **method)
        assert sign * again.bounds[0] > sign * cold.bounds[0]


def test_a_warm_start_of_the_same_problem_begins_from_its_bases(trained):
    problem, result = trained["min"]
    records = {name: replace(record, basis=None) for name, record in result.policy.records.items()}
    pivots = [
        train(problem, 1, trajectories=2, seed=77, warm_start=start).log[0].simplex_iterations
        for start in (result.policy, replace(result.policy, records=records))
    ]
    assert pivots[0] < pivots[1]


def test_a_warm_start_keeps_its_cuts_first(trained):
    problem, result = trained["min"]
    again = train(problem, 2, seed=77, warm_start=result.policy)
    for node in result.policy.nodes:
        old, new = result.policy.cuts(node), again.policy.cuts(node)
        np.testing.assert_array_equal(new.intercepts[: len(old.intercepts)], old.intercepts)
        np.testing.assert_array_equal(new.slopes[: len(old.slopes)], old.slopes)
        born = again.policy.records[node].born[: len(old.slopes)]
        assert set(born) <= {0, 1, 2}  # training may have made a cut again


def test_a_warm_start_by_another_risk_measure_is_a_warning():
    """Its cuts may be too high for the new measure; those of the mean are valid under all."""
    problem, worst = chain(4), AVaR(0.25)
    averse = train(problem, 2, seed=2, risk=worst).policy
    partly = train(problem, 2, seed=2, risk={"t1": worst, "t3": worst}).policy
    neutral = train(problem, 2, seed=2).policy
    for start, risk, nodes in (
        (averse, AVaR(0.5), "'t0' and 2 more"),
        (averse, {"t0": worst, "t1": worst}, "'t2' were"),
        (partly, None, "'t1' were"),
    ):
        with pytest.warns(UserWarning, match=f"at node {nodes}.* with another risk measure"):
            TrainingTask.checked(problem, Method(risk=risk or Expectation()), 1, warm_start=start)
    for start, risk in (
        (neutral, worst),
        (partly, worst),
        (averse, {"root": worst, **dict.fromkeys(("t0", "t1", "t2"), worst)}),
    ):
        TrainingTask.checked(problem, Method(risk=risk), 1, warm_start=start)


def other_states():
    keep = LinearProgram([0.0, 1.0], [[1.0, -1.0]], row_lower=[0.0])
    return MultistageProblem.linear([Node("t0", keep, {"x": 0}, {"x": 1})], {"x": 1.0})


@pytest.mark.parametrize(
    ("problem", "method", "words"),
    [
        (other_states, {}, "its states are v0, v1, v2; the problem's are x"),
        (lambda: chain(5), {}, "it has no node 't4'"),
        (lambda: chain(4, sense="max"), {}, "it was trained for sense 'min', the problem has 'max'"),
        (lambda: chain(4), {"cuts": "multi"}, "its cuts are single, those of this run multi"),
    ],
    ids=["states", "nodes", "sense", "cuts"],
)
@pytest.mark.parametrize("workers", [None, 2])
def test_a_warm_start_that_does_not_fit_is_refused(trained, problem, method, words, workers):
    with pytest.raises(PolicyFileError, match="it cannot be a warm start") as caught:
        train(problem(), 1, warm_start=trained["min"][1].policy, num_workers=workers, **method)
    assert words in str(caught.value)


def test_a_warm_start_by_outcomes_that_are_not_there_is_refused(trained):
    """Multi cut has a value per outcome: a problem with another number of realisations has others."""
    policy = trained["min multi"][1].policy
    with pytest.raises(PolicyFileError, match=r"warm start: .* node 't0' had 4 outcomes, and has 3"):
        train(chain(4, count=3), 1, cuts="multi", warm_start=policy)
    with pytest.raises(PolicyFileError, match=r"node 't0' had 4 outcomes, and has 3"):
        simulate(chain(4, count=3), policy, 1)


def test_a_policy_that_does_not_fit_is_not_simulated(trained):
    with pytest.raises(PolicyFileError, match="it has no node 't4'"):
        simulate(chain(5), trained["min"][1].policy, 1)


def test_a_policy_can_be_simulated_on_other_numbers(trained):
    problem, result = trained["min"]
    drier = [
        replace(node, program=replace(node.program, offset=node.program.offset + 5)) for node in problem.nodes
    ]
    other = MultistageProblem.linear(drier, problem.initial_state)
    one, two = simulate(problem, result.policy, 7), simulate(other, result.policy, 7)
    np.testing.assert_allclose(two.totals, one.totals + 4 * 5)


def test_a_policy_can_be_simulated_on_programmes_of_another_shape(trained):
    """The same nodes and states, and a column more that nobody needs."""
    problem, result = trained["min"]

    def wider(node):
        program = node.program
        return replace(
            node,
            program=LinearProgram(
                [*program.costs, 1.0],
                np.hstack([program.matrix.dense(), np.zeros((program.rows, 1))]),
                program.row_lower,
                program.row_upper,
                [*program.column_lower, 0.0],
                [*program.column_upper, 9.0],
                program.offset,
            ),
        )

    other = MultistageProblem.linear(map(wider, problem.nodes), problem.initial_state)
    one, two = simulate(problem, result.policy, 7), simulate(other, result.policy, 7)
    np.testing.assert_allclose(two.totals, one.totals)
