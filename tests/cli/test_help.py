"""What ``--help`` shows of every command there is, and what showing it costs."""

import subprocess
import sys

import pytest
import typer.main

from cobre.cli import COMMANDS, app
from tests.cli.commands import cobre

HEAVY = ["rich", "numpy", "pyarrow", "highspy", "altair", "cobre.comm", "cobre.sddp"]


def _below(group, path):
    """All commands under a group, with the words that lead to each."""
    for name in group.commands:
        _, command, _ = group.resolve_command(typer.Context(group), [name])
        yield (*path, name), command
        if hasattr(command, "commands"):
            yield from _below(command, (*path, name))


ALL = dict(_below(typer.main.get_command(app), ()))


def help_of(*words, columns=80):
    code, out, err = cobre(*words, "--help", env={"COLUMNS": str(columns)})
    assert (code, err) == (0, "")
    return out.splitlines()


@pytest.mark.parametrize("words", [(), *ALL], ids=" ".join)
def test_help_fits_a_screen_and_has_an_example(words):
    lines = help_of(*words)
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line.startswith(f"  Example: cobre {' '.join(words[:1])}")] != []
    assert [line for line in lines if line != line.rstrip()] == []


def test_the_list_of_commands_is_in_groups_one_line_each():
    lines = help_of()
    for heading, commands in COMMANDS.items():
        at = lines.index(f"{heading}:")
        end = [*lines, ""].index("", at)
        assert [line.split()[0] for line in lines[at + 1 : end]] == list(commands)


@pytest.mark.parametrize("name", [name for commands in COMMANDS.values() for name in commands])
def test_the_line_of_a_command_is_how_its_help_begins(name):
    line = next(commands[name] for commands in COMMANDS.values() if name in commands)
    assert " ".join(ALL[name,].help.split()).startswith(line.removesuffix("."))
    assert line.endswith(".")


def test_every_option_says_what_it_means():
    for words, command in ALL.items():
        assert [param.name for param in command.params if not param.help] == [], words


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["run", "--help"], []], ids=" ".join)
def test_help_imports_nothing_that_takes_long(words):
    program = (
        f"import atexit, sys; sys.argv = ['cobre', *{words}]; from cobre.cli import main\n"
        f"atexit.register(lambda: print([name for name in {HEAVY} if name in sys.modules]))\n"
        "main()"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.stdout.splitlines()[-1] == "[]", ended.stderr


def test_in_a_wide_terminal_lines_stay_readable():
    assert max(map(len, help_of("run", columns=200))) <= 100


def test_a_command_that_does_not_exist_gets_the_nearest():
    code, _, err = cobre("validat")
    assert code == 2
    assert "Did you mean 'validate'?" in err
