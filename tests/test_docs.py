"""What the pages say that no example runs: names, variables, links and printed output."""

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cobre.case
import cobre.comm
import cobre.comm.testing
import cobre.errors
import cobre.lp
import cobre.report
import cobre.results
import cobre.sddp
import cobre.stochastic
import cobre.study
import cobre.system
from cobre.comm import _config
from cobre.comm._registry import BUILTIN
from cobre.comm._selection import BACKEND_VARIABLE, MPI_LAUNCHER_VARIABLES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    *ROOT.glob("*.md"),
    *(page for page in DOCS.rglob("*.md") if "_build" not in page.relative_to(DOCS).parts),
]


needs_shm = pytest.mark.skipif(sys.platform != "linux", reason="the pages use shm, which needs Linux")


def _blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def _by_rank(output):
    """Lines in the order of their rank, since ranks print when they like."""
    lines = output.splitlines(keepends=True)
    return "".join(sorted(lines, key=lambda line: re.match(r"(\[\d+\])?", line)[0]))


def _run_session(block, folder):
    """Run the commands of a ``console`` block; what they print must be what follows them there."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command, wanted in re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
        ran = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path, "COLUMNS": "80"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        assert doctest.OutputChecker().check_output(
            _by_rank(wanted), _by_rank(ran.stdout), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        ), f"{command} printed\n{ran.stdout}"


@needs_shm
def test_readme_prints_what_it_says_it_prints(tmp_path):
    readme = (ROOT / "README.md").read_text()
    shutil.copytree(ROOT / "examples" / "cases", tmp_path / "examples" / "cases")
    names = ["study.py", "reservoir.py", "squares.py"]
    for name, script in zip(names, _blocks(readme, "python"), strict=True):
        (tmp_path / name).write_text(script)
    sessions = _blocks(readme, "console")
    assert [session.count("$ ") for session in sessions] == [1, 1, 1, 2]
    for session in sessions:
        _run_session(session, tmp_path)


no_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made by openssl")

#: Pages that are one story: their commands leave files that later ones use.
STORIES = [DOCS / "tutorial" / "first-case.md", DOCS / "how-to" / "run-a-case.md"]

SESSIONS = [
    pytest.param(
        block,
        id=f"{page.relative_to(ROOT)}-{number}",
        marks=[no_openssl] if "certificates" in block else [],
    )
    for page in PAGES
    if page.parent != ROOT and page not in STORIES
    for number, block in enumerate(_blocks(page.read_text(), "console"))
]


@needs_shm
@pytest.mark.parametrize("session", SESSIONS)
def test_a_session_on_a_page_shows_what_is_printed(session):
    _run_session(session, ROOT)


@needs_shm
@pytest.mark.parametrize("page", STORIES, ids=lambda page: page.name)
def test_a_story_can_be_followed_from_top_to_bottom(page, tmp_path):
    shutil.copytree(ROOT / "examples" / "cases", tmp_path / "examples" / "cases")
    step = r"(?:In a file `(?P<name>\w+\.py)`:.*?)?^```(?P<language>python|console)\n(?P<block>.*?)^```"
    for found in re.finditer(step, page.read_text(), re.DOTALL | re.MULTILINE):
        if found["language"] == "console":
            _run_session(found["block"], tmp_path)
        elif found["name"]:
            (tmp_path / found["name"]).write_text(found["block"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_files_lead_somewhere(page):
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    targets = [target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", prose)]
    missing = [t for t in targets if t and "://" not in t and not (page.parent / t).exists()]
    assert missing == []


@pytest.mark.parametrize(
    ("module", "page"),
    [
        (cobre.comm, "comm.md"),
        (cobre.comm.testing, "testing.md"),
        (cobre.sddp, "sddp.md events.md lp.md"),
        (cobre.lp, "lp.md"),
        (cobre.stochastic, "stochastic.md"),
        (cobre.case, "case.md"),
        (cobre.system, "system.md"),
        (cobre.report, "report.md"),
        (cobre.results, "outputs.md"),
        (cobre, "study.md case.md sddp.md"),
        (cobre.study, "study.md"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_every_public_name_is_in_the_reference(module, page):
    """Errors have a page of their own, which lists whatever the module holds."""
    text = "".join((DOCS / "reference" / name).read_text() for name in page.split())
    documented = set(re.findall(r"\.\. (?:auto)?(?:class|function|data):: (\w+)", text))
    assert set(module.__all__) - set(cobre.errors.__all__) <= documented


def _rows(text):
    """The cells of the tables' rows whose first cell is a variable, without code marks."""
    rows = [[cell.strip().strip("`") for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    return {row[0]: row[1:] for row in rows if row and row[0].startswith("COBRE_")}


FOR_TESTS = {"COBRE_HYPOTHESIS_PROFILE", "COBRE_CHAOS_TRIALS", "COBRE_CHAOS_RANKS", "COBRE_TEST_LARGE"}
FOR_TESTS |= {"COBRE_TEST_CASES", "COBRE_TEST_RANDOM_CASES"}


def test_the_table_of_variables_has_every_setting():
    rows = _rows((DOCS / "reference" / "environment.md").read_text())
    declared = {}
    for config in (_config.ShmConfig, _config.TcpConfig, _config.MpiConfig):
        for name, rule, required in config._declared():
            default = "required" if required else getattr(config, name)
            if name == "coordinator":
                default = "required, except on rank 0"
            shown = (
                "none" if default is None else str(default).removesuffix(".0" * isinstance(default, float))
            )
            declared[rule.variable] = [shown, name]
    described = {name: cells[:2] for name, cells in rows.items() if name in declared}
    assert described == declared
    assert rows.keys() - declared.keys() == {
        BACKEND_VARIABLE,
        _config.MPI_RANK_PROCESS_VARIABLE,
        *FOR_TESTS,
    }


SNIPPETS = [page for page in (ROOT / "examples" / "several_machines").iterdir() if page.is_file()]


@pytest.mark.parametrize("page", [*PAGES, *SNIPPETS], ids=lambda page: str(page.relative_to(ROOT)))
def test_no_variable_is_named_that_does_not_exist(page):
    known = _rows((DOCS / "reference" / "environment.md").read_text()).keys()
    named = set(re.findall(r"\bCOBRE_[A-Z_]*[A-Z]\b(?!_?\*)", page.read_text()))
    assert named <= known


def test_the_variables_of_launchers_are_listed():
    text = (DOCS / "reference" / "environment.md").read_text()
    assert [name for name in MPI_LAUNCHER_VARIABLES if f"`{name}`" not in text] == []


def test_the_cost_model_gives_the_figure_and_the_table_of_its_page(tmp_path):
    page, figure = DOCS / "explanation" / "cost.md", tmp_path / "cost.svg"
    command = [sys.executable, ROOT / "benchmarks" / "cost_model.py", "--out", figure]
    table = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert table in page.read_text()
    assert figure.read_text() == page.with_suffix(".svg").read_text()


def test_every_builtin_backend_is_described():
    text = (DOCS / "how-to" / "choose-a-backend.md").read_text()
    assert [name for name in BUILTIN if f"\n| `{name}` |" not in text] == []


def test_every_hook_is_described():
    text = (DOCS / "how-to" / "write-a-backend.md").read_text()
    hooks = cobre.comm.BackendCommunicator.__abstractmethods__ | {"_close"}
    assert [hook for hook in sorted(hooks) if not re.search(rf"\n\| `{hook}\b", text)] == []


def test_the_number_of_checks_is_right_wherever_it_is_written():
    for page in PAGES:
        for kept, total in re.findall(r"(\d+) of (\d+) promises", page.read_text()):
            assert (int(kept), int(total)) == (len(cobre.comm.testing.CHECKS),) * 2, page
