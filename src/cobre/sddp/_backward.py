"""The way back: what each trial state is worth, from the last step to the beginning, as cuts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cobre import _lp
from cobre.lp._program import Floats, Ints
from cobre.sddp._engine import Engine
from cobre.sddp._forward import Paths


@dataclass(frozen=True, eq=False)
class Trials:
    """The nodes and outgoing states that all trajectories, of all ranks, have visited.

    Attributes:
        nodes: steps by trajectories. Step 0 is the beginning; -2 where a trajectory has ended before.
        states: steps by trajectories by states.
    """

    nodes: Ints
    states: Floats


ENDED = -2


def trials_of(nodes: Ints, states: Floats) -> Trials:
    """Make trials of nodes and states as in `Paths`, of all trajectories."""
    shifted = np.full((nodes.shape[0] + 1, nodes.shape[1]), Engine.ROOT, np.int32)
    shifted[1:] = np.where(nodes < 0, ENDED, nodes)
    return Trials(shifted, states)


@dataclass(frozen=True, eq=False)
class _Unit:
    """A trial state, as first met: by which trajectory, at which step."""

    node: int
    trajectory: int
    step: int


def make_cuts(engine: Engine, trials: Trials, paths: Paths, iteration: int) -> tuple[float, int]:
    """Go back over all steps, adding cuts; return the bound and how many cuts were added.

    Args:
        engine: the problem and its cuts.
        trials: of all trajectories.
        paths: of this rank's trajectories: where the solves of its trial states begin.
        iteration: the number of this iteration.
    """
    added = 0
    bound = np.nan
    for step in reversed(range(len(trials.nodes))):
        for node, units in _by_node(engine, trials, step):
            cuts, weights = _worth(engine, node, units, trials, paths, iteration)
            whole = _gathered(engine, units, cuts, weights)
            if node == Engine.ROOT:
                bound = _value_at(whole[0][0], engine.initial)
            else:
                added += _add(engine, node, *whole, iteration)
    return bound, added


def _by_node(engine: Engine, trials: Trials, step: int) -> Iterator[tuple[int, list[_Unit]]]:
    """The trial states of a step whose node has children, equal ones once."""
    groups: dict[int, dict[bytes, _Unit]] = {}
    for trajectory, node in enumerate(trials.nodes[step].tolist()):
        if node != ENDED and engine.outcomes[node].children:
            key = trials.states[step, trajectory].tobytes()
            groups.setdefault(node, {}).setdefault(key, _Unit(node, trajectory, step))
    for node in sorted(groups):
        yield node, list(groups[node].values())


def _worth(
    engine: Engine, node: int, units: list[_Unit], trials: Trials, paths: Paths, iteration: int
) -> tuple[Floats, Floats]:
    """Cuts of this rank's units, and the weights of their outcomes."""
    block = engine.block(trials.nodes.shape[1])
    own = [unit for unit in units if unit.trajectory in block]
    outcomes = engine.outcomes[node]
    count = len(outcomes.probabilities)
    states = np.array([trials.states[unit.step, unit.trajectory] for unit in own]).reshape(
        len(own), engine.states
    )
    values = np.zeros((len(own), count))  # the end, if there is one, is worth nothing
    slopes = np.zeros((len(own), count, engine.states))
    done = 0
    for child in outcomes.children:
        solver = engine.solvers[child]
        firsts = np.full(len(own), -1, np.int32)
        starts = np.full(len(own), engine.anchor_slot(child), np.int32)
        for i, unit in enumerate(own):
            mine = unit.trajectory - block.start
            if unit.step < len(paths.nodes) and paths.nodes[unit.step, mine] == child:
                starts[i] = paths.slots[unit.step, mine]
                row = paths.rows[unit.step, mine]
                firsts[i] = row if row < len(solver.tour) else -1
        end = done + len(solver.tour)
        if own:
            with engine.naming_failures(child, states, solver.table):
                values[:, done:end], slopes[:, done:end] = solver.trial(
                    states, firsts, starts, iteration=iteration
                )
        done = end
    weights = np.zeros_like(values)
    if own:
        weights = np.ascontiguousarray(engine.risks[node].weights(values, outcomes.probabilities))
    if engine.method.cuts == "multi" and node != Engine.ROOT:
        each = count - outcomes.ends
        cuts = np.empty((len(own) * each, engine.states + 1))
        ones = np.ones((len(own) * each, 1))
        _lp.aggregate(
            ones,
            np.ascontiguousarray(values[:, :each]).reshape(-1, 1),
            np.ascontiguousarray(slopes[:, :each]).reshape(-1, 1, engine.states),
            np.repeat(states, each, axis=0),
            cuts,
        )
        return cuts.reshape(len(own), each * (engine.states + 1)), np.ascontiguousarray(weights[:, :each])
    cuts = np.empty((len(own), engine.states + 1))
    _lp.aggregate(weights, values, slopes, states, cuts)
    return cuts, np.empty((len(own), 0))


def _gathered(engine: Engine, units: list[_Unit], cuts: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The cuts and weights of all ranks' units, in the order of units."""
    comm = engine.comm
    trajectories = engine.method.trajectories
    owned = [0] * comm.size
    for unit in units:
        owned[((unit.trajectory + 1) * comm.size - 1) // trajectories] += 1
    width = cuts.shape[1] + weights.shape[1]
    whole = np.empty((len(units), width))
    own = np.ascontiguousarray(np.concatenate([cuts, weights], axis=1))
    comm.allgatherv(own.reshape(-1), whole.reshape(-1), [count * width for count in owned])
    return whole[:, : cuts.shape[1]], whole[:, cuts.shape[1] :]


def _add(engine: Engine, node: int, cuts: Floats, weights: Floats, iteration: int) -> int:
    pool = engine.pools[node]
    families = engine.families(node)
    if families > 1:
        pool.add_mixtures(list(weights))
        rows = cuts.reshape(-1, engine.states + 1)
        pool.append(rows, np.tile(np.arange(1, families, dtype=np.int32), len(cuts)), iteration)
        return len(rows)
    pool.append(cuts, np.zeros(len(cuts), np.int32), iteration)
    return len(cuts)


def _value_at(cut: Floats, state: Floats) -> float:
    value = float(cut[0])
    for slope, x in zip(cut[1:].tolist(), state.tolist(), strict=True):
        value += slope * x
    return value
