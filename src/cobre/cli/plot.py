"""``cobre plot``: a figure of a run as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cobre.cli._complete import figure_names, result_folders

if TYPE_CHECKING:
    from cobre.results import Results


def plot(  # noqa: PLR0913, PLR0917  the options of a command
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Result folder.", autocompletion=result_folders)
    ],
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Figure; without it, all are listed.", autocompletion=figure_names
        ),
    ] = "",
    hydro: Annotated[str | None, typer.Option(metavar="NAME", help="Hydro plant, by name or id.")] = None,
    bus: Annotated[str | None, typer.Option(metavar="NAME", help="Bus, by name or id.")] = None,
    stage: Annotated[str | None, typer.Option(metavar="N", help="Stage, numbered from 0.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="A .png, .svg, .json or .html file; default: NAME.png."
        ),
    ] = None,
    width: Annotated[
        int | None, typer.Option(min=100, max=10_000, metavar="N", help="Width in pixels.")
    ] = None,
    height: Annotated[
        int | None, typer.Option(min=50, max=10_000, metavar="N", help="Height in pixels.")
    ] = None,
    scale: Annotated[float, typer.Option(min=0.1, max=10, metavar="X", help="Scale factor of a PNG.")] = 2.0,
    theme: Annotated[str, typer.Option(metavar="NAME", help="light or dark.")] = "light",
    listed: Annotated[bool, typer.Option("--list", help="List the figures and their options.")] = False,
) -> None:
    """Draw a figure of a run and write it to a file.

    Example: cobre plot my_case/output storage --hydro Lake

    Figures: convergence, storage, generation, prices, costs, components, value, timeline. cobre plot DIR
    lists what each shows and its options. No browser is needed.

    Exits with 0 on success, 1 for an unknown name, 2 if plotting dependencies are missing, 3 if a file cannot
    be read or written, or the results lack the data for this figure.
    """
    from cobre import report, results  # noqa: PLC0415  slow import

    found = results.read(folder, partial=True)
    if listed or not name:
        _list(found)
        return
    figure = report.figure(name)
    asked = {"hydro": hydro, "bus": bus, "stage": stage}
    given = {what: value for what, value in asked.items() if value is not None or what in figure.choices}
    chart = report.draw(found, name, theme=theme, width=width, height=height, **given)
    typer.echo(report.save(chart, _place(output, name), scale=scale))


def _place(output: Path | None, name: str) -> Path:
    if output is None:
        return Path(f"{name}.png")
    return output / f"{name}.png" if output.is_dir() else output


def _list(found: Results) -> None:
    """Print all figures with their questions and options, and the reason if one cannot be drawn."""
    from cobre import report  # noqa: PLC0415

    reasons = report.available(found)
    for name, figure in report.FIGURES.items():
        reason = reasons[name]
        typer.echo(f"{name:<13}{figure.question}")
        if reason:
            typer.echo(f"{'':13}cannot be drawn: {reason}")
            continue
        for what, values in figure.options(found).items():
            words = [label for value, label in values.items() if value is not None]
            if words:
                typer.echo(f"{'':13}--{what}: {_few(words)}")


def _few(words: list[str], most: int = 6) -> str:
    return ", ".join(words if len(words) <= most else [*words[: most - 2], "...", words[-1]])
