"""``cobre comm check -n``: the whole conformance kit on real processes."""

import json
import sys

import pytest

from cobre.comm.testing import CHECKS
from tests.processes import output_of

pytestmark = pytest.mark.usefixtures("socket_backend", "no_process_and_no_file_is_left")


@pytest.fixture
def check(start_process):
    def check(*options):
        return start_process(sys.executable, "-m", "cobre", "comm", "check", *options)

    return check


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_example_backend_keeps_the_contract(check, size):
    code, out, err = output_of(check("-n", str(size), "--backend", "socket", "-f", "json"))
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert (report["backend"], report["ranks"]) == ("socket", size)
    assert [outcome["name"] for outcome in report["checks"]] == [check.__name__ for check in CHECKS]
    assert [outcome for outcome in report["checks"] if not outcome["passed"]] == []


def test_it_prints_one_table(check):
    code, out, err = output_of(check("-n", "2", "--backend", "socket", "--only", "in_range"))
    assert (code, err) == (0, "")
    assert out.startswith("socket, 2 ranks")
    assert out.endswith("1 of 1 checks passed\n")


def test_a_broken_promise_is_1_and_is_reported_in_full(check, tmp_path, monkeypatch):
    (tmp_path / "socket_backend.py").write_text(
        "import sys; sys.path.pop(0); del sys.modules['socket_backend']\n"
        "import socket_backend as good; from socket_backend import *; BACKEND = good.BACKEND\n"
        "good.SocketCommunicator._broadcast = lambda self, buf, root: self._barrier()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    code, out, err = output_of(check("-n", "2", "--backend", "socket", "--only", "broadcast"))
    assert (code, err) == (1, "")
    assert "broadcast_reaches_everybody_from_every_root: " in out
    assert "checks passed\n" in out


def test_a_backend_that_starts_no_ranks_says_so(check):
    code, _, err = output_of(check("-n", "2", "--backend", "local"))
    assert code == 2
    assert err.startswith("error: backend 'local' could not start: it has exactly one rank, not 2; use shm")
