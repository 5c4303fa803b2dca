"""``cobre version``: what is installed here."""

import json
import os
import re
import sys
from importlib.metadata import version
from pathlib import Path

import cobre as package
from cobre.cli import _installation
from tests.cli.commands import cobre


def test_the_short_one_is_the_number_alone():
    assert cobre("--version") == (0, f"{package.__version__}\n", "")


def test_programs_get_everything():
    code, out, err = cobre("version", "--output-format", "json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["version"] == package.__version__
    assert found["executable"] == sys.executable
    assert found["packages"]["numpy"] == version("numpy")
    assert found["packages"]["highspy"] == version("highspy")
    assert all(Path(path).exists() for path in found["core"].values())
    assert found["usable_cpus"] == len(os.sched_getaffinity(0))
    info = json.loads(cobre("comm", "info", "-f", "json")[1])
    assert {name: found[name] for name in info} == info


def test_people_get_lines_and_the_table_of_backends():
    code, out, err = cobre("version")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["cobre", package.__version__]
    assert f"HiGHS         {version('highspy')}" in lines
    assert "│ local   │ yes" in out
    assert "Chosen here: local, because nothing in the environment names a group" in out


def test_a_package_that_is_missing_is_said_to_be(monkeypatch):
    monkeypatch.setattr(_installation, "PACKAGES", ("numpy", "no-such-package"))
    assert _installation.inspect_installation().packages == {
        "numpy": version("numpy"),
        "no-such-package": None,
    }


def test_a_secret_is_not_told():
    code, out, _ = cobre("version", env={**os.environ, "COBRE_TCP_SECRET": "hidden words"})
    assert code == 0
    assert "COBRE_TCP_SECRET=(set, not shown)" in out
    assert "hidden words" not in out


def test_the_remedy_for_a_missing_backend_is_shown_as_it_is(monkeypatch):
    """The name of an extra is in brackets, as are the terminal's styles."""
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    _, out, _ = cobre("comm", "info", env={**os.environ, "PMI_SIZE": "2"})
    assert re.search(r"^It cannot start: .*; pip install 'cobre-parallel\[mpi\]' brings", out, re.MULTILINE)
