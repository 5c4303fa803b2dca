"""What Tab offers, asked for as each shell asks."""

import os
import shutil
import subprocess

import pytest

from cobre.case import templates
from cobre.cli import _complete
from tests.cli.commands import COBRE, cobre
from tests.study.cases import EXAMPLES

#: The installed script: the name of the variable by which shells ask depends on its name.
PROGRAM = "import sys; sys.argv[0] = 'cobre'; from cobre.cli import main; main()"
ENVIRONMENT = {**os.environ, "PYTHONPATH": ""}


def offered(shell, line, cwd=None):
    """What a shell is told when Tab is pressed at the end of a line."""
    words = line.split()
    asked = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1 + line.endswith(" "))},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    environment = {**ENVIRONMENT, **asked, "_COBRE_COMPLETE": f"complete_{shell}"}
    ended = subprocess.run(
        [COBRE[0], "-c", PROGRAM], env=environment, cwd=cwd, capture_output=True, text=True, check=False
    )
    assert ended.stderr == ""
    return [item.partition("\t")[0].partition(":")[0] for item in _items(shell, ended.stdout)]


def _items(shell, text):
    if shell == "zsh":
        text = text.strip().removeprefix("_arguments '*: :((").removesuffix("))'").replace('"', "")
    return text.split("\n")[: -1 if shell != "zsh" else None]


SHELLS = pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])


@SHELLS
def test_an_option_is_completed(shell):
    assert offered(shell, "cobre run --b") == ["--backend"]


@SHELLS
def test_commands_are_completed(shell):
    assert offered(shell, "cobre va") == ["validate"]
    assert offered(shell, "cobre comm ch") == ["check"]


@SHELLS
def test_templates_are_completed(shell):
    assert set(offered(shell, "cobre init --template ")) == set(templates())
    assert offered(shell, "cobre init --template fo") == ["four-regions"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_for_the_shell(shell):
    code, out, err = cobre("completion", shell)
    assert (code, err) == (0, "")
    assert f"_COBRE_COMPLETE=complete_{shell}" in out
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=out, text=True, check=True)


def test_bash_itself_completes(tmp_path):
    """The script, sourced, with what bash would set."""
    (tmp_path / "cobre").write_text(f'#!/bin/sh\nexec {COBRE[0]} -c "{PROGRAM}"\n')
    (tmp_path / "cobre").chmod(0o755)
    pressed = "COMP_WORDS=(cobre run --b); COMP_CWORD=2; _cobre_completion cobre"
    session = f'eval "$SCRIPT"; {pressed}; echo "$COMPREPLY"'
    environment = {**ENVIRONMENT, "SCRIPT": cobre("completion", "bash")[1]}
    environment["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-c", session], env=environment, capture_output=True, text=True, check=True
    )
    assert (ended.stdout, ended.stderr) == ("--backend\n", "")


def test_it_is_installed_into_the_home_folder(tmp_path):
    environment = {**os.environ, "HOME": str(tmp_path)}
    code, out, _ = cobre("completion", "fish", "--install", env=environment)
    assert code == 0
    script = tmp_path / ".config/fish/completions/cobre.fish"
    assert out == f"written to {script}; restart fish to use it\n"
    assert "complete_fish" in script.read_text()


def test_where_it_cannot_be_installed():
    code, _, err = cobre("completion", "fish", "--install", env={**os.environ, "HOME": "/sys"})
    assert code == 3
    assert err.startswith("error: /sys/.config: it cannot be written")


def test_an_unknown_shell_is_refused():
    code, _, err = cobre("completion", "tcsh")
    assert code == 2
    assert "bash" in err


# Folders


@pytest.fixture
def folders(tmp_path):
    for name in ("studies/2027/march", "studies/2027/april", "other"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("march", "april"):
        shutil.copy(EXAMPLES / "one-reservoir" / "config.json", tmp_path / "studies/2027" / name)
    (tmp_path / "studies/2027/march/output/training").mkdir(parents=True)
    (tmp_path / "studies/2027/march/output/training/_manifest.json").touch()
    return tmp_path


def test_case_folders_are_found_below(folders, monkeypatch):
    monkeypatch.chdir(folders)
    march, april = "studies/2027/march", "studies/2027/april"
    assert _complete.case_folders("") == [april, march]
    assert _complete.case_folders("stu") == [april, march]
    assert _complete.case_folders("./studies/2027/m") == [f"./{march}"]
    assert _complete.case_folders(f"{folders}/s") == [f"{folders}/{april}", f"{folders}/{march}"]
    assert _complete.result_folders("studies/") == [f"{march}/output"]
    assert _complete.any_folders("studies/2027/m") == [march, f"{march}/output"]
    assert _complete.case_folders("oth") == []
    assert _complete.case_folders("not/there") == []


@SHELLS
def test_folders_are_completed(shell, folders):
    assert offered(shell, "cobre summary studies/2027/a", cwd=folders) == ["studies/2027/april"]
    assert offered(shell, "cobre compare x s", cwd=folders) == ["studies/2027/march/output"]


@pytest.mark.parametrize(
    ("line", "offer"),
    [
        ("cobre comm check --backend t", ["tcp"]),
        ("cobre run --backend a", ["auto"]),
        ("cobre run s", ["studies/2027/april", "studies/2027/march"]),
        ("cobre validate studies/2027/m", ["studies/2027/march"]),
        ("cobre report s", ["studies/2027/march/output"]),
        ("cobre plot x conv", ["convergence"]),
        ("cobre schema show buse", ["buses"]),
    ],
)
def test_names_are_completed(line, offer, folders):
    assert offered("bash", line, cwd=folders) == offer
