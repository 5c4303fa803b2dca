"""The public examples of the case format, and the values published for them.

``COBRE_TEST_CASES`` names the folder that holds them: those of cobre 0.5.1, with the openings of ``1dtoy``.
"""

import os
import shutil
from pathlib import Path

import pytest

from cobre import sddp, study

CASES = os.environ.get("COBRE_TEST_CASES")
pytestmark = pytest.mark.skipif(CASES is None, reason="COBRE_TEST_CASES does not name the public examples")

VALUES = {
    "d01-thermal-dispatch": (182500, 1e-6),
    "d03-two-hydro-cascade": (4171000 / 3, 1e-4),
    "d04-transmission": (5263443883 / 657, 1e-4),
    "d09-multi-deficit": (80738000, 1e-6),
    "d13-generic-constraint": (15330000, 1e-2),
    "d15-non-controllable-source": (437927, 1e-2),
    "d16-par1-lag-shift": (7756250, 1.0),
    "d25-discount-rate": (2611454.584787, 1e-4),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_public_example_has_its_value(name):
    value, tolerance = VALUES[name]
    assert study.Study.load(Path(CASES) / name).train().bound == pytest.approx(value, rel=0, abs=tolerance)


def test_an_example_with_given_openings_converges_to_its_value(tmp_path):
    folder = shutil.copytree(Path(CASES) / "1dtoy", tmp_path / "1dtoy")
    shutil.copy(Path(CASES) / "1dtoy-openings.parquet", folder / "scenarios" / "noise_openings.parquet")
    prepared = study.Study.load(folder)
    result = sddp.train(prepared.problem, 400, risk=prepared.risk, trajectories=10)
    assert result.bound == pytest.approx(2605944.5861, rel=0, abs=0.01)
