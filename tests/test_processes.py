"""The tests' own ways with processes."""

import signal
import subprocess

import pytest

from tests.processes import give_children_default_signals


def _ignored_in_a_child():
    status = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True, check=True).stdout
    [mask] = [line.split()[1] for line in status.splitlines() if line.startswith("SigIgn")]
    return {number for number in signal.valid_signals() if int(mask, 16) >> (number - 1) & 1}


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_children_take_signals_that_the_tests_were_told_to_ignore(number):
    assert number not in _ignored_in_a_child()
    before = signal.signal(number, signal.SIG_IGN)
    try:
        assert number in _ignored_in_a_child()
        give_children_default_signals()
        assert number not in _ignored_in_a_child()
    finally:
        signal.signal(number, before)
