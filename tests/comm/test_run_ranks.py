"""Functions on ranks: what comes back, what is refused, who is blamed. All processes are real."""

import io
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from cobre.comm import (
    InitializationFailed,
    InvalidBackend,
    WorkerError,
    run_ranks,
)
from cobre.comm.launch import _processes
from cobre.comm.launch._processes import ProcessGroup, RankProcess
from tests.comm import rank_bodies
from tests.processes import eventually

pytestmark = pytest.mark.usefixtures("socket_backend", "no_process_and_no_file_is_left")


@pytest.fixture
def nothing_starts(monkeypatch):
    def start(*args, **kwargs):
        raise AssertionError("a process was started")

    monkeypatch.setattr(ProcessGroup, "start", start)


def failure_of(body, *args, size=3, **options):
    with pytest.raises(WorkerError) as raised:
        run_ranks(body, size, backend="socket", args=args, **options)
    return raised.value


@pytest.mark.parametrize("size", [1, 2, 4])
def test_results_come_in_rank_order(size):
    total = sum(range(size))
    results = run_ranks(rank_bodies.who, size, backend="socket", args=(7,), kwargs={"key": "value"})
    assert results == [(rank, size, total, (7,), {"key": "value"}) for rank in range(size)]


def test_large_arguments_and_results_pass():
    array = np.arange(2_000_000.0)
    for rank, result in enumerate(run_ranks(rank_bodies.echo, 2, backend="socket", args=(array,))):
        np.testing.assert_array_equal(result, array + rank)


def test_arrays_among_the_arguments_are_in_memory_once():
    """Both kinds are shared; who writes to one that is no constant has a copy of those pages, as before."""
    frozen, free = np.arange(1 << 19, dtype=np.float64), np.ones(1 << 19)
    frozen.flags.writeable = False
    kib = free.nbytes >> 10
    found = run_ranks(rank_bodies.arrays_as_they_came, 2, args=(frozen, free))
    for rank, (total, writeable, before, after, first) in enumerate(found):
        assert total == frozen.sum() + free.sum()
        assert writeable == (False, True)
        assert max(before) < kib / 8
        assert min(after) >= kib  # they are in one mapping
        assert first == 2 + rank
    assert free[0] == 1


def test_variables_reach_the_ranks_and_the_groups_own_win(monkeypatch):
    monkeypatch.setenv("FROM_HERE", "here")
    names = ("FROM_HERE", "GIVEN", "COBRE_COMM_BACKEND")
    env = {"GIVEN": "given", "COBRE_COMM_BACKEND": "local"}
    results = run_ranks(rank_bodies.environment, 2, backend="socket", args=names, env=env)
    assert results == [["here", "given", "socket"]] * 2


@pytest.mark.parametrize(
    ("how", "exit_code", "signal_number", "inner"),
    [
        ("raise", 1, None, "ValueError('boom')"),
        ("kill", None, signal.SIGKILL, "None"),
        ("exit", 3, None, "SystemExit(3)"),
        ("exit with words", 1, None, "SystemExit('that is all')"),
        ("exit well", 0, None, "SystemExit()"),
        ("exit at once", 7, None, "None"),
        ("exit at once, well", 0, None, "None"),
    ],
)
def test_the_rank_that_failed_is_blamed_and_not_those_that_waited_for_it(
    how, exit_code, signal_number, inner
):
    error = failure_of(rank_bodies.one_fails, how)
    assert (error.rank, error.exit_code, error.signal) == (1, exit_code, signal_number)
    assert repr(error.inner) == inner
    assert error.__cause__ is error.inner


def test_the_ranks_own_traceback_is_shown():
    error = failure_of(rank_bodies.one_fails, "raise")
    [note] = error.inner.__notes__
    assert note.startswith("On rank 1:\nTraceback (most recent call last):\n")
    assert 'raise ValueError("boom")' in note
    assert note.endswith("ValueError: boom")
    assert "_worker.py" not in note
    assert str(error) == "rank 1 raised ValueError: boom"


@pytest.mark.parametrize("how", ["plain", "wrapped", "exit"])
def test_a_cause_is_blamed_even_if_its_consequence_is_reported_first(how, tmp_path, monkeypatch):
    monkeypatch.setattr(_processes, "GRACE_S", 100 * _processes.GRACE_S)  # however busy the machine is
    error = failure_of(rank_bodies.cause_comes_late, str(tmp_path / "seen"), how, size=2)
    assert (error.rank, str(error.inner)) == (1, "the cause")


def test_of_two_causes_the_earlier_is_blamed(tmp_path):
    error = failure_of(rank_bodies.two_raise, str(tmp_path / "raised"), size=2)
    assert (error.rank, error.inner.args[0]) == (1, "the first")


def test_everybody_is_ended_when_the_time_is_up():
    begun = time.monotonic()
    error = failure_of(rank_bodies.wait_long, size=2, timeout_s=0.5)
    assert time.monotonic() - begun < 0.5 + 2
    assert (error.rank, error.exit_code, error.signal) == (0, None, None)
    assert isinstance(error.inner, TimeoutError)
    assert str(error) == "rank 0 was still running after 0.5 s"


def test_who_ignores_sigterm_is_ended_within_two_seconds(tmp_path):
    path = tmp_path / "ignores"
    error = failure_of(rank_bodies.stubborn, str(path), size=2)
    assert time.time() - path.stat().st_mtime < 2
    assert (error.rank, str(error.inner)) == (1, "boom")


def test_who_waits_for_a_rank_that_ended_before_it_joined_is_ended_at_once():
    """There is nothing to save: the time for that is for ranks that have begun to work."""
    begun = time.monotonic()
    with pytest.raises(WorkerError, match="rank 1 was killed by SIGKILL"):
        run_ranks(rank_bodies.who, 3, args=(rank_bodies.DiesOnArrival(),), grace_period_s=60)
    assert time.monotonic() - begun < 30


def test_a_rank_that_reports_and_does_not_end_is_ended():
    error = failure_of(rank_bodies.leaves_a_thread, size=2)
    assert (error.exit_code, error.signal, str(error.inner)) == (1, None, "boom")


@pytest.mark.parametrize("stubborn", [False, True])
def test_what_ranks_have_started_ends_with_them(stubborn):
    assert run_ranks(rank_bodies.leaves_a_child, 2, backend="socket", args=(stubborn,)) == [0, 1]


def test_what_cannot_be_sent_is_refused_before_anything_starts(nothing_starts):
    def local(comm):
        pass

    for fn in (lambda comm: None, local):
        with pytest.raises(TypeError, match="the function .* cannot be sent .*define it at the top level"):
            run_ranks(fn, 2, backend="socket")
    with pytest.raises(TypeError, match="an argument cannot be sent to other processes: .*lock"):
        run_ranks(rank_bodies.who, 2, backend="socket", kwargs={"lock": threading.Lock()})


def test_a_result_that_cannot_be_sent_back_names_the_rank():
    error = failure_of(rank_bodies.returns_a_lock)
    assert str(error).startswith(
        "rank 1 raised TypeError: the result, of type lock, cannot be sent to another process: "
    )


def test_an_exception_that_cannot_be_sent_back_is_described():
    error = failure_of(rank_bodies.raises_needy)
    assert (error.rank, type(error.inner)) == (1, RuntimeError)
    assert "Needy: this and that (this exception cannot be sent to another process: " in str(error.inner)
    assert "in raises_needy" in error.inner.__notes__[0]


def test_a_result_that_cannot_be_rebuilt_here_names_the_rank():
    error = failure_of(rank_bodies.returns_what_only_exists_there)
    assert (error.rank, error.exit_code) == (0, 0)
    assert "the result cannot be rebuilt in the calling process: no such thing here" in str(error)


@pytest.mark.parametrize("size", [0, -1])
def test_a_group_has_at_least_one_rank(size, nothing_starts):
    with pytest.raises(ValueError, match="at least one rank"):
        run_ranks(rank_bodies.who, size, backend="socket")


def test_a_backend_that_cannot_start_ranks_says_so(nothing_starts):
    with pytest.raises(InitializationFailed, match="exactly one rank, not 2"):
        run_ranks(rank_bodies.who, 2, backend="local")
    with pytest.raises(InvalidBackend):
        run_ranks(rank_bodies.who, 2, backend="sockets")
    with pytest.raises(InitializationFailed, match="a launcher of its own"):
        run_ranks(rank_bodies.who, 2, backend="mpi")


@pytest.mark.parametrize("method", ["fork", "spawn", None])
def test_the_programs_start_method_does_not_matter_and_stays_as_it_is(method):
    """A library may have set it by the first use of a lock or a pool. Ranks are fresh processes anyway."""
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method(method, force=True)
    try:
        rank_bodies.MEMORY.append("of this process")
        assert run_ranks(rank_bodies.remember, 2, backend="socket") == [[], []]
        assert multiprocessing.get_start_method(allow_none=True) == method
    finally:
        rank_bodies.MEMORY.clear()
        multiprocessing.set_start_method(before, force=True)


def test_ranks_can_start_ranks():
    assert [[rank[:2] for rank in group] for group in run_ranks(rank_bodies.nested, 2, backend="socket")] == [
        [(0, 2), (1, 2)],
        [(0, 2), (1, 2)],
    ]


def test_a_rank_resembles_its_parent():
    [(optimize, argv, path, folder)] = run_ranks(rank_bodies.interpreter, 1, backend="local")
    assert (optimize, argv, path, folder) == (sys.flags.optimize, sys.argv, sys.path, Path.cwd())


def test_a_rank_imports_no_more_than_it_needs():
    """What would double its start: see benchmarks/launch.py."""
    [loaded] = run_ranks(rank_bodies.loaded_modules, 1, backend="local")
    assert "numpy" in loaded
    assert {"typer", "rich", "importlib.metadata", "multiprocessing", "pytest", "socket"} & set(
        loaded
    ) == set()


def test_what_ranks_print_goes_where_it_belongs(capsys):
    run_ranks(rank_bodies.print_both, 3, backend="socket")
    out, err = capsys.readouterr()
    assert sorted(out.splitlines()) == ["[0] out 0", "[1] out 1", "[2] out 2"]
    assert sorted(err.splitlines()) == ["[0] err 0", "[1] err 1", "[2] err 2"]


def test_lines_stay_whole_and_in_order_however_much_is_printed(capfd):
    count = 20_000
    run_ranks(rank_bodies.print_much, 3, backend="socket", args=(count,))
    for text in capfd.readouterr():
        assert len(text) > 6_000_000
        seen = [0, 0, 0]
        for line in text.splitlines():
            rank = int(line[1])
            assert line == f"[{rank}] {rank}:{seen[rank]}:{'x' * (seen[rank] % 200)}"
            seen[rank] += 1
        assert seen == [count] * 3


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (b"no end", b"[0] no end\n"),
        (b"a\n\nb\n", b"[0] a\n[0] \n[0] b\n"),
        (b"\xff\xfe\x00\r\n", b"[0] \xff\xfe\x00\r\n"),
        (b"50 %\r100 %\n", b"[0] 50 %\r100 %\n"),
        (b"", b""),
    ],
)
def test_all_bytes_pass(written, shown, capsysbinary):
    run_ranks(rank_bodies.print_raw, 1, backend="local", args=(written,))
    assert capsysbinary.readouterr().out == shown


def test_a_stream_without_bytes_gets_text(monkeypatch):
    """As in a notebook."""
    notebook = io.StringIO()
    monkeypatch.setattr(sys, "stdout", notebook)
    run_ranks(rank_bodies.print_raw, 1, backend="local", args=("é\xff".encode("latin-1") + "ü".encode(),))
    assert notebook.getvalue() == "[0] \\xe9\\xffü\n"


def test_no_stream_at_all_is_no_obstacle(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    run_ranks(rank_bodies.print_both, 1, backend="local")


def test_lines_appear_while_the_rank_runs(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)

    class Watched(io.StringIO):
        def write(self, text):
            assert text == "[0] as it happens\n"
            (tmp_path / "seen").touch()
            return super().write(text)

    monkeypatch.setattr(sys, "stdout", Watched())
    run_ranks(rank_bodies.print_and_wait, 1, backend="local", args=(str(tmp_path / "seen"),))


def test_when_printing_here_fails_the_ranks_are_asked_to_stop(tmp_path, monkeypatch):
    class Broken(io.StringIO):
        def write(self, text):
            raise BrokenPipeError("nobody reads")

    monkeypatch.setattr(sys, "stdout", Broken())
    with pytest.raises(BrokenPipeError):
        run_ranks(rank_bodies.prints_until_asked, 2, backend="socket", args=(str(tmp_path / "asked"),))
    assert sorted(path.name for path in tmp_path.glob("asked*")) == ["asked.0", "asked.1"]


def test_what_a_process_wrote_last_is_not_lost(capsys):
    """Even if its end is seen before its output."""
    rank = RankProcess(0, ["echo", "last words"], {})
    eventually(rank.look)
    rank.reap()
    rank.close()
    assert capsys.readouterr().out == "[0] last words\n"


def test_it_works_from_any_thread():
    results = []
    thread = threading.Thread(target=lambda: results.extend(run_ranks(rank_bodies.who, 2, backend="socket")))
    thread.start()
    thread.join(20)
    assert [result[0] for result in results] == [0, 1]


def test_a_process_that_cannot_be_started_leaves_nothing_behind(monkeypatch):
    starts = iter([sys.executable, sys.executable, "/nowhere/python"])  # the first is the guard
    popen = subprocess.Popen

    def only_the_first_works(command, **options):
        return popen([next(starts), *command[1:]], **options)

    monkeypatch.setattr(subprocess, "Popen", only_the_first_works)
    with pytest.raises(FileNotFoundError):
        run_ranks(rank_bodies.wait_long, 2, backend="socket")


@pytest.mark.parametrize("missing", [["pidfd_open"], ["pidfd_open", "waitid"]])
def test_it_works_where_the_kernel_tells_less(missing, monkeypatch):
    """As in some sandboxes, and on macOS."""
    for name in missing:
        monkeypatch.delattr(os, name)
    assert [result[0] for result in run_ranks(rank_bodies.who, 2, backend="socket")] == [0, 1]
    assert failure_of(rank_bodies.one_fails, "kill").rank == 1
    assert failure_of(rank_bodies.wait_long, size=2, timeout_s=0.5).rank == 0
