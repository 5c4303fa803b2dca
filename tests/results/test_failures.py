"""What a run that fails, is killed or meets a bad disk leaves, and what readers say of it."""

import contextlib
import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cobre import results
from cobre.errors import OutputError, ResultsError
from cobre.results import _files, _scenarios
from tests.results.made_up import contents, made_up_log, made_up_run, write_all, write_scenarios


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def test_fewer_scenarios_leave_none_of_the_earlier_run(run, out):
    writer = results.Writer(out)
    write_all(writer, run, 9)
    write_all(writer, run, 3)
    assert results.read(out).simulation("costs").num_rows == 12
    assert len(list(out.glob("simulation/costs/*"))) == 3
    writer.begin(run)  # and one without a simulation leaves none at all
    writer.finish(made_up_log(), "enough")
    assert results.read(out).simulation_manifest is None
    assert not list(out.glob("simulation/*"))


def test_what_is_not_ours_is_not_touched(run, out):
    writer = results.Writer(out)
    write_all(writer, run, 2)
    mine = [out / "notes.txt", out / "simulation" / "notes.txt", out / "training" / "plot.png"]
    for path in mine:
        path.write_text("mine")
    write_all(writer, run, 2)
    assert [path.read_text() for path in mine] == ["mine"] * 3


@pytest.mark.parametrize("part", ["training", "simulation"])
def test_a_folder_of_something_else_is_refused(run, out, part):
    (out / part).mkdir(parents=True)
    (out / part / "data.csv").write_text("mine")
    with pytest.raises(OutputError, match="not of a result of cobre; move them away") as caught:
        results.Writer(out).begin(run)
    assert Path(caught.value.path) == out / part
    assert list(contents(out)) == [f"{part}/data.csv"]


class Killed(BaseException):
    """Nothing happens to the disk after it."""


@pytest.mark.parametrize("earlier", [0, 3])
def test_whenever_it_is_killed_readers_see_one_whole_run_or_none(run, out, monkeypatch, earlier):
    """Killed before each change to the disk in turn, over nothing and over an earlier run."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # the machine stays up
    monkeypatch.setattr(_files, "_force", lambda _: None)
    writer, step, seen = results.Writer(out), 0, set()
    if earlier:
        write_all(results.Writer(out.with_name("old")), run, earlier, iterations=1)
    while "the new run" not in seen:
        shutil.rmtree(out, ignore_errors=True)
        if earlier:
            shutil.copytree(out.with_name("old"), out, copy_function=os.link)
        with monkeypatch.context() as patch:
            left = [step]
            for method in ("replace", "unlink", "rmdir"):
                patch.setattr(Path, method, dying(getattr(Path, method), left))
            with contextlib.suppress(Killed):
                write_all(writer, run, 2)
        seen.add(what_is_seen(out, earlier))
        step += 1
    # A run is not new until its last manifest, and after its first the old one is gone.
    assert seen == {"the new run", "incomplete"} | ({"the old run"} if earlier else {"missing"})
    assert step > 20


def test_scenarios_are_on_the_disk_before_the_manifest_says_so(run, out, monkeypatch):
    """They are not forced to it one by one, which would take most of a simulation's time, but together."""
    happened = []
    replace, settle = Path.replace, _scenarios.settle

    def renamed(path, to):
        happened.append(Path(to).name)
        return replace(path, to)

    def settled(folder):
        happened.append("settled")
        settle(folder)

    monkeypatch.setattr(Path, "replace", renamed)
    monkeypatch.setattr(_scenarios, "settle", settled)
    write_all(results.Writer(out), run, 2)
    last = len(happened) - 1 - happened[::-1].index("data.parquet")
    ended = ["settled", "iterations.parquet", "retry_histogram.parquet", "metadata.json", "_manifest.json"]
    assert happened[last + 1 :] == [*ended, "_SUCCESS"]


def test_a_disk_that_refuses_is_told_of(run, out, monkeypatch):
    def refuse(_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(_files, "_force", refuse)
    with pytest.raises(OutputError, match="Input/output error"):
        write_all(results.Writer(out), run, 2)
    assert results.read(out, partial=True).simulation_manifest["status"] == "running"


def dying(method, left):
    def change(*args, **options):
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        return method(*args, **options)

    return change


def what_is_seen(out, earlier):
    for path in out.rglob("*.parquet"):
        pq.read_table(path, partitioning=None)  # whole, if it is there
    for part in ("training", "simulation"):  # what Cobre's own readers go by
        assert not (out / part / "_SUCCESS").exists() or whole_for_others(out / part)
    try:
        read = results.read(out)
    except ResultsError as error:
        return error.status
    iterations = read.convergence.num_rows
    if read.simulation_manifest is None:  # between training and simulation
        return "incomplete" if iterations == 3 else "a mixture"
    found = (iterations, read.simulation("hydros").num_rows, read.simulation("costs").num_rows)
    return {(3, 8, 8): "the new run", (1, 4 * earlier, 4 * earlier): "the old run"}.get(found, "a mixture")


def whole_for_others(part):
    about = json.loads((part / "metadata.json").read_text())
    if part.name == "training":
        return pq.read_table(part / "convergence.parquet").num_rows == about["iterations"]["completed"]
    return len(list(part.glob("costs/*/data.parquet"))) == about["scenarios"]["completed"]


WRITES_FOR_EVER = """
import sys
from pathlib import Path
from cobre import results
from tests.results.made_up import made_up_run, made_up_tables

folder = Path(sys.argv[1])
writer = results.Writer(folder / "out")
writer.begin(made_up_run(folder / "case"))
writer.begin_simulation(1_000_000)
with writer.scenarios() as writing:
    for first in range(0, 1_000_000, 20):
        writing.write(made_up_tables(range(first, first + 20), rows=50))
        print(first, flush=True)
"""


def test_a_process_that_is_killed_leaves_only_whole_files(tmp_path):
    """By SIGKILL, in the middle of writing."""
    command = [sys.executable, "-c", WRITES_FOR_EVER, str(tmp_path)]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True) as child:
        for _ in range(4):  # so three calls have written their files
            assert child.stdout.readline()
        child.send_signal(signal.SIGKILL)
    out = tmp_path / "out"
    files = list(out.glob("simulation/*/*/data.parquet"))
    assert len(files) >= 100
    for path in files:
        assert pq.ParquetFile(path).metadata.num_rows == 50
    with pytest.raises(ResultsError, match="under way, or was killed") as caught:
        results.read(out)
    assert caught.value.status == "incomplete"
    writer = results.Writer(out)
    write_all(writer, made_up_run(tmp_path / "case"), 2)  # and the next run clears up
    assert not [name for name in contents(out) if name.endswith(".tmp")]
    assert len(list(out.glob("simulation/costs/*"))) == 2


def test_a_run_under_way_can_be_watched(run, out):
    writer = results.Writer(out)
    writer.begin(run)
    writer.training(made_up_log(2))
    with pytest.raises(ResultsError, match="partial=True"):
        results.read(out)
    watched = results.read(out, partial=True)
    assert watched.convergence.num_rows == 2
    assert watched.manifest["status"] == "running"


def test_a_run_that_failed_says_why(run, out):
    writer = results.Writer(out)
    writer.begin(run)
    writer.finish(made_up_log(), "enough")
    writer.begin_simulation(4)
    writer.fail("node 'a' is infeasible")
    with pytest.raises(ResultsError, match="the run did not end well: node 'a' is infeasible") as caught:
        results.read(out)
    assert (caught.value.status, Path(caught.value.path).parent.name) == ("incomplete", "simulation")
    assert results.read(out, partial=True).manifest["status"] == "complete"  # the training was well


def test_to_fail_where_nothing_can_be_written_hides_no_other_error(run, out):
    writer = results.Writer(out)
    writer.fail("before anything began")
    writer.begin(run)
    (out / "training/metadata.json").unlink()
    with pytest.raises(OutputError, match="changed or removed while the run was under way"):
        writer.finish(made_up_log(), "enough")
    shutil.rmtree(out)
    out.write_text("a file")
    writer.fail("too late")


def test_scenarios_that_another_machine_wrote_to_its_own_disk_are_missed(run, out):
    writer = results.Writer(out)
    writer.begin(run)
    writer.finish(made_up_log(), "enough")
    writer.begin_simulation(5)
    write_scenarios(writer, range(3))
    with pytest.raises(OutputError, match="3 of 5 scenarios are there; do all ranks see the same folder"):
        writer.finish_simulation()
    with pytest.raises(ResultsError, match="some scenarios are missing"):
        results.read(out)
    assert results.read(out, partial=True).simulation("costs").num_rows == 12


def test_a_folder_that_is_no_result(tmp_path):
    for folder, missing in ((tmp_path, "training/_manifest.json"), (tmp_path / "nowhere", "such folder")):
        with pytest.raises(ResultsError, match=f"there is no {missing}; check the path") as caught:
            results.read(folder)
        assert caught.value.status == "missing"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe"])
@pytest.mark.parametrize(
    "name", ["training/_manifest.json", "training/metadata.json", "simulation/_manifest.json"]
)
def test_a_damaged_manifest(run, out, name, content):
    write_all(results.Writer(out), run, 2)
    (out / name).write_bytes(content)
    with pytest.raises(ResultsError, match="it cannot be read") as caught:
        results.read(out)
    assert (caught.value.status, Path(caught.value.path)) == ("damaged", out / name)


@pytest.mark.parametrize(
    "damage", [lambda data: data[: len(data) // 2], lambda data: b"", lambda data: b"PAR1"]
)
def test_a_damaged_table(run, out, damage):
    write_all(results.Writer(out), run, 2)
    for name in ("training/convergence.parquet", "simulation/costs/scenario_id=0001/data.parquet"):
        path = out / name
        path.write_bytes(damage(path.read_bytes()))
    read = results.read(out)
    for look in (lambda: read.convergence, lambda: read.simulation("costs")):
        with pytest.raises(ResultsError, match="it cannot be read") as caught:
            look()
        assert caught.value.status == "damaged"
    assert read.simulation("hydros").num_rows == 8


def test_a_missing_file(run, out):
    write_all(results.Writer(out), run, 2)
    (out / "training/convergence.parquet").unlink()
    (out / "simulation/costs/scenario_id=0001/data.parquet").unlink()
    read = results.read(out)
    with pytest.raises(ResultsError, match="there is no such file"):
        _ = read.convergence
    with pytest.raises(ResultsError, match="a scenario is missing"):
        read.simulation("costs")
    with pytest.raises(ResultsError, match="there is no such table; there are: costs, hydros"):
        read.simulation("thermals")


@pytest.mark.parametrize("where", ["", "inside/it"])
def test_an_output_that_is_a_file(run, tmp_path, where):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(OutputError, match="choose another output folder"):
        results.Writer(tmp_path / "taken" / where).begin(run)
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(run, out):
    out.mkdir(mode=0o500)
    with pytest.raises(OutputError, match="Permission denied"):
        results.Writer(out).begin(run)


def test_a_disk_that_is_full(run, out):
    """Files may have 4 kB: what fits is there, what does not leaves nothing."""
    writer = results.Writer(out)
    writer.begin(run)
    writer.begin_simulation(1)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OutputError, match="File too large") as caught:
            write_scenarios(writer, [0], names=("costs",), rows=5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.path.endswith("scenario_id=0000/data.parquet")
    assert not list(out.glob("simulation/costs/*/*"))
    assert json.loads((out / "simulation/_manifest.json").read_text())["status"] == "running"
