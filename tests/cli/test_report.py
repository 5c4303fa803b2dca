"""``cobre report`` as users run it."""

import os
import subprocess
import sys

import pytest

from cobre import report, study
from tests.cli.commands import cobre, cobre_process
from tests.study.cases import copy


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = copy("one-reservoir", tmp_path_factory.mktemp("report") / "case")
    study.run(folder)
    return folder


def python(program, *arguments):
    """Exit code, stdout and stderr of a program of Python."""
    command = [sys.executable, "-c", program, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return ended.returncode, ended.stdout, ended.stderr


def test_it_writes_a_page_and_says_what_it_says(case, tmp_path):
    code, out, err = cobre(
        "report", case / "output", "-o", tmp_path / "new" / "page.html", "--title", "A <study>"
    )
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        *report.reading(case / "output"),
        f"written to {tmp_path / 'new' / 'page.html'}",
    ]
    page = (tmp_path / "new" / "page.html").read_text(encoding="utf-8")
    assert "<h1>A &lt;study&gt;</h1>" in page
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["page.html"]


def test_the_browser_is_asked_to_open_it(case, tmp_path):
    seen = tmp_path / "seen"
    browser = tmp_path / "browser.sh"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}\n')
    browser.chmod(0o755)
    environment = {**os.environ, "BROWSER": f"{browser} %s"}
    code, _, err = cobre_process("report", case / "output", "--open", env=environment)
    assert (code, err) == (0, "")
    assert seen.read_text().strip() == (case / "output" / "report.html").as_uri()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("", "did you mean {case}/output?"),
        ("output/training", "did you mean {case}/output?"),
        ("output/training/timing", "did you mean {case}/output?"),
        ("system", "there is no training/_manifest.json; check the path"),
        ("outptu", "there is no such folder; check the path"),
    ],
)
def test_a_folder_that_is_no_result_is_answered_with_the_one_that_was_meant(case, given, words):
    code, out, err = cobre("report", case / given)
    assert (code, out) == (3, "")
    assert err.startswith(f"error: {case / given}: ")
    assert words.format(case=case) in err
    assert len(err.splitlines()) == 1


def test_a_page_that_cannot_be_written_leaves_the_old_one(case, tmp_path):
    (tmp_path / "file").write_text("mine")
    code, _, err = cobre("report", case / "output", "-o", tmp_path / "file" / "page.html")
    assert code == 3
    assert err.startswith(f"error: {tmp_path / 'file' / 'page.html'} cannot be written")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("missing", ["altair", "jinja2", "vl_convert"])
def test_without_the_extra_it_says_what_to_install(case, missing):
    program = f"import sys; sys.modules[{missing!r}] = None; from cobre.cli import main; main()"
    code, out, err = python(program, "report", case / "output")
    assert (code, out) == (2, "")
    assert "pip install 'cobre-parallel[report]'" in err


@pytest.mark.parametrize(
    ("call", "heavy"),
    [
        ("from cobre.report import write; write(folder, page)", {"cobre._lp", "highspy", "pydantic"}),
        # typer itself imports pydantic, where it is installed
        (
            "from cobre.cli import app; app(['report', folder, '-o', page], standalone_mode=False)",
            {"cobre._lp", "highspy", "cobre.case"},
        ),
    ],
    ids=["function", "command"],
)
def test_it_loads_neither_the_solver_nor_the_reader_of_cases(case, tmp_path, call, heavy):
    """A machine that shows results need not be able to compute them."""
    page = tmp_path / "page.html"
    program = f"import sys; folder, page = sys.argv[1:]; {call}; print(*({heavy} & sys.modules.keys()))"
    code, out, err = python(program, case / "output", page)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == ""
    assert "water value, $/hm³" in page.read_text(encoding="utf-8")
