"""What the package says of itself, and what importing it costs."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import cobre
import cobre.comm
from tests.layers import against_layers, imports, private_crossings

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


#: The packages and top-level modules that each may import beside itself, errors and logs. Imports for the
#: type checker alone do not count. CONTRIBUTING.md has the same table with words.
MAY_IMPORT = {
    "errors": "",
    "logs": "",
    "_native": "",
    "_lp": "",
    "elementary": "",
    "estimates": "elementary",
    "file_locks": "",
    "formatting": "",
    "system": "",
    "comm": "_native",
    "lp": "elementary _lp",
    "stochastic": "elementary",
    "inputs": "",
    "elements": "elementary formatting inputs system stochastic lp",
    "results": "estimates file_locks formatting elements system",
    "sddp": "elementary estimates file_locks formatting comm lp stochastic",
    "formats": "lp sddp",
    "progress": "estimates formatting comm sddp",
    "hydrothermal": "elements system stochastic lp sddp results",
    "case": "elementary formatting inputs elements system stochastic sddp hydrothermal",
    "report": "estimates formatting elements sddp results",
    "study": "estimates formatting elements system stochastic lp comm sddp results hydrothermal case report",
    "cli": "estimates formatting elements comm sddp formats progress case results report study",
    "__main__": "cli",
}


def test_every_file_imports_only_what_its_layer_may():
    source = ROOT / "src/cobre"
    places = {path.name.partition(".")[0] for path in source.iterdir()}
    assert places - {"__init__", "__pycache__", "py"} == MAY_IMPORT.keys()
    rows = {name: {"errors", "logs", *row.split()} for name, row in MAY_IMPORT.items()}
    assert against_layers(imports(source), {"": set(MAY_IMPORT), **rows}) == []


def test_no_package_imports_a_private_name_of_another():
    assert private_crossings(imports(ROOT / "src/cobre")) == {}


LINES_THAT_CROSS = {
    "from cobre.high import Public": "low may not import high",
    "import cobre.high": "low may not import high",
    "import cobre; cobre.high.Public": "low may not import high",
    "from cobre import high": "low may not import high",
    "from ..high import Public": "low may not import high",
    "import_module('cobre.high')": "low may not import high",
    "from cobre import run": "low may not import run",
    "from cobre.side._part import Public": "cobre.side._part",
    "from cobre.side import _part": "cobre.side._part",
    "from cobre.side import _name": "cobre.side._name",
    "import cobre.side._part as part": "cobre.side._part",
    "from ..side._part import Public": "cobre.side._part",
    "from cobre import side; side._part.Public": "cobre.side._part",
    "from cobre.side import Public; Public._read()": "cobre.side.Public._read",
    "run('-m', 'cobre.side._part')": "cobre.side._part",
    "from cobre.side.inner._deep import Public": "cobre.side.inner._deep",
}


@pytest.mark.parametrize(
    "frame", ["{}", "def late():\n    {}", "class A:\n    def late(self):\n        if self: {}"]
)
@pytest.mark.parametrize("line", LINES_THAT_CROSS)
def test_the_check_of_layers_sees_an_import_wherever_it_stands(line, frame, tmp_path):
    told = _told_of(tmp_path, "low/_module.py", frame.format(line))
    assert [LINES_THAT_CROSS[line]] == told


def test_the_check_of_layers_lets_through_what_is_allowed(tmp_path):
    own = "from cobre.low._part import a\nfrom cobre.low.inner import b\nfrom . import _part\n"
    below = "from cobre.side import Public\nfrom cobre import side, __version__\nside.Public.read()\n"
    types = "if TYPE_CHECKING:\n    from cobre.high import Public\n"
    assert _told_of(tmp_path, "low/inner/_module.py", own + below + types) == []


def test_the_check_of_layers_sees_private_names_for_types_and_files_in_no_row(tmp_path):
    line = "if TYPE_CHECKING:\n    from cobre.high._part import Public\n"
    assert _told_of(tmp_path, "low/_module.py", line) == ["cobre.high._part"]
    assert _told_of(tmp_path, "new.py", "import cobre.low\n") == ["cobre/new.py: new has no row"]


def _told_of(folder, name, text):
    """What is found in a tree of one file, without places."""
    path = folder / "cobre" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    found = imports(folder / "cobre")
    path.unlink()
    layers = against_layers(found, {"low": {"side"}, "side": set(), "high": {"low", "side"}})
    return sorted(
        {told.partition("py:")[2].partition(": ")[2] or told for told in layers}
        | private_crossings(found).keys()
    )
