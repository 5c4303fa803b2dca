"""Stages written as equations.

A `StageModel` is HiGHS's own modelling layer with three additions: states, random numbers, and `node`, which
turns it into arrays. Variables and constraints are those of ``highspy``, so sums, products with numbers
and comparisons work as there. A reservoir that is filled by a random inflow and drained to meet a demand,
else a thermal plant meets it at a cost that rises with the stage:

>>> from cobre.sddp import MultistageProblem
>>> def reservoir(model: StageModel, t: int) -> None:
...     volume = model.state("volume", upper=200)
...     thermal = model.variable("thermal", cost=50 * t)
...     hydro, spill = model.variable("hydro"), model.variable("spill")
...     inflow = model.parameter("inflow", [0, 50, 100])
...     model.constraint(volume.outgoing == volume.incoming + inflow - hydro - spill)
...     model.constraint(thermal + hydro == 150)
>>> problem = MultistageProblem.linear(stages(3, reservoir), {"volume": 200}, value_bound=0)
>>> problem.check()
>>> problem.nodes[2].program.column_names
('volume_in', 'volume_out', 'thermal', 'hydro', 'spill', 'inflow')
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, NamedTuple, ParamSpec

import numpy as np
from highspy import Highs, HighsVarType, MatrixFormat
from highspy.highs import highs_cons, highs_linear_expression, highs_var
from numpy.typing import ArrayLike

from cobre.lp import LinearProgram, Noise, Place, SparseMatrix, place_name
from cobre.sddp.problem import Node

_Args = ParamSpec("_Args")


class State(NamedTuple):
    """A state variable of a stage: its incoming and its outgoing value."""

    incoming: highs_var
    outgoing: highs_var


class StageModel:
    """One stage under construction.

    Attributes:
        name: of the node.
        highs: the model itself, for all that `highspy` can do besides. It is never solved.
        probabilities: of the realisations; equal unless set.
        discount: what a cost of the stages that follow counts for here.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.highs = Highs()  # type: ignore[no-untyped-call]
        self.highs.silent()
        self.probabilities: ArrayLike | None = None
        self.discount = 1.0
        self._incoming: dict[str, int] = {}
        self._outgoing: dict[str, int] = {}
        self._costs: dict[int, float] = {}
        self._offset = 0.0
        self._random: dict[Place, ArrayLike] = {}

    def state(self, name: str, lower: float = 0.0, upper: float = np.inf) -> State:
        """Add a state. The bounds hold for what leaves; what arrives is taken as it comes."""
        state = State(self.variable(f"{name}_in", -np.inf), self.variable(f"{name}_out", lower, upper))
        self._incoming[name], self._outgoing[name] = int(state.incoming), int(state.outgoing)
        return state

    def variable(self, name: str, lower: float = 0.0, upper: float = np.inf, cost: float = 0.0) -> highs_var:
        """Add a decision."""
        variable: highs_var = self.highs.addVariable(float(lower), float(upper), float(cost), name=name)
        return variable

    def parameter(self, name: str, values: ArrayLike) -> highs_var:
        """Add a random number, which is known when the stage decides: its value in each realisation.

        It stands in constraints wherever a variable can, and is a column that the realisation fixes.
        """
        parameter = self.variable(name, -np.inf)
        self.random(parameter, fix=values)
        return parameter

    def constraint(self, expression: highs_linear_expression, name: str | None = None) -> highs_cons:
        """Add a constraint: two expressions compared by ``==``, ``<=`` or ``>=``."""
        return self.highs.addConstr(expression, name)

    def cost(self, expression: highs_linear_expression | highs_var | float) -> None:
        """Add to the cost of the stage, or to its reward if the problem maximises."""
        terms = highs_linear_expression(expression)
        for column, value in zip(terms.idxs, terms.vals, strict=True):
            self._costs[column] = self._costs.get(column, 0.0) + value
        self._offset += terms.constant or 0.0

    def random(  # noqa: PLR0913  one for each kind of number
        self,
        what: highs_var | highs_cons | tuple[highs_cons, highs_var],
        *,
        rhs: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        fix: ArrayLike | None = None,
        cost: ArrayLike | None = None,
        coefficient: ArrayLike | None = None,
    ) -> None:
        """Replace a number by one per realisation. All that is random in a stage is random together.

        Args:
            what: a variable, a constraint, or for a coefficient a pair of both.
            rhs: both bounds of a constraint. Write its variables on the left and the number on the right:
                of ``a == b - c`` ``highspy`` chooses the side on which the variables meet, and so the sign of
                what remains. A `parameter` says it without such care.
            lower: the lower bound of a constraint or variable; for a constraint see ``rhs``.
            upper: the upper bound of a constraint or variable; likewise.
            fix: both bounds of a variable.
            cost: of a variable, instead of what `variable` and `cost` said.
            coefficient: of a variable in a constraint.

        Raises:
            TypeError: what is given has no such number.
        """
        kinds: dict[str, str] = {"coefficient": "coefficient"}
        place: int | tuple[int, int]
        if isinstance(what, highs_cons):
            kinds, place = {"rhs": "rhs", "lower": "row_lower", "upper": "row_upper"}, int(what)
        elif isinstance(what, highs_var):
            sides = {"lower": "column_lower", "upper": "column_upper"}
            kinds, place = {"fix": "fix", "cost": "cost", **sides}, int(what)
        else:
            place = (int(what[0]), int(what[1]))
        given = {"rhs": rhs, "lower": lower, "upper": upper, "fix": fix, "cost": cost}
        for name, values in {**given, "coefficient": coefficient}.items():
            if values is None:
                continue
            if name not in kinds:
                raise TypeError(f"{what} has no {name}, only {', '.join(kinds)}")
            self._random[kinds[name], place] = values

    def node(self) -> Node:
        """Return the stage as arrays.

        Raises:
            ValueError: a variable is integer, or random numbers differ in how many realisations they have.
        """
        lp = self.highs.getLp()
        if any(kind != HighsVarType.kContinuous for kind in lp.integrality_):
            raise ValueError(f"stage {self.name!r} has integer variables; a stage is a linear programme")
        costs = np.array(lp.col_cost_, np.float64)
        for column, value in self._costs.items():
            costs[column] += value
        across, inner = np.diff(lp.a_matrix_.start_), np.array(lp.a_matrix_.index_)
        outer = np.repeat(np.arange(len(across)), across)
        by_columns = lp.a_matrix_.format_ == MatrixFormat.kColwise
        rows, columns = (inner, outer) if by_columns else (outer, inner)
        shape = (lp.num_row_, lp.num_col_)
        program = LinearProgram(
            costs,
            SparseMatrix.from_entries(shape, rows, columns, lp.a_matrix_.value_),
            lp.row_lower_,
            lp.row_upper_,
            lp.col_lower_,
            lp.col_upper_,
            lp.offset_ + self._offset,
            [name or f"x{j}" for j, name in enumerate(lp.col_names_)],
            [name or f"r{i}" for i, name in enumerate(lp.row_names_)],
        )
        self._require_equal_counts(program)
        targets: dict[str, dict[object, ArrayLike]] = {}
        for (target, place), values in self._random.items():
            targets.setdefault(target, {})[place] = values
        noise = Noise(self.probabilities, **targets)  # type: ignore[arg-type]  # places by kind
        return Node(self.name, program, dict(self._incoming), dict(self._outgoing), noise, self.discount)

    def _require_equal_counts(self, program: LinearProgram) -> None:
        """Name what differs as the modeller knows it; `Noise` knows only numbers."""
        counts = {
            place_name(program, place, target): np.size(values)
            for (target, place), values in self._random.items()
        }
        if self.probabilities is not None:
            counts["the probabilities"] = np.size(self.probabilities)
        if len(set(counts.values())) > 1:
            words = ", ".join(f"{name} has {count}" for name, count in counts.items())
            raise ValueError(f"stage {self.name!r}: the numbers of realisations differ: {words}")


def stage(
    name: str,
    build: Callable[Concatenate[StageModel, _Args], None],
    *args: _Args.args,
    **kwargs: _Args.kwargs,
) -> Node:
    """Return the node that ``build`` writes, called with a fresh `StageModel` and the further arguments."""
    model = StageModel(name)
    build(model, *args, **kwargs)
    return model.node()


def stages(count: int, build: Callable[[StageModel, int], None]) -> list[Node]:
    """Return ``count`` nodes, called ``"1"``, ``"2"`` and so on; ``build`` gets a model and that number."""
    return [stage(str(number), build, number) for number in range(1, count + 1)]
