"""Every check on every backend, and the kit's own tests: every check catches what it guards against."""

import subprocess
import sys

import pytest

from cobre.comm import create_communicator
from cobre.comm.testing import CHECKS, GroupRunner, Outcome, promise, run_checks
from tests.comm.sabotage import BROKEN
from tests.comm.thread_group import thread_runner

by_name = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)


@by_name
def test_local_keeps_the_contract(check):
    check(GroupRunner(lambda: create_communicator("local")))


@by_name
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8])
def test_the_kit_accepts_a_backend_that_keeps_the_contract(check, size):
    check(thread_runner(size))


@by_name
@pytest.mark.parametrize(("size", "ranks_per_machine"), [(4, 2), (5, 2), (3, 1)])
def test_the_kit_accepts_ranks_on_several_machines(check, size, ranks_per_machine):
    check(thread_runner(size, ranks_per_machine=ranks_per_machine))


@by_name
def test_a_broken_backend_is_caught(check):
    broken = BROKEN[check.__name__]
    [outcome] = run_checks(thread_runner(3, broken, timeout_s=4.0), [check])
    assert not outcome.passed, f"{check.__name__} did not notice {broken.__name__}"
    assert outcome.detail.startswith(getattr(broken, "caught_as", "AssertionError"))


def test_no_broken_backend_is_left_over():
    assert set(BROKEN) == {check.__name__ for check in CHECKS}


@by_name
def test_a_promise_is_one_sentence(check):
    assert promise(check).endswith(".")
    assert ". " not in promise(check)


def test_an_outcome_says_what_was_found():
    def passes(run_ranks):
        """It holds."""

    def fails(run_ranks):
        """It does
        not hold.
        """
        raise AssertionError("2 is not 3")

    good, bad = run_checks(thread_runner(1), [passes, fails])
    assert (good.passed, good.detail, good.promise) == (True, "", "It holds.")
    assert (bad.passed, bad.detail, bad.promise) == (False, "AssertionError: 2 is not 3", "It does not hold.")
    assert isinstance(good, Outcome)


def test_the_kit_needs_no_test_framework_and_survives_optimisation():
    """Under ``python -O`` bare asserts vanish: a check that relied on one would pass everything."""
    program = """
import sys
from cobre.comm.testing import CHECKS
assert False, "asserts must be off here"
def answers_nothing(body, *args): return [None, None]
for check in CHECKS:
    try: check(answers_nothing)
    except Exception: continue
    raise SystemExit(f"{check.__name__} is satisfied with nothing")
raise SystemExit("pytest" in sys.modules and "pytest was imported")
"""
    subprocess.run([sys.executable, "-O", "-c", program], check=True, timeout=60)
