"""Summary of a case as text and tables."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from cobre.case import CaseSummary, HydroSummary
from cobre.cli._tables import Rows, facts, heading, more, next_steps, number, sizes, table
from cobre.formatting import count


def show(console: Console, case: CaseSummary, limit: int | None) -> None:
    """Print the summary; each table has at most ``limit`` rows."""
    heading(console, case.folder)
    facts(console, dict(_overview(case)))
    _show_buses(console, case, limit)
    if case.hydros:
        _show_cascades(console, case, limit)
    for warning in case.warnings:
        console.print(Text(f"warning: {warning}", "yellow"), soft_wrap=True)
    next_steps(console, ["validate", case.folder], ["run", case.folder, "--workers", "2"])


def _overview(case: CaseSummary) -> Iterator[tuple[str, str]]:
    last = date.fromisoformat(case.end) - timedelta(days=1)
    yield "size", sizes(case.counts)
    yield "time", f"{case.start} to {last}, {_between(case.blocks, 'block')} in each stage"
    yield "uncertainty", _uncertainty(case)
    if case.policy_graph:
        yield "policy graph", case.policy_graph
    if case.annual_discount_percent:
        yield "discounting", f"{case.annual_discount_percent:.4g} % per year"
    if case.risk_averse_stages:
        yield "risk", f"risk-averse in {count(case.risk_averse_stages, 'stage')}"
    if case.stored_gwh:
        yield "stored energy", _stored(case)
    if case.hydros:
        yield "inflow energy", _inflow(case)
    yield "training", "; ".join(case.training)
    simulated = count(case.simulated_scenarios, "scenario") if case.simulated_scenarios else "none"
    yield "simulation", simulated


def _uncertainty(case: CaseSummary) -> str:
    kinds = {"inflow": "inflow", "load": "load", "ncs": "source"}
    sources = ", ".join(count(size, kinds[kind]) for kind, size in case.random.items())
    openings = f"{_between(case.openings, 'realisation')} of {sources or 'nothing'} in each stage"
    memory = f", inflow model of order {case.lags}" if case.lags else ""
    return f"{openings}, {'from a file' if case.given_openings else 'sampled'}{memory}"


def _stored(case: CaseSummary) -> str:
    share = 100 * case.initial_gwh / case.stored_gwh
    time = f", {100 * case.stored_gwh / case.load_gwh:.3g} % of the load" if case.load_gwh else ""
    return f"{number(case.stored_gwh)} GWh maximum{time}; {share:.0f} % at the beginning"


def _inflow(case: CaseSummary) -> str:
    power = sum(hydro.inflow_mw for hydro in case.hydros)
    load = sum(bus.load_mw for bus in case.buses)
    share = f", {100 * power / load:.3g} % of the load" if load else ""
    return f"{number(power)} MW on average{share}"


def _between(bounds: tuple[int, int], name: str) -> str:
    least, most = bounds
    return count(most, name) if least == most else f"{least} to {count(most, name)}"


def _show_buses(console: Console, case: CaseSummary, limit: int | None) -> None:
    buses = sorted(case.buses, key=lambda bus: -bus.peak_mw)
    columns = ("mean load", "peak", "hydro", "thermal", "other, mean", "import lines")
    rows: Rows = [
        (bus.name, bus.load_mw, bus.peak_mw, bus.hydro_mw, bus.thermal_mw, bus.source_mw, bus.line_mw)
        for bus in buses
    ]
    if len(rows) > 1:
        sums = [sum(float(row[place] or 0) for row in rows) for place in range(1, 6)]
        rows = [*rows[:limit], ("all", *sums, None)]
    table(console, "Buses, in MW", ("bus", *columns), rows, total=len(buses) > 1)
    more(console, len(buses), limit)


def _show_cascades(console: Console, case: CaseSummary, limit: int | None) -> None:
    """Print each cascade as a tree from its most downstream plant, the largest first."""
    upstream: dict[int | None, list[HydroSummary]] = {}
    for hydro in case.hydros:
        upstream.setdefault(hydro.downstream, []).append(hydro)
    left = len(case.hydros) if limit is None else limit
    tree = Tree(Text("Cascades, from the most downstream plant up", "bold"), guide_style="dim")

    def grow(branch: Tree, downstream: int | None) -> None:
        nonlocal left
        for hydro in sorted(upstream.get(downstream, []), key=lambda plant: -plant.capacity_mw):
            if left:
                left -= 1
                grow(branch.add(_plant(hydro)), hydro.id)

    grow(tree, None)
    console.print()
    console.print(tree)
    more(console, len(case.hydros), limit)


def _plant(hydro: HydroSummary) -> Text:
    parts = [f"{number(hydro.capacity_mw)} MW"]
    if hydro.useful_hm3:
        parts.append(f"{number(hydro.useful_hm3)} hm³ ({hydro.initial_percent:.0f} % full)")
    parts.append(f"inflow {number(hydro.inflow_m3s)} m³/s")
    return Text.assemble((hydro.name, "cyan"), "  ", ", ".join(parts))
