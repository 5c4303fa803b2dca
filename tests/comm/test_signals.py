"""Signals that come while something is being finished: real ones, to this process."""

import signal

import pytest

from cobre.comm.launch import deferred_signals


def test_without_a_signal_nothing_changes():
    before = signal.getsignal(signal.SIGINT)
    with deferred_signals():
        pass
    assert signal.getsignal(signal.SIGINT) is before


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


def finish(*steps):
    with deferred_signals():
        for step in steps:
            step()


def test_ctrl_c_takes_effect_when_it_is_finished():
    done = []
    with pytest.raises(KeyboardInterrupt):
        finish(ctrl_c, lambda: done.append("finished"))
    assert done == ["finished"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_one_takes_effect_at_once():
    done = []
    with pytest.raises(KeyboardInterrupt):
        finish(ctrl_c, lambda: done.append("first"), ctrl_c, lambda: done.append("second"))
    assert done == ["first"]


def test_an_error_comes_before_a_signal():
    with pytest.raises(ZeroDivisionError):
        finish(ctrl_c, lambda: 1 / 0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_signal_that_nobody_handles_is_left_alone():
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with deferred_signals():
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
