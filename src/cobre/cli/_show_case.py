"""A case in a few numbers, for people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from cobre.case import CaseSummary, HydroSummary
from cobre.cli._tables import Rows, facts, heading, more, next_steps, number, table
from cobre.formatting import count

#: How kinds of entities are called.
KINDS = {
    "stages": "stage",
    "buses": "bus",
    "lines": "line",
    "hydros": "hydro",
    "thermals": "thermal",
    "sources": "source",
    "pumping": "pumping station",
    "contracts": "contract",
    "constraints": "constraint",
}


def show(console: Console, case: CaseSummary, limit: int | None) -> None:
    """Print it; at most so many rows of a table."""
    heading(console, case.folder)
    facts(console, dict(_overview(case)))
    _show_buses(console, case, limit)
    if case.hydros:
        _show_rivers(console, case, limit)
    for warning in case.warnings:
        console.print(Text(f"warning: {warning}", "yellow"), soft_wrap=True)
    next_steps(console, ["validate", case.folder], ["run", case.folder, "--workers", "2"])


def _overview(case: CaseSummary) -> Iterator[tuple[str, str]]:
    counts = ", ".join(count(size, KINDS[kind]) for kind, size in case.counts.items() if size)
    last = date.fromisoformat(case.end) - timedelta(days=1)
    yield "there are", counts
    yield "time", f"{case.start} to {last}, {_between(case.blocks, 'block')} in each stage"
    yield "randomness", _randomness(case)
    if case.annual_discount_percent:
        yield "discounting", f"{case.annual_discount_percent:.4g} % a year"
    if case.risk_averse_stages:
        yield "risk", f"{count(case.risk_averse_stages, 'stage')} weigh bad outcomes more"
    if case.stored_gwh:
        yield "stored energy", _stored(case)
    if case.hydros:
        yield "inflow energy", _inflow(case)
    yield "training", "; ".join(case.training)
    simulated = count(case.simulated_scenarios, "scenario") if case.simulated_scenarios else "none"
    yield "simulation", simulated


def _randomness(case: CaseSummary) -> str:
    kinds = {"inflow": "inflow", "load": "load", "ncs": "source"}
    who = ", ".join(count(size, kinds[kind]) for kind, size in case.random.items())
    openings = f"{_between(case.openings, 'realisation')} of {who or 'nothing'} in each stage"
    memory = f", inflows look back {count(case.lags, 'stage')}" if case.lags else ""
    return f"{openings}, {'given' if case.given_openings else 'drawn'}{memory}"


def _stored(case: CaseSummary) -> str:
    share = 100 * case.initial_gwh / case.stored_gwh
    time = f", {100 * case.stored_gwh / case.load_gwh:.3g} % of the load" if case.load_gwh else ""
    return f"{number(case.stored_gwh)} GWh when full{time}; {share:.0f} % full at the beginning"


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
    columns = ("mean load", "peak", "hydro", "thermal", "other, mean", "lines in")
    rows: Rows = [
        (bus.name, bus.load_mw, bus.peak_mw, bus.hydro_mw, bus.thermal_mw, bus.source_mw, bus.line_mw)
        for bus in buses
    ]
    if len(rows) > 1:
        sums = [sum(float(row[place] or 0) for row in rows) for place in range(1, 6)]
        rows = [*rows[:limit], ("all", *sums, None)]
    table(console, "Buses, in MW", ("bus", *columns), rows, total=len(buses) > 1)
    more(console, len(buses), limit)


def _show_rivers(console: Console, case: CaseSummary, limit: int | None) -> None:
    """Each river from its last plant upwards, the largest first."""
    upstream: dict[int | None, list[HydroSummary]] = {}
    for hydro in case.hydros:
        upstream.setdefault(hydro.downstream, []).append(hydro)
    left = len(case.hydros) if limit is None else limit
    tree = Tree(Text("Rivers, from the last plant up", "bold"), guide_style="dim")

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
