"""Other ways to train the same problem, each telling its bound after each iteration.

All take a `MultistageProblem` that is a chain with right-hand sides as its only noise, and give one `Point`
per iteration. Building the models is not timed.

- `cobre`: the engine of this project;
- `msppy`: the SDDP package for Python by Ding, Ahmed and Shapiro (2019), on Gurobi;
- `loop`: no package, but what one would write by hand: one `highspy` model per stage, all cuts in it as rows,
  each solve from the basis of the one before.
"""

from __future__ import annotations

import importlib.util
import os
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pipe, Process, set_start_method
from typing import Any, NamedTuple

import numpy as np

from cobre.sddp import IterationFinished, MultistageProblem, Node, train
from cobre.sddp._progress import Progress
from cobre.sddp.stopping import StoppingRule


class Point(NamedTuple):
    """How far training was after an iteration: seconds and processor time since it began, and the bound."""

    seconds: float
    cpu_s: float
    bound: float


Trace = list[Point]
Done = Callable[[Point], bool]

HOW_TO_GET_MSPPY = (
    "msppy is not installed: pip install gurobipy scipy pandas scikit-learn matplotlib, and put a checkout "
    "of https://github.com/lingquant/msppy on PYTHONPATH; the free licence of that wheel is enough"
)


def why_not(name: str) -> str | None:
    """Return why a contestant cannot run here, None if it can."""
    if name != "msppy":
        return None
    if importlib.util.find_spec("msppy") is None:
        return HOW_TO_GET_MSPPY
    return None if importlib.util.find_spec("gurobipy") else "msppy needs gurobipy: pip install gurobipy"


def traced(name: str, problem: MultistageProblem, until: float, limit_s: float, **settings: Any) -> Trace:
    """Train by the contestant of that name, in a process of its own, to the bound or the end of the time."""
    set_start_method("spawn", force=True)
    receiver, sender = Pipe(duplex=False)
    process = Process(target=_send, args=(sender, name, problem, partial(_reached, until, limit_s), settings))
    process.start()
    sender.close()
    try:
        trace = receiver.recv()
    except EOFError:
        raise RuntimeError(f"{name} failed; its own traceback is above") from None
    finally:
        process.join()
    return trace


def _send(sender: Any, name: str, problem: MultistageProblem, done: Done, settings: Any) -> None:
    sender.send(CONTESTANTS[name](problem, done, **settings))


def _reached(until: float, limit_s: float, point: Point) -> bool:
    return point.bound >= until or point.seconds >= limit_s


class _Clock:
    """Seconds from now on, of the wall and of the processors, children that have ended included."""

    def __init__(self) -> None:
        self._begun, self._used = time.perf_counter(), self._cpu_s()

    def point(self, bound: float) -> Point:
        return Point(time.perf_counter() - self._begun, self._cpu_s() - self._used, bound)

    @staticmethod
    def _cpu_s() -> float:
        usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(part.ru_utime + part.ru_stime for part in usage)


# Ours


@dataclass(frozen=True)
class _When(StoppingRule):
    """Stop when a function of the seconds and the bound says so."""

    done: Done

    def reached(self, progress: Progress) -> str | None:
        return "done" if self.done(Point(progress.seconds, np.nan, progress.bounds[-1])) else None


def cobre(problem: MultistageProblem, done: Done, **settings: Any) -> Trace:
    """``settings`` are those of `train`. The processor time of workers is not known."""
    clock = _Clock()
    trace: Trace = []

    def note(event: object) -> None:
        if isinstance(event, IterationFinished):
            used = np.nan if "num_workers" in settings else clock.point(event.bound).cpu_s
            trace.append(Point(event.seconds, used, event.bound))

    train(problem, _When(done), listeners=[note], **settings)
    return trace


# msppy


def msppy(problem: MultistageProblem, done: Done, *, processes: int = 1, steps: int = 1) -> Trace:
    """``processes`` share ``steps`` trajectories per iteration; one process makes one, whatever is asked."""
    from msppy.msp import MSLP  # noqa: PLC0415  only where it is installed
    from msppy.solver import SDDP  # noqa: PLC0415

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # where Gurobi tells of its licence, once per model
    set_start_method("fork", force=True)  # its processes inherit the models, which cannot be sent
    # One thread, as everybody here has; Gurobi's defaults took the same time on these problems.
    model = MSLP(T=len(problem.nodes), bound=problem.value_bound, sense=1, Threads=1, Method=1)
    for stage, node in enumerate(problem.nodes):
        _write_stage(model[stage], node, problem.initial_state if stage == 0 else None)
    solver = SDDP(model)
    trace: Trace = []
    clock = _Clock()
    while not trace or not done(trace[-1]):
        solver.solve(
            n_processes=processes,
            n_steps=steps,
            max_iterations=solver.iteration + 1,
            logFile=0,
            logToConsole=0,
        )
        trace.append(clock.point(solver.db[-1]))
    return trace


def _write_stage(model: Any, node: Node, initial: Any) -> None:
    import gurobipy  # noqa: PLC0415

    program = node.program
    column: dict[int, Any] = {}
    for state, out in node.outgoing.items():
        now, past = model.addStateVar(
            lb=program.column_lower[out], ub=program.column_upper[out], obj=program.costs[out], name=state
        )
        column[out], column[node.incoming[state]] = now, past
        if initial is not None:
            past.LB = past.UB = initial[state]
    for j in range(program.columns):
        if j not in column:
            bounds = program.column_lower[j], program.column_upper[j]
            column[j] = model.addVar(lb=bounds[0], ub=bounds[1], obj=program.costs[j])
    left: list[Any] = [gurobipy.LinExpr() for _ in range(program.rows)]
    for i, j, value in zip(program.matrix.rows, program.matrix.columns, program.matrix.values, strict=True):
        left[i].addTerms(float(value), column[int(j)])
    noisy = [place for _, place in node.noise.places]
    table = node.noise.table
    if len(table) == 1:
        model.addConstrs(left[i] == table[0, w] for w, i in enumerate(noisy))
    else:
        model.addConstrs((left[i] == 0 for i in noisy), uncertainty=table.tolist())
    # Never addConstr: msppy calls Gurobi's in a way that newer versions refuse.
    others = sorted(set(range(program.rows)) - set(noisy))
    model.addConstrs(left[i] == program.row_lower[i] for i in others if program.row_upper[i] < np.inf)
    model.addConstrs(left[i] >= program.row_lower[i] for i in others if program.row_upper[i] == np.inf)


# By hand


class _Stage:
    """A stage as a `highspy` model, with a column for the value of what follows."""

    def __init__(self, node: Node, value_bound: float, last: bool) -> None:
        import highspy  # noqa: PLC0415

        program = node.program
        self.node, self.table = node, node.noise.table
        self.highs = highspy.Highs()
        for option, value in (
            ("output_flag", False),
            ("presolve", "off"),
            ("threads", 1),
            ("solver", "simplex"),
        ):
            self.highs.setOptionValue(option, value)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = program.columns + 1, program.rows
        lp.col_cost_ = np.append(program.costs, 0.0 if last else 1.0)
        lp.col_lower_ = np.append(program.column_lower, value_bound)
        lp.col_upper_ = np.append(program.column_upper, np.inf)
        lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = np.append(program.matrix.starts, program.matrix.starts[-1])
        lp.a_matrix_.index_, lp.a_matrix_.value_ = program.matrix.rows, program.matrix.values
        self.highs.passModel(lp)
        self.incoming = np.array(list(node.incoming.values()), np.int32)
        self.outgoing = np.array(list(node.outgoing.values()), np.int32)
        self.noisy = np.array([place for _, place in node.noise.places], np.int32)
        self.cut_columns = np.append(self.outgoing, program.columns).astype(np.int32)

    def solve(self, state: np.ndarray, row: int) -> None:
        self.highs.changeColsBounds(len(self.incoming), self.incoming, state, state)
        self.highs.changeRowsBounds(len(self.noisy), self.noisy, self.table[row], self.table[row])
        self.highs.run()

    def values(self) -> np.ndarray:
        return np.array(self.highs.getSolution().col_value)

    def objective(self) -> float:
        return self.highs.getObjectiveValue()

    def slopes(self) -> np.ndarray:
        return np.array(self.highs.getSolution().col_dual)[self.incoming]

    def add_cut(self, intercept: float, slopes: np.ndarray) -> None:
        numbers = np.append(-slopes, 1.0)
        self.highs.addRow(intercept, np.inf, len(numbers), self.cut_columns, numbers)


def loop(problem: MultistageProblem, done: Done, *, trajectories: int = 1, seed: int = 0) -> Trace:
    last = len(problem.nodes) - 1
    stages = [_Stage(node, problem.value_bound or 0.0, t == last) for t, node in enumerate(problem.nodes)]
    initial = np.array([problem.initial_state[state] for state in problem.states])
    random = np.random.default_rng(seed)
    trace: Trace = []
    clock = _Clock()
    while not trace or not done(trace[-1]):
        for _ in range(trajectories):
            _go_back(stages, list(_go_forward(stages, initial, random)))
        stages[0].solve(initial, 0)
        trace.append(clock.point(stages[0].objective()))
    return trace


def _go_forward(stages: list[_Stage], state: np.ndarray, random: np.random.Generator) -> Iterator[np.ndarray]:
    for stage in stages[:-1]:
        stage.solve(state, int(random.integers(len(stage.table))))
        state = stage.values()[stage.outgoing]
        yield state


def _go_back(stages: list[_Stage], visited: list[np.ndarray]) -> None:
    for t in reversed(range(1, len(stages))):
        stage, state = stages[t], visited[t - 1]
        value, slope = 0.0, np.zeros(len(state))
        for row, probability in enumerate(stage.node.noise.probabilities):
            stage.solve(state, row)
            value += probability * stage.objective()
            slope += probability * stage.slopes()
        stages[t - 1].add_cut(value - slope @ state, slope)


CONTESTANTS: dict[str, Callable[..., Trace]] = {"cobre": cobre, "msppy": msppy, "loop": loop}
