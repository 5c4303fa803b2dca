"""What differs between two policies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cobre.report._panel import Floats
from cobre.report._storage import volumes
from cobre.results import Results
from cobre.sddp import Policy

#: At how many simulated states of each stage policies are compared.
STATES = 10


@dataclass(frozen=True)
class NodeComparison:
    """What follows a stage, as both policies see it.

    Attributes:
        node: the stage.
        cuts_a: how many cuts there are.
        cuts_b: likewise.
        same_cuts: whether they are the same to the last bit, and in the same order.
        largest: the largest difference of the value at states that the simulation of the first has met; None
            where there are none.
        largest_relative: likewise, relative to the value.
    """

    node: str
    cuts_a: int
    cuts_b: int
    same_cuts: bool
    largest: float | None
    largest_relative: float | None


@dataclass(frozen=True)
class PolicyComparison:
    """Two policies.

    Attributes:
        same: whether all cuts of all stages are the same to the last bit.
        obstacle: why values cannot be compared; empty if they can.
        nodes: stage by stage, those that are not the same.
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
        return PolicyComparison(False, f"they are of problems with other {what}", ())
    points = _states(a, one)
    nodes = [_compare_node(one, two, node, points.get(node, [])) for node in one.nodes]
    differing = tuple(node for node in nodes if not node.same_cuts)
    obstacle = "" if points else "there is no simulation, whose states they could be compared at"
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
    """States in which some scenarios leave each stage but the last, whose end nothing follows."""
    if "hydros" not in results.tables:
        return {}
    held = volumes(results)
    some = range(min(STATES, len(next(iter(held.values())))))
    lags = _lags(results, list(some))
    found = {}
    for place, node in enumerate(policy.nodes[:-1]):
        known = {f"storage:{hydro}": rows[some, place + 1] for hydro, rows in held.items()}
        known |= {name: rows[:, place + 1] for name, rows in lags.items()}
        if all(name in known for name in policy.states):
            found[node] = [{name: float(known[name][i]) for name in policy.states} for i in some]
    return found


def _lags(results: Results, scenarios: list[int]) -> dict[str, Floats]:
    """The past inflows that each stage begins with, scenarios by stages, by the names of states."""
    if "inflow_lags" not in results.tables:
        return {}
    columns = ("hydro_id", "lag_index", "stage_id", "scenario_id", "inflow_m3s")
    table = results.simulation("inflow_lags", columns, scenarios)
    hydro, lag, stage, scenario, value = (table[name].to_numpy() for name in columns)
    found: dict[str, Floats] = {}
    for one, k in sorted(set(zip(hydro.tolist(), lag.tolist(), strict=True))):
        own = (hydro == one) & (lag == k)
        rows = np.zeros((len(scenarios), int(stage.max()) + 1))
        rows[scenario[own], stage[own]] = value[own]
        found[f"inflow:{one}:{k}"] = rows
    return found
