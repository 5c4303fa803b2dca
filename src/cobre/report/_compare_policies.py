"""Comparison of two policies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cobre.report._panel import INFLOW_STATES, Floats
from cobre.report._source import first_steps
from cobre.report._storage import stored
from cobre.results import Results
from cobre.sddp import Policy

#: Number of simulated states per stage at which policies are compared.
STATES = 10


@dataclass(frozen=True)
class NodeComparison:
    """Comparison of the future cost functions after a stage.

    Attributes:
        node: the stage.
        cuts_a: number of cuts of a.
        cuts_b: number of cuts of b.
        same_cuts: True if the cuts have the same bits and the same order.
        largest: largest difference of the future cost at states visited by the simulation of a; None if there
            are none.
        largest_relative: the same, relative to the future cost.
    """

    node: str
    cuts_a: int
    cuts_b: int
    same_cuts: bool
    largest: float | None
    largest_relative: float | None


@dataclass(frozen=True)
class PolicyComparison:
    """Comparison of two policies, stage by stage.

    Attributes:
        same: True if all cuts of all stages are equal to the last bit.
        obstacle: reason why future costs cannot be compared; empty if they can.
        nodes: stages that differ.
    """

    same: bool
    obstacle: str
    nodes: tuple[NodeComparison, ...]


def compare_policies(a: Results, b: Results) -> PolicyComparison | None:
    """Compare the policies of two results; None if one of them has none.

    Raises:
        PolicyFileError: a file is damaged.
    """
    paths = a.policy_path, b.policy_path
    if not all(path.exists() for path in paths):
        return None
    one, two = (Policy.load(path) for path in paths)
    if one.states != two.states or one.nodes != two.nodes:
        what = "states" if one.states != two.states else "stages"
        return PolicyComparison(False, f"their problems have different {what}", ())
    points = _states(a, one)
    nodes = [_compare_node(one, two, node, points.get(node, [])) for node in one.nodes]
    differing = tuple(node for node in nodes if not node.same_cuts)
    obstacle = "" if points else "there is no simulation to take states from"
    return PolicyComparison(not differing, obstacle if differing else "", differing)


def _compare_node(a: Policy, b: Policy, node: str, points: list[dict[str, float]]) -> NodeComparison:
    one, two = a.cuts(node), b.cuts(node)
    same = all(np.array_equal(getattr(one, name), getattr(two, name)) for name in one._fields)
    differences = [] if same else list(_differences(a, b, node, points))
    return NodeComparison(
        node=node,
        cuts_a=len(one.intercepts),
        cuts_b=len(two.intercepts),
        same_cuts=same,
        largest=max((absolute for absolute, _ in differences), default=None),
        largest_relative=max((relative for _, relative in differences), default=None),
    )


def _differences(
    a: Policy, b: Policy, node: str, points: list[dict[str, float]]
) -> Iterator[tuple[float, float]]:
    for point in points:
        one, two = a.value(node, point).value, b.value(node, point).value
        if np.isfinite(one) and np.isfinite(two):
            scale = max(abs(one), abs(two))
            yield abs(two - one), abs(two - one) / scale if scale else 0.0


def _states(results: Results, policy: Policy) -> dict[str, list[dict[str, float]]]:
    """End-of-stage states of some scenarios, for all stages but the last, which has no future cost."""
    held = stored(results)
    if not held:
        return {}
    some = range(min(STATES, len(next(iter(held.values())))))
    lags = _past_inflows(results, list(some))
    found = {}
    stages = next(iter(held.values())).shape[1]
    for node, place in first_steps(results, policy.nodes).items():
        if place + 1 == stages:  # what follows it, if anything, is in no table
            continue
        known = {state: rows[some, place] for state, rows in held.items()}
        known |= {name: rows[:, place + 1] for name, rows in lags.items()}
        if all(name in known for name in policy.states):
            found[node] = [{name: float(known[name][i]) for name in policy.states} for i in some]
    return found


def _past_inflows(results: Results, scenarios: list[int]) -> dict[str, Floats]:
    """Past inflows that are states at the beginning of each stage, scenarios by stages, by state name."""
    found: dict[str, Floats] = {}
    for name, (kind, number) in INFLOW_STATES.items():
        if name not in results.tables:
            continue
        columns = ("hydro_id", number, "stage_id", "scenario_id", "inflow_m3s")
        table = results.simulation(name, columns, scenarios)
        hydro, lag, stage, scenario, value = (table[column].to_numpy() for column in columns)
        for one, k in sorted(set(zip(hydro.tolist(), lag.tolist(), strict=True))):
            own = (hydro == one) & (lag == k)
            rows = np.zeros((len(scenarios), int(stage.max()) + 1))
            rows[scenario[own], stage[own]] = value[own]
            found[f"{kind}:{one}:{k}"] = rows
    return found
