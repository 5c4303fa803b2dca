"""The report of a problem that ``cobre solve`` has solved."""

import json
import re
import shutil

import numpy as np
import pytest

from cobre import report
from cobre.errors import ResultsError
from cobre.report import _solved_figures as figures
from cobre.results import begin_solved, is_solved, read_solved
from tests.cli.commands import cobre
from tests.formats.files import NEWSVENDOR, mspformat, stochoptformat, write
from tests.report.browser import opened

HYDROTHERMAL = re.compile(r"hydro|reservoir|hm³|MWh|deficit|\$|water", re.IGNORECASE)


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    file = write(tmp_path_factory.mktemp("solved") / "news.sof.json", stochoptformat())
    code, _, err = cobre("solve", file, "-n", "12", "-q")
    assert code == 0, err
    return read_solved(file.parent / "news.output")


def data(solved, name, **choice):
    figure = next(figure for figure in figures.FIGURES if figure.name == name)
    return figure.rows_of(solved, **choice), figure.caption_of(solved, **choice)


def test_the_distribution_is_that_of_the_simulation(solved):
    rows, caption = data(solved, "totals")
    assert sum(count for count in rows["count"] if count) == 1000
    mean = json.loads((solved.folder / "summary.json").read_text())["simulation"]["mean"]
    assert solved.totals.mean() == pytest.approx(mean)
    assert caption.startswith("1,000 trajectories · mean ")
    marks = [mark for mark in rows["mark"] if mark]
    assert any(mark.startswith("upper bound: 35") for mark in marks)
    worst = next(float(mark.split(": ")[1]) for mark in marks if mark.startswith("mean of the worst"))
    assert worst == pytest.approx(solved.totals.min())  # more than 5 % of trajectories sell the least


def test_states_have_their_spread_by_step(solved):
    """What is bought is 20, always, and nothing is left."""
    rows, caption = data(solved, "states", state=0)
    assert rows["median"] == [0, 20, 0]
    assert caption == "x · at the end mean 0, 90 % of trajectories between 0 and 0"


def test_convergence_has_an_iteration_per_row(solved):
    rows, caption = data(solved, "convergence")
    assert rows["iteration"] == list(range(1, 13))
    assert rows["bound"][-1] == pytest.approx(NEWSVENDOR)
    assert rows["simulated"][0] == pytest.approx(solved.totals.mean(), rel=1e-5)
    assert caption.startswith("12 iterations · upper bound 35 · simulated mean ")


def test_cuts_are_counted_by_value_function(solved):
    rows, caption = data(solved, "cuts")
    assert rows["node"] == ["buy", "sell"]
    assert rows["active"] == [solved.summary["cuts"], 0]
    assert caption.startswith("2 value functions of 2 nodes · ")


def test_merged_nodes_have_one_value_function(tmp_path):
    problem, lattice = mspformat()
    write(tmp_path / "news.lattice.json", lattice)
    path = write(tmp_path / "news.problem.json", problem)
    code, _, err = cobre("solve", path, "-n", "9")
    assert code == 0, err
    known = read_solved(tmp_path / "news.output")
    rows, _ = data(known, "cuts")
    merged = len(rows["node"]) < known.summary["nodes"]
    assert merged == bool(known.summary["merging"])
    assert merged
    rows_of_state, caption = data(known, "states", state=0)  # the first node has none, the last leave none
    assert rows_of_state["median"] == [None, 20, None]
    assert caption == "x · at the end mean 20, 90 % of trajectories between 20 and 20"
    assert rows["node"][-1].endswith("others")


def test_the_page_is_drawn_and_says_nothing_of_water(browser, solved, tmp_path):
    path = report.write(solved, tmp_path / "page.html")
    with opened(browser, path) as shown:
        for figure in figures.FIGURES:
            assert len(shown.drawing(figure.name)) >= 1, figure.name
        words = shown.page.locator("body").inner_text()
        assert shown.page.locator("h1").inner_text() == "news.sof.json"
    assert not HYDROTHERMAL.search(words)


def test_the_command_writes_the_page_and_its_summary(solved, tmp_path):
    code, out, err = cobre("report", solved.folder, "-o", tmp_path / "page.html")
    assert (code, err) == (0, "")
    assert out.splitlines() == [*report.reading_of_solved(solved), f"written to {tmp_path / 'page.html'}"]
    assert re.match(r"Simulated mean [\d.]+ ± [\d.]+ \(1,000 trajectories\); upper bound 35, ", out)


def test_a_summary_for_people_and_one_for_programs(solved):
    code, out, _ = cobre("summary", solved.folder)
    assert code == 0
    assert "2 nodes, 1 state" in " ".join(out.split())  # a long path folds the lines
    assert f"cobre report {solved.folder}" in out.replace("\n", "")
    code, out, _ = cobre("summary", solved.folder, "-f", "json")
    assert (code, json.loads(out)) == (0, solved.summary)


def test_without_a_simulation_the_page_says_how_to_get_one(solved, tmp_path):
    file = write(tmp_path / "news.sof.json", stochoptformat())
    assert cobre("solve", file, "-n", "2", "-q", "--simulations", "0")[0] == 0
    known = read_solved(tmp_path / "news.output")
    assert "has not been simulated" in report.reading_of_solved(known)[0]
    assert "There is no simulation; solve with --simulations 1000." in report.html(known)


def test_a_run_that_has_not_finished_says_how_to_go_on(solved, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(solved.folder, folder)
    begin_solved(folder)
    for command in ("report", "summary"):
        code, _, err = cobre(command, folder)
        assert (code, err) == (
            3,
            f"error: {folder}: cobre solve has not finished; resume it with the same command and --resume\n",
        )


@pytest.mark.parametrize(
    ("name", "status"),
    [("summary.json", "damaged"), ("totals.parquet", "damaged"), ("totals.parquet", "missing")],
)
def test_a_damaged_folder_is_an_error_that_names_the_file(solved, tmp_path, name, status):
    folder = tmp_path / "copy"
    shutil.copytree(solved.folder, folder)
    (folder / name).unlink()
    if status == "damaged":
        (folder / name).write_text("{}")
    assert is_solved(folder)
    code, _, err = cobre("report", folder)
    assert code == 3
    assert err.startswith(f"error: {folder / name}: ")
    with pytest.raises(ResultsError) as caught:
        np.asarray(read_solved(folder).totals)
    assert caught.value.status == status
