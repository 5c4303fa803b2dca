"""Scenarios in both layouts, and writing them in the background: what it leaves when it fails."""

import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from subprocess import PIPE

import pyarrow.parquet as pq
import pytest

from cobre import results
from cobre.errors import OutputError, ResultsError
from cobre.results import _files, _scenarios
from tests.results.made_up import contents, made_up_tables, write_all, write_scenarios

LAYOUTS = list(results.LAYOUTS)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path):
    """No thread and no open file, however a test ends."""
    yield
    assert not [thread.name for thread in threading.enumerate() if "writer" in thread.name]
    assert not [path for path in open_for_writing() if path.is_relative_to(tmp_path)]


def open_for_writing():
    """Files; those that Arrow has read it closes when it likes."""
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if int(Path(f"/proc/self/fdinfo/{path.name}").read_text().split()[3], 8) & os.O_WRONLY:
                yield path.readlink()


@pytest.mark.parametrize("count", [1, 15, 16, 17, 40])
def test_both_layouts_read_equal(run, tmp_path, count):
    read = []
    for layout in LAYOUTS:
        writer = results.Writer(tmp_path / layout, layout=layout)
        write_all(writer, run, count)
        read.append(results.read(tmp_path / layout))
    one, other = read
    assert one.tables == other.tables == ("costs", "hydros", "violations/generic")
    for name in one.tables:
        table = other.simulation(name)
        assert one.simulation(name).equals(table)
        assert one.dataset(name).to_table().equals(other.dataset(name).to_table())
        wanted = {"columns": ["scenario_id", "stage_id"], "scenarios": [count - 1, 0, count + 3]}
        assert one.simulation(name, **wanted).equals(other.simulation(name, **wanted))
    assert one.simulation("hydros").num_rows == 4 * count
    assert [len(each.files("costs")) for each in read] == [count, -(-count // 16)]


def test_a_compact_file_says_which_scenarios_it_has(run, out):
    write_all(results.Writer(out, layout="compact"), run, 18)
    assert sorted(path.name for path in out.glob("simulation/hydros/*")) == [
        "part-0000.parquet",
        "part-0001.parquet",
    ]
    last = pq.read_table(out / "simulation/hydros/part-0001.parquet")
    assert last.equals(made_up_tables([16, 17])["hydros"])
    assert results.read(out).simulation_manifest["layout"] == "compact"


def test_a_result_without_a_layout_is_of_the_format(run, out):
    """Results of earlier versions, and of Cobre itself, do not say."""
    write_all(results.Writer(out), run, 3)
    path = out / "simulation/_manifest.json"
    path.write_text(path.read_text().replace('"layout": "scenarios",', ""))
    assert "layout" not in results.read(out).simulation_manifest
    assert results.read(out).simulation("costs").num_rows == 12


def test_a_layout_of_a_later_version(run, out):
    write_all(results.Writer(out), run, 3)
    path = out / "simulation/_manifest.json"
    path.write_text(path.read_text().replace('"layout": "scenarios"', '"layout": "stages"'))
    with pytest.raises(ResultsError, match="its layout is 'stages', which this version does not know"):
        results.read(out).simulation("costs")


def test_another_layout_takes_the_place_of_the_earlier_one(run, out):
    for layout in (*LAYOUTS, *LAYOUTS):
        write_all(results.Writer(out, layout=layout), run, 18)
        assert results.read(out).simulation("costs").num_rows == 72
        assert len(list(out.glob("simulation/costs/*"))) == (18 if layout == "scenarios" else 2)


@pytest.mark.parametrize("missing", [0, 1])
def test_missing_compact_files_are_missed(run, out, missing):
    writer = results.Writer(out, layout="compact")
    writer.begin_simulation(18, run.topology)
    write_scenarios(writer, range(16) if missing else range(16, 18))
    with pytest.raises(OutputError, match=f"{16 if missing else 2} of 18 scenarios are there"):
        writer.finish_simulation()


def test_a_lost_compact_file_is_told_of(run, out):
    write_all(results.Writer(out, layout="compact"), run, 18)
    (out / "simulation/costs/part-0001.parquet").unlink()
    with pytest.raises(ResultsError, match="a scenario is missing"):
        results.read(out).simulation("costs")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_batches_and_ranks_do_not_matter(run, tmp_path, layout):
    found = []
    for name, parts in (("one", [range(70)]), ("two", [range(48, 70), range(32), range(32, 48)])):
        writer = results.Writer(tmp_path / name, layout=layout)
        writer.begin_simulation(70, run.topology)
        for part in parts:
            write_scenarios(writer, part)
        writer.finish_simulation()
        files = contents(writer.folder).items()
        found.append({path: content for path, content in files if path.endswith(".parquet")})
    assert found[0] == found[1]
    assert len(found[0]) > 10


def test_files_are_written_while_the_caller_goes_on(out, monkeypatch):
    """The first call returns while its files cannot be written yet; the second waits for them."""
    may_write, original = threading.Event(), _scenarios.write_table

    def waiting(*args, **options):
        assert may_write.wait(60)
        original(*args, **options)

    monkeypatch.setattr(_scenarios, "write_table", waiting)
    with results.Writer(out).scenarios() as writing:
        writing.write(made_up_tables([0]))
        assert not list(out.rglob("data.parquet"))
        may_write.set()
        writing.write(made_up_tables([1]))
        assert len(list(out.rglob("scenario_id=0000/data.parquet"))) == 3
    assert len(list(out.rglob("data.parquet"))) == 6


def full_after(monkeypatch, files):
    """A disk that takes so many files and no more; after half of one it says that it is full."""
    replace, left, lock = Path.replace, [files], threading.Lock()

    def refusing(path, to):
        with lock:
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
        return replace(path, to)

    monkeypatch.setattr(_files.Path, "replace", refusing)


@pytest.mark.parametrize("files", [0, 1, 7, 25])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_disk_that_fills_up_is_told_of_before_the_next_scenarios(out, monkeypatch, files, layout):
    writer = results.Writer(out, layout=layout)
    writer.begin_simulation(160)
    full_after(monkeypatch, files)
    done = []

    def simulate():
        with writer.scenarios() as writing:
            for first in range(0, 160, 32):
                writing.write(made_up_tables(range(first, first + 32)))
                done.append(first)

    with pytest.raises(OutputError, match="No space left on device") as caught:
        simulate()
    written = 32 * 3 if layout == "scenarios" else 2 * 3  # by one call
    assert len(done) == files // written + 1
    assert caught.value.path.endswith(".parquet")
    assert whole_files(out) == files
    assert results.read(out, partial=True).simulation_manifest["status"] == "running"


def test_the_last_files_are_waited_for(out, monkeypatch):
    full_after(monkeypatch, 2)
    with pytest.raises(OutputError, match="No space left"):
        write_scenarios(results.Writer(out), [0])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interruption_leaves_whole_files_and_no_thread(out, error, layout):
    def simulate():
        with results.Writer(out, layout=layout).scenarios() as writing:
            writing.write(made_up_tables(range(160), rows=50))
            raise error

    with pytest.raises(error):
        simulate()
    whole_files(out)


WRITES_FOR_EVER = """
import sys
from pathlib import Path
from cobre import results
from tests.results.made_up import made_up_tables

writer = results.Writer(Path(sys.argv[1]), layout=sys.argv[2])
writer.begin_simulation(1_000_000)
with writer.scenarios() as writing:
    for first in range(0, 1_000_000, 160):
        writing.write(made_up_tables(range(first, first + 160), rows=50))
        print(first, flush=True)
"""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_a_process_that_is_ended_leaves_whole_files(out, layout, sent):
    """In the middle of writing; after Ctrl-C it also clears up what is not whole."""
    command = [sys.executable, "-c", WRITES_FOR_EVER, str(out), layout]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdout=PIPE, stderr=PIPE, text=True) as child:
        assert all(child.stdout.readline() for _ in range(3))
        child.send_signal(sent)
        _, errors = child.communicate()
    assert ("KeyboardInterrupt" in errors) == (sent == signal.SIGINT)
    if sent == signal.SIGKILL:
        for path in out.rglob("*.tmp"):
            path.unlink()
    assert whole_files(out) >= (960 if layout == "scenarios" else 60)
    assert results.read(out, partial=True).simulation_manifest["status"] == "running"


def whole_files(out):
    """How many there are; each can be read, and none is half."""
    assert not list(out.rglob("*.tmp"))
    files = list(out.rglob("*.parquet"))
    for path in files:
        pq.ParquetFile(path).read()
    return len(files)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_table_that_may_not_be_written(out):
    (out / "simulation/hydros").mkdir(parents=True, mode=0o500)
    with pytest.raises(OutputError, match="Permission denied") as caught:
        write_scenarios(results.Writer(out), [0])
    assert "simulation/hydros" in caught.value.path


def test_a_table_that_is_a_file(out):
    (out / "simulation").mkdir(parents=True)
    (out / "simulation/hydros").write_text("mine")
    with pytest.raises(OutputError) as caught:
        write_scenarios(results.Writer(out), [0])
    assert caught.value.path.endswith("simulation/hydros/scenario_id=0000/data.parquet")
