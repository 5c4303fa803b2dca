"""The command line of a benchmark that consists of parts."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import harness
from rich.console import Console
from rich.table import Table


class PartsParser(argparse.ArgumentParser):
    """Takes which parts to measure, and how thoroughly."""

    def __init__(self, doc: str | None, parts: tuple[str, ...]) -> None:
        super().__init__(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        self._parts = parts
        self.set_defaults(parts=parts)
        self.add_argument(
            "--only", default=",".join(parts), type=self._known, help="which parts, with commas"
        )
        self.add_argument("--quick", action="store_true", help="small problems, few turns; says less")

    def _known(self, text: str) -> tuple[str, ...]:
        only = tuple(text.split(","))
        if unknown := set(only) - set(self._parts):
            raise argparse.ArgumentTypeError(
                f"unknown parts {sorted(unknown)}; there are {', '.join(self._parts)}"
            )
        return only


def measure(
    name: str,
    options: argparse.Namespace,
    run: Callable[[str, Callable[[str], object]], Mapping[str, Any]],
    tables: Callable[[dict[str, Any]], Iterable[Table]],
    versions: Callable[[dict[str, Any]], Mapping[str, str]],
) -> None:
    """Measure the parts that are asked for, show each as soon as it is there, and write the result."""
    console = Console()
    console.width = max(console.width, harness.TABLE_WIDTH)  # a table that wraps cannot be read
    result: dict[str, Any] = {"quick": options.quick}
    for part in options.only:
        measured = dict(run(part, console.print))
        result |= measured
        for table in tables(measured):
            console.print(table)
    # A part of the benchmark must not overwrite the whole.
    file = name if options.only == options.parts else "_".join((name, *options.only))
    path = harness.write_result(file, result, versions(result))
    console.print(f"others used {result['others_cpu_percent']} % of one CPU meanwhile; wrote {path.name}")
