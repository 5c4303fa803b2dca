"""The public examples of the case format, the values published for them, and those of their scenario trees.

``COBRE_TEST_CASES`` names a folder that holds some of them: ``examples/deterministic`` of cobre 0.5.1, or
``1dtoy``, with the openings that the original program draws, ``<name>-openings.parquet``, for some.
"""

import json
import math
import os
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cobre import sddp, study
from cobre.case import noise_columns, noise_of
from cobre.sddp import IterationLimit
from tests.hydrothermal.extensive import optimal_value
from tests.hydrothermal.rivers import rivers
from tests.hydrothermal.test_extensive import Reached

CASES = os.environ.get("COBRE_TEST_CASES")
FOLDER = Path(CASES or "no_cases")
pytestmark = pytest.mark.skipif(CASES is None, reason="COBRE_TEST_CASES does not name the public examples")

#: Value and tolerance, as its own tests have them.
VALUES = {
    "d01-thermal-dispatch": (182500, 1e-6),
    "d02-single-hydro": (23635000 / 9, 1e-4),
    "d03-two-hydro-cascade": (4171000 / 3, 1e-4),
    "d04-transmission": (5263443883 / 657, 1e-4),
    "d05-fpha-constant-head": (23635000 / 9, 1e-6),
    "d06-fpha-variable-head": (732952154 / 225, 1e-4),
    "d08-evaporation": (94644561875 / 36009, 1e-4),
    "d09-multi-deficit": (80738000, 1e-6),
    "d10-inflow-nonnegativity": (28562500 / 9, 1e-4),
    "d11-water-withdrawal": (3930320000 / 657, 1e-4),
    "d13-generic-constraint": (15330000, 1e-2),
    "d15-non-controllable-source": (437927, 1e-2),
    "d16-par1-lag-shift": (7756250, 1.0),
    "d20-operational-violations": (195744444.44444448, 1e-2),
    "d21-min-outflow-regression": (285716111.1111111, 1e-2),
    "d22-per-block-min-outflow": (140376666.66666666, 1e-2),
    "d24-productivity-override": (23945000 / 9, 1e-4),
    "d25-discount-rate": (2611454.584787, 1e-4),
    "d27-per-stage-thermal-cost": (10950000, 1e-4),
}
#: A tree has no more scenarios than this: of larger ones the first openings of each stage are left.
MOST_SCENARIOS = 1100

FOUND = sorted(path.parent.name for path in FOLDER.glob("d*/config.json"))

#: With the openings of the original program. Its own bounds of d12 and d29 are 19 934 005 306.98 and 152.66.
WITH_OPENINGS = {
    "1dtoy": (2605944.5861, 0.01),
    "d12-par-annual": (16613296859.68, 0.01),
    "d19-multi-hydro-par": (1332571.796892, 1e-4),
    "d26-estimated-par2": (50607484.905810, 1e-3),
    "d28-decomp-weekly-monthly": (780.6803366832, 1e-7),
    "d29-weekly-par-noise-sharing": (353.0388161787, 1e-7),
}


@pytest.mark.parametrize("name", [name for name in FOUND if name in VALUES])
def test_a_public_example_has_its_value(name):
    value, tolerance = VALUES[name]
    assert study.Study.load(FOLDER / name).train().bound == pytest.approx(value, rel=0, abs=tolerance)


@pytest.mark.parametrize("name", FOUND)
def test_a_public_example_has_the_value_of_its_tree(tmp_path, name):
    prepared = study.Study.load(with_fewer_openings(FOLDER / name, tmp_path / name))
    case = prepared.case
    entities = [case.scenarios.entities[column] for column in noise_columns(case.system, case.scenarios)]
    openings = {stage.id: eta for stage, eta in zip(case.system.stages, noise_of(case), strict=True)}
    files = read(case.folder)
    known = rivers(files) if "scenarios/inflow_seasonal_stats.parquet" in files else None
    value = optimal_value(case.system, entities, openings, rivers=known)
    stop = IterationLimit(500) | Reached(value)
    bound = sddp.train(prepared.problem, stop, risk=prepared.risk, **prepared.settings).bound
    assert bound == pytest.approx(value, rel=1e-7)


def with_fewer_openings(source, folder):
    """A copy whose scenario tree is small enough for one linear programme."""
    shutil.copytree(source, folder)
    path = folder / "stages.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    stages = content["stages"]
    most = max(stage["num_scenarios"] for stage in stages)
    while math.prod(min(most, stage["num_scenarios"]) for stage in stages) > MOST_SCENARIOS:
        most -= 1
    for stage in stages:
        stage["num_scenarios"] = min(most, stage["num_scenarios"])
    path.write_text(json.dumps(content), encoding="utf-8")
    return folder


def read(folder):
    """The files of a folder, as tests of cases have them."""
    documents = {path: json.loads(path.read_text(encoding="utf-8")) for path in folder.rglob("*.json")}
    tables = {path: pq.read_table(path).to_pydict() for path in folder.rglob("*.parquet")}
    return {str(path.relative_to(folder)): content for path, content in (documents | tables).items()}


@pytest.mark.parametrize(
    "name", [name for name in WITH_OPENINGS if (FOLDER / f"{name}-openings.parquet").exists()]
)
def test_an_example_with_given_openings_converges_to_its_value(name, tmp_path):
    folder = shutil.copytree(FOLDER / name, tmp_path / name)
    shutil.copy(FOLDER / f"{name}-openings.parquet", folder / "scenarios" / "noise_openings.parquet")
    prepared = study.Study.load(folder)
    result = sddp.train(prepared.problem, 400, risk=prepared.risk, trajectories=10)
    value, tolerance = WITH_OPENINGS[name]
    assert result.bound == pytest.approx(value, rel=0, abs=tolerance)


@pytest.mark.skipif("d26-estimated-par2" not in FOUND, reason="d26 is not among the public examples")
def test_truncation_that_never_acts_changes_nothing():
    """Two lags, fitted, one of them negative in some months: all inflows are above 0, whatever the noise."""
    bounds = [
        study.Study.load(
            FOLDER / "d26-estimated-par2", {"modeling": {"inflow_non_negativity": {"method": method}}}
        )
        .train()
        .bound
        for method in ("truncation", "none")
    ]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-9)
