"""Programs that start ranks, as users run them: their own main module, signals, sudden ends."""

import os
import signal
import sys
import textwrap

import pytest

from tests.processes import eventually, output_of

pytestmark = pytest.mark.usefixtures("socket_backend", "no_process_and_no_file_is_left")


@pytest.fixture
def start(tmp_path, start_process):
    """Start a Python script in the test's folder."""

    def start(text, *options):
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(text))
        return start_process(sys.executable, *(options or [str(path)]))

    return start


def test_a_function_of_the_script_itself_can_be_run(start):
    process = start("""
        from dataclasses import dataclass
        from cobre.comm import run_ranks

        @dataclass
        class Answer:
            rank: int

        def body(comm):
            return Answer(comm.rank)

        if __name__ == "__main__":
            assert run_ranks(body, 2, backend="socket") == [Answer(0), Answer(1)]
            assert run_ranks(body, 2, backend="socket") == [Answer(0), Answer(1)]
    """)
    assert output_of(process) == (0, "", "")


def test_a_function_of_a_module_run_by_its_name_can_be_run(start):
    text = """
        from cobre.comm import run_ranks

        def body(comm):
            return comm.rank

        if __name__ == "__main__":
            assert run_ranks(body, 2, backend="socket") == [0, 1]
    """
    assert output_of(start(text, "-m", "script")) == (0, "", "")


def test_a_script_is_imported_again_only_if_it_is_needed(start):
    process = start("""
        from operator import attrgetter
        from cobre.comm import run_ranks
        print("imported")
        assert run_ranks(attrgetter("rank"), 2, backend="socket") == [0, 1]
    """)
    assert output_of(process) == (0, "imported\n", "")


def test_a_script_without_the_guard_is_told_about_it(start, tmp_path):
    process = start("""
        from pathlib import Path
        from cobre.comm import run_ranks

        def body(comm):
            return comm.rank

        with Path("imports").open("a") as file:
            file.write("x")
        run_ranks(body, 2, backend="socket")
    """)
    code, _, err = output_of(process)
    assert code == 1
    assert "cobre.errors.WorkerError: rank" in err
    assert 'if __name__ == "__main__":\n        main()' in err
    assert len((tmp_path / "imports").read_text()) <= 3, "ranks did not start ranks"


def test_a_function_typed_at_a_prompt_is_refused_with_the_reason(start):
    text = 'from cobre.comm import run_ranks\ndef body(comm): pass\nrun_ranks(body, 2, backend="socket")\n'
    code, _, err = output_of(start("", "-c", text))
    assert code == 1
    assert "was defined in an interactive session" in err


WAITING = """
    import sys
    import cobre.comm.launch._processes
    from cobre.comm import run_ranks
    from tests.comm import rank_bodies

    cobre.comm.launch._processes.STOP_S = 1000  # however busy the machine is

    if __name__ == "__main__":
        try:
            run_ranks(rank_bodies.{body}, 3, backend="socket", args=("here",))
        except KeyboardInterrupt:
            sys.exit("interrupted")
"""


def begun(tmp_path):
    return lambda: all((tmp_path / f"here.{rank}").exists() for rank in range(3))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_the_ranks_once_and_then_takes_effect(number, start, tmp_path, marked):
    process = start(WAITING.format(body="note_signals"))
    eventually(begun(tmp_path))
    os.killpg(process.pid, number)  # as a terminal does
    code, _, err = output_of(process)
    assert marked() == []
    assert [(tmp_path / f"here.{rank}.signals").read_text() for rank in range(3)] == [f"{number.name}\n"] * 3
    assert (code, err) == ((1, "interrupted\n") if number == signal.SIGINT else (-signal.SIGTERM, ""))


def test_an_impatient_second_ctrl_c_ends_stubborn_ranks_at_once(start, tmp_path):
    process = start("""
        import cobre.comm.launch._processes
        cobre.comm.launch._processes.STOP_S = 1000
        from cobre.comm import run_ranks
        from tests.comm import rank_bodies
        run_ranks(rank_bodies.ignores_signals, 3, backend="socket", args=("here",))
    """)
    eventually(begun(tmp_path))
    process.send_signal(signal.SIGINT)
    eventually(lambda: all((tmp_path / f"here.{rank}.signals").exists() for rank in range(3)))
    process.send_signal(signal.SIGINT)
    assert output_of(process)[0] == -signal.SIGINT


HANDLER = """
    import pathlib, signal
    from cobre.comm import WorkerError, run_ranks
    from tests.comm import rank_bodies

    def handler(number, frame):
        {action}

    signal.signal(signal.SIGTERM, handler)
    try:
        print(len(run_ranks(rank_bodies.say_and_wait, 3, backend="socket", args=("here", "go"))))
    except LookupError as exc:
        print(exc)
    assert signal.getsignal(signal.SIGTERM) is handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


@pytest.mark.parametrize(
    ("action", "said"),
    [("pathlib.Path('go').touch()", "3\n"), ("raise LookupError('mine')", "mine\n")],
    ids=["goes on", "raises"],
)
def test_a_handler_of_the_program_is_left_alone(action, said, start, tmp_path):
    process = start(HANDLER.format(action=action))
    eventually(begun(tmp_path))
    process.send_signal(signal.SIGTERM)
    assert output_of(process) == (0, said, "")


def test_ranks_have_no_part_in_stdin(start):
    process = start("""
        import os
        from cobre.comm import run_ranks
        from tests.comm import rank_bodies
        read, write = os.pipe()
        os.write(write, b"not for you")
        os.close(write)
        os.dup2(read, 0)
        print(run_ranks(rank_bodies.read_stdin, 2, backend="socket"))
    """)
    assert output_of(process) == (0, "['', '']\n", "")


def test_ranks_die_with_their_parent(start, tmp_path, marked):
    process = start(WAITING.format(body="wait_long"))
    eventually(begun(tmp_path))
    process.kill()
    process.wait()
    eventually(lambda: marked() == [], within_s=1)


def test_ranks_die_with_a_parent_that_dies_while_they_start(start, marked):
    process = start(WAITING.format(body="wait_long"))
    eventually(lambda: len(marked()) > 1)  # the first has just been started
    process.kill()
    process.wait()
    eventually(lambda: marked() == [], within_s=1)


PATIENT = """
    from cobre.comm import run_ranks
    from tests.comm import rank_bodies
    run_ranks(rank_bodies.save_slowly, 3, backend="socket", args=("here", {seconds}), grace_period_s=30.0)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ranks_have_the_time_to_save_that_was_given_to_them(number, start, tmp_path):
    process = start(PATIENT.format(seconds=1.5))
    eventually(begun(tmp_path))
    os.killpg(process.pid, number)
    assert output_of(process)[0] == -number
    assert (tmp_path / "here.saved").exists()


def test_with_patience_too_a_second_ctrl_c_ends_at_once(start, tmp_path):
    process = start(PATIENT.format(seconds=60))
    eventually(begun(tmp_path))
    process.send_signal(signal.SIGINT)
    eventually((tmp_path / "here.saving").exists)
    process.send_signal(signal.SIGINT)
    assert output_of(process)[0] == -signal.SIGINT
    assert not (tmp_path / "here.saved").exists()
