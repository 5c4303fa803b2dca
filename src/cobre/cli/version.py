"""``cobre version``: versions, machine and backends."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from cobre.cli import _console
from cobre.cli._console import ColorOption, FormatOption

if TYPE_CHECKING:
    from rich.console import Console

    from cobre.cli._installation import Installation


def version(
    output_format: FormatOption = "human",
    color: ColorOption = "auto",
) -> None:
    """Show versions, solver, machine and backends.

    Example: cobre version --output-format json

    Include its output in problem reports. cobre --version prints the version number only.
    """
    from cobre.cli._backends import Backends  # noqa: PLC0415
    from cobre.cli._installation import inspect_installation  # noqa: PLC0415

    found, backends = inspect_installation(), Backends()
    if output_format == "json":
        typer.echo(json.dumps({**asdict(found), **backends.plain()}, indent=2))
        return
    console = _console.stdout(color)
    _show(console, found)
    backends.show(console)


def _show(console: Console, found: Installation) -> None:
    names = {"highspy": "HiGHS"}
    rows = {"cobre": found.version, "Python": f"{found.python}, {found.executable}"}
    rows |= {names.get(name, name): number or "not installed" for name, number in found.packages.items()}
    rows |= {f"cobre.{name}": path or "not built" for name, path in found.core.items()}
    rows |= {"platform": found.platform, "CPUs": _cpus(found)}
    for name, value in rows.items():
        style = "yellow" if value.startswith("not ") else None
        console.print(f"{name:<14}", end="", style="bold", highlight=False)
        console.print(value, style=style, highlight=False, soft_wrap=True, markup=False)
    console.print()


def _cpus(found: Installation) -> str:
    if found.usable_cpus == found.cpus:
        return str(found.cpus)
    return f"{found.cpus}, {found.usable_cpus} usable by this process"
