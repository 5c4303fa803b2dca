"""The whole of a finite problem as one linear programme over its scenario tree: slow, simple, independent.

It shares nothing with the engine but the data it reads, so agreement between the two means something.
Rewards are negated, so that all is minimised. AVaR is written into the programme by the form of Rockafellar
and Uryasev (2000, eq. 9), nested: the risk of a node applies to what follows it, including what the risk
of later nodes has made of that.
"""

from collections.abc import Mapping, Sequence

import highspy
import numpy as np

from cobre.sddp import MultistageProblem

#: Node or "root" → (weight, level) pairs: the sum of weight x AVaR of that level, where AVaR is the mean of
#: the worst ``level`` share of the outcomes. Level 1 is the expectation, level 0 the worst case. A node that
#: is not named takes the expectation.
Risk = Mapping[str, Sequence[tuple[float, float]]]

ROOT = "root"
INF = highspy.kHighsInf


def optimal_value(problem: MultistageProblem, risk: Risk | None = None) -> float:
    """Return the optimal value of a problem without cycles."""
    return value_after(problem, ROOT, problem.initial_state, risk)


def value_after(
    problem: MultistageProblem,
    name: str,
    state: Mapping[str, float],
    risk: Risk | None = None,
    floor: float = -INF,
) -> float:
    """Return the true value of what follows a node, or "root", when it leaves ``state`` behind.

    The node's own discount is not applied: the node itself would count it as ``discount`` times this number.
    The discounts of the nodes that follow are. What a cut of the node must never pass is this function.
    With a ``floor``, what follows later nodes is taken for no less than this number, as a cost.
    """
    if problem.has_cycle:
        raise ValueError("the scenario tree of a problem with a cycle has no end")
    tree = _Tree(problem, risk or {}, floor)
    columns = {key: tree.column(0.0, float(value), float(value)) for key, value in state.items()}
    for column, weight in tree.unfloored(name, columns).items():
        tree.costs[column] += weight
    return tree.sign * tree.solve()


class _Tree:
    """Columns and rows, to which the branches are added one after the other."""

    def __init__(self, problem: MultistageProblem, risk: Risk, floor: float) -> None:
        self.problem, self.risk, self.floor = problem, risk, floor
        self.sign = 1.0 if problem.sense == "min" else -1.0
        self.costs: list[float] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.rows: list[tuple[float, float, dict[int, float]]] = []

    def column(self, cost: float, lower: float, upper: float) -> int:
        self.costs.append(cost)
        self.lower.append(lower)
        self.upper.append(upper)
        return len(self.costs) - 1

    def after(self, name: str, state: Mapping[str, int]) -> dict[int, float]:
        """Add all that follows a node; return its value as column → weight."""
        value = self.unfloored(name, state)
        if not value or self.floor == -INF:
            return value
        floored = self.column(0.0, self.floor, INF)
        self.rows.append((0.0, INF, {floored: 1.0, **{column: -weight for column, weight in value.items()}}))
        return {floored: 1.0}

    def unfloored(self, name: str, state: Mapping[str, int]) -> dict[int, float]:
        """Add all that follows a node, whose own value has no floor."""
        outcomes: list[tuple[float, int]] = []
        ways = self.problem.beginning if name == ROOT else self.problem.transitions.get(name, {})
        for child, probability in ways.items():
            node = self.problem.nodes[self.problem.index[child]]
            for k, chance in enumerate(node.noise.probabilities):
                if probability * chance > 0:
                    outcomes.append((probability * chance, self.realisation(child, k, state)))
        end = 1 - sum(probability for probability, _ in outcomes)
        if outcomes and end > 1e-9:
            outcomes.append((end, self.column(0.0, 0.0, 0.0)))
        value: dict[int, float] = {}
        for weight, level in self.risk.get(name, [(1.0, 1.0)]):
            for column, factor in self.avar(outcomes, level).items():
                value[column] = value.get(column, 0.0) + weight * factor
        return value

    def avar(self, outcomes: Sequence[tuple[float, int]], level: float) -> dict[int, float]:
        """AVaR of outcomes, given as probability and column, which an outer minimisation makes exact."""
        if level == 1 or not outcomes:
            return {column: probability for probability, column in outcomes}
        threshold = self.column(0.0, -INF, INF)
        if level == 0:
            for _, column in outcomes:
                self.rows.append((0.0, INF, {threshold: 1.0, column: -1.0}))
            return {threshold: 1.0}
        value = {threshold: 1.0}
        for probability, column in outcomes:
            excess = self.column(0.0, 0.0, INF)
            self.rows.append((0.0, INF, {excess: 1.0, threshold: 1.0, column: -1.0}))
            value[excess] = probability / level
        return value

    def realisation(self, name: str, k: int, state: Mapping[str, int]) -> int:
        """Add a node in its realisation k and all that follows; return the column of their joint value."""
        node = self.problem.nodes[self.problem.index[name]]
        program = node.program
        costs, matrix = program.costs.copy(), program.matrix.dense()
        row_lower, row_upper = program.row_lower.copy(), program.row_upper.copy()
        lower, upper = program.column_lower.copy(), program.column_upper.copy()
        places = {
            "rhs": (row_lower, row_upper),
            "row_lower": (row_lower,),
            "row_upper": (row_upper,),
            "fix": (lower, upper),
            "column_lower": (lower,),
            "column_upper": (upper,),
            "cost": (costs,),
            "coefficient": (matrix,),
        }
        for (target, place), number in zip(node.noise.places, node.noise.table[k], strict=True):
            for array in places[target]:
                array[place] = number
        for column in node.incoming.values():
            lower[column], upper[column] = -INF, INF
        first = len(self.costs)
        for low, high in zip(lower, upper, strict=True):
            self.column(0.0, float(low), float(high))
        for low, high, row in zip(row_lower, row_upper, matrix, strict=True):
            self.rows.append(
                (float(low), float(high), {first + j: float(row[j]) for j in np.flatnonzero(row)})
            )
        for key, column in node.incoming.items():
            self.rows.append((0.0, 0.0, {first + column: 1.0, state[key]: -1.0}))
        leaving = {key: first + column for key, column in node.outgoing.items()}
        total = self.column(0.0, -INF, INF)
        terms = {first + j: -self.sign * float(costs[j]) for j in np.flatnonzero(costs)}
        for column, weight in self.after(name, leaving).items():
            terms[column] = terms.get(column, 0.0) - node.discount * weight
        offset = self.sign * program.offset
        self.rows.append((offset, offset, {total: 1.0, **terms}))
        return total

    def solve(self) -> float:
        if not self.costs:  # nothing follows
            return 0.0
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(self.costs), len(self.rows)
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = (
            np.array(each, np.float64) for each in (self.costs, self.lower, self.upper)
        )
        lp.row_lower_ = np.array([low for low, _, _ in self.rows], np.float64)
        lp.row_upper_ = np.array([high for _, high, _ in self.rows], np.float64)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.cumsum([0, *(len(row) for _, _, row in self.rows)]).astype(np.int32)
        lp.a_matrix_.index_ = np.array([j for _, _, row in self.rows for j in row], np.int32)
        lp.a_matrix_.value_ = np.array([v for _, _, row in self.rows for v in row.values()], np.float64)
        highs = highspy.Highs()
        highs.silent()
        for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            highs.setOptionValue(option, 1e-10)
        highs.setOptionValue("small_matrix_value", 1e-12)
        highs.passModel(lp)
        highs.run()
        status = highs.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise AssertionError(f"the scenario tree ended with {status}")
        return float(highs.getInfo().objective_function_value)
