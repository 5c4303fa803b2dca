"""The four regions with batteries and committed plants: same bits for any backend, ranks and threads."""

import json
import os
import sys

import pytest

import cobre
from cobre import results
from cobre.errors import InvalidProblem
from cobre.sddp import ExecutionOptions
from cobre.study import RunPlan, Study, run_plan
from tests.hydrothermal.small_cases import battery
from tests.processes import output_of
from tests.study.cases import copy

SIZES = (1, 2, 3, 4)
#: With ``COBRE_TEST_ALL`` every backend and size meets every number of threads; otherwise they take turns.
ALL = "COBRE_TEST_ALL" in os.environ


def plans(*backends):
    """Backend, ranks and threads."""
    return [
        (backend, size, threads)
        for place, backend in enumerate(backends)
        for size in SIZES
        for threads in (1, 2)
        if ALL or (place + size + threads) % 2
    ]


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases") / "four-regions"
    copy("four-regions", folder, iterations=3, passes=5, scenarios=6)
    batteries = {
        "batteries": [battery(0, 9000.0, 1500.0, initial_energy_mwh=4000.0), battery(1, 2000.0, 400.0)]
    }
    (folder / "system" / "batteries.json").write_text(json.dumps(batteries))
    commit_in_advance(folder, {0: 1, 2: 2})
    return folder


def commit_in_advance(folder, lags):
    """Give thermal plants lags; their least generation is committed before the study."""
    file, initial = folder / "system" / "thermals.json", folder / "initial_conditions.json"
    thermals, known = json.loads(file.read_text()), json.loads(initial.read_text())
    plants = {plant["id"]: plant for plant in thermals["thermals"]}
    known["gnl_pipeline"] = []
    for number, lag in lags.items():
        plants[number]["gnl_config"] = {"lag_stages": lag}
        known["gnl_pipeline"] += [
            {
                "thermal_id": number,
                "stage_offset": offset,
                "committed_mw": plants[number]["generation"]["min_mw"],
            }
            for offset in range(1, lag + 1)
        ]
    file.write_text(json.dumps(thermals))
    initial.write_text(json.dumps(known))


@pytest.fixture(scope="module")
def reference(case, tmp_path_factory):
    """One process, one thread."""
    folder = tmp_path_factory.mktemp("reference")
    cobre.run(case, output=folder)
    return contents(folder)


def contents(folder):
    """What must not differ: the policy's bytes, the convergence but for its clock, all simulated tables."""
    found = results.read(folder)
    convergence = found.convergence
    timed = [name for name in convergence.column_names if name.startswith("time_")]
    tables = {name: found.simulation(name) for name in found.tables}
    return {
        "policy": found.policy_path.read_bytes(),
        "convergence": convergence.drop_columns(timed),
        "files": files_of(folder),
        **tables,
    }


def files_of(folder):
    """The bytes of all files of simulated scenarios."""
    tables = folder / "simulation"
    paths = (path for path in tables.rglob("*.parquet") if path.parent.name != "solver")
    return {path.relative_to(tables).as_posix(): path.read_bytes() for path in paths}


def compare(reference, folder):
    found = contents(folder)
    assert found.keys() == reference.keys()
    assert [name for name in found if not found[name] == reference[name]] == []  # noqa: SIM201  Arrow has no !=


def test_the_reference_has_what_could_differ(reference):
    assert {
        "costs",
        "hydros",
        "thermals",
        "buses",
        "exchanges",
        "inflow_lags",
        "batteries",
    } <= reference.keys()
    bounds = reference["convergence"]["lower_bound"].to_pylist()
    assert bounds[0] < bounds[-1]
    assert len(set(reference["batteries"]["discharge_mw"].to_pylist())) > 10
    assert len(set(reference["hydros"]["storage_final_hm3"].to_pylist())) > 100


@pytest.mark.parametrize("threads", [1, 2])
def test_again_in_this_process(case, reference, threads, tmp_path):
    cobre.run(case, output=tmp_path, threads=threads)
    compare(reference, tmp_path)


@pytest.mark.usefixtures("no_process_and_no_file_is_left")
@pytest.mark.parametrize(("backend", "size", "threads"), plans("shm", "tcp"))
def test_on_workers(  # noqa: PLR0917  what it takes
    case, reference, backend, size, threads, tmp_path
):
    plan = RunPlan.of_run(Study.load(case), tmp_path)
    run_plan(plan, ExecutionOptions(num_workers=size, backend=backend, threads=threads))
    compare(reference, tmp_path)


def simulated(case, policy, folder, layout, **ranks):
    """The files of 37 scenarios, of which the last compact one has five."""
    number = {"simulation": {"num_scenarios": 37}}
    cobre.simulate(case, policy, number, output=folder, layout=layout, **ranks)
    return files_of(folder)


@pytest.fixture(scope="module")
def policy(case):
    return cobre.train(case).policy


@pytest.fixture(scope="module", params=["scenarios", "compact"])
def layout(request, case, policy, tmp_path_factory):
    """A layout, its files, by one process and one thread, and all tables."""
    folder = tmp_path_factory.mktemp("layout")
    files = simulated(case, policy, folder, request.param, threads=1)
    found = results.read(folder)
    return request.param, files, {name: found.simulation(name) for name in found.tables}


def test_a_layout_that_there_is_not(case, policy, tmp_path):
    with pytest.raises(InvalidProblem, match="layout is 'flat'; it must be one of 'scenarios', 'compact'"):
        cobre.simulate(case, policy, output=tmp_path, layout="flat")
    assert not list(tmp_path.iterdir())


def test_layouts_differ_in_files_and_have_the_same_rows(case, policy, layout, tmp_path):
    name, files, tables = layout
    other = {"scenarios": "compact", "compact": "scenarios"}[name]
    others = simulated(case, policy, tmp_path, other)
    assert files.keys().isdisjoint(others)
    assert {len(files), len(others)} == {37 * len(tables), 3 * len(tables)}
    found = results.read(tmp_path)
    assert [each for each in tables if not found.simulation(each).equals(tables[each])] == []


@pytest.mark.usefixtures("no_process_and_no_file_is_left")
@pytest.mark.parametrize(
    ("backend", "size", "threads"), [plan for plan in plans("shm", "tcp") if plan[1] != 4]
)
def test_files_on_workers(  # noqa: PLR0917  what it takes
    case, policy, layout, backend, size, threads, tmp_path
):
    name, files, _ = layout
    ranks = {"backend": backend, "num_workers": size, "threads": threads}
    assert simulated(case, policy, tmp_path, name, **ranks) == files


@pytest.mark.parametrize("size", SIZES)
def test_under_mpiexec(  # noqa: PLR0917  what it takes
    case, reference, size, mpiexec, start_process, tmp_path
):
    launcher = mpiexec.launcher
    threads = 1 + (size + (launcher.name == "mpich")) % 2
    command = [sys.executable, "-m", "cobre", "run", str(case), "-o", str(tmp_path), "-t", str(threads)]
    process = start_process(str(launcher.mpiexec), *launcher.options, "-n", str(size), *command)
    code, out, err = output_of(process)
    assert code == 0, err
    assert out.count("written to") == 1
    assert results.read(tmp_path).manifest["distribution"]["world_size"] == size
    compare(reference, tmp_path)
