"""Threads of a rank: as asked for, as the scheduler says, or its share of the CPUs of its machine."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cobre.errors import InvalidProblem

if TYPE_CHECKING:
    from cobre.comm.contract import BackendCommunicator

_set_by_program: int | None = None


@dataclass(frozen=True)
class ThreadChoice:
    """Number of threads of a rank.

    Attributes:
        count: how many.
        reason: for this number.
        warning: more threads than CPUs, on which machine, and what to do; empty if there are not.
    """

    count: int
    reason: str
    warning: str = ""


def set_threads(n: int) -> None:
    """Set the threads of each rank for runs of this process that are given no number themselves.

    Raises:
        InvalidProblem: it is not a whole number, at least 1.
    """
    global _set_by_program  # noqa: PLW0603  a setting of the process, like a variable
    _set_by_program = _checked(n)


def get_threads() -> int:
    """Return the threads of a run that is given no number: see `choose_threads`.

    >>> get_threads() >= 1
    True
    """
    return choose_threads().count


def choose_threads(
    requested: int | None = None, size: int = 1, env: Mapping[str, str] | None = None
) -> ThreadChoice:
    """Choose the threads of each of ``size`` ranks that are started here and share the CPUs of this process.

    The argument decides, else `cobre.set_threads`, else ``SLURM_CPUS_PER_TASK``, which ranks of one task
    share, else ``OMP_NUM_THREADS``, else an equal share of the CPUs. Variables count up to that of CPUs.

    Raises:
        InvalidProblem: the argument or the variable that decides is no number of threads.

    >>> choose_threads(env={"OMP_NUM_THREADS": "1"})
    ThreadChoice(count=1, reason='OMP_NUM_THREADS is 1', warning='')
    """
    own, reason = _claim(requested, size, os.environ if env is None else env)
    return _choice([own] * size, 0, reason)


def agree_on_threads(comm: BackendCommunicator, requested: int | None = None) -> ThreadChoice:
    """Choose the threads of this rank of a group, each by its own environment and machine. A collective.

    Ranks of a machine share the CPUs that all of them may use; a rank bound to others has these alone.

    Raises:
        InvalidProblem: as `choose_threads`.
    """
    own, reason = _claim(requested, comm.size, os.environ)
    claims = np.empty((comm.size, len(own)), np.int64)
    comm.allgatherv(np.array(own, np.int64), claims.reshape(-1), [len(own)] * comm.size)
    hosts = {rank: i for i, ranks in enumerate(comm.topology.hosts.values()) for rank in ranks}
    ranks = [_Claim(*row)._replace(host=hosts[rank]) for rank, row in enumerate(claims.tolist())]
    return _choice(ranks, comm.rank, reason)


class _Claim(NamedTuple):
    """Facts of a rank for the choice: its machine, the CPUs that it may use, and what was asked for."""

    host: int
    mask: int
    cpus: int
    asked: int


def _claim(requested: int | None, size: int, env: Mapping[str, str]) -> tuple[_Claim, str]:
    mask = _affinity()
    cpus = max(1, int(min(len(mask), _quota())))
    asked, reason = _asked(requested, size, env, cpus)
    return _Claim(0, zlib.crc32(repr(sorted(mask)).encode()), cpus, asked), reason


def _asked(requested: int | None, size: int, env: Mapping[str, str], cpus: int) -> tuple[int, str]:
    """The number that was asked for, 0 if none was, and by whom."""
    if requested is not None:
        return _checked(requested), "as requested"
    if _set_by_program is not None:
        return _set_by_program, "by set_threads"
    if per_task := _number(env, "SLURM_CPUS_PER_TASK"):
        # Ranks that were started inside a task, as workers are, have its CPUs together.
        tasks = min(size, _number(env, "SLURM_NTASKS") or 1)
        return _capped(max(1, per_task * tasks // size), cpus, f"SLURM_CPUS_PER_TASK is {per_task}", per_task)
    if threads := _number(env, "OMP_NUM_THREADS"):
        return _capped(threads, cpus, f"OMP_NUM_THREADS is {threads}", threads)
    return 0, ""


def _checked(number: object) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise InvalidProblem([f"threads is {number!r}; it must be a whole number, at least 1"])
    return number


def _capped(number: int, cpus: int, said: str, whole: int) -> tuple[int, str]:
    if number > cpus:
        return cpus, f"{said}, but there {'is' if cpus == 1 else 'are'} {_some(cpus, 'CPU')}"
    return number, said if number == whole else f"{said}, for several ranks"


def _number(env: Mapping[str, str], variable: str) -> int:
    """The number that a variable has, 0 if it is absent or empty; the first of OpenMP's list of levels."""
    text = env.get(variable, "")
    if not text:
        return 0
    first = text.split(",")[0].strip() if variable == "OMP_NUM_THREADS" else text
    if not (first.isascii() and first.isdecimal() and int(first)):
        remedy = "correct or unset it, or say how many threads (threads, --threads)"
        raise InvalidProblem([f"{variable} is {text!r}; it must be a whole number, at least 1; {remedy}"])
    return int(first)


def _choice(ranks: Sequence[_Claim], own: int, reason: str) -> ThreadChoice:
    sharing = [sum((one.host, one.mask) == (other.host, other.mask) for other in ranks) for one in ranks]
    threads = [one.asked or max(1, one.cpus // among) for one, among in zip(ranks, sharing, strict=True)]
    among = f" shared by {_some(sharing[own], 'rank')}" if sharing[own] > 1 else ""
    return ThreadChoice(
        threads[own], reason or f"{_some(ranks[own].cpus, 'CPU')}{among}", _overload(ranks, threads)
    )


def _overload(ranks: Sequence[_Claim], threads: Sequence[int]) -> str:
    """Warn of a machine with more threads than CPUs; empty if there is none."""
    for host in dict.fromkeys(one.host for one in ranks):
        here = [number for number, one in enumerate(ranks) if one.host == host]
        # Ranks bound to different CPUs have them all; bindings that overlap are rare, and count twice.
        cpus = sum({ranks[number].mask: ranks[number].cpus for number in here}.values())
        if (wanted := sum(threads[number] for number in here)) > cpus:
            ranks_here, threads_here = _some(len(here), "rank"), _some(wanted, "thread")
            return (
                f"{ranks_here} with {threads_here} in all share {_some(cpus, 'CPU')} of a machine, so they "
                "will wait for each other; start fewer ranks, or give fewer threads (threads, --threads)"
            )
    return ""


def _some(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _affinity() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _quota(root: str = "/sys/fs/cgroup", own: str = "/proc/self/cgroup") -> float:
    """The CPUs that the control groups of this process grant, of either version; infinite without a limit."""
    least = inf
    for line in _lines(own):
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = f"{root}/cpu" if controllers else root  # version 2 has one hierarchy, for all controllers
        parts = path.removeprefix("/").split("/")
        least = min(least, *(_limit("/".join([top, *parts[:depth]])) for depth in range(len(parts) + 1)))
    return least


def _limit(group: str) -> float:
    """The CPUs that one control group grants; infinite without a limit, or without such a group."""
    files = ("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us")  # of version 2, and of version 1
    words = [word for name in files for line in _lines(f"{group}/{name}") for word in line.split()]
    return inf if not words or words[0] in {"max", "-1"} else int(words[0]) / int(words[1])


def _lines(path: str) -> list[str]:
    """The lines of a file of the system; none if it has no such file."""
    try:
        with open(path, encoding="ascii") as file:  # noqa: PTH123  pathlib takes long to import
            return file.read().splitlines()
    except OSError:
        return []
