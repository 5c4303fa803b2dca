"""The case folders in examples/: what the script makes, usable as they are, and quick to train a little."""

import os
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from cobre import sddp
from cobre.study import Study
from tests.examples import CASES, FOLDER


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    ran = subprocess.run([sys.executable, FOLDER / "make_cases.py", folder], check=True, capture_output=True)
    assert ran.stdout
    return folder


@pytest.mark.parametrize("name", CASES)
def test_the_folder_is_what_the_script_makes(name, made):
    """Tables are compared as tables: the bytes of a Parquet file name the version that wrote it."""
    here, there = FOLDER / "cases" / name, made / name
    files = {path.relative_to(there) for path in there.rglob("*") if path.is_file()}
    beside = {"README.md", *(entry.name for entry in os.scandir(here) if entry.name == "output")}
    assert files == {
        path.relative_to(here)
        for path in here.rglob("*")
        if path.is_file() and path.relative_to(here).parts[0] not in beside
    }
    for file in files:
        if file.suffix == ".parquet":
            assert pq.read_table(here / file).equals(pq.read_table(there / file), check_metadata=True), file
        else:
            assert (here / file).read_bytes() == (there / file).read_bytes(), file


@pytest.mark.parametrize("name", CASES)
def test_a_case_can_be_used_and_trained(name):
    study = Study.load(FOLDER / "cases" / name)
    assert not [finding for finding in study.case.warnings if finding.file != "config.json"]
    result = sddp.train(study.problem, 3, risk=study.risk, **study.settings)
    assert result.bounds[0] < result.bounds[-1]
    costs = sddp.simulate(study.problem, result.policy, 5).estimate
    assert costs.mean > 0.5 * result.bound > 0
