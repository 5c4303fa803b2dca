"""``cobre scale`` on an example case; nothing is asserted about times."""

import json
import signal

import pytest

from tests.cli.commands import COBRE, cobre
from tests.processes import output_of
from tests.study.cases import copy

QUICK = ("--seconds", "1", "--cores", "4")


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    return copy("four-regions", tmp_path_factory.mktemp("cases") / "case")


def _files(folder):
    return sorted(path for path in folder.rglob("*"))


def test_json_has_a_row_per_number_of_ranks_and_the_parts_of_its_time(case):
    before = _files(case)
    code, out, err = cobre("scale", case, "-f", "json", "--trajectories", "20", *QUICK)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["trajectories"], found["threads"], found["cores"]) == (20, 1, 4)
    assert [(row["ranks"], row["machines"]) for row in found["rows"]] == [
        (1, 1),
        (2, 1),
        (4, 1),
        (8, 2),
        (16, 4),
        (32, 8),
        (64, 16),
    ]
    for row in found["rows"]:
        parts = dict(row["expected"])
        assert parts.pop("seconds") == pytest.approx(sum(parts.values()))
        alone = found["rows"][0]["expected"]["seconds"]
        assert row["efficiency"] == pytest.approx(alone / row["ranks"] / row["expected"]["seconds"])
    fit = [row["ranks"] for row in found["rows"] if row["efficiency"] >= 0.7]
    assert found["recommended"] == max(fit)
    assert _files(case) == before


def test_people_get_a_table_and_a_sentence(case):
    code, out, err = cobre("scale", case, "--threads", "2", *QUICK)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == str(case)
    assert "3 trajectories, 2 threads per rank, machines of 4 cores" in lines
    rows = [line.split()[:2] for line in lines[5:8]]
    assert rows == [["1", "1"], ["2", "1"], ["4", "2"]]
    assert lines[-1].startswith("Recommended: ")


def test_ctrl_c_ends_it_and_leaves_nothing(case, start_process):
    before = _files(case)
    process = start_process(*COBRE, "--log-level", "info", "scale", str(case), "--seconds", "600")
    while "joined local" not in (line := process.stderr.readline()):
        assert line, "it ended by itself"
    process.send_signal(signal.SIGINT)
    code, out, err = output_of(process)
    assert (code, out) == (128 + signal.SIGINT, "")
    assert err.splitlines()[-1] == "interrupted; nothing was written"
    assert _files(case) == before


def test_what_is_no_case_is_refused(tmp_path):
    code, out, err = cobre("scale", tmp_path / "nowhere")
    assert (code, out) == (3, "")
    assert "there is no such folder" in err
