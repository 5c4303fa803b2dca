"""Run the pinned benchmarks: print tables, write ``benchmarks/results/<name>.json``.

``python benchmarks/run.py [--quick] [--only NAME]``; ``make bench`` runs them all.
"""

from __future__ import annotations

import argparse
from importlib import import_module

import harness
from rich.console import Console

NAMES = (
    "local_overhead",
    "reduce",
    "startup",
    "launch",
    "comm",
    "comm_tcp",
    "comm_mpi",
    "sddp",
    "parallel",
    "case",
    "country",
)


def main() -> None:
    """Parse, measure, print, write."""
    parser = argparse.ArgumentParser(description="Run the pinned benchmarks of cobre.")
    parser.add_argument("--quick", action="store_true", help="fewer cases and rounds; says less")
    parser.add_argument("--only", action="append", choices=NAMES, help="run this one; may be repeated")
    options = parser.parse_args()
    console = Console()
    console.width = max(console.width, harness.TABLE_WIDTH)  # a table that wraps cannot be read
    for name in options.only or NAMES:
        console.rule(name)
        benchmark = import_module(name)
        result = {"quick": options.quick, **benchmark.run(quick=options.quick)}
        for table in benchmark.tables(result):
            console.print(table)
        versions = benchmark.versions(result) if hasattr(benchmark, "versions") else None
        path = harness.write_result(name, result, versions)
        console.print(f"others used {result['others_cpu_percent']} % of one CPU meanwhile; wrote {path.name}")


if __name__ == "__main__":
    main()
