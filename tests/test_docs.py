"""Every command in the pages runs, or is declared below with the reason why it does not, and is parsed."""

import re
import shlex
import shutil
import subprocess

import pytest
import typer.main

from cobre.cli import app
from tests.cli.test_help import ALL
from tests.doc_pages import PAGES, ROOT, STORIES, blocks, needs_shm, run_session

USAGE_ERROR = typer.BadParameter.__base__

no_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made by openssl")

#: Commands that no test runs, as patterns, and why.
NOT_RUN = {
    r"pip install .*": "it installs; the tests run in what was installed so",
    r"jupyter lab .*": "it opens a browser; another test runs the notebook",
    r"make (demo|test|lint|docs|help|sanitize|bench)\b.*": "what runs these tests",
    r"module load .*": "modules are those of a cluster",
    r'(srun|mpiexec(\.hydra)?) .*"\$SLURM_NTASKS" .*': "it needs SLURM",
    r"docker run .*": "it needs Docker and an image",
    r"node-\d\$ .*": "it needs a second machine",
    r"COBRE_(SHM|TCP)_\w+=.* COBRE_\w+_RANK=0 .*": "one rank of a group, whose others are elsewhere",
    r"export COBRE_TCP_(TOPOLOGY|TLS_\w+)=.*": "a setting for the ranks of several machines",
    r"python benchmarks/cost_model\.py.*": "another test runs it; this measures, or writes",
    r"python benchmarks/scale\.py.*": "it measures for many minutes, and writes",
    r"(sed -i .*|cobre run my-lake --workers 2 --output night)": "somebody presses Ctrl-C",
}

#: What a line begins with that is a command, where there is no prompt to tell.
COMMAND = r"(?:\w+=\S+ )*(?:cobre|python|pip|jupyter|make|mpiexec|srun|docker|module|export|sh) "
SHELLS = r"(?:text|bash|sh|shell)"


def _shown(page):
    """The commands of a page in blocks that are not run, by block: a prompt tells, or how they begin."""
    for block in blocks(page.read_text(), SHELLS):
        if not block.startswith(("#!", "#SBATCH")):
            lines = re.sub(r"\\\n\s*", "", block).splitlines()
            yield from (
                line.removeprefix("$ ") for line in lines if re.match(rf"\$ |[\w-]+\$ |{COMMAND}", line)
            )


SESSIONS = [
    pytest.param(
        block,
        id=f"{page.relative_to(ROOT)}-{number}",
        marks=[no_openssl] if "certificates" in block else [],
    )
    for page in PAGES
    if page.parent != ROOT and page not in STORIES
    for number, block in enumerate(blocks(page.read_text(), "console"))
]


@needs_shm
@pytest.mark.parametrize("session", SESSIONS)
def test_a_session_on_a_page_shows_what_is_printed(session):
    run_session(session, ROOT)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_command_that_is_not_run_is_declared(page):
    shown = list(_shown(page))
    assert [command for command in shown if not any(re.fullmatch(known, command) for known in NOT_RUN)] == []


def test_nothing_is_declared_that_is_not_there():
    shown = [command for page in PAGES for command in _shown(page)]
    assert [known for known in NOT_RUN if not any(re.fullmatch(known, one) for one in shown)] == []


SCRIPTS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, block in enumerate(blocks(page.read_text(), SHELLS))
    if block.startswith(("#!", "#SBATCH"))
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_job_script_is_one_that_a_shell_can_read(script):
    subprocess.run(["bash", "-n"], input=script, text=True, timeout=10, check=True)


def _prose(page):
    """A page without its blocks."""
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


#: What follows the word cobre, up to where a shell or a sentence goes on.
USE = rf"(?:^|[\s('])cobre ((?:{'|'.join({words[0] for words in ALL})})\b[^|;&>#)'`]*)"


def _uses(page):
    """What a page says after the word cobre, in blocks and in code marks: the words of each command."""
    shown = re.findall(r"^```\w*\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", "\n".join(shown)).splitlines()
    for line in lines + re.findall(r"`([^`\n]+)`", _prose(page)):
        for words in re.findall(USE, line):
            yield [word.strip('"') for word in words.split() if not re.fullmatch(r"\$\w+", word)]


#: Options of other programs that pages name.
OTHERS = {
    "container engines": {"--abort-on-container-failure", "--memory", "--cap-add", "--ipc"},
    "and their limits": {"--cpuset-cpus", "--cpus"},
    "SLURM": {"--cpus-per-task", "--cpu-bind"},
    "MPI": {"--with-pmi", "--allow-run-as-root", "--oversubscribe", "--bind-to"},
    "our benchmarks": {"--apart", "--calibrate", "--tls", "--topology"},
}


def test_an_option_that_is_named_alone_exists():
    text = "".join(map(_prose, PAGES))
    known = {name for found in ALL.values() for option in found.params for name in option.opts}
    assert set(re.findall(r"`(--[\w-]+)", text)) - known == set.union(*OTHERS.values())


def _parse(words):
    """Let the real command parse the words."""
    found, name = typer.main.get_command(app), "cobre"
    while hasattr(found, "commands"):
        if not words:
            return
        name, found, words = found.resolve_command(typer.Context(found), words)
    found.make_context(name, list(words))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_command_understands_what_pages_say_of_it(page):
    for words in _uses(page):
        try:
            _parse(words)
        except USAGE_ERROR as error:
            # Prose leaves out what it is not about: the command of "cobre launch -n 4", the number of "-n".
            left_out = type(error).__name__ == "MissingParameter" or "requires an argument" in error.message
            if not left_out:
                pytest.fail(f"cobre {shlex.join(words)}: {error.message}")
