"""The native solver: the same bits in any order, on any threads, after any past; and the right values."""

from dataclasses import replace

import numpy as np
import pytest

from cobre.lp import LinearProgram, Noise
from cobre.lp._model import realized
from cobre.lp._solver import NextStages, SolveFailure, StageSolver, States, ThreadPool, cut_heights, solve
from tests.lp.batches import (
    COUNT,
    STATES,
    SolvedStage,
    Tried,
    cut_duals,
    cuts_for,
    hard,
    oracle,
    programme,
    solution_of,
    units,
)

THREADS = (1, 2, 4)


# The same bits.


@pytest.mark.parametrize("start", ["from scratch", "from a start"])
@pytest.mark.parametrize("cuts", [0, 1, 400])
@pytest.mark.parametrize("matrix_noise", [False, True])
def test_a_unit_has_the_same_bits_in_any_order_on_any_threads_after_any_past(cuts, start, matrix_noise):
    program, noise = programme(matrix_noise=matrix_noise)
    states, rows = units()
    rng, expected = np.random.default_rng(3), None
    for threads in THREADS:
        tried = Tried(program, noise, cuts_for(1, cuts), threads)
        if start == "from a start":
            tried.anchor()
        for trial in range(4):
            order = rng.permutation(len(states)) if trial else None
            *found, _ = tried.steps(states, rows, order)
            found.append(tried.trials(states, rows, order))
            expected = expected or found
            assert found == expected, (threads, trial)
            tried.past(trial)


def test_a_unit_has_the_same_bits_alone_and_among_others():
    program, noise = programme(2, matrix_noise=False)
    states, rows = units(12)
    together, ends, _ = Tried(program, noise, cuts_for(2, 200)).steps(states, rows)
    for i in range(len(states)):
        alone, end, _ = Tried(program, noise, cuts_for(2, 200)).steps(states[[i]], rows[[i]])
        assert end == [ends[i]]
        for one, all_of_them in zip(alone, together, strict=True):
            size = len(all_of_them) // len(states)
            assert one == all_of_them[i * size : (i + 1) * size]


def test_multi_cut_has_the_same_bits():
    program, noise = programme(4)
    states, rows = units(16)
    families = (1 + np.arange(300) % 3).astype(np.int32)
    mixtures = [np.array([0.2, 0.5, 0.3]), np.array([0.0, 0.25, 0.75]), np.array([1.0, 0.0, 0.0])]
    found = []
    for threads in THREADS:
        tried = Tried(program, noise, cuts_for(4, 300), threads, own=families, mixtures=mixtures, families=4)
        found += [tried.steps(states, rows)[:2], tried.steps(states, rows, np.arange(16)[::-1])[:2]]
        tried.past(1)
        found.append(tried.steps(states, rows)[:2])
    assert all(each == found[0] for each in found)


# The right values.


@pytest.mark.parametrize("cuts", [0, 3, 300])
@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_with_all_cuts_as_rows(seed, cuts):
    program, noise = programme(seed)
    states, rows = units(8, seed)
    tried = Tried(program, noise, cuts_for(seed, cuts), 2, discount=0.9)
    _, _, steps = tried.steps(states, rows)
    values, slopes = tried.solver.trial(states)
    for u, state in enumerate(states):
        expected = [oracle(program, noise, row, state, tried.cuts, discount=0.9) for row in range(COUNT)]
        np.testing.assert_allclose(values[u], expected, rtol=1e-9, atol=1e-9)
        assert steps.objectives[u] == pytest.approx(expected[rows[u]], rel=1e-9, abs=1e-9)
        follows = max([-1e3, *(tried.cuts[:, 0] + tried.cuts[:, 1:] @ steps.outgoing[u])])
        assert steps.costs[u] + 0.9 * follows == pytest.approx(steps.objectives[u], rel=1e-8, abs=1e-7)
        # A slope is a subgradient: the value elsewhere is nowhere below the line.
        for v, other in enumerate(states):
            line = values[u] + slopes[u] @ (other - state)
            assert np.all(values[v] >= line - 1e-7 * (1 + np.abs(line)))


def test_values_of_multi_cut_are_those_with_all_cuts_and_mixtures_as_rows():
    program, noise = programme(6)
    families = (1 + np.arange(90) % 3).astype(np.int32)
    mixtures = [np.array([0.2, 0.5, 0.3]), np.array([0.0, 0.25, 0.75])]
    states, rows = units(6)
    tried = Tried(program, noise, cuts_for(6, 90), own=families, mixtures=mixtures, families=4)
    _, _, steps = tried.steps(states, rows)
    for u, state in enumerate(states):
        how = {"families": families, "mixtures": mixtures, "count": 4}
        expected = oracle(program, noise, rows[u], state, tried.cuts, **how)
        assert steps.objectives[u] == pytest.approx(expected, rel=1e-9)


def test_rewards_are_costs_with_the_other_sign():
    program, noise = programme(8)
    states, rows = units(6)
    flipped = replace(program, costs=-program.costs, offset=-program.offset)
    table = noise.table * [-1.0 if target == "cost" else 1.0 for target, _ in noise.places]
    other = Noise.from_table(noise.places, table, noise.probabilities)
    one = Tried(program, noise, cuts_for(8, 50)).steps(states, rows)[0]
    assert Tried(flipped, other, cuts_for(8, 50), sign=-1.0).steps(states, rows)[0] == one


def test_duals_tell_how_the_objective_moves():
    program, noise = programme(9, matrix_noise=False)
    states, rows = units(6)
    tried = Tried(program, noise, cuts_for(9, 40))
    _, _, steps = tried.steps(states, rows)
    at = [w for w, place in enumerate(noise.places) if place == ("rhs", 1)]
    for step in (1e-5, -1e-5):
        table = tried.solver.table.copy()
        table[:, at] += step
        moved = tried.solver.step(states, rows, table=table).objectives
        np.testing.assert_allclose((moved - steps.objectives) / step, steps.duals[:, 1], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("cuts", [0, 200])
def test_a_cut_that_is_not_active_is_not_there(cuts):
    program, noise = programme(3)
    states, rows = units(6)
    some = np.arange(0, cuts, 3, dtype=np.int32)
    part, whole = Tried(program, noise, cuts_for(3, cuts)[some]), Tried(program, noise, cuts_for(3, cuts))
    whole.solver.native.activate(some)
    assert whole.steps(states, rows)[0] == part.steps(states, rows)[0]


def test_cuts_that_decide_are_marked():
    program, noise = programme(3)
    states, rows = units(10)
    tried = Tried(program, noise, cuts_for(3, 100))
    outgoing = tried.solver.step(states, rows, iteration=5).outgoing
    heights = tried.cuts[:, 0] + outgoing @ tried.cuts[:, 1:].T
    marked = np.flatnonzero(tried.solver.native.last_tight())
    assert len(marked)
    assert set(tried.solver.native.last_tight()[marked]) == {5}
    for row in heights:  # one of the highest is marked, and what is marked is highest somewhere
        assert row[marked].max() == pytest.approx(row.max())
    for cut in marked:
        assert np.any(heights[:, cut] >= heights.max(axis=1) - 1e-6)


@pytest.mark.parametrize("tolerance", [0.0, 1e-6, 0.25])
def test_solves_are_counted_for_cuts_whose_dual_is_above_the_tolerance(tolerance):
    """Duals are those of highspy with all cuts as rows; steps forward do not count."""
    program, noise = programme(3)
    states, rows = units(10)
    tried = Tried(program, noise, cuts_for(3, 100), 2)
    tried.solver.native.set_activity_tolerance(tolerance)
    tried.solver.trial(states, iteration=5)
    duals = [cut_duals(program, noise, row, state, tried.cuts) for state in states for row in range(COUNT)]
    expected = np.sum(np.array(duals) > max(tolerance, 1e-9), axis=0)
    assert 5 < np.count_nonzero(expected) < 100
    assert tried.solver.native.take_uses().tolist() == expected.tolist()
    assert np.flatnonzero(tried.solver.native.last_tight()).tolist() == np.flatnonzero(expected).tolist()
    tried.solver.step(states, rows, iteration=6)
    tried.solver.trial(states)
    assert not tried.solver.native.take_uses().any()


def test_units_are_timed_where_asked_for():
    tried = Tried(*programme(), cuts_for(0, 3))
    states, rows = units(6)
    steps, trials = StageSolver.step(tried.solver, states, rows), NextStages([tried.solver])
    none = np.full(6, -1, np.int32)
    seconds = np.full(20, np.nan)
    solve(tried.threads, [steps, trials.trial(states, none, none, none)], seconds=seconds)
    assert np.all(seconds[:12] > 0)  # a task has one block of its few openings
    assert np.all(np.isnan(seconds[12:]))
    with pytest.raises(ValueError, match="a place for each unit"):
        solve(tried.threads, [steps], seconds=seconds[:5].copy())


def test_a_batch_of_nothing():
    tried = Tried(*programme(), cuts_for(0, 3))
    empty = np.empty(0, np.int32)
    assert tried.solver.step(np.empty((0, STATES)), empty).costs.shape == (0,)
    assert tried.solver.trial(np.empty((0, STATES)))[0].shape == (0, COUNT)


def test_the_first_unit_that_fails_is_named_on_any_threads():
    program, noise = programme()
    states, rows = units()
    table = Tried(program, noise, cuts_for(0, 3)).solver.table.copy()
    upper = [w for w, place in enumerate(noise.places) if place[0] == "column_upper"]
    table[2, upper] = -1.0
    for threads in THREADS:
        tried = Tried(program, noise, cuts_for(0, 3), threads)
        with pytest.raises(SolveFailure) as caught:
            tried.solver.step(states, rows, table=np.ascontiguousarray(table))
        assert caught.value.task == int(np.argmax(rows == 2))
        assert caught.value.row == 2
        assert caught.value.status == "infeasible"


def test_evaluating_cuts_does_not_depend_on_how_many_there_are():
    """States beyond the vector registers, any place, any company."""
    rng = np.random.default_rng(0)
    cuts, states = rng.normal(size=(37, 20)), rng.normal(size=(11, 19))
    whole = cut_heights(cuts, states)
    np.testing.assert_allclose(whole, states @ cuts[:, 1:].T + cuts[:, 0])
    for i in range(37):
        assert cut_heights(cuts[[i]], states).tobytes() == whole[:, i].tobytes()


# Programmes that HiGHS does not solve at first.

#: Seeds of `hard` for which the usual way fails in one realisation at least.
HARD = (12, 36, 45, 57, 102, 204, 225, 305, 346, 347, 380)
HARD_CUTS = np.array([[5.0 * k, -1.0 * k] for k in range(1, 40)])  # on the first column


def solve_hard(seed, order, threads=1):
    """Objectives and ends of the realisations, in their order, and how many attempts more it took."""
    solver = SolvedStage(ThreadPool(threads), *hard(seed), States(1, {}, {0: 0}), dual_simplex=False)
    solver.native.add_block(solver.arranged(HARD_CUTS))
    solver.native.extend_cuts(np.zeros(len(HARD_CUTS), np.int32))
    slots, rows = np.zeros((len(order), solver.native.slot_size), np.int32), np.array(order, np.int32)
    found = solver.step(np.zeros((len(rows), 1)), rows, saves=rows, ends=slots)
    back = np.argsort(rows)
    ends = [solver.native.start_in(slot).tobytes() for slot in slots]
    return found.objectives[back], found.outgoing[back], ends, solver.native.take_statistics().retries


@pytest.mark.parametrize("seed", HARD)
def test_what_takes_another_attempt_is_counted_and_has_the_same_bits(seed):
    """What the other attempts leave behind, scaling and presolve, must not reach the units that follow."""
    found = []
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        for threads in (1, 2):
            objectives, outgoing, ends, retries = solve_hard(seed, order, threads)
            found.append((objectives.tobytes(), outgoing.tobytes(), ends, retries))
    assert found[0][-1] > 0
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("seed", [12, 57])
def test_what_takes_another_attempt_is_right(seed):
    """Of these two, highspy's solution is optimal, too, and does not depend on how it is found."""
    program, noise = hard(seed)
    objectives, _, _, retries = solve_hard(seed, [0, 1, 2, 3])
    assert retries > 0
    cuts = np.zeros((len(HARD_CUTS), program.columns + 1))
    cuts[:, 0], cuts[:, -1] = -HARD_CUTS[:, 1], 1
    for row, objective in enumerate(objectives):
        own = realized(program, noise.places, noise.table[row])
        whole = LinearProgram(
            [*own.costs, 1.0],
            np.vstack([np.hstack([own.matrix.dense(), np.zeros((own.rows, 1))]), cuts]),
            [*own.row_lower, *HARD_CUTS[:, 0]],
            [*own.row_upper, *np.full(len(cuts), np.inf)],
        )
        assert objective == pytest.approx(solution_of(whole), rel=1e-8)
