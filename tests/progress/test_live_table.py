"""The table on a terminal that folds, scrolls and is resized; and how it leaves it."""

import io
import sys
import threading
import time
from itertools import product

import pytest
from rich.console import Console
from rich.file_proxy import FileProxy

from cobre.estimates import Estimate
from cobre.progress import LiveTable, ProgressState
from cobre.progress._screen import plain, render
from cobre.sddp._progress import Remaining
from cobre.sddp.events import (
    GuardTripped,
    IterationFinished,
    RankTimes,
    SimulationProgress,
    TrainingFinished,
    TrainingStarted,
)
from tests.processes import eventually
from tests.terminal import Terminal


def started(limit=150, ranks=2, first=1, sense="min"):
    return TrainingStarted(
        24, 10, 8, ranks, 1, "shm", first, f"{limit} iterations", limit, risk_neutral=True, sense=sense
    )


LEFT = Remaining(19.0, 19.0, "150 iterations")


def iteration(number, ranks=2, remaining=LEFT):
    """Of a size with which everything is as wide as it gets in earnest."""
    bound = 15_000_000_000.0 + 1e8 * (1 - 0.9**number)
    times = tuple(RankTimes(r, 0.02, 0.08, 0.02, 0.05 + 0.04 * r / ranks, 900, 4) for r in range(ranks))
    estimate = Estimate(16_000_000_000.0, 4e9, 8)
    return IterationFinished(
        number, bound, estimate, 183, 183 * number, 9, 9, 9, 0, 0.02, 0.08, 0.0, number / 10, times, remaining
    )


def drawing():
    return any(thread.name == "cobre-table" for thread in threading.enumerate())


FINISHED = TrainingFinished("the limit of 150 iterations", 150, 1.5e10, Estimate(1.6e10, 4e9, 8), 15.0)


def watched(iterations=57, ranks=2, **options):
    state = ProgressState(started=started(ranks=ranks, **options))
    for number in range(1, iterations + 1):
        state.update(iteration(number, ranks))
    return state


# The picture


@pytest.mark.parametrize("ranks", [1, 2, 8, 9, 64])
@pytest.mark.parametrize("iterations", [0, 1, 57])
def test_a_picture_fits(iterations, ranks):
    state = watched(iterations, ranks)
    for width, height in product(
        [20, 40, 79, 80, 119, 131, 132, 199, 300], [1, 2, 5, 8, 12, 14, 15, 23, 40, 99]
    ):
        lines = plain(render(state, width, height))
        assert 0 < len(lines) <= height
        assert max(map(len, lines)) <= width


def test_a_small_screen_shows_all():
    lines = plain(render(watched(), 79, 23))
    text = "\n".join(lines)
    assert lines[0].startswith("iteration   57 of 150  ━━━━━━━━━━━━━━━━━━━─")
    assert lines[0].endswith("38 %")
    assert lines[1] == "elapsed     5.7 s   19 s left, to 150 iterations"
    assert lines[3].startswith("lower bound 15,099,753,497  ▁")
    assert lines[3].endswith("█  +0.00 % in 10 iterations")
    assert lines[4] == "mean cost   16,000,000,000 ± 2,771,807,649"
    assert lines[5:7] == ["gap         5.96 %", "cuts        10,431  +183"]
    assert "backward     80.0 ms   80 %  ━━━━━" in text
    assert "rank 0  ████████████" in text
    assert len(lines) == 23
    assert " ".join(lines[-1].split()) == "57 15,099,753,497 16,000,000,000 5.96 % 10,431 100.0 ms"


def test_what_a_rank_does_adds_up():
    """Of a tenth of a second, 50 ms of solving, 20 ms of waiting, and 30 ms of something else."""
    [line] = [line for line in plain(render(watched(ranks=1), 79, 23)) if "rank 0" in line]
    bar = line.split()[-3]
    size = len(bar)
    assert bar.count("█") == round(0.5 * size)
    assert bar.count("░") == round(0.2 * size)
    assert bar.count("▒") == size - round(0.5 * size) - round(0.2 * size)
    assert line.endswith("50 %")


def test_of_many_ranks_the_extremes_are_shown():
    lines = plain(render(watched(ranks=64), 79, 23))
    shown = [line[40:] for line in lines if "%" in line and line[40:].startswith(("least", "mean", "most"))]
    assert [line.split("█")[0].strip() for line in shown] == ["least: 0", "mean of 64", "most: 63"]
    assert [line.split()[-2] for line in shown] == ["50", "70", "89"]


def test_a_maximum_has_an_upper_bound():
    assert any(line.startswith("upper bound ") for line in plain(render(watched(sense="max"), 79, 23)))


def test_without_a_limit_there_is_neither_bar_nor_promise():
    state = ProgressState(started=TrainingStarted(24, 10, 8, 1, 1, "local", 1, "bound stalling"))
    state.update(iteration(3, remaining=Remaining(5.0)))
    lines = plain(render(state, 79, 23))
    assert lines[:2] == ["iteration   3", "elapsed     0.3 s"]


# On a terminal


class Screen(io.StringIO):
    """What a console writes to: a terminal that can be looked at."""

    def __init__(self, width=80, height=24):
        super().__init__()
        self.terminal = Terminal(width, height)
        self.console = Console(
            file=self, force_terminal=True, width=width, height=height, legacy_windows=False
        )

    def write(self, text):
        self.terminal.feed(text)
        return len(text)

    def resize(self, width, height):
        self.terminal.resize(width, height)
        self.console.size = (width, height)


@pytest.mark.parametrize("moving", [True, False])
@pytest.mark.parametrize("size", [(80, 24), (200, 50), (40, 10)])
def test_after_a_training_there_is_only_what_was_said(moving, size):
    screen = Screen(*size)
    table = LiveTable(screen.console)
    if moving:
        table.__enter__()
    table(started())
    for number in range(1, 151):
        table(iteration(number, remaining=None if number == 150 else Remaining(1.0, 1.0, "x")))
    eventually(lambda: "150 of 150" in "".join(screen.terminal.lines))
    assert not screen.terminal.cursor
    table(FINISHED)
    assert screen.terminal.cursor
    assert not drawing()
    said = "".join(screen.terminal.history)
    assert said.startswith("training 24 nodes with 10 states")
    assert "stopping rule: 150 iterationsstopped: the limit of 150 iterations; 150 iterations, " in said
    table.close()


def test_simulations_are_shown_as_a_bar():
    screen = Screen(120)
    with LiveTable(screen.console) as table:
        table(SimulationProgress(0, 200, 0.0))
        table(SimulationProgress(64, 200, 2.0, Estimate(5.0, 1.0, 64)))
        table(SimulationProgress(200, 200, 4.0))
    line = screen.terminal.lines[0]
    assert line.startswith("200/200 ━━━━━━━━━━━━ simulated, 50/s")


def test_warnings_appear_above_the_table_and_stay():
    screen = Screen()
    with LiveTable(screen.console) as table:
        table(started())
        table(iteration(1))
        table(GuardTripped("cut_rejected", 1, "t1", 112.0, 100.0))
        sys.stderr.write("a warning of somebody else\n")
        table(iteration(2))
        eventually(lambda: any("2 of 150" in line for line in screen.terminal.lines))
        words = [line.split(":")[0] for line in screen.terminal.lines if line]
        place = words.index("iteration 1, node 't1'")
        assert words[place + 2].startswith("a warning of somebody else")
        assert words[place + 3].startswith("iteration   2 of 150")
    said = "\n".join(screen.terminal.history)
    assert said.count("cut above a known value") == 1
    assert said.count("a warning of somebody else") == 1
    assert "━" not in said
    assert "".join(said.split()).endswith(
        "0.2s,19sleft"
    )  # however it is folded: how far it was when it was closed


@pytest.mark.parametrize("size", [(60, 24), (40, 24), (200, 50), (80, 12), (50, 50)])
def test_a_window_that_is_resized_is_left_without_rubbish(size):
    screen = Screen(80, 24)
    with LiveTable(screen.console) as table:
        table(started())
        table(iteration(1))
        table(iteration(2))
        eventually(lambda: any("2 of 150" in line for line in screen.terminal.lines))
        with table._view._live._lock:  # no drawing in a terminal that is half resized
            screen.resize(*size)
        table(iteration(3))
        eventually(lambda: any("3 of 150" in line for line in screen.terminal.lines))
        assert sum("elapsed" in line for line in screen.terminal.lines) == 1
    left = "".join(screen.terminal.lines)
    assert "elapsed" not in left
    assert "rank 0" not in left


def test_a_single_slow_drawing_does_not_delay_the_next_ones():
    """One second of a garbage collection would otherwise stop the table for over three minutes."""
    screen, slow = Screen(), iter([True])

    def write(text):
        until = time.thread_time() + (1.0 if "2 of 150" in text and next(slow, False) else 0.0)
        while time.thread_time() < until:
            pass
        return Screen.write(screen, text)

    screen.write = write
    with LiveTable(screen.console) as table:
        table(started())
        table(iteration(2))
        eventually(lambda: any("2 of 150" in line for line in screen.terminal.lines))
        table(iteration(3))
        eventually(lambda: any("3 of 150" in line for line in screen.terminal.lines))


def test_an_exception_leaves_the_terminal_in_order():
    screen = Screen()

    def fail():
        with LiveTable(screen.console) as table:
            table(started())
            table(iteration(1))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert screen.terminal.cursor
    assert not drawing()
    assert "".join("".join(screen.terminal.lines).split()).endswith("0.1s,19sleft")
    assert not isinstance(sys.stderr, FileProxy)


def test_the_clock_moves_while_nothing_happens():
    screen = Screen()
    with LiveTable(screen.console) as table:
        table(started())
        shown = set()

        def moved():
            shown.update(line for line in screen.terminal.lines if line.startswith("elapsed"))
            return len(shown) >= 3

        eventually(moved)


def test_who_does_not_close_it_gets_no_thread():
    table = LiveTable(Screen().console)
    table(started())
    table(iteration(1))
    assert not drawing()
    table.close()


def test_a_terminal_that_is_gone_does_not_end_the_run():
    class Gone(io.StringIO):
        def write(self, text):
            raise OSError(5, "Input/output error")

    console = Console(file=Gone(), force_terminal=True, width=80, height=24)
    with LiveTable(console) as table:
        table(started())
        table(iteration(1))
        table(FINISHED)
    assert not drawing()


def test_an_event_costs_next_to_nothing():
    """A thousand iterations of a millisecond and 64 ranks: the thread that draws has the work."""
    screen = Screen(200, 50)
    screen.write = len  # the terminal of the test is slower than real ones
    with LiveTable(screen.console) as table:
        table(started(ranks=64))
        event = iteration(1, 64)
        begun = time.thread_time()
        for _ in range(1000):
            table(event)
        assert time.thread_time() - begun < 1000 * 1e-4


@pytest.mark.parametrize(("sense", "mean", "gap"), [("min", 90, -0.1), ("min", 110, 0.1), ("max", 90, 0.1)])
def test_a_mean_that_is_better_than_the_bound_by_chance_is_a_gap_below_zero(sense, mean, gap):
    assert ProgressState(started(sense=sense)).gap(100.0, mean) == pytest.approx(gap)
