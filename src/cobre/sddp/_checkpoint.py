"""Checkpoints: all that a training needs to go on after a finished iteration as if nothing had happened."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from cobre.errors import PolicyFileError
from cobre.estimates import Estimate
from cobre.lp import Floats, Ints
from cobre.sddp import _archive
from cobre.sddp._engine import Engine
from cobre.sddp._exchange import CutSelector
from cobre.sddp._method import Method
from cobre.sddp._progress import SimulationRecord
from cobre.sddp._structure import Structure
from cobre.sddp.events import IterationFinished, RankTimes
from cobre.sddp.policy import NodeRecord, Policy


@dataclass(frozen=True)
class Checkpoint:
    """File and interval of saving a training.

    Args:
        path: the file; each checkpoint replaces the one before.
        every: iterations from one to the next. The last iteration is always saved, and when a run is
            interrupted, so is the last finished one.
    """

    path: str | Path
    every: int = 10

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError(f"every is {self.every}; it must be at least 1")


@dataclass(eq=False)
class TrainingHistory:
    """Bounds, estimates and events of the finished iterations. Its lists only grow."""

    bounds: list[float] = field(default_factory=list)
    estimates: list[Estimate] = field(default_factory=list)
    simulations: list[SimulationRecord] = field(default_factory=list)
    log: list[IterationFinished] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def iterations(self) -> int:
        """The number of finished iterations."""
        return len(self.bounds)

    def copy(self) -> TrainingHistory:
        """Return a history that does not grow with this one."""
        return TrainingHistory(
            list(self.bounds), list(self.estimates), list(self.simulations), list(self.log), self.seconds
        )

    def as_json(self) -> dict[str, Any]:
        """Return it in JSON's types. Estimates of the time that was left then are of no use later."""
        plain = dataclasses.asdict(self)
        for event in plain["log"]:
            del event["remaining"]
        return plain

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> TrainingHistory:
        """Return the history that `as_json` has described."""
        simulations = [
            {**record, "step_costs": tuple(record["step_costs"])} for record in saved["simulations"]
        ]
        return cls(
            list(saved["bounds"]),
            [Estimate(**estimate) for estimate in saved["estimates"]],
            [SimulationRecord(**record) for record in simulations],
            [_event(record) for record in saved["log"]],
            saved["seconds"],
        )


def _event(saved: Mapping[str, Any]) -> IterationFinished:
    estimate, ranks = Estimate(**saved["estimate"]), tuple(RankTimes(**rank) for rank in saved["ranks"])
    # Checkpoints of earlier versions have an estimate of the remaining time, too.
    return IterationFinished(**{**saved, "estimate": estimate, "ranks": ranks, "remaining": None})


@dataclass(frozen=True, eq=False)
class TrainingSnapshot:
    """A training after a finished iteration. Cuts are only counted: later ones come after them."""

    history: TrainingHistory
    counts: list[int]
    mixtures: list[int]
    born: list[Ints]
    active: list[Ints]
    bases: list[Ints | None]
    tight: list[Ints]
    uses: list[Ints]
    visited: list[Floats]

    @classmethod
    def of(cls, engine: Engine, selecting: CutSelector, history: TrainingHistory) -> TrainingSnapshot:
        """Return the training as it is now."""
        return cls(
            history.copy(),
            [len(pool) for pool in engine.pools],
            [len(pool.mixtures) for pool in engine.pools],
            [pool.born for pool in engine.pools],
            [pool.active for pool in engine.pools],
            list(engine.bases),
            list(selecting.tight),
            list(selecting.uses),
            list(selecting.visited),
        )

    def policy(self, engine: Engine, structure: Structure) -> Policy:
        """Return the policy as it was then, for the problem as its user gave it."""
        problem = engine.problem
        bounds = self.history.bounds
        policy = Policy(
            problem.states,
            problem.sense,
            problem.fingerprint,
            engine.method.spec(),
            self.history.iterations,
            bounds[-1] if bounds else engine.sign * -np.inf,
            dict(zip(problem.index, engine.value_bounds.tolist(), strict=True)),
            {node.name: self._record(engine, number) for number, node in enumerate(problem.nodes)},
        )
        return structure.for_users(policy)

    def _record(self, engine: Engine, node: int) -> NodeRecord:
        pool, count, mixtures = engine.pools[node], self.counts[node], self.mixtures[node]
        return NodeRecord(
            pool.rows(count),
            pool.families[:count],
            self.born[node],
            self.active[node],
            np.array(pool.mixtures[:mixtures]).reshape(mixtures, engine.families(node) - 1),
            self.bases[node],
        )

    def save(self, engine: Engine, structure: Structure, path: str | Path) -> None:
        """Write a checkpoint, which is a policy with more in it."""
        policy = self.policy(engine, structure)
        header = {**policy.header(), "kind": "checkpoint", "history": self.history.as_json()}
        arrays = policy.arrays()
        if engine.method.selection is not None:
            arrays["tight"], arrays["uses"] = np.concatenate(self.tight), np.concatenate(self.uses)
        if any(map(len, self.visited)):
            arrays["visited"] = np.concatenate(self.visited)
            arrays["visited_counts"] = np.array([len(states) for states in self.visited], np.int64)
        _archive.write(path, header, arrays)


@dataclass(frozen=True, eq=False)
class SavedTraining:
    """Content of a checkpoint: the policy, the history, and the memory of cut selection."""

    path: str
    policy: Policy
    history: TrainingHistory
    tight: list[Ints] | None
    uses: list[Ints] | None
    visited: list[Floats] | None

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a checkpoint.

        Raises:
            PolicyFileError: the file is missing, damaged, or no checkpoint.
        """
        header, arrays = _archive.read(path)
        policy = Policy.from_archive(path, header, arrays)
        if header.get("kind") != "checkpoint":
            raise PolicyFileError(
                str(path), "it is a policy, not a checkpoint; give it as warm_start to begin with its cuts"
            )
        tight, uses, visited = (arrays.get(name) for name in ("tight", "uses", "visited"))
        ends = np.cumsum(arrays["sizes"][:, 0])[:-1]
        return cls(
            str(path),
            policy,
            TrainingHistory.from_json(header["history"]),
            None if tight is None else np.split(tight, ends),
            None if uses is None else np.split(uses, ends),
            None if visited is None else np.split(visited, np.cumsum(arrays["visited_counts"])[:-1]),
        )

    def for_training(
        self, structure: Structure, method: Method, names: Mapping[str, str] | None = None
    ) -> Self:
        """Return it with the nodes that a training has; refuse it if the training cannot go on from it.

        Args:
            structure: of the problem of the training.
            method: of the training.
            names: the user's names for parts of the method, where they differ.

        Raises:
            PolicyFileError: it is of another problem, or of a training by another method.
        """
        if self.policy.fingerprint != structure.given.fingerprint:
            raise PolicyFileError(
                self.path, "it is a checkpoint of another problem: some number in it differs"
            )
        then, now = self.policy.method, method.spec()
        differing = [
            f"{(names or {}).get(name, name)} was {then.get(name)!r}, and is {now[name]!r}"
            for name in now
            if name != "highs" and then.get(name) != now[name]
        ]
        if differing:
            reason = "it was written by a run that was set up differently: " + "; ".join(differing)
            raise PolicyFileError(self.path, reason)
        if not structure.has_groups_of(self.policy):
            reason = "it was written by a run that merged other nodes: resume with merge_nodes as it was then"
            raise PolicyFileError(self.path, reason)
        self.policy.warn_of_another_solver()
        return dataclasses.replace(self, policy=structure.for_training(self.policy))

    def restore(self, engine: Engine, selecting: CutSelector) -> TrainingHistory:
        """Bring an engine to the state that was saved; return the history, which may then grow."""
        restore(self.policy, engine, self.path)
        if self.tight is not None:
            selecting.tight = list(self.tight)
            with _refusing_damage(self.path):
                for solver, tight in zip(engine.solvers, self.tight, strict=True):
                    solver.native.set_last_tight(tight)
        if self.uses is not None:
            selecting.uses = list(self.uses)
        if self.visited is not None:
            selecting.visited = list(self.visited)
        return self.history.copy()


def restore(policy: Policy, engine: Engine, path: str | Path = "the policy") -> None:
    """Put a policy into a fresh engine: its cuts, which of them are active, and warm-start bases.

    Raises:
        PolicyFileError: some of its numbers cannot be right.
    """
    load_cuts(policy, engine, path)
    with _refusing_damage(path):
        for solver, record in zip(engine.solvers, _records(policy, engine), strict=True):
            solver.native.activate(record.active)


def load_cuts(
    policy: Policy, engine: Engine, path: str | Path = "the policy", *, born: int | None = None
) -> None:
    """Put the cuts of a policy, all active, into a fresh engine, and its warm-start bases if they fit.

    ``born`` overrides the iterations that made the cuts.

    Raises:
        PolicyFileError: some of its numbers cannot be right.
    """
    # The basis of another problem may not be one of this problem, nor that of merged nodes one of theirs.
    with_bases = policy.fingerprint == engine.problem.fingerprint
    users = Counter(map(id, policy.records.values()))
    with _refusing_damage(path):
        for number, record in enumerate(_records(policy, engine)):
            pool = engine.pools[number]
            pool.add_mixtures(list(record.mixtures))
            pool.append(np.ascontiguousarray(record.cuts), np.ascontiguousarray(record.families), 0)
            pool.born = record.born.copy() if born is None else np.full(len(pool), born, np.int32)
            if with_bases and record.basis is not None and users[id(record)] == 1:
                engine.set_basis(number, record.basis)


def _records(policy: Policy, engine: Engine) -> list[NodeRecord]:
    """The parts of a policy in the order of the engine's nodes."""
    return [policy.records[node.name] for node in engine.problem.nodes]


@contextmanager
def _refusing_damage(path: str | Path) -> Iterator[None]:
    """Report numbers that the native solver refuses as damage of the file that they are from."""
    try:
        yield
    except ValueError as exc:
        reason = f"it is damaged ({exc}); use an earlier copy, or train again"
        raise PolicyFileError(str(path), reason) from exc
