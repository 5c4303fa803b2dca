"""``cobre comm bench``: real ranks, a table and JSON; nothing is asserted about times."""

import json
import os

import pytest

from cobre.comm.bench import OPERATIONS, SIZES, count
from tests.cli.commands import COBRE, cobre
from tests.processes import output_of

pytestmark = pytest.mark.usefixtures("no_process_and_no_file_is_left")

QUICK = ("--budget", "0.001")


@pytest.mark.parametrize("backend", ["shm", "tcp"])
def test_every_collective_and_size_is_reported(backend):
    code, out, err = cobre("comm", "bench", "-n", 2, "--backend", backend, "-f", "json", *QUICK)
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert (report["backend"], report["ranks"]) == (backend, 2)
    assert [(one["operation"], one["bytes"]) for one in report["measurements"]] == [
        ("barrier", 0),
        *((operation, size) for operation in OPERATIONS for size in SIZES),
    ]
    assert all(0 < one["best_s"] <= one["median_s"] for one in report["measurements"])


def test_people_get_a_table():
    code, out, err = cobre("comm", "bench", "--backend", "local", *QUICK)
    assert (code, err) == (0, "")
    assert out.startswith("local, 1 rank ")
    assert sum(line.startswith("│") for line in out.splitlines()) == count()
    assert "│ allreduce  │     8 B │" in out


def test_it_joins_the_ranks_of_mpiexec(mpiexec, start_process):
    launcher = mpiexec.launcher
    command = ["-n", "2", *COBRE, "comm", "bench", "-f", "json", *QUICK]
    code, out, _ = output_of(start_process(str(launcher.mpiexec), *launcher.options, *command))
    assert code == 0
    assert (json.loads(out)["backend"], json.loads(out)["ranks"]) == ("mpi", 2)


@pytest.mark.skipif((os.cpu_count() or 1) > 4, reason="it would take more ranks")
def test_more_ranks_than_processors_are_told_so():
    code, out, _ = cobre("comm", "bench", "-n", 5, *QUICK)
    assert code == 0
    assert "the scheduler affects these times" in out


def test_a_backend_that_starts_no_ranks_says_so():
    code, _, err = cobre("comm", "bench", "-n", 2, "--backend", "local")
    assert code == 2
    assert err.startswith("error: backend 'local' could not start")
