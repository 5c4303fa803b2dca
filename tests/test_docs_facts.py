"""What the pages say of the code: errors, findings, names, tests and terms are all there, and no others."""

import contextlib
import functools
import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import cobre.case
import cobre.comm
import cobre.comm.testing
import cobre.formats
import cobre.lp
import cobre.progress
import cobre.report
import cobre.results
import cobre.sddp
import cobre.stochastic
import cobre.study
import cobre.system
from cobre import errors, logs
from cobre.cli._exit import exit_code
from cobre.comm import config
from cobre.comm.config import MPI_LAUNCHER_VARIABLES
from cobre.comm.registry import BUILTIN
from cobre.comm.selection import BACKEND_VARIABLE
from cobre.inputs.findings import Kind
from tests import test_errors
from tests.cli.commands import cobre as run_command
from tests.cli.test_help import ALL
from tests.doc_pages import DOCS, PAGES, ROOT

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
def test_every_error_has_a_cause_and_a_remedy(error):
    text = (DOCS / "reference" / "errors.md").read_text()
    told = (
        _sections(text, 3)[error.__name__] if error is not errors.CobreError else _sections(text, 1)["Errors"]
    )
    assert "**Cause.**" in told
    assert "**Remedy.**" in told
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


def test_the_tests_behind_a_guarantee_exist():
    guarantees = _sections((DOCS / "explanation" / "guarantees.md").read_text(), 2)
    assert len(guarantees) == 6
    for name, told in guarantees.items():
        parts = [told.index(f"**{part}.**") for part in ("Meaning", "Check it", "Tests", "Not covered")]
        assert parts == sorted(parts), name
        named = re.findall(r"`(tests/[\w/.]+)`", told[parts[2] : parts[3]])
        assert [file for file in named if not (ROOT / file).is_file()] == []
        assert named or name == "Measured speed"


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_files_lead_somewhere(page):
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    targets = [target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", prose)]
    missing = [t for t in targets if t and "://" not in t and not (page.parent / t).exists()]
    assert missing == []


def _anchors(page):
    """What may follow the ``#`` of a link: the words of a heading, or a label before it."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")), ids=lambda page: page.name)
def test_links_from_outside_lead_to_a_place_on_a_page(page):
    """Sphinx looks after those within docs."""
    for target, anchor in re.findall(r"\]\(([^)\s#:]+\.md)#([^)\s]+)\)", page.read_text()):
        assert anchor in _anchors(page.parent / target), f"{target}#{anchor}"


@pytest.mark.parametrize(
    ("module", "page"),
    [
        (cobre.comm, "comm.md"),
        (cobre.comm.testing, "testing.md"),
        (cobre.sddp, "sddp.md events.md lp.md"),
        (cobre.progress, "progress.md"),
        (cobre.lp, "lp.md"),
        (cobre.formats, "formats.md"),
        (cobre.stochastic, "stochastic.md"),
        (cobre.case, "case.md"),
        (cobre.system, "system.md"),
        (cobre.results, "outputs.md"),
        (cobre.report, "report.md"),
        (cobre, "study.md case.md sddp.md"),
        (cobre.study, "study.md"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_every_public_name_is_in_the_reference(module, page):
    """Errors have a page of their own, which lists whatever the module holds."""
    text = "".join((DOCS / "reference" / name).read_text() for name in page.split())
    documented = set(re.findall(r"\.\. (?:auto)?(?:class|function|data):: (\w+)", text))
    assert set(module.__all__) - set(errors.__all__) <= documented


def _rows(text):
    """The cells of the tables' rows whose first cell is a variable, without code marks."""
    rows = [[cell.strip().strip("`") for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    return {row[0]: row[1:] for row in rows if row and row[0].startswith("COBRE_")}


FOR_TESTS = {"COBRE_HYPOTHESIS_PROFILE", "COBRE_CHAOS_TRIALS", "COBRE_CHAOS_RANKS", "COBRE_TEST_LARGE"}
FOR_TESTS |= {"COBRE_TEST_CASES", "COBRE_TEST_RANDOM_CASES", "COBRE_GUARD_PROBLEMS", "COBRE_TEST_MUTANTS"}


def test_the_table_of_variables_has_every_setting():
    rows = _rows((DOCS / "reference" / "environment.md").read_text())
    declared = {}
    for kind in (config.ShmConfig, config.TcpConfig, config.MpiConfig):
        for name, rule, required in kind._declared():
            default = "required" if required else getattr(kind, name)
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
        logs.VARIABLE,
        config.MPI_RANK_PROCESS_VARIABLE,
        "COBRE_CPU_BASELINE",
        *FOR_TESTS,
    }


SNIPPETS = [page for page in (ROOT / "examples" / "several_machines").iterdir() if page.is_file()]


@pytest.mark.parametrize("page", [*PAGES, *SNIPPETS], ids=lambda page: str(page.relative_to(ROOT)))
def test_no_variable_is_named_that_does_not_exist(page):
    known = _rows((DOCS / "reference" / "environment.md").read_text()).keys()
    named = set(re.findall(r"\bCOBRE_[A-Z_]*[A-Z]\b(?!_?\*)", page.read_text()))
    # The page on the specification names what is not here, which its own test checks.
    assert named - known <= ({"COBRE_SHM_NUMA_INTERLEAVE"} if page.stem == "specification" else set())


def test_the_variables_of_launchers_are_listed():
    text = (DOCS / "reference" / "environment.md").read_text()
    assert [name for name in MPI_LAUNCHER_VARIABLES if f"`{name}`" not in text] == []


def test_the_pages_of_backends_have_the_same_sections_and_a_row_in_the_table_of_decisions():
    pages = [(DOCS / "explanation" / f"{name}.md").read_text() for name in BUILTIN]
    sections = [re.findall(r"^## (.+)$", page, re.MULTILINE) for page in pages]
    assert sections[0] == ["Purpose and deployment", "Initialisation", *sections[0][2:]]
    assert sections == [sections[0]] * len(BUILTIN)
    table = _sections((DOCS / "how-to" / "choose-a-backend.md").read_text(), 2)["Which backend for me"]
    assert [name for name in BUILTIN if f"(../explanation/{name}.md)" not in table] == []


def test_the_cost_model_gives_the_figure_and_the_table_of_its_page(tmp_path):
    page, figure = DOCS / "explanation" / "cost.md", tmp_path / "cost.svg"
    command = [sys.executable, ROOT / "benchmarks" / "cost_model.py", "--out", figure]
    table = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert table in page.read_text()
    assert figure.read_text() == page.with_suffix(".svg").read_text()


def test_every_command_has_a_section():
    told = _sections((DOCS / "reference" / "command-line.md").read_text(), 2)
    commands = [" ".join(("cobre", *words)) for words, found in ALL.items() if not hasattr(found, "commands")]
    assert [name for name in commands if f"{{command-help}} {name}\n" not in told.get(name, "")] == []


@pytest.fixture(scope="module")
def small_case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("json") / "case"
    cobre.case.create("one-reservoir", folder)
    config = json.loads((folder / "config.json").read_text())
    config["training"]["stopping_rules"] = [{"type": "iteration_limit", "limit": 2}]
    config["simulation"]["num_scenarios"] = 2
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(
    "command",
    [
        "validate CASE",
        "run CASE",
        "run CASE/none",
        "scale CASE --seconds 1",
        "comm info",
        "comm check --only barrier",
        "comm bench",
        "version",
    ],
)
def test_what_programs_read_is_told(command, small_case):
    words = command.replace("CASE", str(small_case)).split()
    _, out, _ = run_command(*words, "--output-format", "json")
    name = " ".join(["cobre", *(word for word in command.split()[:2] if word.islower() and word.isalpha())])
    told = _sections((DOCS / "reference" / "command-line.md").read_text(), 2)[name]
    rows = re.findall(r"^\| (`.*?) \|", told, re.MULTILINE)
    assert set(json.loads(out)) <= {key for cell in rows for key in re.findall(r"`(\w+)`", cell)}


def test_every_builtin_backend_is_described():
    text = (DOCS / "how-to" / "choose-a-backend.md").read_text()
    assert [name for name in BUILTIN if f"](../explanation/{name}.md)" not in text] == []


def test_every_hook_is_described():
    text = (DOCS / "how-to" / "write-a-backend.md").read_text()
    hooks = cobre.comm.BackendCommunicator.__abstractmethods__ | {"_close"}
    assert [hook for hook in sorted(hooks) if not re.search(rf"\n\| `{hook}\b", text)] == []


def test_the_number_of_checks_is_right_wherever_it_is_written():
    for page in PAGES:
        for kept, total in re.findall(r"(\d+) of (\d+) promises", page.read_text()):
            if kept != "2":  # those of barriers alone
                assert (int(kept), int(total)) == (len(cobre.comm.testing.CHECKS),) * 2, page


@pytest.mark.parametrize("backend", BUILTIN)
def test_the_page_of_a_backend_has_the_sections_of_all_and_maps_every_error(backend):
    told = _sections((DOCS / "explanation" / f"{backend}.md").read_text(), 2)
    first = _sections((DOCS / "explanation" / f"{BUILTIN[0]}.md").read_text(), 2)
    assert list(told) == list(first)
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \| [^|]* \|$", told["Errors"], re.MULTILINE)
    named = {name for cell in rows for name in re.findall(r"`([A-Z]\w+)`", cell)}
    mapped = {error.__name__ for error in errors.CommError.__subclasses__()} | {"InitializationFailed"}
    assert mapped <= named
    assert [name for name in named if not hasattr(errors, name) and name != "RuntimeWarning"] == []
    listed = (DOCS / "reference" / "environment.md").read_text()
    assert [
        one for one in re.findall(r"`(COBRE_[A-Z_]+)`", told["Configuration"]) if f"`{one}`" not in listed
    ] == []
