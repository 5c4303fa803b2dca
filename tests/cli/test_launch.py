"""``cobre launch`` as users run it: real commands, real signals, exit codes."""

import os
import signal
import sys
import textwrap

import pytest

from cobre.comm.launch import _processes, run_command
from tests.cli.commands import COBRE
from tests.processes import eventually, output_of

pytestmark = pytest.mark.usefixtures("socket_backend", "no_process_and_no_file_is_left")

RANK = "import os; rank = int(os.environ['SOCKET_BACKEND_RANK'])\n"


@pytest.fixture
def launch(start_process):
    def launch(*command, ranks=3, options=()):
        return start_process(
            *COBRE, "launch", "-n", str(ranks), "--backend", "socket", *options, "--", *command
        )

    return launch


@pytest.fixture
def python(launch):
    """Launch a few lines of Python, which know their rank."""

    def python(text, **options):
        return launch(sys.executable, "-c", RANK + textwrap.dedent(text), **options)

    return python


def test_ranks_form_a_group(python):
    code, out, err = output_of(
        python("""
            import numpy as np
            from cobre.comm import create_communicator
            with create_communicator() as comm:
                total = np.empty(1)
                comm.allreduce(np.array([1.0]), total)
                print(comm.rank, comm.size, total[0], comm.topology.backend)
        """)
    )
    assert (code, err) == (0, "")
    assert sorted(out.splitlines()) == [f"[{rank}] {rank} 3 3.0 socket" for rank in range(3)]


def test_any_command_gets_its_arguments_and_variables(launch):
    process = launch(
        "sh", "-c", 'echo "$@ $A $B"', "sh", "x y", "-n", "--help", options=["--env", "A=1=2", "--env", "B="]
    )
    code, out, err = output_of(process)
    assert (code, err) == (0, "")
    assert sorted(out.splitlines()) == [f"[{rank}] x y -n --help 1=2 " for rank in range(3)]


def test_the_dashes_before_the_command_may_be_left_out(start_process):
    process = start_process(*COBRE, "launch", "-n", "1", "--backend", "local", "echo", "-n", "word")
    assert output_of(process) == (0, "[0] word\n", "")


@pytest.mark.parametrize(
    ("ending", "code", "words"),
    [
        ("raise SystemExit(7)", 7, "rank 1 exited with code 7"),
        ("os.kill(os.getpid(), 9)", 128 + 9, "rank 1 was killed by SIGKILL (signal 9)"),
        ("os.abort()", 128 + 6, "rank 1 was killed by SIGABRT (signal 6)"),
    ],
)
def test_the_first_failure_decides_the_exit_code(python, ending, code, words):
    process = python(f"import time\nif rank == 1: {ending}\ntime.sleep(1000)")
    assert output_of(process) == (code, "", f"error: {words}\n")


LATE_DEATH = """
import os, pathlib, time
note = pathlib.Path("pid")
if os.environ["RANK"] == "0":
    note.with_suffix(".new").write_text(str(os.getpid()))
    note.with_suffix(".new").rename(note)
    os._exit(3)
while not note.exists() or ") Z " not in pathlib.Path(f"/proc/{note.read_text()}/stat").read_text():
    time.sleep(0.001)
os.kill(os.getpid(), 11)
"""


def test_a_death_by_signal_is_taken_for_the_cause(tmp_path, monkeypatch, capsys):
    """Even if another rank, which may have noticed something, has ended before."""
    monkeypatch.setattr(_processes, "GRACE_S", 100 * _processes.GRACE_S)  # however busy the machine is
    monkeypatch.chdir(tmp_path)
    code = run_command([sys.executable, "-c", LATE_DEATH], [{"RANK": "0"}, {"RANK": "1"}])
    assert (code, capsys.readouterr().err) == (139, "error: rank 1 was killed by SIGSEGV (signal 11)\n")


def test_a_timeout_is_124(launch):
    process = launch("sleep", "1000", options=["--timeout", "0.3"])
    assert output_of(process) == (124, "", "error: rank 0 was still running after 0.3 s\n")


@pytest.mark.parametrize(("command", "code"), [("no-such-command", 127), ("/", 126)])
def test_a_command_that_cannot_be_run_is_reported_as_by_a_shell(launch, command, code):
    process = launch(command, ranks=1)
    found, out, err = output_of(process)
    assert (found, out) == (code, "")
    assert err.startswith(f"[0] cannot run {command!r}: ")


WAIT = """
    import pathlib, time
    pathlib.Path(f"here.{rank}").touch()
    while True:  # a signal that comes just before a sleep does not end it
        time.sleep(0.05)
"""


def begun(tmp_path):
    return lambda: all((tmp_path / f"here.{rank}").exists() for rank in range(3))


def test_ctrl_c_is_130_and_reaches_the_ranks(start_process, tmp_path):
    patient = "import cobre.cli, cobre.comm.launch._processes as p; p.STOP_S = 1000; cobre.cli.main()"
    command = (sys.executable, "-c", RANK + textwrap.dedent(WAIT))
    process = start_process(
        sys.executable, "-c", patient, "launch", "-n", "3", "--backend", "socket", "--", *command
    )
    eventually(begun(tmp_path))
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    code, out, err = output_of(process)
    assert (code, out) == (130, "")
    assert sorted(line for line in err.splitlines() if "KeyboardInterrupt" in line) == [
        f"[{rank}] KeyboardInterrupt" for rank in range(3)
    ]


def test_sigterm_is_143(python, tmp_path):
    process = python(WAIT)
    eventually(begun(tmp_path))
    process.send_signal(signal.SIGTERM)
    assert output_of(process) == (143, "", "")


SAVES_SLOWLY = """
import pathlib, signal, threading
ended = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: ended.set())
mine = pathlib.Path(f"here.{rank}")
mine.touch()
ended.wait()
threading.Event().wait(1.5)
pathlib.Path(f"{mine}.saved").touch()
"""


@pytest.mark.parametrize(("options", "saved"), [((), True), (("--patience", "0"), False)])
def test_ranks_have_time_to_save_after_a_signal(python, tmp_path, options, saved):
    process = python(SAVES_SLOWLY, options=options)
    eventually(begun(tmp_path))
    process.terminate()
    assert output_of(process)[0] == 143
    assert len(list(tmp_path.glob("*.saved"))) == 3 * saved


def test_commands_die_with_the_launcher(python, tmp_path, marked):
    process = python(WAIT)
    eventually(begun(tmp_path))
    process.kill()
    process.wait()
    eventually(lambda: marked() == [], within_s=1)


@pytest.mark.parametrize(
    "command",
    [["sleep", "1000"], ["sh", "-c", "sleep 1000; true"], ["sh", "-c", "(sleep 1000 &); sleep 1001 & wait"]],
    ids=["itself", "behind_a_shell", "orphaned"],
)
def test_any_program_dies_with_the_launcher(launch, marked, command):
    process = launch(*command)
    sleeping = 3 * str(command).count("sleep")
    eventually(lambda: sum(command.startswith(b"sleep") for _, command in marked()) == sleeping)
    process.kill()
    process.wait()
    eventually(lambda: marked() == [], within_s=1)


def test_lines_of_python_appear_as_they_are_printed(python, monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    process = python(
        """
        import time
        print("here", rank)
        time.sleep(1000)
    """,
        ranks=1,
    )
    assert process.stdout.readline() == "[0] here 0\n"


def test_the_ranks_are_ended_when_nobody_reads(python):
    process = python("while True: print('again')")
    assert process.stdout.readline().endswith("again\n")
    process.stdout.close()
    process.wait(timeout=10)
    assert "Traceback" not in process.stderr.read()


def test_a_wrong_variable_is_refused(launch):
    code, _, err = output_of(launch("true", options=["--env", "A"]))
    assert code == 2
    assert "NAME=VALUE" in err


def test_an_unknown_backend_is_refused(start_process):
    code, _, err = output_of(start_process(*COBRE, "launch", "-n", "2", "--backend", "sockets", "true"))
    assert (code, err.split(";")[0]) == (2, "error: backend='sockets' is not a backend")


def test_help_has_an_example(start_process):
    code, out, _ = output_of(start_process(*COBRE, "launch", "--help"))
    assert code == 0
    assert "cobre launch -n 4 -- python my_script.py" in out
