"""``cobre run`` before people's eyes: real pseudo-terminals, real keys, and what is left on the screen."""

import codecs
import fcntl
import json
import os
import pty
import re
import shlex
import signal
import struct
import subprocess
import termios
from contextlib import suppress

import pytest

from cobre import results
from cobre.cli._console import coloured
from cobre.sddp import Policy
from tests.cli import commands
from tests.cli.commands import COBRE
from tests.processes import DEADLINE_S, eventually
from tests.study.cases import copy
from tests.terminal import Terminal

pytestmark = pytest.mark.usefixtures("no_process_and_no_file_is_left")


class Window:
    """A program in a terminal of its own, which is its controlling terminal, so that Ctrl-C reaches it."""

    def __init__(self, command, folder, width=80, height=24, **environment):
        self._master, slave = pty.openpty()
        os.set_blocking(self._master, False)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        plain = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "NO_COLOR"}}

        self.process = subprocess.Popen(
            [*map(str, command)],
            cwd=folder,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  no threads here
            env={**plain, "TERM": "xterm-256color", **environment},
        )
        os.close(slave)
        self.terminal, self.seen, self._rest = Terminal(width, height), "", ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def press(self, key):
        os.write(self._master, key)

    def resize(self, width, height):
        self.look()
        self.terminal.resize(width, height)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def look(self):
        """Take in what has come, and return what is on the screen."""
        with suppress(OSError):  # nothing for now; or, on Linux, nobody is left to write
            while part := os.read(self._master, 1 << 16):
                self._rest += self._decoder.decode(part)
        whole = re.sub(r"\x1b(\[[?\d;]*)?$", "", self._rest)  # half a sequence waits for the rest
        self._rest = self._rest[len(whole) :]
        self.seen += whole
        self.terminal.feed(whole)
        return "\n".join(self.terminal.lines)

    def until(self, words):
        eventually(lambda: words in self.look() or self.process.poll() is not None)
        assert words in self.look(), self.terminal.history

    def end(self):
        """Its exit code, once it has ended."""
        eventually(lambda: self.look() is None or self.process.poll() is not None)
        code = self.process.wait(DEADLINE_S)
        self.look()
        return code

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self._master)


@pytest.fixture
def window(tmp_path, marked):
    opened = []

    def open_window(*arguments, command=COBRE, **options):
        opened.append(Window([*command, *arguments], tmp_path, **options))
        return opened[-1]

    yield open_window
    for each in opened:
        each.close()
    eventually(lambda: marked() == [])


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A case that takes a second."""
    folder = tmp_path_factory.mktemp("quick")
    return copy("one-reservoir", folder / "case", iterations=40, scenarios=5)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 50)])
def test_a_terminal_shows_a_table_and_then_a_summary(quick, window, width, height):
    shown = window("run", quick, "-o", "out", width=width, height=height)
    assert shown.end() == 0, shown.terminal.history
    assert "of 40" in shown.seen
    screen = shown.look()
    assert shown.terminal.cursor
    assert shown.terminal.colours > 20
    assert "elapsed" not in "\n".join(shown.terminal.history)  # the table is gone
    for words in ("─ case ─", "trained", "simulated", "5 scenarios", "cobre report out"):
        assert words in screen
    assert "stopped by the limit of 40" in " ".join(screen.split()).replace("│ │ ", "")


@pytest.mark.parametrize("how", [{"NO_COLOR": "1"}, {"option": "never"}])
def test_without_colours_the_table_moves_all_the_same(quick, window, how):
    option = ["--color", how.pop("option")] if "option" in how else []
    shown = window("run", quick, "-o", "out", *option, **how)
    assert shown.end() == 0
    assert "elapsed" in shown.seen
    assert shown.terminal.colours == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_leaves_a_terminal_in_order_and_a_command_that_goes_on(window, workers, tmp_path):
    case = copy("one-reservoir", tmp_path / "my case", iterations=100_000, scenarios=0)
    given = ["--workers", "2"] if workers == 2 else []
    shown = window("run", case, *given, "--output", "out", "--color", "always", width=60)
    checkpoint = tmp_path / "out/policy/checkpoint.cobre"
    eventually(checkpoint.exists)
    shown.press(b"\x03")
    assert shown.end() == 128 + signal.SIGINT, shown.terminal.history
    assert shown.terminal.cursor
    assert "elapsed" not in "\n".join(shown.terminal.history)
    said = shown.seen.splitlines()
    assert said[-2] == "interrupted; finished iterations are saved in out/policy/checkpoint.cobre"
    assert said[-1].startswith("resume with: ")
    command = shlex.split(said[-1].removeprefix("resume with: "))
    assert command == ["cobre", "run", str(case), *given, "--output", "out", "--color", "always", "--resume"]

    config = json.loads((case / "config.json").read_text())
    config["training"]["stopping_rules"][0]["limit"] = Policy.load(checkpoint).iterations + 5
    (case / "config.json").write_text(json.dumps(config))
    again, anew = window(*command[1:]), window("run", case, "-o", "anew")
    assert (again.end(), anew.end()) == (0, 0), again.terminal.history
    assert results.read(tmp_path / "out").policy_path.read_bytes() == (
        results.read(tmp_path / "anew").policy_path.read_bytes()
    )


def test_a_signal_ends_the_view_as_ctrl_c_does(window, tmp_path):
    case = copy("one-reservoir", tmp_path / "case", iterations=100_000, scenarios=0)
    shown = window("run", case, "-o", "out")
    eventually((tmp_path / "out/policy/checkpoint.cobre").exists)
    shown.process.send_signal(signal.SIGTERM)
    assert shown.end() == 128 + signal.SIGTERM
    assert shown.terminal.cursor
    assert shown.seen.splitlines()[-1] == f"resume with: cobre run {case} --output out --resume"


def test_a_window_that_is_made_smaller_while_it_runs(window, tmp_path):
    case = copy("one-reservoir", tmp_path / "case", iterations=100_000, scenarios=0)
    shown = window("run", case, "-o", "out", width=100, height=30)
    shown.until("elapsed")
    shown.resize(50, 30)
    number = len(shown.seen)
    eventually(lambda: shown.look() and "elapsed" in shown.seen[number + 2000 :])
    shown.press(b"\x03")
    assert shown.end() == 130
    assert sum("elapsed" in line for line in shown.terminal.history) <= 1  # what was drawn before it knew


def test_a_dumb_terminal_gets_lines(quick, window):
    shown = window("run", quick, "-o", "out", TERM="dumb")
    assert shown.end() == 0
    assert "\x1b" not in shown.seen
    assert "trained: 40 iterations" in shown.seen


def test_under_mpi_nothing_moves(mpiexec, quick, window):
    """Launchers give ranks pipes, or terminals that are none."""
    launcher = mpiexec.launcher
    run = [*COBRE, "run", quick, "-o", "out"]
    shown = window(command=[launcher.mpiexec, *launcher.options, "-n", "2", *run])
    assert shown.end() == 0, shown.terminal.history
    assert "\x1b[" not in shown.seen
    assert shown.seen.count("trained: 40 iterations") == 1


# Not a terminal


def cobre(*arguments, **environment):
    plain = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "FORCE_COLOR"}}
    return commands.cobre(*arguments, env={**plain, **environment})


def test_elsewhere_every_line_is_complete(quick, tmp_path):
    code, out, err = cobre("run", quick, "-o", tmp_path / "out")
    assert (code, "\x1b" in out + err) == (0, False)
    labels = [line.split(":")[0] for line in out.splitlines() if not line.startswith("  cobre ")]
    assert labels == ["trained", "simulated", "gap", "time", f"written to {tmp_path / 'out'}", "next"]
    progress = [line for line in err.splitlines() if "/40  bound " in line]
    assert len(progress) >= 2
    assert progress[0].startswith("1/40  bound ")
    assert progress[0].endswith(" left")
    assert progress[-1].startswith("40/40  bound ")


@pytest.mark.parametrize(
    ("option", "environment", "terminal", "expected"),
    [
        ("auto", {}, False, False),
        ("auto", {}, True, True),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": ""}, False, False),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colours_are_as_the_option_or_the_variables_say(option, environment, terminal, expected, monkeypatch):
    monkeypatch.setattr(os, "environ", environment)
    assert coloured(option, terminal) == expected


def test_all_commands_follow(tmp_path):
    case = copy("one-reservoir", tmp_path / "case", iterations=1, scenarios=0)
    (case / "penalties.json").unlink()
    for command in (["validate", case], ["comm", "info"], ["version"]):
        assert "\x1b[" in cobre(*command, FORCE_COLOR="1")[1]
        assert "\x1b" not in cobre(*command, "--color", "never", FORCE_COLOR="1")[1]


def test_colours_do_not_make_a_log_move(quick, tmp_path):
    _, out, err = cobre("run", quick, "-o", tmp_path / "out", "--color", "always")
    assert "\x1b[?25l" not in err
    assert "1/40  bound " in err
    assert out.startswith("trained: ")


def test_quiet_is_silent_but_for_warnings(tmp_path):
    case = copy("one-reservoir", tmp_path / "case", iterations=2, passes=1, scenarios=2)
    assert cobre("run", case, "--quiet") == (0, "", "")
    code, out, err = cobre("run", case, "-q", "--workers", 2)
    assert (code, out) == (0, "")
    assert err.startswith("warning: training.forward_passes is 1")
    assert len(err.splitlines()) == 1
    assert cobre("run", tmp_path / "nothing", "-q")[::2] == (
        3,
        f"error: {tmp_path / 'nothing'}: there is no such folder; name the one that holds config.json\n",
    )


# For programs


def test_json_is_one_object_that_agrees_with_the_files(quick, tmp_path):
    output = tmp_path / "my out"
    code, out, err = cobre("run", quick, "-o", output, "--output-format", "json", "-w", 2)
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert (told["event"], told["exit_code"]) == ("run_finished", 0)
    assert told["output_directory"] == str(output)
    training, read = told["training"], results.read(output)
    last = read.convergence.slice(39).to_pylist()[0]
    assert (training["iterations"], training["stopped_by"]) == (40, "iteration_limit")
    assert training["lower_bound"] == last["lower_bound"]
    assert training["mean_cost"] == last["upper_bound_mean"]
    assert training["cuts_active"] == last["cuts_active"]
    assert sum(training["phase_seconds"].values()) == pytest.approx(training["seconds"])
    assert [worker["rank"] for worker in training["workers"]] == [0, 1]
    costs = read.simulation("costs").group_by("scenario_id").aggregate([("total_cost", "sum")]).num_rows
    assert told["simulation"]["scenarios"] == costs == 5
    for part in told["files"].values():
        assert all((output / name).exists() for name in part)
    assert told["next"] == [f"cobre report '{output}'", f"cobre summary '{output}'"]


def test_json_lines_come_while_it_runs_and_end_with_the_object(tmp_path, start_process):
    case = copy("one-reservoir", tmp_path / "case", iterations=100_000, scenarios=0)
    process = start_process(*COBRE, "run", str(case), "-o", "out", "-f", "jsonl")
    first = [json.loads(process.stdout.readline()) for _ in range(15)]
    assert process.poll() is None  # they are here, and it goes on
    assert [event["event"] for event in first[:2]] == ["training_started", "iteration_finished"]
    assert first[1]["remaining"]["rule"] == "100000 iterations"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=DEADLINE_S)
    *events, last = map(json.loads, out.splitlines())
    assert [event["event"] for event in events[-1:]] == ["checkpoint_written"]
    assert (last["event"], last["exit_code"], process.returncode) == ("run_failed", 130, 130)
    assert last["error"]["kind"] == "Interrupted"
    assert last["resume"] == f"cobre run {case} --output out --output-format jsonl --resume"
    assert err.splitlines()[-1] == f"resume with: {last['resume']}"


def test_json_lines_of_a_whole_run(quick, tmp_path):
    code, out, err = cobre("run", quick, "-o", tmp_path / "out", "-f", "jsonl")
    assert (code, err) == (0, "")
    told = [json.loads(line) for line in out.splitlines()]
    names = [line["event"] for line in told]
    assert names.count("iteration_finished") == 40
    assert names[-2:] == ["simulation_finished", "run_finished"]
    assert told[-1]["training"]["lower_bound"] == told[names.index("training_finished")]["bound"]


@pytest.mark.parametrize("kind", ["json", "jsonl"])
def test_an_error_is_an_object_too(kind, tmp_path):
    case = copy("one-reservoir", tmp_path / "case")
    (case / "stages.json").unlink()
    code, out, err = cobre("run", case, "--output-format", kind)
    told = json.loads(out)
    assert (told["event"], told["exit_code"], code) == ("run_failed", 1, 1)
    assert told["error"]["kind"] == "MissingFile"
    assert told["error"]["context"]["class"] == "CaseError"
    assert told["error"]["context"]["findings"][0]["file"] == "stages.json"
    assert told["error"]["suggestion"] in told["error"]["message"]
    assert told["error"]["message"] in err
    assert told["resume"] is None


def test_what_a_lost_worker_says_is_an_object_too(tmp_path, start_process, marked):
    case = copy("one-reservoir", tmp_path / "case", iterations=100_000, scenarios=0)
    process = start_process(*COBRE, "run", str(case), "-o", "out", "-w", "2", "-f", "json")
    checkpoint = tmp_path / "out/policy/checkpoint.cobre"
    eventually(checkpoint.exists)
    [victim, *_] = [pid for pid, words in marked() if pid != process.pid and b"call" in words.split(b"\0")]
    os.kill(victim, signal.SIGKILL)
    out, err = process.communicate(timeout=DEADLINE_S)
    told = json.loads(out)
    assert (told["exit_code"], process.returncode) == (5, 5), err
    assert told["error"]["kind"] == "WorkerFailed"
    assert told["error"]["context"]["class"] == "WorkerError"
    assert told["error"]["context"]["signal"] == signal.SIGKILL
    assert told["resume"].endswith("--resume")


def test_a_run_outlives_who_reads_its_events(tmp_path):
    case = copy("one-reservoir", tmp_path / "case", iterations=60, scenarios=0)
    run = shlex.join([*COBRE, "run", str(case), "-o", str(tmp_path / "out"), "-f", "jsonl"])
    pipe = f"set -o pipefail; {run} | head -1"
    ended = subprocess.run(
        ["bash", "-c", pipe],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert json.loads(ended.stdout)["event"] == "training_started"
    assert results.read(tmp_path / "out").manifest["iterations"]["completed"] == 60


def test_validate_speaks_the_same_formats(tmp_path):
    case = copy("one-reservoir", tmp_path / "case")
    assert json.loads(cobre("validate", case, "--output-format", "json")[1])["valid"] is True
    assert cobre("validate", case, "--output-format", "human")[1].startswith(f"{case} is valid")


def test_help_fits_a_screen():
    _, out, _ = cobre("run", "--help", COLUMNS="80")
    lines = out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    for words in ("Example: cobre run", "130 after", "--workers", "--output"):
        assert words in out
