"""What the package says of itself, and what importing it costs."""

import subprocess
import sys
import tomllib
from pathlib import Path

import cobre
import cobre.comm

ROOT = Path(__file__).parent.parent


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert cobre.__version__ == project["version"]
    assert f"Unreleased: {cobre.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_public_names_are_listed_and_exist():
    for module in (cobre, cobre.comm):
        assert sorted(module.__all__) == module.__all__
        assert all(hasattr(module, name) for name in module.__all__)


def test_importing_the_communication_layer_is_light():
    """Every rank pays for it at every start: NumPy and the standard library, and of that not everything."""
    heavy = ["typer", "rich", "multiprocessing", "importlib.metadata", "mpi4py", "asyncio", "cobre.cli"]
    heavy += ["hashlib", "pathlib", "secrets", "socket"]
    program = f"import sys, cobre.comm.shm; print([name for name in {heavy} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
