"""What the package says of itself, and what importing it costs."""

import ast
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


#: Which packages each may import, beside itself and the errors; see CONTRIBUTING.md.
MAY_IMPORT = {
    "errors": set(),
    "system": set(),
    "comm": set(),
    "lp": set(),
    "elements": {"system", "lp"},
    "stochastic": set(),
    "results": {"elements", "system"},
    "sddp": {"comm", "lp", "stochastic"},
    "hydrothermal": {"elements", "system", "stochastic", "lp", "sddp", "results"},
    "case": {"elements", "system", "stochastic", "sddp", "hydrothermal"},
    "report": {"elements", "sddp", "results"},
    "study": {
        "elements",
        "system",
        "stochastic",
        "lp",
        "comm",
        "sddp",
        "results",
        "hydrothermal",
        "case",
        "report",
    },
    "cli": {"elements", "comm", "sddp", "case", "results", "report", "study"},
}


def test_no_package_imports_one_above_it():
    rooms = {path.name.removesuffix(".py") for path in (ROOT / "src/cobre").iterdir()}
    assert rooms >= MAY_IMPORT.keys()
    for path in (ROOT / "src/cobre").rglob("*.py"):
        room = path.relative_to(ROOT / "src/cobre").parts[0].removesuffix(".py")
        if room in MAY_IMPORT:
            assert _imported(path) & MAY_IMPORT.keys() <= MAY_IMPORT[room] | {room, "errors"}, path


def _imported(path):
    """The packages of cobre that a file imports when it runs; not those for the type checker alone."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module == "cobre":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("cobre."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("cobre.")}
    return found
