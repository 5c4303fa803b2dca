"""Layout of headings, facts and tables on a console."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cobre.elements import KINDS, labels
from cobre.formatting import count

#: A cell: text, a number, or nothing.
Cell = str | float | None
Rows = list[tuple[Cell, ...]]


def heading(console: Console, words: str, verdict: str = "", style: str = "") -> None:
    """Print a heading with a status beside it."""
    console.print(Text.assemble((words, "bold"), (f"  {verdict}" if verdict else "", style)), soft_wrap=True)


def facts(console: Console, entries: Mapping[str, str]) -> None:
    """Print names with their values beside them."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, words in entries.items():
        grid.add_row(name, Text(words))
    console.print(Padding(grid, (0, 0, 0, 2)))


def table(console: Console, title: str, columns: Sequence[str], rows: Rows, *, total: bool = False) -> None:
    """Print a table: the first column holds names, the others numbers; the last row may be a total."""
    console.print(Text(f"\n{title}", "bold"))
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for place, name in enumerate(columns):
        grid.add_column(name, justify="right" if place else "left", overflow="fold", no_wrap=place > 0)
    for place, row in enumerate(rows):
        last = total and place == len(rows) - 1
        grid.add_row(*(_cell(cell) for cell in row), style="bold" if last else None)
    console.print(grid)


def _cell(cell: Cell) -> Text:
    return Text(cell if isinstance(cell, str) else "" if cell is None else number(cell))


def number(value: float) -> str:
    """Quantity as text: whole if it is large, else with three digits.

    >>> [number(value) for value in (0, 0.01234, 12.345, 1234.5, 16341184655.3, -0.5)]
    ['0', '0.0123', '12.3', '1,234', '16,341,184,655', '-0.5']
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def sizes(counts: Mapping[str, int]) -> str:
    """Return the numbers of stages, elements and so on that are not 0, from their keys in summaries.

    >>> sizes({"stages": 12, "lines": 0, "pumping": 2, "hydros": 1})
    '12 stages, 1 hydro plant, 2 pumping stations'
    """
    elements = {labels(kind).KEY: labels(kind) for kind in KINDS}
    others = [count(number, key.removesuffix("s")) for key, number in counts.items() if key not in elements]
    known = [
        count(counts[key], names.SINGULAR, names.PLURAL) for key, names in elements.items() if counts.get(key)
    ]
    return ", ".join([*others, *known])


def more(console: Console, total: int, limit: int | None) -> None:
    """Print how many rows are not shown."""
    if limit is not None and total > limit:
        console.print(Text(f"… and {total - limit} more; --all shows them", "dim"))


def next_steps(console: Console, *commands: Sequence[str]) -> None:
    """Print commands to run next."""
    console.print("\nnext:")
    for command in commands:
        console.print(Text(f"  {shlex.join(['cobre', *command])}", "bold"), soft_wrap=True)
