"""Training: iterations until a rule says stop."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from cobre.comm import BackendCommunicator
from cobre.comm.launch import deferred_signals
from cobre.errors import PolicyFileError
from cobre.estimates import Estimate
from cobre.logs import logger
from cobre.lp import DefaultFloatEnvironment, Floats
from cobre.sddp import _forward
from cobre.sddp._backward import BackwardPass
from cobre.sddp._checkpoint import Checkpoint, SavedTraining, TrainingHistory, TrainingSnapshot, load_cuts
from cobre.sddp._engine import Engine, Statistics
from cobre.sddp._exchange import CutSelector, PathExchange, share_bases, share_measurements
from cobre.sddp._guards import Guards
from cobre.sddp._machine import Machine
from cobre.sddp._method import Method, require_valid
from cobre.sddp._pace import Pace
from cobre.sddp._progress import Progress
from cobre.sddp._sharing import share_numbers
from cobre.sddp._structure import Structure
from cobre.sddp._trained import TrainedPolicy
from cobre.sddp._value_bounds import value_bounds
from cobre.sddp.events import (
    CheckpointWritten,
    IterationFinished,
    Listener,
    RankTimes,
    TrainingFinished,
    TrainingStarted,
)
from cobre.sddp.execution import ExecutionOptions, RankContext, execute
from cobre.sddp.policy import Policy
from cobre.sddp.problem import MultistageProblem
from cobre.sddp.risk import Expectation, RiskMeasure
from cobre.sddp.sampling import Draw, InSample, Sampling
from cobre.sddp.selection import Selection
from cobre.sddp.simulation import estimate_costs
from cobre.sddp.stopping import StoppingRule, as_rule

_log = logger(__name__)


def train(  # noqa: PLR0913  all but two have defaults that suit most problems
    problem: MultistageProblem,
    stop: StoppingRule | int | Sequence[StoppingRule] = 100,
    *,
    trajectories: int = 10,
    seed: int = 0,
    risk: RiskMeasure | Mapping[str, RiskMeasure] | None = None,
    cuts: Literal["single", "multi"] = "single",
    selection: Selection | None = None,
    sampling: Sampling | None = None,
    depth: int | None = None,
    merge_nodes: bool = True,
    checkpoint: Checkpoint | str | Path | None = None,
    resume: str | Path | None = None,
    warm_start: TrainedPolicy | Policy | str | Path | None = None,
    listeners: Sequence[Listener] | Listener = (),
    comm: BackendCommunicator | None = None,
    num_workers: int | None = None,
    backend: str = "auto",
    threads: int | None = None,
) -> TrainedPolicy:
    """Train a policy by stochastic dual dynamic programming.

    The result has the same bits whatever the backend, the number of workers and of threads.

    Args:
        problem: what to solve.
        stop: when to stop; a number is an iteration limit, of several rules the first decides.
        trajectories: how many are sampled in each iteration; what workers and threads share out.
        seed: of all draws.
        risk: how what follows a node is measured, for all nodes or by name (``"root"`` for the beginning).
        cuts: one per trial state, or one per trial state and outcome.
        selection: which cuts to keep looking at; all unless given.
        sampling: which way trajectories go; by their probabilities unless given.
        depth: how many nodes a trajectory visits at most; to the end unless given, or, on a cyclic graph,
            until less than 1 % of the value is left.
        merge_nodes: whether nodes that differ in data alone, such as those of a stage that is independent of
            the one before, become realisations of one, with one value function. Results have all nodes.
        checkpoint: where, and how often, to save the run.
        resume: a checkpoint to go on from. Problem and method must be those of the run that wrote it; the
            number of workers, the backend and the threads may differ.
        warm_start: a policy, or what training gave, whose cuts to begin with. That they are valid for this
            problem is for the caller to know.
        listeners: called with each event, in the process that calls this.
        comm: train on this communicator; every rank calls this with the same arguments.
        num_workers: or start so many processes here, and train on them.
        backend: by which they communicate: ``"shm"`` or ``"tcp"``; ``"local"`` to work in this process alone
            although a launcher started it as one of several ranks.
        threads: how many solve, on each rank; by default as `cobre.set_threads` or the scheduler says, else
            the CPUs of the machine, shared out among its ranks.

    Raises:
        InvalidProblem: something is wrong with the problem or an argument; all of it is listed.
        SolveError: a linear programme has no solution.
        BoundError: a cut or a bound violates a known bound.
        PolicyFileError: a file to resume or to start from is of no use.
        WorkerError: a worker failed; its own error is the cause.
    """
    method = Method(
        trajectories, seed, risk or Expectation(), cuts, selection, sampling or InSample(), depth, merge_nodes
    )
    checked = partial(TrainingTask.checked, checkpoint=checkpoint, resume=resume, warm_start=warm_start)
    options = ExecutionOptions(num_workers, backend, threads, comm=comm)
    return options.together(partial(checked, problem, method, stop)).run(options, listeners)


@dataclass(frozen=True, eq=False)
class TrainingTask:
    """A training that has been checked, to be called on every rank; it can be sent to workers.

    Attributes:
        structure: of the problem to solve.
        value_bounds: on what follows each of the nodes that are trained.
        method: all that decides the bits of the cuts.
        rule: when to stop.
        checkpoint: where, and how often, to save; None to save nothing.
        start: a saved training to go on from, or a policy whose cuts to begin with.
        start_path: of the file of that policy, for errors.
        names: the user's names for parts of the method, where they differ.
        keeps_states: whether the result has the trial states.
        engine: makes the engine of a rank.
    """

    structure: Structure
    value_bounds: Floats
    method: Method
    rule: StoppingRule
    checkpoint: Checkpoint | None = None
    start: SavedTraining | Policy | None = None
    start_path: str = "the policy"
    names: Mapping[str, str] = field(default_factory=dict)
    keeps_states: bool = False
    engine: Callable[..., Engine] = Engine

    @classmethod
    def checked(  # noqa: PLR0913
        cls,
        problem: MultistageProblem,
        method: Method,
        stop: StoppingRule | int | Sequence[StoppingRule],
        *,
        checkpoint: Checkpoint | str | Path | None = None,
        resume: str | Path | None = None,
        warm_start: TrainedPolicy | Policy | str | Path | None = None,
        names: Mapping[str, str] | None = None,
    ) -> Self:
        """Check a training before any worker starts, and read the file that it begins with.

        ``names`` are the user's for parts of the method. Other arguments and errors are those of `train`.
        """
        saving = Checkpoint(checkpoint) if isinstance(checkpoint, str | Path) else checkpoint
        found = []
        if saving is not None and not Path(saving.path).parent.is_dir():
            found.append(f"the checkpoint's folder {Path(saving.path).parent} does not exist; make it first")
        require_valid(problem, method, found)
        structure = Structure.found(problem, method)
        start: SavedTraining | Policy | None = None
        if resume is not None:
            start = SavedTraining.load(resume).for_training(structure, method, names)
        elif warm_start is not None:
            start = structure.for_training(_fitting_policy(warm_start, problem, method))
        if isinstance(start, SavedTraining):  # its cuts rest on its value bounds
            bounds = start.policy.value_bounds_of(structure.trained)
        else:
            with DefaultFloatEnvironment():
                bounds = structure.at_leaders(value_bounds(problem))
        path = str(warm_start) if isinstance(warm_start, str | Path) else "the policy"
        return cls(structure, bounds, method, as_rule(stop), saving, start, path, names or {})

    def facts(self) -> dict[str, Any]:
        """Return what decides the bits of the policy, by the user's names and in JSON's types."""
        start = self.start.policy if isinstance(self.start, SavedTraining) else self.start
        return {
            "problem": self.structure.given.fingerprint,
            "merge_nodes": self.method.merge_nodes,
            **{self.names.get(name, name): value for name, value in self.method.spec().items()},
            "stop": self.rule.spec(),
            "start": None if start is None else start.digest,
        }

    def __call__(self, context: RankContext, log: list[IterationFinished] | None = None) -> TrainedPolicy:
        """Train. A collective.

        Args:
            context: of this rank.
            log: filled with the events of all iterations while it trains.
        """
        folder = Path(self.checkpoint.path).parent if self.checkpoint else None
        share_numbers(self.structure.trained, context)
        engine = self.engine(
            self.structure.trained,
            self.method,
            context.comm,
            value_bounds=self.value_bounds,
            threads=context.threads,
            folder=folder,
        )
        with (
            engine,
            PathExchange(engine) as exchange,
            Machine(engine) as machine,
            self.structure.naming_nodes(),
        ):
            return _Trainer(self, context, engine, exchange, machine, [] if log is None else log).train()

    def run(self, options: ExecutionOptions, listeners: Sequence[Listener] | Listener = ()) -> TrainedPolicy:
        """Train on the ranks that the options describe."""
        try:
            return execute(self, options, listeners, self.facts)
        except KeyboardInterrupt as interrupt:
            if self.checkpoint is not None and Path(self.checkpoint.path).exists():
                path = str(self.checkpoint.path)
                interrupt.add_note(f"What was finished is in {path}: go on with train(..., resume={path!r}).")
            raise


def _fitting_policy(
    given: TrainedPolicy | Policy | str | Path, problem: MultistageProblem, method: Method
) -> Policy:
    """Return the policy of a warm start."""
    if isinstance(given, TrainedPolicy):
        given = given.policy
    policy = given if isinstance(given, Policy) else Policy.load(given)
    reason = policy.fits(problem)
    if policy.method["cuts"] != method.cuts:
        reason = f"its cuts are {policy.method['cuts']}, those of this run {method.cuts}"
    if reason is not None:
        raise PolicyFileError(str(given), f"it cannot be a warm start: {reason}")
    if nodes := method.nodes_of_other_risk(problem, policy.method):
        more = f" and {len(nodes) - 1} more" if nodes[1:] else ""
        warnings.warn(
            f"the cuts of the warm start at node {nodes[0]!r}{more} were made with another risk measure: "
            "they are valid only if the new one is at least as risk-averse; if it is not, train without them",
            stacklevel=2,
        )
    return policy


class _Trainer:
    """A training on one rank."""

    def __init__(  # noqa: PLR0913, PLR0917
        self,
        task: TrainingTask,
        context: RankContext,
        engine: Engine,
        exchange: PathExchange,
        machine: Machine,
        log: list[IterationFinished],
    ) -> None:
        self._task, self._context, self._engine, self._exchange = task, context, engine, exchange
        self._machine = machine
        self._selecting = CutSelector(engine, keeps_states=task.keeps_states)
        self._guards = Guards(engine)
        self._statistics = Statistics()
        self._history = self._prepared()
        log[:] = self._history.log
        self._history.log = log
        self._snapshot = TrainingSnapshot.of(engine, self._selecting, self._history)
        self._saved = self._history.iterations
        self._earlier_s, self._begun = self._history.seconds, time.monotonic()
        self._pace = Pace(self._earlier_s)

    def train(self) -> TrainedPolicy:
        self._emit_start()
        resumed = self._history.iterations > 0
        try:
            reason = self._task.rule.reached(self._progress()) if resumed else None
            while reason is None:
                reason = self._iterate(self._history.iterations + 1)
        except BaseException:  # Ctrl-C, a rank that died, a programme without a solution
            self._save()  # what is finished; the iteration under way is forgotten
            raise
        with deferred_signals():
            self._save()
        history = self._history
        fired = self._task.rule.fired(self._progress())
        self._context.emit(
            TrainingFinished(
                reason, history.iterations, history.bounds[-1], history.estimates[-1], history.seconds
            )
        )
        return TrainedPolicy(
            self._snapshot.policy(self._engine, self._task.structure),
            np.array(history.bounds),
            tuple(history.estimates),
            tuple(history.log),
            reason,
            fired,
            history.seconds,
            self._statistics,
            self._engine.comm.topology,
            tuple(self._guards.noticed),
            str(self._task.structure),
            self._visited() if self._task.keeps_states else {},
        )

    def _visited(self) -> dict[str, Floats]:
        """The trial states, by node: those after which something follows."""
        structure = self._task.structure
        visited = zip(structure.groups, self._selecting.visited, strict=True)
        return {name: states for group, states in visited for name in group if structure.given.children(name)}

    def _prepared(self) -> TrainingHistory:
        start = self._task.start
        if isinstance(start, SavedTraining):
            return start.restore(self._engine, self._selecting)
        if start is not None:
            load_cuts(start, self._engine, self._task.start_path, born=0)
        return TrainingHistory()

    def _iterate(self, iteration: int) -> str | None:
        """One iteration; the reason to stop after it, if there is one."""
        engine, history, method = self._engine, self._history, self._task.method
        begun = time.perf_counter()
        own = engine.block(method.trajectories)
        draw = Draw(method.seed, iteration, own.start, len(own), method.trajectories, engine.depth)
        ends = self._machine.own_ends
        sample = method.sampling.sample(engine.problem, draw)
        paths = _forward.walk(engine, sample, iteration=iteration, ends=ends)
        trials, costs = self._exchange.gather(paths)
        share_bases(engine, trials, paths, ends)
        forward = time.perf_counter()
        back = BackwardPass(engine, self._machine, trials, paths, iteration, self._guards)
        bound = back.run()
        backward = time.perf_counter()
        self._selecting.after(iteration, trials)
        selected = time.perf_counter()

        # Each bound is valid for ever, so the best of them is the bound; selection or rounding may lose some.
        earlier = engine.sign * history.bounds[-1] if history.bounds else -np.inf
        self._guards.check_bound(bound, earlier, iteration)
        best = max(bound, earlier)
        history.bounds.append(engine.sign * best)
        history.estimates.append(Estimate.of((engine.sign * costs).tolist()))
        self._guards.check_mean(best, history.estimates, iteration)
        history.seconds = self._earlier_s + self._clock()
        times = RankTimes(
            engine.comm.rank,
            forward_s=forward - begun,
            backward_s=backward - forward,
            selection_s=selected - backward,
            trajectories=len(own),
        )
        statistics, ranks = share_measurements(engine, times)
        self._statistics.add(statistics)
        self._pace.tick(iteration, history.seconds)
        progress = self._progress()
        reason = self._task.rule.reached(progress)
        remaining = self._task.rule.remaining(progress, self._pace.seconds_of) if reason is None else None
        event = IterationFinished(
            iteration,
            bound=history.bounds[-1],
            estimate=history.estimates[-1],
            cuts_added=back.added,
            cuts_active=sum(pool.active_count for pool in engine.pools),
            programmes=int(np.sum(trials.nodes[1:] >= 0)) + back.programmes,
            solves=statistics.solves,
            simplex_iterations=statistics.iterations,
            retries=statistics.retries,
            forward_s=times.forward_s,
            backward_s=times.backward_s,
            selection_s=times.selection_s,
            seconds=history.seconds,
            ranks=ranks,
            remaining=remaining,
            risk_neutral=engine.risk_neutral,
            raw_bound=engine.sign * bound,
            cuts_repeated=back.repeated,
            cuts_revived=back.revived,
        )
        history.log.append(event)
        self._snapshot = TrainingSnapshot.of(engine, self._selecting, history)
        for noticed in self._guards.noticed:
            if noticed.iteration == iteration:
                _log.warning("%s", noticed)
                self._context.emit(noticed)
        self._context.emit(event)
        if self._task.checkpoint and iteration % self._task.checkpoint.every == 0:
            with deferred_signals():
                self._save()
        return reason

    def _progress(self) -> Progress:
        history = self._history

        def simulate(replications: int) -> tuple[Estimate, tuple[float, ...]]:
            return estimate_costs(self._engine, replications, history.iterations)

        return Progress(
            history.iterations,
            history.seconds,
            history.bounds,
            history.estimates,
            self._engine.problem.sense,
            simulate,
            history.simulations,
        )

    def _clock(self) -> float:
        """Seconds since this session began, on rank 0's clock, so that all ranks decide alike."""
        seconds = np.array([time.monotonic() - self._begun])
        self._engine.comm.broadcast(seconds)
        return float(seconds[0])

    def _save(self) -> None:
        """Save the last finished iteration, unless that was done."""
        checkpoint, finished = self._task.checkpoint, self._snapshot.history.iterations
        if checkpoint is None or self._engine.comm.rank != 0 or finished <= self._saved:
            return
        begun = time.perf_counter()
        self._snapshot.save(self._engine, self._task.structure, checkpoint.path)
        _log.info(
            "checkpoint of iteration %d in %s, %.3f s", finished, checkpoint.path, time.perf_counter() - begun
        )
        self._saved = finished
        self._context.emit(CheckpointWritten(str(checkpoint.path), finished))

    def _emit_start(self) -> None:
        task, engine = self._task, self._engine
        self._context.emit(
            TrainingStarted(
                len(task.structure.given.nodes),
                engine.states,
                task.method.trajectories,
                engine.comm.size,
                self._context.threads,
                engine.comm.topology.backend,
                self._history.iterations + 1,
                str(task.rule),
                task.rule.iteration_limit,
                engine.risk_neutral,
                engine.problem.sense,
                self._context.threads_reason,
                str(task.structure),
            )
        )
