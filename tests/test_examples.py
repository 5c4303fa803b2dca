"""The scripts in examples/ run, as a reader would run them, and leave nothing behind."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: That which writes the case folders is run by tests/test_example_cases.py, into another folder.
SCRIPTS = sorted(set((ROOT / "examples").glob("*.py")) - {ROOT / "examples" / "make_cases.py"})

needs_shm = pytest.mark.skipif(sys.platform != "linux", reason="the examples use shm, which needs Linux")


def test_there_are_examples():
    assert SCRIPTS


@needs_shm
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
@pytest.mark.usefixtures("no_process_and_no_file_is_left")
def test_an_example_runs(script):
    ran = subprocess.run(
        [sys.executable, script], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip()
