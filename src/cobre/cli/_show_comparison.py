"""Comparison of two results as text and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from cobre.cli._tables import Rows, facts, more, table
from cobre.formatting import amount, count, duration, percent
from cobre.report import BoundsComparison, Change, Comparison, CostsComparison, PolicyComparison, cost_label

SAME = "same bits"
#: Means whose relative difference is below this differ by rounding only.
ROUNDING = 1e-9


def show(console: Console, found: Comparison, limit: int | None) -> None:
    """Print the comparison; each table has at most ``limit`` rows."""
    verdict = Text(SAME, "bold green") if found.same else Text("different results", "bold yellow")
    for letter, folder in (("A", found.a), ("B", found.b)):
        console.print(Text.assemble((f"{letter} ", "cyan"), folder), soft_wrap=True)
    console.print(verdict)
    facts(console, dict(_overview(found, limit)))
    _show_changes(console, "Settings that differ", found.settings)
    _show_changes(console, "Versions that differ", found.versions)
    if found.policy:
        _show_policies(console, found.policy, limit)
    if found.costs:
        _show(console, "Mean costs by component, in $", "component", _components(found.costs), None)
    for (quantity, unit), means in groupby(found.means, lambda mean: (mean.quantity, mean.unit)):
        rows: Rows = [
            _difference(mean.entity, mean.a, mean.b) for mean in means if not _alike(mean.a, mean.b)
        ]
        _show(console, f"Mean {quantity}, in {unit}", "", rows, limit)


def _overview(found: Comparison, limit: int | None) -> Iterator[tuple[str, str]]:
    if found.inputs:
        yield "case", _files(found.inputs, limit)
    if found.distribution:
        changes = [
            f"{change.name.replace('_', ' ')} {change.a} and {change.b}" for change in found.distribution
        ]
        yield "workers", ", ".join(changes[:3])
    if found.bounds:
        yield "bounds", _bounds(found.bounds)
        yield "training time", _times(found.bounds)
    if found.policy:
        yield "policies", _policies(found.policy)
    if found.costs:
        yield "simulations", _simulations(found.costs)
        if not found.costs.same:
            yield "mean cost", _mean(found.costs)


def _bounds(bounds: BoundsComparison) -> str:
    last = f"{amount(bounds.lower_bound_a)} after {count(bounds.iterations_a, 'iteration')}"
    if bounds.same:
        return f"{SAME}, {last}"
    other = f"{amount(bounds.lower_bound_b)} after {bounds.iterations_b}"
    if bounds.first_difference is None:
        both = min(bounds.iterations_a, bounds.iterations_b)
        return f"{SAME} for {count(both, 'iteration')}; {last}, {other}"
    far = f"by at most {percent(bounds.largest_relative)}"
    return f"differ from iteration {bounds.first_difference} on, {far}; {last}, {other}"


def _times(bounds: BoundsComparison) -> str:
    ratio = bounds.seconds_b / bounds.seconds_a if bounds.seconds_a else 0.0
    factor = f", {ratio:.2f} times as long" if ratio else ""
    return f"{duration(bounds.seconds_a)} and {duration(bounds.seconds_b)}{factor}"


def _policies(policy: PolicyComparison) -> str:
    if policy.same:
        return SAME
    if policy.obstacle and not policy.nodes:
        return f"cannot be compared: {policy.obstacle}"
    known = [node.largest_relative for node in policy.nodes if node.largest_relative is not None]
    most = f", future costs by at most {percent(max(known))}" if known else f"; {policy.obstacle}"
    return f"cuts differ in {count(len(policy.nodes), 'stage')}{most}"


def _simulations(costs: CostsComparison) -> str:
    if costs.same:
        return f"{SAME}, {count(costs.scenarios_a, 'scenario')}, mean cost {amount(costs.mean_a)}"
    how = "the same inflows and loads" if costs.common else "different inflows or loads"
    sizes = count(costs.scenarios_a, "scenario")
    if costs.scenarios_a != costs.scenarios_b:
        sizes = f"{costs.scenarios_a} and {count(costs.scenarios_b, 'scenario')}"
    return f"{sizes} with {how}; differing tables: {', '.join(costs.differing_tables)}"


def _mean(costs: CostsComparison) -> str:
    if _alike(costs.mean_a, costs.mean_b):
        return f"{amount(costs.mean_a)}, equal up to rounding"
    half = "" if costs.half_width is None else f" ± {amount(costs.half_width)}"
    share = f" ({percent(costs.difference / abs(costs.mean_a), '+')})" if costs.mean_a else ""
    method = "paired scenarios" if costs.common else "independent samples"
    chance = costs.half_width is not None and abs(costs.difference) <= costs.half_width
    change = f"{'+' * (costs.difference > 0)}{amount(costs.difference)}{half}{share}"
    ends = f"{amount(costs.mean_a)} and {amount(costs.mean_b)}"
    return f"{ends}: B - A is {change} from {method}{'; not significant' if chance else ''}"


def _components(costs: CostsComparison) -> Rows:
    """Rows of components that differ by more than rounding."""
    tolerance = ROUNDING * max(abs(costs.mean_a), abs(costs.mean_b))
    return [
        _difference(cost_label(change.name), change.a, change.b)
        for change in costs.components
        if abs(change.b - change.a) > tolerance
    ]


def _files(inputs: Sequence[Change], limit: int | None) -> str:
    """Names of the files that differ."""
    names = [change.name for change in inputs]
    rest = f" and {len(names) - limit} more" if limit is not None and len(names) > limit else ""
    return f"{count(len(names), 'file')} differ{'s' * (len(names) == 1)}: {', '.join(names[:limit])}{rest}"


def _show_changes(console: Console, title: str, changes: Sequence[Change]) -> None:
    rows: Rows = [(change.name, _word(change.a), _word(change.b)) for change in changes]
    if rows:
        table(console, title, ("", "A", "B"), rows)


def _word(value: Any) -> str:
    return "not set" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _show_policies(console: Console, policy: PolicyComparison, limit: int | None) -> None:
    worst = sorted(policy.nodes, key=lambda node: -(node.largest_relative or 0.0))
    rows: Rows = [
        (node.node, node.cuts_a, node.cuts_b, node.largest, _share(node.largest_relative)) for node in worst
    ]
    if rows:
        columns = ("stage", "cuts of A", "cuts of B", "largest difference, $", "")
        table(console, "Future cost functions, by largest difference", columns, rows[:limit])
        more(console, len(rows), limit)


def _share(value: float | None) -> str:
    return "" if value is None else percent(value)


def _alike(a: float, b: float) -> bool:
    return abs(b - a) <= ROUNDING * max(abs(a), abs(b))


def _difference(name: str, a: float, b: float) -> tuple[str, float, float, float, str]:
    return name, a, b, b - a, percent((b - a) / abs(a), "+") if a else ""


def _show(console: Console, title: str, what: str, rows: Rows, limit: int | None) -> None:
    if rows:
        table(console, title, (what, "A", "B", "B - A", ""), rows[:limit])
        more(console, len(rows), limit)
