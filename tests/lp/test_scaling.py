"""Units in which a programme is easy to solve: no bit is lost on the way, odd units solve like sane ones."""

import numpy as np
import pytest

from cobre.lp import LinearProgram, Noise, SparseMatrix
from cobre.lp._scaling import scales_of
from tests.exact import sizes
from tests.lp.batches import COUNT, INCOMING, OUTGOING, STATES, Tried, cuts_for, oracle, programme, units


def powers_of_two(numbers):
    mantissas, _ = np.frexp(numbers)
    return np.all(mantissas == 0.5)


def in_units(program, noise, *, column, row, cost):
    """The same programme with ``x / column`` in place of ``x``, rows times ``row``, costs times ``cost``."""
    matrix = SparseMatrix.of(program.matrix.dense() * row[:, None] * column)
    other = LinearProgram(
        program.costs * column * cost,
        matrix,
        program.row_lower * row,
        program.row_upper * row,
        program.column_lower / column,
        program.column_upper / column,
        program.offset * cost,
    )
    factors = {
        "rhs": lambda i: row[i],
        "row_lower": lambda i: row[i],
        "row_upper": lambda i: row[i],
        "fix": lambda j: 1 / column[j],
        "column_lower": lambda j: 1 / column[j],
        "column_upper": lambda j: 1 / column[j],
        "cost": lambda j: column[j] * cost,
        "coefficient": lambda place: row[place[0]] * column[place[1]],
    }
    table = noise.table * [factors[target](place) for target, place in noise.places]
    return other, Noise.from_table(noise.places, table, noise.probabilities)


def odd_units(kind, program, seed=0):
    rng = np.random.default_rng(seed)
    rows, columns = program.rows, program.columns
    factors = {
        "tiny": (1e-6, 1.0, 1e-6),
        "huge": (1e8, 1.0, 1e8),
        "tiny rows, huge costs": (1.0, 1e-6, 1e8),
        "huge columns, tiny costs": (1e8, 1e-6, 1e-6),
    }
    if kind == "mixed":
        return {
            "column": sizes(rng, -20, 27, columns),
            "row": sizes(rng, -20, 27, rows),
            "cost": 1e-3,
        }
    column, row, cost = factors[kind]
    return {"column": np.full(columns, column), "row": np.full(rows, row), "cost": cost}


KINDS = ("tiny", "huge", "tiny rows, huge costs", "huge columns, tiny costs", "mixed")


@pytest.mark.parametrize("kind", KINDS)
def test_scales_are_powers_of_two_and_bring_numbers_near_one(kind):
    program, noise = programme(1)
    other, changed = in_units(program, noise, **odd_units(kind, program))
    scales = scales_of(other, changed)
    assert powers_of_two(scales.row)
    assert powers_of_two(scales.column)
    assert powers_of_two([scales.cost])
    scaled = np.abs(other.matrix.dense() * scales.row[:, None] * scales.column)
    assert 1e-4 < scaled[scaled > 0].min() <= scaled.max() < 1e4


@pytest.mark.parametrize("kind", KINDS)
def test_odd_units_solve_as_exactly_as_sane_ones(kind):
    """Values, costs, slopes and outgoing states, put back into sane units, against the oracle."""
    program, noise = programme(2)
    how = odd_units(kind, program)
    other, changed = in_units(program, noise, **how)
    states, rows = units(8)
    leave = how["column"][[OUTGOING[i] for i in range(STATES)]]
    arrive = how["column"][[INCOMING[i] for i in range(STATES)]]
    sane = cuts_for(2, 150)
    # A state has one unit: that in which it leaves. Here it arrives in another, so states are given in it.
    cuts = sane * how["cost"] * np.concatenate([[1.0], leave])
    tried = Tried(other, changed, cuts, value_bound=-1e3 * how["cost"])
    odd_states = states / arrive
    values, slopes = tried.solver.trial(odd_states)
    outgoing = tried.solver.step(odd_states, rows).outgoing * leave
    plain = Tried(program, noise, sane)
    _, plain_slopes = plain.solver.trial(states)
    for u, state in enumerate(states):
        expected = [oracle(program, noise, row, state, sane) for row in range(COUNT)]
        np.testing.assert_allclose(values[u] / how["cost"], expected, rtol=1e-8)
    np.testing.assert_allclose(slopes / how["cost"] / arrive, plain_slopes, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(outgoing, plain.steps(states, rows)[2].outgoing, rtol=1e-6, atol=1e-6)


def test_units_that_are_powers_of_two_change_no_bit():
    """Whoever counts in other units of two to the k gets the same bits, shifted."""
    program, noise = programme(3)
    shifts = {
        "column": np.full(program.columns, 2.0**20),
        "row": np.full(program.rows, 2.0**-7),
        "cost": 2.0**9,
    }
    other, changed = in_units(program, noise, **shifts)
    states, rows = units(8)
    sane = cuts_for(3, 100)
    cuts = sane * 2.0**9 * np.array([1.0, *[2.0**20] * STATES])
    one = Tried(program, noise, sane).steps(states, rows)[2]
    two = Tried(other, changed, cuts, value_bound=-1e3 * 2.0**9).steps(states / 2.0**20, rows)[2]
    assert (two.objectives / 2.0**9).tobytes() == one.objectives.tobytes()
    assert (two.outgoing * 2.0**20).tobytes() == one.outgoing.tobytes()


@pytest.mark.parametrize(
    "program",
    [
        LinearProgram([0.0], [[0.0]], row_lower=0),
        LinearProgram([0.0, 0.0], [[1.0, 0.0]], column_upper=np.inf),
        LinearProgram([], np.empty((0, 0))),
    ],
    ids=["zeros", "free", "empty"],
)
def test_programmes_with_nothing_in_them_have_scales(program):
    scales = scales_of(program, Noise())
    assert powers_of_two(scales.row)
    assert powers_of_two(scales.column)
    assert powers_of_two([scales.cost])
