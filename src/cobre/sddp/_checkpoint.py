"""All that a run needs in order to go on after any finished iteration as if nothing had happened."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cobre.errors import PolicyFileError
from cobre.estimates import Estimate
from cobre.lp import Floats, Ints
from cobre.sddp import _archive
from cobre.sddp._engine import Engine
from cobre.sddp._exchange import CutSelector
from cobre.sddp._method import Method
from cobre.sddp._progress import Remaining, SimulationRecord
from cobre.sddp.events import IterationFinished, RankTimes
from cobre.sddp.policy import NodeRecord, Policy
from cobre.sddp.problem import MultistageProblem


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often to save a run.

    Args:
        path: the file; each checkpoint replaces the one before.
        every: after every how many-th iteration. The last one is always saved, and when a run is
            interrupted, so is what was finished.
    """

    path: str | Path
    every: int = 10

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError(f"every is {self.every}; it must be at least 1")


@dataclass(eq=False)
class History:
    """What has happened so far."""

    bounds: list[float] = field(default_factory=list)
    estimates: list[Estimate] = field(default_factory=list)
    simulations: list[SimulationRecord] = field(default_factory=list)
    log: list[IterationFinished] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def iterations(self) -> int:
        """How many iterations are finished."""
        return len(self.bounds)


@dataclass(frozen=True, eq=False)
class Moment:
    """A run after a finished iteration. Cuts are only counted: later ones come after them."""

    history: History
    counts: list[int]
    mixtures: list[int]
    active: list[Ints]
    bases: list[Ints | None]
    tight: list[Ints]
    visited: list[Floats]

    @classmethod
    def of(cls, engine: Engine, selecting: CutSelector, history: History) -> Moment:
        """Return the run as it is now."""
        return cls(
            History(
                list(history.bounds),
                list(history.estimates),
                list(history.simulations),
                list(history.log),
                history.seconds,
            ),
            [len(pool) for pool in engine.pools],
            [len(pool.mixtures) for pool in engine.pools],
            [pool.active for pool in engine.pools],
            list(engine.bases),
            list(selecting.tight),
            list(selecting.visited),
        )

    def policy(self, engine: Engine) -> Policy:
        """Return the policy as it was then."""
        problem = engine.problem
        records = {
            node.name: NodeRecord(
                pool.rows(count),
                pool.families[:count],
                pool.born[:count],
                active,
                np.array(pool.mixtures[:mixtures]).reshape(mixtures, engine.families(i) - 1),
                basis,
            )
            for i, (node, pool, count, mixtures, active, basis) in enumerate(
                zip(
                    problem.nodes,
                    engine.pools,
                    self.counts,
                    self.mixtures,
                    self.active,
                    self.bases,
                    strict=True,
                )
            )
        }
        return Policy(
            problem.states,
            problem.sense,
            problem.fingerprint,
            engine.method.spec(),
            self.history.iterations,
            self.history.bounds[-1] if self.history.bounds else engine.sign * -np.inf,
            dict(zip(problem.index, engine.value_bounds.tolist(), strict=True)),
            records,
        )

    def save(self, engine: Engine, path: str | Path) -> None:
        """Write a checkpoint, which is a policy with more in it."""
        policy = self.policy(engine)
        history = dataclasses.asdict(self.history)
        header = {**policy.header(), "kind": "checkpoint", "history": history}
        arrays = policy.arrays()
        if engine.method.selection is not None:
            arrays["tight"] = np.concatenate(self.tight)
        if engine.method.selection is not None and engine.method.selection.needs_states:
            arrays["visited"] = np.concatenate(self.visited)
            arrays["visited_counts"] = np.array([len(states) for states in self.visited], np.int64)
        _archive.write(path, header, arrays)


def resume(path: str | Path, engine: Engine, selecting: CutSelector) -> History:
    """Bring an engine to where a checkpoint was written; return the history.

    Raises:
        PolicyFileError: the file is damaged, no checkpoint, or of another problem or method.
    """
    header, arrays = _archive.read(path)
    policy = Policy.from_archive(path, header, arrays)
    if header.get("kind") != "checkpoint":
        raise PolicyFileError(
            str(path), "it is a policy, not a checkpoint; give it as warm_start to begin with its cuts"
        )
    require_the_same(path, policy, engine.problem, engine.method)
    restore(policy, engine, path)
    if "tight" in arrays:
        ends = np.cumsum(arrays["sizes"][:, 0])[:-1]
        selecting.tight = np.split(arrays["tight"], ends)
        with _refusing_damage(path):
            for solver, tight in zip(engine.solvers, selecting.tight, strict=True):
                solver.native.set_last_tight(tight)
    if "visited" in arrays:
        selecting.visited = np.split(arrays["visited"], np.cumsum(arrays["visited_counts"])[:-1])
    return _history(header["history"])


def saved_log(path: str | Path) -> list[IterationFinished]:
    """Return what a checkpoint says of the iterations before it.

    Raises:
        PolicyFileError: it is none.
    """
    header, _ = _archive.read(path)
    return _history(header["history"]).log if header.get("kind") == "checkpoint" else []


def restore(policy: Policy, engine: Engine, path: str | Path = "the policy") -> None:
    """Put a policy into a fresh engine: its cuts, which of them are active, and warm-start bases.

    Raises:
        PolicyFileError: some of its numbers cannot be right.
    """
    load_cuts(policy, engine, path)
    # The basis of another problem may not be one of this problem.
    with_bases = policy.fingerprint == engine.problem.fingerprint
    with _refusing_damage(path):
        for number, node in enumerate(engine.problem.nodes):
            record = policy.records[node.name]
            engine.solvers[number].native.activate(record.active)
            if with_bases and record.basis is not None:
                engine.set_basis(number, record.basis)


def load_cuts(
    policy: Policy, engine: Engine, path: str | Path = "the policy", *, born: int | None = None
) -> None:
    """Put the cuts of a policy into the engine's pools. ``born`` overrides the iterations that made them.

    Raises:
        PolicyFileError: some of its numbers cannot be right.
    """
    with _refusing_damage(path):
        for number, node in enumerate(engine.problem.nodes):
            record, pool = policy.records[node.name], engine.pools[number]
            pool.add_mixtures(list(record.mixtures))
            pool.append(np.ascontiguousarray(record.cuts), np.ascontiguousarray(record.families), 0)
            pool.born = record.born.copy() if born is None else np.full(len(pool), born, np.int32)


@contextmanager
def _refusing_damage(path: str | Path) -> Iterator[None]:
    """Report numbers that the native solver refuses as damage of the file that they are from."""
    try:
        yield
    except ValueError as exc:
        reason = f"it is damaged ({exc}); use an earlier copy, or train again"
        raise PolicyFileError(str(path), reason) from exc


def require_the_same(
    path: str | Path,
    policy: Policy,
    problem: MultistageProblem,
    method: Method,
    names: Mapping[str, str] | None = None,
) -> None:
    """Refuse a checkpoint that a run cannot go on from.

    Args:
        path: of the checkpoint.
        policy: in it.
        problem: of the run.
        method: of the run.
        names: what the user calls parts of the method, if that is something else.

    Raises:
        PolicyFileError: it is of another problem, or was made in another way.
    """
    if policy.fingerprint != problem.fingerprint:
        raise PolicyFileError(str(path), "it is a checkpoint of another problem: some number in it differs")
    now: Mapping[str, Any] = method.spec()
    differing = [
        f"{(names or {}).get(name, name)} was {policy.method.get(name)!r}, and is {now[name]!r}"
        for name in now
        if name != "highs" and policy.method.get(name) != now[name]
    ]
    if differing:
        raise PolicyFileError(
            str(path), "it was written by a run that was set up differently: " + "; ".join(differing)
        )
    policy.warn_of_another_solver()


def _event(saved: Mapping[str, Any]) -> IterationFinished:
    ranks = tuple(RankTimes(**rank) for rank in saved["ranks"])
    left = saved.get("remaining")  # what older versions did not write
    return IterationFinished(
        **{
            **saved,
            "estimate": Estimate(**saved["estimate"]),
            "ranks": ranks,
            "remaining": None if left is None else Remaining(**left),
        }
    )


def _history(saved: Mapping[str, Any]) -> History:
    return History(
        list(saved["bounds"]),
        [Estimate(**estimate) for estimate in saved["estimates"]],
        [
            SimulationRecord(**{**record, "step_costs": tuple(record["step_costs"])})
            for record in saved["simulations"]
        ],
        [_event(record) for record in saved["log"]],
        saved["seconds"],
    )
