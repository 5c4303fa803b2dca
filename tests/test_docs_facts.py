"""What the pages say of the code: errors, findings, names, tests and terms are all there, and no others."""

import contextlib
import functools
import importlib
import inspect
import re
from pathlib import Path
from typing import get_args

import pytest

from cobre import errors
from cobre.case._report import Kind
from cobre.cli._ending import exit_code
from tests import test_errors

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

EXCEPTIONS = [
    error
    for name in errors.__all__
    if inspect.isclass(error := getattr(errors, name)) and issubclass(error, errors.CobreError)
]
#: One of each error that is raised itself; the families have none.
RAISED = {type(example): example for example in test_errors.EXAMPLES}
RAISED[errors.IOError] = errors.IOError("my_case", "there is no such folder")


def _sections(text, level):
    """The text beneath each heading of a level, by its words without code marks."""
    parts = re.split(rf"^{'#' * level} `?(.+?)`?$", text, flags=re.MULTILINE)
    bodies = [re.split(rf"^#{{1,{level}}} ", part, flags=re.MULTILINE)[0] for part in parts[2::2]]
    return dict(zip(parts[1::2], bodies, strict=True))


@pytest.mark.parametrize("error", EXCEPTIONS, ids=lambda error: error.__name__)
def test_every_error_has_a_cause_and_a_cure(error):
    text = (DOCS / "reference" / "errors.md").read_text()
    told = (
        _sections(text, 3)[error.__name__] if error is not errors.CobreError else _sections(text, 1)["Errors"]
    )
    assert "**Cause.**" in told
    assert "**Cure.**" in told
    assert f".. autoexception:: {error.__name__}\n" in told
    if error not in RAISED:
        return
    fields = [name for name in inspect.signature(error).parameters if name not in {"self", "args"}]
    assert re.findall(r"`(\w+)`", re.search(r"^\*\*Fields\.\*\* (.*)$", told, re.MULTILINE)[1]) == fields
    assert f"{exit_code(RAISED[error])}." in re.search(r"^\*\*Exit status\.\*\* (.*)$", told, re.MULTILINE)[1]
    assert re.search(rf"^(?:\[0\] )?cobre\.errors\.{error.__name__}: |^\$ ", told, re.MULTILINE)


def test_every_kind_of_finding_has_a_cause_a_cure_and_an_example():
    text = (DOCS / "reference" / "findings.md").read_text()
    rows = re.findall(r"^\| \[`(\w+)`\]\(#[\w-]+\) \| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)
    assert [kind for kind, _, _ in rows] == list(get_args(Kind))
    shown = _sections(text, 3)
    assert [kind for kind, _, _ in rows if f"\n{kind}, in " not in shown[kind]] == []
    assert all(f'"{kind}"' in errors.Finding.__doc__ for kind, _, _ in rows)


@pytest.mark.parametrize("page", sorted((DOCS / "tutorial").glob("[!i]*.md")), ids=lambda page: page.stem)
def test_a_page_of_the_tutorial_says_where_its_words_are_explained(page):
    """That each {term} is in the glossary is for Sphinx to find out, which builds with warnings as errors."""
    assert page.read_text().count("{term}`") >= 2


def _named_code(page):
    """Links whose words are a name in the code: pairs of the name and the file."""
    return re.findall(r"\[`(cobre\.[\w.]+)`\]\(\.\./\.\./(src/[\w/.]+)\)", page.read_text())


def _found(name):
    """The object that a dotted name stands for."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        with contextlib.suppress(ModuleNotFoundError):
            found = importlib.import_module(".".join(parts[:end]))
            return functools.reduce(getattr, parts[end:], found)
    raise LookupError(name)


CODE = sorted({pair for page in (DOCS / "explanation").glob("*.md") for pair in _named_code(page)})
assert len(CODE) > 30, "the names are no longer found in the pages"


@pytest.mark.parametrize(("name", "file"), CODE, ids=lambda value: value)
def test_code_that_a_page_names_is_where_it_says(name, file):
    assert Path(inspect.getsourcefile(inspect.unwrap(_found(name)))) == ROOT / file
