"""A programme that is hard on determinism, batches of it, and an oracle for its values.

The oracle is highspy with all cuts as rows, built by code that the solver does not use.
"""

from dataclasses import replace

import highspy
import numpy as np
import pytest

from cobre.lp import LinearProgram, Noise, SparseMatrix
from cobre.lp._model import highs_of, realized
from cobre.lp._solver import NextStages, SolveFailure, StageSolver, States, Steps, ThreadPool, solve
from tests.exact import fractions, product, sizes

STATES, CONTROLS, ROWS = 4, 7, 5
COUNT = 6  # realisations
INCOMING = {i: i for i in range(STATES)}
OUTGOING = {i: STATES + i for i in range(STATES)}


def programme(seed=0, *, matrix_noise=True):
    """Balances of states and some rows, with slacks, so that there is a solution for every state."""
    rng = np.random.default_rng(seed)
    columns = 2 * STATES + CONTROLS + 2 * (STATES + ROWS)
    slack, first = 2 * STATES + CONTROLS, 2 * STATES
    matrix = np.zeros((STATES + ROWS, columns))
    for i in range(STATES):
        matrix[i, [i, STATES + i]] = 1, -1
    matrix[:, first:slack] = rng.normal(size=(STATES + ROWS, CONTROLS)) * (
        rng.random((STATES + ROWS, CONTROLS)) < 0.6
    )
    matrix[:, slack::2], matrix[:, slack + 1 :: 2] = np.eye(STATES + ROWS), -np.eye(STATES + ROWS)
    costs, lower, upper = np.zeros(columns), np.zeros(columns), np.full(columns, np.inf)
    costs[first:slack], costs[slack:] = (
        rng.uniform(0.1, 3, CONTROLS),
        rng.uniform(20, 50, 2 * (STATES + ROWS)),
    )
    lower[:STATES], upper[:STATES] = -np.inf, np.inf
    upper[STATES:first], upper[first:slack] = 10, rng.uniform(1, 6, CONTROLS)
    rhs = rng.normal(size=STATES + ROWS) * 3
    # Entries that vanish, and come back in a column that has others.
    entries = {
        (i, column): np.where(rng.random(COUNT) < 0.4, 0, rng.normal(size=COUNT))
        for i in (0, 1, 2, 3, 5, 7)
        for column in (first, first + 1, first + 2)
    }
    noise = Noise(
        rng.dirichlet(np.ones(COUNT)),
        rhs={i: rhs[i] + rng.normal(size=COUNT) for i in range(STATES + 1)},
        row_upper={STATES + 1: rhs[STATES + 1] + rng.random(COUNT)},
        column_upper={first + 2: rng.uniform(0, 5, COUNT)},
        cost={first + 3: rng.uniform(0, 4, COUNT)},
        coefficient=entries if matrix_noise else None,
    )
    program = LinearProgram(
        costs, matrix, rhs, rhs + np.where(np.arange(STATES + ROWS) < STATES, 0, 1), lower, upper, 0.3
    )
    return program, noise


def cuts_for(seed, count, scale=1.0):
    """Cuts that touch a bowl, so that many of them matter somewhere."""
    rng = np.random.default_rng([seed, 7])
    points = rng.uniform(0, 10, (count, STATES))
    slopes = 3 * (points - 6)
    return (
        np.column_stack([1.5 * np.sum((points - 6) ** 2, axis=1) - np.sum(slopes * points, axis=1), slopes])
        * scale
    )


class SolvedStage(StageSolver):
    """A stage whose batches are solved at once."""

    def __init__(self, threads, *args, **settings):
        super().__init__(threads, *args, **settings)
        self._threads = threads

    def step(self, *args, **options):
        batch = super().step(*args, **options)
        solve(self._threads, [batch])
        return Steps.of(batch, np.arange(len(batch.costs)))

    def trial(self, states, firsts=None, starts=None, **options):
        none = np.full(len(states), -1, np.int32)
        firsts, starts = (none if given is None else given for given in (firsts, starts))
        batch = NextStages([self]).trial(states, np.zeros(len(states), np.int32), firsts, starts, **options)
        solve(self._threads, [batch])
        return batch.values, batch.slopes


class Tried:
    """A solver with cuts, and what batches of units give."""

    def __init__(self, program, noise, cuts, threads=1, *, own=None, mixtures=(), **settings):
        self.threads, self.places = ThreadPool(threads), noise.places
        self.solver = SolvedStage(
            self.threads,
            program,
            noise,
            States(STATES, INCOMING, OUTGOING),
            **{"value_bound": -1e3, **settings},
        )
        self.cuts = np.ascontiguousarray(cuts)
        self.solver.native.add_block(self.solver.arranged(self.cuts))
        self.solver.native.extend_cuts(np.zeros(len(cuts), np.int32) if own is None else own)
        for mixture in mixtures:
            self.solver.native.add_mixture(mixture)

    def steps(self, states, rows, order=None):
        """What each unit gives, in the order of units, whatever the order in which they are solved."""
        order = np.arange(len(states)) if order is None else order
        everything = np.arange(len(self.solver.table), dtype=np.int32)
        assert len(everything) == COUNT
        columns, duals = (
            np.arange(2 * STATES + CONTROLS, dtype=np.int32),
            np.arange(STATES + ROWS, dtype=np.int32),
        )
        slots = self.slots(len(states))
        result = self.solver.step(
            np.ascontiguousarray(states[order]),
            rows[order],
            saves=order.astype(np.int32),
            ends=slots,
            columns=columns,
            duals=duals,
        )
        back = np.argsort(order)
        ends = [self.solver.native.start_in(slot).tobytes() for slot in slots]
        return [array[back].tobytes() for array in result], ends, result

    def slots(self, count):
        return np.zeros((count, self.solver.native.slot_size), np.int32)

    def trials(self, states, firsts, order=None):
        order = np.arange(len(states)) if order is None else order
        values, slopes = self.solver.trial(np.ascontiguousarray(states[order]), firsts[order])
        back = np.argsort(order)
        return values[back].tobytes(), slopes[back].tobytes()

    def anchor(self):
        """Let solves begin from the end of one."""
        slots, zero = self.slots(1), np.zeros(1, np.int32)
        self.solver.step(np.full((1, STATES), 5.0), zero, saves=zero, ends=slots)
        self.solver.native.set_start(self.solver.native.start_in(slots[0]))

    def past(self, seed):
        """Solve other things, some of which have no solution, the last one among them."""
        rng = np.random.default_rng([seed, 99])
        states = rng.uniform(0, 10, (9, STATES))
        table = self.solver.table.copy()
        table[::2] *= rng.uniform(-1.5, 2, table[::2].shape)
        upper = [w for w, (target, _) in enumerate(self.places) if target == "column_upper"]
        table[1, upper] = -1.0  # below the column's lower bound
        rows = rng.integers(0, COUNT, 9).astype(np.int32)
        rows[[3, -1]] = 1
        self.solver.trial(states)
        with pytest.raises(SolveFailure) as caught:
            self.solver.step(states, rows, table=np.ascontiguousarray(table))
        assert caught.value.status == "infeasible"


def units(count=24, seed=5):
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 10, (count, STATES)), rng.integers(0, COUNT, count).astype(np.int32)


def with_all_cuts(program, cuts, *, sign=1.0, discount=1.0, families=None, mixtures=(), count=1):
    """The programme with every cut as a row, and the columns of the values that follow."""
    dense = program.matrix.dense()
    rows, columns = dense.shape
    which = np.zeros(len(cuts), int) if families is None else families
    added = np.zeros((len(cuts) + len(mixtures), columns + count))
    for i, cut in enumerate(cuts):
        for state, column in OUTGOING.items():
            added[i, column] = -cut[1 + state]
        added[i, columns + which[i]] = 1
    for i, mixture in enumerate(mixtures):
        added[len(cuts) + i, columns] = 1
        added[len(cuts) + i, columns + 1 :] = -mixture
    whole = np.vstack([np.hstack([dense, np.zeros((rows, count))]), added])
    return LinearProgram(
        np.concatenate([sign * program.costs, [discount], np.zeros(count - 1)]),
        SparseMatrix.of(whole),
        np.concatenate([program.row_lower, cuts[:, 0], np.zeros(len(mixtures))]),
        np.concatenate([program.row_upper, np.full(len(added), np.inf)]),
        np.concatenate([program.column_lower, np.full(count, -1e3)]),
        np.concatenate([program.column_upper, np.full(count, np.inf)]),
        sign * program.offset,
    )


def oracle(program, noise, row, state, cuts, **how):
    """The objective by highspy, for a state and a realisation."""
    return solution_of(at_state(program, noise, row, state, cuts, **how), presolve="off", tolerance=1e-9)


def cut_duals(program, noise, row, state, cuts):
    """The duals of the cuts by highspy, likewise."""
    highs = highs_of(at_state(program, noise, row, state, cuts))
    highs.run()
    return np.array(highs.getSolution().row_dual)[program.rows :]


def at_state(program, noise, row, state, cuts, **how):
    whole = with_all_cuts(realized(program, noise.places, noise.table[row]), cuts, **how)
    lower, upper = whole.column_lower.copy(), whole.column_upper.copy()
    for i, column in INCOMING.items():
        lower[column] = upper[column] = state[i]
    return replace(whole, column_lower=lower, column_upper=upper)


def solution_of(program, *, presolve="choose", tolerance=1e-7):
    """The least cost, by highspy."""
    highs = highs_of(program)
    highs.setOptionValue("presolve", presolve)
    highs.setOptionValue("primal_feasibility_tolerance", tolerance)
    highs.setOptionValue("dual_feasibility_tolerance", tolerance)
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return highs.getObjectiveValue()


def hard(seed, count=4):
    """A programme whose numbers differ by ten powers of ten and more, with two rows that hardly differ."""
    rng = np.random.default_rng(seed)
    rows, columns, spread = rng.integers(8, 24), rng.integers(10, 35), rng.integers(17, 27)
    shape = rows, columns
    matrix = fractions(rng, -2, 2, shape) * sizes(rng, -spread, spread, shape) * (rng.random(shape) < 0.5)
    matrix[0] = matrix[1] * (1 + 1e-9)
    matrix[0, 2] += 1e-5
    solutions = fractions(rng, 0, 1, (count, columns)) * sizes(rng, -10, 10, columns)
    solutions *= rng.random((count, columns)) < 0.7
    rhs = product(solutions, matrix.T)
    costs = fractions(rng, 0, 2, columns) * sizes(rng, -7, 7, columns)
    equal = rng.random(rows) < 0.5
    noise = {"rhs": {}, "row_lower": {}}
    for i in range(rows):
        noise["rhs" if equal[i] else "row_lower"][i] = rhs[:, i]
    return LinearProgram(costs, matrix, rhs[0], np.where(equal, rhs[0], np.inf)), Noise(**noise)
