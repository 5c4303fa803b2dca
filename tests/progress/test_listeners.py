"""Listeners on a real console and in a real file."""

import io
import json
import sys

import pytest
from rich.console import Console

from cobre.estimates import Estimate
from cobre.progress import JsonLines, ProgressBar
from cobre.sddp import Remaining, SimulationProgress, TrainingFinished, to_dict
from tests.sddp.test_events import FINISHED, RUN, iteration, started


def test_json_lines_are_there_at_once_and_are_added_to(tmp_path):
    path = tmp_path / "events.jsonl"
    with JsonLines(path) as listener:
        for count, event in enumerate(RUN, 1):
            listener(event)
            lines = path.read_text().splitlines()
            assert len(lines) == count
            assert json.loads(lines[-1]) == to_dict(event)
    with JsonLines(str(path)) as listener:
        listener(FINISHED)
    assert len(path.read_text().splitlines()) == len(RUN) + 1
    with pytest.raises(ValueError, match="closed"):
        listener(FINISHED)


def test_a_file_of_the_caller_stays_open():
    file = io.StringIO()
    with JsonLines(file) as listener:
        listener(FINISHED)
    assert json.loads(file.getvalue())["reason"] == "the limit of 3 iterations"


def show(events, terminal, width=100):
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=width, color_system=None)
    with ProgressBar(console) as bar:
        for event in events:
            bar(event)
    return file.getvalue()


def test_a_terminal_shows_a_live_line():
    text = show(RUN, terminal=True)
    assert (
        "training 12 nodes with 2 states, 8 trajectories per iteration, on 4 ranks of 1 thread over shm"
        in text
    )
    assert "stopping rule: 3 iterations [or so]" in text
    assert "1/3 ━━━━         bound -inf, mean 110 ± 9.8, 0.5 s, 1:00 left" in text
    assert "3/3 ━━━━━━━━━━━━ bound 100, mean 110 ± 9.8, gap 10.00 %, 1.5 s" in text
    assert "stopped: the limit of 3 iterations; 3 iterations, bound 100" in text
    assert "20/20" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 2  # the cursor is hidden and shown again


def test_a_live_line_fits_into_a_usual_terminal():
    event = iteration(499, 3600.0, 1.23456789e10, Remaining(0.0, 83.0, "500 iterations"))
    lines = show([started(500), event], terminal=True, width=80).splitlines()
    assert "499/500 ━━━━━━━━━━━╸ bound 1.23457e+10, at most 1:23 left" in lines[-2]


def test_without_a_limit_there_is_no_bar():
    text = show([started(None), iteration(1, 0.5)], terminal=True)
    assert "━" not in text
    assert "bound 100" in text


def test_the_cursor_comes_back_after_a_failure():
    file = io.StringIO()
    console = Console(file=file, force_terminal=True)

    def fail():
        with ProgressBar(console) as bar:
            bar(started())
            bar(iteration(1, 0.5))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert file.getvalue().rstrip().endswith("\x1b[?25h")


def test_elsewhere_lines_come_now_and_then():
    """The seconds of the run decide, so the lines are the same every time."""
    events = [started(100), *(iteration(number, float(number)) for number in range(1, 14))]
    lines = show(events, terminal=False).splitlines()
    assert "\x1b" not in "".join(lines)
    assert [line.split()[0] for line in lines[2:]] == ["1/100", "6/100", "11/100"]
    assert lines[2] == "1/100  bound 100, mean 110 ± 9.8, gap 10.00 %, 8 cuts, 1.0 s, 1:00 left"


def test_the_last_line_is_always_there():
    assert "3/3  bound" in show(RUN, terminal=False)
    simulated = [SimulationProgress(done, 20, done / 10) for done in range(1, 21)]
    lines = show(simulated * 2, terminal=False).splitlines()
    assert [line.split()[0] for line in lines] == ["1/20", "20/20"] * 2
    assert lines[0] == "1/20  simulated, 0.1 s, 10/s, 1.9 s left"


def test_what_is_printed_meanwhile_stays_where_it_was_sent(capsys):
    """Standard output may be a file; the live line is in a terminal."""
    console = Console(file=io.StringIO(), force_terminal=True)
    with ProgressBar(console) as bar:
        bar(started())
        sys.stdout.write("for the file\n")
    assert capsys.readouterr().out == "for the file\n"
    assert "for the file" not in console.file.getvalue()


def test_a_line_is_not_drawn_more_often_than_eyes_can_follow():
    """A thousand iterations in no time: the first and the last, and hardly any between."""
    text = show([started(1000), *(iteration(i, i / 1e5) for i in range(1, 1000))], terminal=True)
    assert 1 <= text.count("bound 100") < 100


def test_one_trajectory_has_no_interval_and_a_cost_of_nothing_no_gap():
    event = TrainingFinished("it", 1, 0.0, Estimate(0.0, 0.0, 1), 1.0)
    assert show([event], terminal=False) == "stopped: it; 1 iteration, bound 0, mean 0, 1.0 s\n"
