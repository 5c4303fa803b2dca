"""What is known before a solve leaves the programme, and everything that is asked of it stays what it was."""

import numpy as np
import pytest

from cobre.lp import LinearProgram, Noise
from cobre.lp._solver import SolveFailure, States, ThreadPool
from tests.lp.batches import SolvedStage

RESERVOIRS, ORDER, COUNT = 3, 2, 5
#: By state: volumes, then the inflows of the last stages, newest first.
STATES = RESERVOIRS * (1 + ORDER)


class Rivers:
    """Reservoirs whose inflows are autoregressive: random numbers, in no order of rows and columns.

    Of each kind of known column there is one: an incoming state, one fixed by data, one fixed by a
    realisation, one defined by an equation, and one defined by one of these; some with costs, one with a
    random cost.
    """

    def __init__(self, seed, *, drawn_by="rhs"):
        self.rng = np.random.default_rng(seed)
        self.costs, self.lower, self.upper, self.rows, self.rhs = [], [], [], [], []
        self.slack, self.random = [], {}
        self.incoming, self.outgoing = {}, {}
        demand = {}
        price = self.column("price", 1.0, fix=self.rng.uniform(0.5, 2, COUNT))
        tax = self.column("tax", 0.7, 2.0, 2.0)
        fee = self.column("fee", 0.3)
        self.equation({fee: 2.0, price: -1.0, tax: -3.0}, 0.5)
        self.random["cost"] = {fee: self.rng.uniform(0, 3, COUNT)}
        for r in range(RESERVOIRS):
            self.reservoir(r, demand, drawn_by)
        for cost in (20.0, 70.0):
            demand[self.column("thermal", cost + self.rng.random(), 0.0, 6.0)] = 1.0
        demand[self.column("deficit", 500.0, 0.0)] = 1.0
        levy, rebate = self.column("levy", 0.2, 1.5, 1.5), self.column("rebate", 0.4)
        # An equation of one column, until a realisation gives it another one.
        self.equation({rebate: 1.0}, 0.4, coefficient={levy: self.rng.uniform(1, 2, COUNT)})
        demand |= {tax: -1.5, levy: 1.0}
        self.equation(demand, 18.0, coefficient={levy: self.rng.uniform(-2, 2, COUNT)})

    def column(self, _name, cost=0.0, lower=-np.inf, upper=np.inf, **places):
        self.costs.append(cost)
        self.lower.append(lower)
        self.upper.append(upper)
        for target, values in places.items():
            self.random.setdefault(target, {})[len(self.costs) - 1] = values
        return len(self.costs) - 1

    def equation(self, entries, value, slack=0.0, **places):
        self.rows.append(entries)
        self.rhs.append(value)
        self.slack.append(slack)
        row = len(self.rows) - 1
        for target, values in places.items():
            keyed = {(row, c): v for c, v in values.items()} if target == "coefficient" else {row: values}
            self.random.setdefault(target, {}).update(keyed)
        return row

    def reservoir(self, r, demand, drawn_by):
        uniform = self.rng.uniform
        before, after = self.column("before"), self.column("after", 0.0, 0.0, 10.0)
        released = self.column("released", uniform(0, 1), 0.0, 8.0)  # a cost, so that one solution is best
        spilled = self.column("spilled", uniform(0, 1), 0.0)
        lags = [self.column(f"lag {k}") for k in range(ORDER)]
        inflow, kept = self.column("inflow", cost=uniform(0, 1)), self.column("kept")
        draw = uniform(0, 3, COUNT)
        self.equation({kept: 2.0, lags[0]: -2.0}, 0.0)
        entries = {inflow: 1.0, lags[0]: -0.5, lags[1]: uniform(-0.2, 0.3)}
        if drawn_by == "rhs":
            self.equation(entries, 0.0, rhs=draw)
        else:
            self.equation({**entries, self.column("draw", fix=draw): -1.0}, 0.0)
        self.equation({after: 1.0, before: -1.0, inflow: -0.8, released: 1.0, spilled: 1.0}, 0.0)
        # What is released depends on the last inflow, too: a row that stays, with a bound on one side.
        self.equation({released: 1.0, lags[1]: -0.3, self.column("short", 9.0, 0.0): 1.0}, 1.0, np.inf)
        demand[released] = uniform(0.5, 1.5)
        self.incoming |= {r: before} | {RESERVOIRS + r * ORDER + k: lags[k] for k in range(ORDER)}
        self.outgoing |= {r: after, RESERVOIRS + r * ORDER: inflow, RESERVOIRS + r * ORDER + 1: kept}

    def solver(self, *, reduce, cuts=None, order=None, **settings):
        """The solver, its columns and rows in an order."""
        rng = np.random.default_rng(order)
        places = rng.permutation(len(self.costs)) if order else np.arange(len(self.costs))
        rows = rng.permutation(len(self.rows)) if order else np.arange(len(self.rows))
        self.places, self.row_places = places, rows
        matrix = np.zeros((len(rows), len(places)))
        for i, entries in enumerate(self.rows):
            for column, value in entries.items():
                matrix[rows[i], places[column]] = value

        def moved(values, by):
            result = np.empty(len(values))
            result[by] = values
            return result

        def key(target, place):
            if isinstance(place, tuple):
                return int(rows[place[0]]), int(places[place[1]])
            return int((rows if target.startswith(("rhs", "row")) else places)[place])

        rhs = np.array(self.rhs)
        program = LinearProgram(
            moved(self.costs, places),
            matrix,
            moved(rhs, rows),
            moved(rhs + self.slack, rows),
            moved(self.lower, places),
            moved(self.upper, places),
            0.25,
        )
        noise = Noise(
            None, **{t: {key(t, p): v for p, v in values.items()} for t, values in self.random.items()}
        )
        assert not [*program.findings(), *noise.findings(program)]
        solver = SolvedStage(
            ThreadPool(1),
            program,
            noise,
            States(
                STATES,
                {s: int(places[c]) for s, c in self.incoming.items()},
                {s: int(places[c]) for s, c in self.outgoing.items()},
            ),
            value_bound=-1e4,
            reduce=reduce,
            **settings,
        )
        if cuts is not None:
            families = np.arange(len(cuts), dtype=np.int32) % settings.get("families", 1)
            solver.native.add_block(solver.arranged(cuts))
            solver.native.extend_cuts(families)
        return solver


def cuts_of(seed, count):
    rng = np.random.default_rng([seed, 3])
    slopes = np.column_stack([rng.uniform(-40, 0, (count, RESERVOIRS)), rng.uniform(-9, 9, (count, 6))])
    return np.column_stack([rng.uniform(200, 900, count), slopes])


def states_of(seed, count=6):
    rng = np.random.default_rng([seed, 5])
    return np.column_stack([rng.uniform(0, 10, (count, RESERVOIRS)), rng.uniform(0, 4, (count, 6))])


def everything(solver, states, rows=None, table=None):
    """Whatever can be asked of it."""
    columns, duals = (np.arange(size, dtype=np.int32) for size in solver.whole)
    rows = np.arange(len(states), dtype=np.int32) % COUNT if rows is None else rows
    steps = solver.step(states, rows, table=table, columns=columns, duals=duals)
    return [*steps, *solver.trial(states)]


@pytest.mark.parametrize("drawn_by", ["rhs", "fix"])
@pytest.mark.parametrize("cuts", [0, 40])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_that_is_asked_for_changes(seed, cuts, drawn_by):
    rivers, found = Rivers(seed, drawn_by=drawn_by), []
    for reduce in (True, False):
        solver = rivers.solver(reduce=reduce, cuts=cuts_of(seed, cuts), order=seed)
        solver.whole = len(rivers.costs), len(rivers.rows)
        # Realisations that are not its own, too.
        found.append(everything(solver, states_of(seed)))
        found[-1] += everything(solver, states_of(seed), table=solver.table + 0.01)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_rows_and_states_that_are_known_are_gone():
    rivers = Rivers(1)
    whole, left = (rivers.solver(reduce=reduce).native.solver_size for reduce in (False, True))
    assert whole == (len(rivers.rows), len(rivers.costs) + 1)
    # Of each reservoir a balance and a row remain; and two equations in which a coefficient changes.
    assert left == (2 * RESERVOIRS + 2, 4 * RESERVOIRS + 5 + 1)


def test_multi_cut_and_stored_starts_are_as_before():
    rivers, found = Rivers(4), []
    for reduce in (True, False):
        solver = rivers.solver(reduce=reduce, cuts=cuts_of(4, 60), families=4)
        for weights in ([0.2, 0.3, 0.5], [0.6, 0.4, 0.0]):
            solver.native.add_mixture(np.array(weights))
        solver.native.activate(np.arange(0, 60, 2, dtype=np.int32))
        states, zero = states_of(4), np.zeros(6, np.int32)
        slots = np.zeros((1, solver.native.slot_size), np.int32)
        # Leaves a start, with cuts that are inactive later.
        first = solver.step(states[:1], zero[:1], saves=zero[:1], ends=slots)
        solver.native.activate(np.arange(1, 60, 2, dtype=np.int32))
        found.append([*first, *solver.trial(states, zero, zero, ends=slots)])
        solver.native.set_start(solver.native.start_in(slots[0]))
        found[-1] += solver.step(states, zero + 1)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def simple(lower, reduce, *, enough=1.0):
    """One state, which leaves as half of what it was, plus noise; nothing is left to decide."""
    program = LinearProgram([0.0, 3.0, 1.0], [[-0.5, 1.0, 0.0]], 0.0, 0.0, [-np.inf, lower, enough], np.inf)
    noise = Noise(rhs={0: [-1.0, 2.0]})
    return SolvedStage(ThreadPool(1), program, noise, States(1, {0: 0}, {0: 1}), reduce=reduce)


@pytest.mark.parametrize("reduce", [True, False])
def test_a_known_value_beyond_its_bounds_leaves_no_solution(reduce):
    solver = simple(0.0, reduce)
    with pytest.raises(SolveFailure) as failure:
        solver.trial(np.array([[4.0], [1.0]]))
    assert (failure.value.task, failure.value.row, failure.value.status) == (1, 0, "infeasible")
    # At the bound, and beyond it by less than what counts.
    values, slopes = solver.trial(np.array([[4.0], [2.0 - 1e-9]]))
    np.testing.assert_allclose(values, [[4.0, 13.0], [1.0, 10.0]], atol=1e-7)
    assert slopes[0].tolist() == [[1.5], [1.5]]
    found = solver.step(np.array([[2.0 - 1e-9]]), np.zeros(1, np.int32))
    assert found.outgoing.tolist() == [[0.0]]  # never beyond: the next stage may have no solution there


def test_a_programme_of_which_nothing_is_left_has_a_value():
    program = LinearProgram([2.0, 3.0], [[-0.5, 1.0]], 0.0, 0.0, -np.inf, np.inf, 1.0)
    solver = SolvedStage(
        ThreadPool(1), program, Noise(rhs={0: [-1.0, 2.0]}), States(1, {0: 0}, {0: 1}), discount=0.5
    )
    assert solver.native.solver_size == (0, 1)  # the value of what follows
    values, slopes = solver.trial(np.array([[4.0]]))
    assert (values.tolist(), slopes.tolist()) == ([[12.0, 21.0]], [[[3.5], [3.5]]])
    solver.native.add_block(solver.arranged(np.array([[1.0, 2.0]])))
    solver.native.extend_cuts(np.zeros(1, np.int32))
    values, slopes = solver.trial(np.array([[4.0]]))
    assert (values.tolist(), slopes.tolist()) == ([[13.5, 25.5]], [[[4.0], [4.0]]])
