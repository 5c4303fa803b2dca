"""The program that every rank of every system runs: one list of cases, one clock, one statistic.

It knows the system under test only through an adapter (`_adapters.py`). `comm.py` starts it; rank 0 prints
JSON, or writes it to ``--out``. Systems that share their processes take turns, batch by batch.

Each case is checked to give the right answer first. Then:

- Cases of up to 64 KB run back to back in batches of about a millisecond, because the calls keep the ranks
  together themselves; a batch yields its time per call. Larger ones are timed one by one, and so are
  broadcasts, whose root could otherwise run ahead, and zero-copy gathers, whose readers must be done before
  the next writer begins. There is a barrier before each batch, not timed.
- A batch counts with the slowest rank's time; the median over batches is the result.

NumPy is all it needs beside the system, so it runs in an environment that knows nothing of cobre.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _adapters import ADAPTERS
from harness import rotated, time_batch

KB, MB = 1 << 10, 1 << 20
BACK_TO_BACK = 64 * KB  # payloads up to here are timed in batches
BATCH_S = 0.001
MOST_BATCHES = 200


class Case(NamedTuple):
    """One collective at one size; for allgatherv ``bytes`` is the total over all ranks."""

    operation: str
    bytes: int

    @property
    def key(self) -> str:
        return f"{self.operation}:{self.bytes}"


def all_cases(size: int) -> list[Case]:
    """Return the pinned cases for so many ranks."""
    gathers = (32 * size, 64 * KB, 3_200_000, 64_000_000, 206_000_000)
    return [
        Case("barrier", 0),
        *(Case("allreduce", count) for count in (8, 32, KB, 64 * KB, MB, 16 * MB)),
        *(Case("allgatherv", count) for count in gathers),
        *(Case("zero-copy gather", count) for count in gathers[1:]),
        Case("broadcast", 20_000_000),
    ]


def chosen_cases(size: int, only: list[str] | None, quick: bool) -> list[Case]:
    """Return the cases asked for; quick leaves out the largest.

    An operation stands for its pinned cases, ``operation:bytes`` for any size.
    """
    cases = [case for case in all_cases(size) if not quick or case.bytes <= 4_000_000]
    if not only:
        return cases
    asked = [Case(name, int(count)) for name, _, count in (one.partition(":") for one in only) if count]
    return [case for case in cases if case.operation in only] + asked


Prepared = tuple[Callable[[], object], Callable[[], None]]


def prepare(system: Any, case: Case) -> Prepared | None:
    """Return the call to be timed, already seen to be right, and what to do afterwards.

    None if the system has no such operation.
    """
    count, rank, size = case.bytes // 8, system.rank, system.size
    if case.operation == "barrier":
        return system.barrier, nothing
    if case.operation == "allreduce":
        send, recv = np.arange(count) + float(rank), np.full(count, np.nan)
        call = system.allreduce(send, recv)
        call()
        require(case, recv, size * np.arange(count) + sum(range(size)))
        return call, nothing
    if case.operation == "broadcast":
        buf = np.arange(float(count)) if rank == 0 else np.full(count, np.nan)
        call = system.broadcast(buf)
        call()
        require(case, buf, np.arange(float(count)))
        return call, nothing
    counts = [count // size + (one < count % size) for one in range(size)]
    return prepare_gather(system, case, counts)


def prepare_gather(system: Any, case: Case, counts: list[int]) -> Prepared | None:
    send = np.full(counts[system.rank], system.rank + 1.0)
    expected = np.repeat(np.arange(1.0, system.size + 1), counts)
    if case.operation == "allgatherv":
        recv = np.full(sum(counts), np.nan)
        call = system.allgatherv(send, recv, counts)
        if call is None:
            return None
        call()
        require(case, recv, expected)
        return call, nothing
    gather = system.zero_copy_gather(send, counts) if hasattr(system, "zero_copy_gather") else None
    if gather is None:
        return None
    call, release = gather
    require(case, call(), expected)
    system.barrier()  # nobody writes again before everybody has looked
    return call, release


def nothing() -> None: ...


def require(case: Case, actual: Any, expected: Any) -> None:
    if not np.array_equal(actual, expected):
        raise SystemExit(f"{case.key}: wrong answer; there is no point in timing it")


def measure(systems: dict[str, Any], case: Case, budget_s: float) -> list[dict[str, Any]]:
    """Time one case on all ranks; the same results everywhere, one for each system that has it."""
    able = {name: prepared for name, one in systems.items() if (prepared := prepare(one, case)) is not None}
    if not able:
        return []
    first = systems[next(iter(able))]
    one_by_one = case.operation in ("broadcast", "zero-copy gather") or case.bytes > BACK_TO_BACK
    plans = [plan(first, call, budget_s, one_by_one) for call, _ in able.values()]
    calls, batches = plans[0]
    times = {name: np.empty(batches) for name in able}
    gc.collect()
    gc.disable()
    for batch in range(batches):
        for name in rotated(list(able), batch):
            first.barrier()
            times[name][batch] = time_batch(able[name][0], calls) / calls
    gc.enable()
    results = [_result(first, case, name, times[name], calls) for name in able]
    first.barrier()
    for _, release in able.values():
        release()
    return results


def _result(system: Any, case: Case, name: str, times: Any, calls: int) -> dict[str, Any]:
    batches = len(times)
    of_all = np.empty(batches * system.size)
    system.allgatherv(times, of_all, [batches] * system.size)()
    slowest = of_all.reshape(system.size, batches).max(axis=0)
    return {
        "adapter": name,
        "operation": case.operation,
        "bytes": case.bytes,
        "median_s": float(np.median(slowest)),
        "min_s": float(slowest.min()),
        "p90_s": float(np.quantile(slowest, 0.9)),
        "calls_per_batch": calls,
        "batches": batches,
    }


def plan(system: Any, call: Callable[[], object], budget_s: float, one_by_one: bool) -> tuple[int, int]:
    """Return calls per batch and batches; rank 0 decides for all, from some calls that also warm up."""
    trial = 1
    agreed = np.empty(1)
    share = system.broadcast(agreed)
    while True:
        system.barrier()
        agreed[0] = time_batch(call, trial) / trial
        share()
        estimate = max(float(agreed[0]), 1e-9)
        if one_by_one or estimate * trial >= BATCH_S / 4:
            break
        trial *= 4
    calls = 1 if one_by_one else max(1, round(BATCH_S / estimate))
    batches = int(min(MOST_BATCHES, max(11, budget_s / (calls * estimate))))
    return calls, batches


def bind(rank: int) -> None:
    """Keep this rank on a CPU of its own, unless its launcher has already chosen one.

    Only now, after the group is complete: a system may count the CPUs it can use when it starts.
    """
    if hasattr(os, "sched_setaffinity"):
        cpus = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cpus[rank % len(cpus)]})


def main() -> None:
    """Run the chosen cases; rank 0 reports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adapter", choices=ADAPTERS, required=True, action="append")
    parser.add_argument("--only", action="append")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--budget", type=float, default=0.3, help="seconds per case, more or less")
    parser.add_argument("--bind", action="store_true", help="keep each rank on a CPU of its own")
    parser.add_argument("--out", type=Path, help="where rank 0 writes; standard output without it")
    options = parser.parse_args()
    systems = {name: ADAPTERS[name]() for name in options.adapter}
    system = systems[options.adapter[0]]
    if options.bind:
        bind(system.rank)
    cases = chosen_cases(system.size, options.only, options.quick)
    measured = [result for case in cases for result in measure(systems, case, options.budget)]
    versions = {name: number for one in systems.values() for name, number in one.versions.items()}
    report = {"versions": versions, "cases": measured}
    if system.rank == 0:
        if options.out:
            options.out.write_text(json.dumps(report))
        else:
            print(json.dumps(report, indent=1))
    system.barrier()
    for one in systems.values():
        one.close()


if __name__ == "__main__":
    main()
