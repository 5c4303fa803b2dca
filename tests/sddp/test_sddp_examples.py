"""The scripts in examples/sddp run as a reader would run them, and print the values they promise."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "examples" / "sddp").glob("*.py"))
PRINTED = {
    "asset_management": "1.514",
    "endless_reservoir": "119.17",
    "farmer": "108390",
    "hydro_thermal": "8333.33",
    "newsvendor": "-2.00",
}


def test_every_example_is_known():
    assert [script.stem for script in SCRIPTS] == sorted(PRINTED)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_prints_its_value(script):
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=100, check=False)
    assert ran.returncode == 0, ran.stderr
    assert PRINTED[script.stem] in ran.stdout
