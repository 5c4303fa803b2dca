"""All checks, and a function that runs them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cobre.comm.testing import _errors, _gather, _reduce, _regions, _sequence, _sync
from cobre.comm.testing._run import Check, RunRanks

#: Every check, simple ones first.
CHECKS: tuple[Check, ...] = (
    *_sync.CHECKS,
    *_gather.CHECKS,
    *_reduce.CHECKS,
    *_sequence.CHECKS,
    *_regions.CHECKS,
    *_errors.CHECKS,
)


@dataclass(frozen=True)
class Outcome:
    """Outcome of one check."""

    name: str
    promise: str
    passed: bool
    #: Finding of a failed check; empty if it passed.
    detail: str
    seconds: float


def promise(check: Check) -> str:
    """Return the promise of a check: the first sentence of its docstring, on one line."""
    return " ".join((check.__doc__ or "").split("\n\n")[0].split())


def run_checks(run_ranks: RunRanks, checks: Iterable[Check] = CHECKS) -> Iterator[Outcome]:
    """Run the checks one after the other and yield each outcome as soon as it is known.

    Args:
        run_ranks: how to run a function on every rank of a group of the backend under test.
        checks: which of them; all, if left out.
    """
    for check in checks:
        start = time.perf_counter()
        detail = ""
        try:
            check(run_ranks)
        except Exception as exc:  # noqa: BLE001  a backend may fail in any way; that is the finding
            detail = f"{type(exc).__name__}: {exc}"
        seconds = time.perf_counter() - start
        yield Outcome(check.__name__, promise(check), not detail, detail, seconds)
