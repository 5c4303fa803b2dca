"""Runs to draw: small, but with everything that figures show."""

import json

import pytest

import cobre
from tests.hydrothermal.small_cases import battery
from tests.report.browser import started
from tests.study.cases import copy

#: Names as people give them.
NAMES = (
    'Açude "São José" <b>d\'Água</b> & Irmãos 水力',
    "a name of sixty letters, which is as long as a name ever gets, 60",
)


@pytest.fixture(scope="module")
def browser():
    """A browser for all tests of a file: its driver's threads end a moment after it is closed."""
    with started() as found:
        yield found


@pytest.fixture(scope="session")
def cascade_case(tmp_path_factory):
    """A cascade, lines with losses, a contract, pumping, wind, a battery; one stage in the order of time."""
    folder = copy("cascade", tmp_path_factory.mktemp("report") / "cascade", iterations=6, scenarios=17)
    hydros = json.loads((folder / "system" / "hydros.json").read_text())
    for hydro, name in zip(hydros["hydros"], NAMES, strict=False):
        hydro["name"] = name
    (folder / "system" / "hydros.json").write_text(json.dumps(hydros))
    (folder / "system" / "batteries.json").write_text(json.dumps({"batteries": [battery(4, 900.0)]}))
    stages = json.loads((folder / "stages.json").read_text())
    stages["stages"][3]["block_mode"] = "chronological"
    (folder / "stages.json").write_text(json.dumps(stages))
    return folder


@pytest.fixture(scope="session")
def cascade(cascade_case):
    """Its result, with cuts by outcome."""
    settings = {"training": {"cut_formulation": "multi"}}
    return cobre.run(cascade_case, settings, output=cascade_case.parent / "cascade-output")


@pytest.fixture(scope="session")
def regions_case(tmp_path_factory):
    """Four reservoirs with past inflows as states, five buses."""
    return copy("four-regions", tmp_path_factory.mktemp("report") / "regions", iterations=9, scenarios=9)


@pytest.fixture(scope="session")
def regions(regions_case):
    """Its result, by two workers."""
    return cobre.run(regions_case, output=regions_case.parent / "regions-output", num_workers=2)


@pytest.fixture(scope="session")
def reservoir(tmp_path_factory):
    """The smallest example."""
    folder = copy(
        "one-reservoir", tmp_path_factory.mktemp("report") / "reservoir", iterations=30, scenarios=40
    )
    return cobre.run(folder, output=folder.parent / "reservoir-output")


@pytest.fixture(scope="session")
def surplus_case(reservoir, tmp_path_factory):
    """Coal that must run whatever the load is, and an end that is worth what another study says."""
    boundary = {"path": str(reservoir.output_directory), "source_stage": 5}
    folder = tmp_path_factory.mktemp("report") / "surplus"
    copy("one-reservoir", folder, iterations=4, scenarios=6, policy={"boundary": boundary})
    thermals = json.loads((folder / "system" / "thermals.json").read_text())
    thermals["thermals"][0]["generation"] = {"min_mw": 170.0, "max_mw": 170.0}
    thermals["thermals"] = thermals["thermals"][:1]
    (folder / "system" / "thermals.json").write_text(json.dumps(thermals))
    return folder


@pytest.fixture(scope="session")
def surplus(surplus_case):
    """Its result."""
    return cobre.run(surplus_case)
