"""``cobre validate``: errors and warnings of a case folder."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cobre.cli import _console
from cobre.cli._complete import case_folders
from cobre.cli._console import ColorOption, FormatOption
from cobre.formatting import count

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from cobre.errors import Finding
    from cobre.lp import NumberRange
    from cobre.study import ValidationResult


def validate(
    case: Annotated[
        Path,
        typer.Argument(metavar="CASE", help="Case folder, with config.json.", autocompletion=case_folders),
    ],
    output: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of results, with the policy to go on from, if any."),
    ] = None,
    numerics: Annotated[
        bool,
        typer.Option("--numerics", help="Report the ranges of the numbers in the linear programmes, too."),
    ] = False,
    output_format: FormatOption = "human",
    color: ColorOption = "auto",
) -> None:
    """Check a case folder without solving anything: files, fields, references, dimensions, meaning.

    Example: cobre validate my_case

    All errors and warnings are listed at once, each with file, entity, field and remedy; a valid case is one
    that `cobre run` does not refuse. Exits with 0 if it is valid, 1 if not, 3 if the folder does not exist.
    """
    from cobre import study  # noqa: PLC0415  slow import

    result = study.validate(case, output=output, numerics=numerics)
    if output_format == "json":
        typer.echo(json.dumps(_plain(result), indent=2))
    else:
        _show(_console.stdout(color), case, result)
    raise typer.Exit(0 if result.valid else 1)


def _plain(result: ValidationResult) -> dict[str, object]:
    ranges = [
        {name: value if name == "part" else value._asdict() for name, value in one._asdict().items()}
        for one in result.numerics
    ]
    return {
        "valid": result.valid,
        "layers_completed": result.layers_completed,
        "errors": [asdict(finding) for finding in result.errors],
        "warnings": [asdict(finding) for finding in result.warnings],
        **({"numerics": ranges} if ranges else {}),
    }


def _show(console: Console, case: Path, result: ValidationResult) -> None:
    found = [("error", finding) for finding in result.errors]
    found += [("warning", finding) for finding in result.warnings]
    if found:
        console.print(_table(found))
    if result.numerics:
        console.print(_ranges(result.numerics))
    verdict = "is valid" if result.valid else "is not valid"
    console.print(
        f"{case} {verdict}: {count(len(result.errors), 'error')}, {count(len(result.warnings), 'warning')}",
        soft_wrap=True,
        highlight=False,
    )


def _ranges(ranges: tuple[NumberRange, ...]) -> Table:
    from rich.table import Table  # noqa: PLC0415

    table = Table("numbers", "least", "greatest", "in the solver's units")
    for one in ranges:
        solved = f"{one.scaled_least.scaled:.2g} to {one.scaled_greatest.scaled:.2g}"
        ends = (f"{end.size:.3g}\n{end.place}" for end in (one.least, one.greatest))
        table.add_row(one.part, *ends, solved)
    return table


def _table(found: list[tuple[str, Finding]]) -> Table:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(show_lines=True)
    for heading in ("", "where", "problem", "remedy"):
        table.add_column(heading, overflow="fold")
    for severity, finding in found:
        where = "\n".join(part for part in (finding.file, finding.entity, finding.field) if part)
        value = "" if finding.value is None else f" (it is {finding.value!r})"
        style = "red" if severity == "error" else "yellow"
        what = Text.assemble((severity, style), f"\n{finding.kind}")
        table.add_row(what, Text(where), Text(finding.message + value), Text(finding.suggestion))
    return table
