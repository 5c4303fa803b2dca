"""Report page of a run: key figures, summary, charts with their data, and run details.

The page is one file. It contains its data and the drawing script, and its content security policy forbids
any network access.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import cobre
from cobre.report import _solved, _solved_figures
from cobre.report._about import about, banner, run_groups, status
from cobre.report._draw import FIGURES, available, hindrance, spec_of
from cobre.report._facts import Facts
from cobre.report._figure import Columns, Figure, Options
from cobre.report._key import key_figures
from cobre.report._reading import reading
from cobre.report._source import opened
from cobre.report._theme import needed, vl_convert
from cobre.results import Results, SolvedProblem, write_bytes

#: Most drawings of one figure on a page; beyond that, values of the last option are left out evenly.
MOST_DRAWINGS = 1000
#: Characters that could end the script element around the JSON, or a line of JavaScript.
_ESCAPES = str.maketrans({"<": "\\u003c", "\u2028": "\\u2028", "\u2029": "\\u2029"})


@dataclass(frozen=True)
class _Choice:
    name: str
    values: tuple[int | None, ...]
    options: tuple[str, ...]


@dataclass(frozen=True)
class _Drawn:
    """Figure as passed to the template; ``missing`` is the reason why there is none."""

    name: str
    title: str
    question: str
    height: int
    missing: str | None = None
    choices: tuple[_Choice, ...] = ()
    hint: str = ""
    content: str = field(default="", repr=False)


def write(
    source: Results | SolvedProblem | str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
) -> Path:
    """Write the report page of a run: one HTML file that needs no network.

    Args:
        source: a result folder, or what `cobre.results.read` or ``cobre.results.read_solved`` returned. For
            an unfinished run, the page shows what is available.
        path: the file; ``report.html`` in the folder unless given.
        title: heading; the name of the case unless given.

    Returns:
        Path of the page.

    Raises:
        ResultsError: the folder is not a result folder, or a file in it is damaged.
        OutputError: the page cannot be written; an existing page is left unchanged.
        MissingExtra: plotting dependencies are missing.
    """
    results = source if isinstance(source, SolvedProblem) else opened(source)
    place = results.folder / "report.html" if path is None else Path(path)
    write_bytes(place, html(results, title=title).encode())
    return place


def html(source: Results | SolvedProblem | str | os.PathLike[str], *, title: str | None = None) -> str:
    """Return the page that `write` writes; arguments and errors are the same."""
    convert, environment = vl_convert(), needed("jinja2").Environment(autoescape=True)
    if isinstance(source, SolvedProblem):
        folder, content = source.folder, _content_of_solved(source)
        name = title or Path(source.summary["problem"]).name
    else:
        results = opened(source)
        folder, content = results.folder, _content(results)
        name = title or Facts(results).case_name
    unescaped = {
        "style": _file("page.css"),
        "script": _file("page.js"),
        "library": convert.javascript_bundle(),
    }
    safe = {name: needed("markupsafe").Markup(text) for name, text in unescaped.items()}
    template = environment.from_string(_file("page.html.jinja"))
    return str(template.render(title=name, version=cobre.__version__, folder=folder, **content, **safe))


def _content(results: Results) -> dict[str, Any]:
    facts = Facts(results)
    return {
        "about": about(facts),
        "status": status(facts),
        "banner": banner(facts),
        "key": key_figures(facts),
        "reading": [
            (of, unbroken(line))
            for of, line in zip(("The policy", "The system", "The run"), reading(results), strict=True)
        ],
        "figures": [
            _drawn(results, FIGURES[name], why and _missing(facts, why))
            for name, why in available(results).items()
        ],
        "run": run_groups(facts),
    }


def _content_of_solved(solved: SolvedProblem) -> dict[str, Any]:
    hindrances = {figure: hindrance(figure, solved) for figure in _solved_figures.FIGURES}
    return {
        **_solved.content(solved),
        "figures": [
            _drawn(solved, figure, why and _sentence(solved.folder, why))
            for figure, why in hindrances.items()
        ],
    }


def _missing(facts: Facts, why: str) -> str:
    """Reason why a figure is missing."""
    if facts.unfinished:
        return "The run has not reached this point yet. Resume it to see this figure."
    return _sentence(facts.results.folder, why)


def _sentence(folder: Path, why: str) -> str:
    """The words of an error without the path at their start."""
    words = why.removeprefix(str(folder)).partition(": ")[2] or why
    return f"{words[0].upper()}{words[1:]}."


def _drawn(results: Results | SolvedProblem, figure: Figure, missing: str | None) -> _Drawn:
    known = _Drawn(figure.name, figure.title, figure.question, figure.size[1], missing)
    if missing:
        return known
    options = figure.options_of(results)
    choices = _choices(options)
    parts = [
        dict(zip(options, chosen, strict=True)) for chosen in itertools.product(*(c.values for c in choices))
    ]
    content = {
        "specs": {theme: spec_of(figure, results, theme) for theme in ("light", "dark")},
        "choices": [{"name": choice.name, "options": choice.options} for choice in choices],
        "captions": [figure.caption_of(results, **part) for part in parts],
        **pooled([figure.rows_of(results, **part) for part in parts]),
    }
    return _Drawn(
        *(known.name, known.title, known.question, known.height),
        choices=choices,
        hint=_hint(results.folder, figure.name, options, choices),
        content=needed("markupsafe").Markup(embedded(content)),
    )


def _choices(options: Options) -> tuple[_Choice, ...]:
    """All options, or if these are too many drawings, evenly spaced values of the last one."""
    sizes = [len(values) for values in options.values()]
    chosen = []
    for place, (name, values) in enumerate(options.items()):
        wanted = len(values)
        if place == len(sizes) - 1:
            drawings = 1
            for size in sizes[:-1]:
                drawings *= size
            wanted = min(wanted, max(MOST_DRAWINGS // drawings, 2))
        kept = _evenly(list(values), wanted)
        chosen.append(_Choice(name, tuple(kept), tuple(values[value] for value in kept)))
    return tuple(chosen)


def _evenly(values: list[Any], wanted: int) -> list[Any]:
    """Evenly spaced selection of values that includes the first and the last.

    >>> _evenly(list(range(10)), 4)
    [0, 3, 6, 9]
    """
    if wanted >= len(values):
        return values
    return [values[round(i * (len(values) - 1) / (wanted - 1))] for i in range(wanted)]


def _hint(folder: Path, name: str, options: Options, choices: tuple[_Choice, ...]) -> str:
    """Command that draws what the page leaves out."""
    for choice in choices:
        total = len(options[choice.name])
        if len(choice.options) < total:
            given = " ".join(f"--{each.name} {each.name.upper()}" for each in choices)
            command = f"cobre plot {shlex.quote(str(folder))} {name} {given}"
            kept = f"{len(choice.options)} of {total} {choice.name}s"
            return f"The page shows {kept}, to limit its size. For the others: {command}"
    return ""


def pooled(tables: list[Columns]) -> dict[str, Any]:
    """Return tables whose columns are indices into a pool of distinct columns: most share their stages.

    >>> pooled([{"stage": [0, 1], "mean": [5, 6]}, {"stage": [0, 1], "mean": [7, 8]}])
    {'pool': [[0, 1], [5, 6], [7, 8]], 'each': [{'stage': 0, 'mean': 1}, {'stage': 0, 'mean': 2}]}
    """
    places: dict[tuple[Any, ...], int] = {}
    each = [
        {name: places.setdefault(tuple(column), len(places)) for name, column in table.items()}
        for table in tables
    ]
    return {"pool": [list(column) for column in places], "each": each}


def embedded(content: Any) -> str:
    r"""Return JSON that is safe inside a script element, whatever text it contains.

    >>> embedded({"name": "</script><!--"})
    '{"name":"\\u003c/script>\\u003c!--"}'
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES)


def unbroken(words: str) -> str:
    r"""Return text without line breaks between a number and its unit.

    >>> unbroken("8.5 % of 3 things").replace("\xa0", "_")
    '8.5_% of 3 things'
    """
    return re.sub(r"(?<=[\d.±]) (?=[%$±\d]|(?:[mb]illion|trillion|min|s|h)\b)", "\xa0", words).replace(
        " $", "\xa0$"
    )


def _file(name: str) -> str:
    return (files("cobre.report") / "page" / name).read_text(encoding="utf-8")
