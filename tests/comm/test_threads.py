"""Threads of a rank: the argument, ``set_threads``, the scheduler, OpenMP, else a share of the CPUs."""

import os

import pytest

import cobre
from cobre.comm import ThreadChoice, agree_on_threads, choose_threads, run_ranks, threads
from cobre.errors import InvalidProblem

CPUS = len(os.sched_getaffinity(0))
SLURM, OMP = "SLURM_CPUS_PER_TASK", "OMP_NUM_THREADS"


@pytest.fixture
def nothing_set(monkeypatch):
    monkeypatch.setattr(threads, "_set_by_program", None)
    for variable in (SLURM, "SLURM_NTASKS", OMP):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def one_cpu():
    """This process bound to one CPU, as a launcher does it."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


def test_the_first_that_says_a_number_decides(nothing_set, monkeypatch):
    """From the last in the order to the first; each is above what follows it."""
    assert cobre.get_threads() == CPUS
    monkeypatch.setenv(OMP, "1")
    assert choose_threads() == ThreadChoice(1, "OMP_NUM_THREADS is 1")
    monkeypatch.setenv(OMP, "wrong")  # nobody reads it from here on
    monkeypatch.setenv(SLURM, "1")
    assert choose_threads() == ThreadChoice(1, "SLURM_CPUS_PER_TASK is 1")
    cobre.set_threads(CPUS + 1)
    monkeypatch.setenv(SLURM, "wrong")
    assert (cobre.get_threads(), choose_threads().reason) == (CPUS + 1, "by set_threads")
    assert (choose_threads(CPUS + 2).count, choose_threads(1).reason) == (CPUS + 2, "as requested")


@pytest.mark.usefixtures("nothing_set", "one_cpu")
def test_the_cpus_of_the_affinity_mask_are_shared_out():
    assert choose_threads(env={}) == ThreadChoice(1, "1 CPU")
    assert choose_threads(env={OMP: "8"}) == ThreadChoice(1, "OMP_NUM_THREADS is 8, but there is 1 CPU")
    assert choose_threads(env={SLURM: "8"}).count == 1
    several = choose_threads(size=3, env={})
    assert (several.count, several.reason) == (1, "1 CPU shared by 3 ranks")
    assert several.warning.startswith("3 ranks with 3 threads in all share 1 CPU of a machine")
    assert choose_threads(2, env={}).warning.startswith("1 rank with 2 threads in all share 1 CPU")


@pytest.mark.parametrize(
    ("tasks", "size", "found"), [({}, 1, 8), ({}, 4, 2), ({"SLURM_NTASKS": "4"}, 4, 8), ({}, 16, 1)]
)
@pytest.mark.usefixtures("nothing_set")
def test_workers_inside_a_task_share_its_cpus(tasks, size, found):
    """Ranks that srun has started have ``SLURM_CPUS_PER_TASK`` each."""
    assert threads._asked(None, size, {SLURM: "8", **tasks}, cpus=64)[0] == found


def test_openmp_takes_a_list_of_levels(nothing_set):
    assert choose_threads(env={OMP: "1,4"}).count == 1
    assert choose_threads(env={OMP: "", SLURM: ""}).count == CPUS


@pytest.mark.parametrize("value", ["0x2", "-1", "1.5", "two", "٣", " "])
@pytest.mark.parametrize("variable", [SLURM, OMP])
def test_a_malformed_variable_is_refused_with_a_remedy(nothing_set, variable, value):
    with pytest.raises(InvalidProblem, match=f"{variable} is .* whole number.*unset it.*--threads"):
        choose_threads(env={variable: value})


@pytest.mark.parametrize("number", [0, -1, 1.0, "2", True])
@pytest.mark.parametrize("give", [cobre.set_threads, choose_threads])
def test_what_is_no_number_of_threads_is_refused(nothing_set, give, number):
    with pytest.raises(InvalidProblem, match="threads is .* whole number, at least 1"):
        give(number)


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        ({}, float("inf")),
        ({"cpu.max": "max 100000"}, float("inf")),
        ({"cpu.max": "400000 100000", "job/step/cpu.max": "150000 100000"}, 1.5),
        ({"job/cpu.max": "200000 100000", "job/step/cpu.max": "max 100000"}, 2.0),
        ({"other/cpu.max": "100000 100000"}, float("inf")),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, float("inf")),
        ({"cpu/old/cpu.cfs_quota_us": "250000", "cpu/old/cpu.cfs_period_us": "100000"}, 2.5),
        ({"cpu/job/cpu.cfs_quota_us": "100000", "cpu/job/cpu.cfs_period_us": "100000"}, float("inf")),
    ],
)
def test_the_least_quota_of_the_control_groups_counts(tmp_path, limits, found):
    """Of version 2, and of version 1, in which each controller has groups of its own."""
    own = tmp_path / "cgroup"
    own.write_text("4:cpuset:/job\n3:cpu,cpuacct:/old\n1:name=systemd:/elsewhere\n0::/job/step\n")
    for name, text in limits.items():
        place = tmp_path / "root" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text + "\n")
    assert threads._quota(str(tmp_path / "root"), str(own)) == found
    assert threads._quota(str(tmp_path / "root"), str(tmp_path / "absent")) == float("inf")


def claims(*rows):
    return [threads._Claim(*row) for row in rows]


@pytest.mark.parametrize(
    ("ranks", "counts", "overloaded"),
    [
        (claims((0, 1, 8, 0), (0, 1, 8, 0)), [4, 4], False),
        (claims((0, 1, 8, 0), (0, 2, 8, 0)), [8, 8], False),  # bound to different CPUs
        (claims((0, 1, 8, 0), (1, 1, 8, 0)), [8, 8], False),  # on different machines
        (claims((0, 1, 3, 0), (0, 1, 3, 0)), [1, 1], False),
        (claims((0, 1, 8, 6), (0, 1, 8, 0)), [6, 4], True),
        (claims((0, 1, 8, 0), (1, 1, 1, 2)), [8, 2], True),
        (claims(*[(0, 1, 2, 0)] * 3), [1, 1, 1], True),
    ],
)
def test_ranks_of_a_machine_share_the_cpus_that_all_may_use(ranks, counts, overloaded):
    """All ranks see the same overload, wherever it is."""
    found = [threads._choice(ranks, rank, "") for rank in range(len(ranks))]
    assert [one.count for one in found] == counts
    assert {bool(one.warning) for one in found} == {overloaded}


def _agreed(comm, bound):
    if bound:
        cpus = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cpus[comm.rank]})
    return agree_on_threads(comm)


@pytest.mark.skipif(CPUS < 2, reason="ranks that are bound to different CPUs take two")
@pytest.mark.parametrize("backend", ["shm", "tcp"])
def test_ranks_agree(nothing_set, backend):
    share = CPUS // 2
    for choice in run_ranks(_agreed, 2, backend=backend, args=(False,)):
        assert choice == ThreadChoice(share, f"{CPUS} CPUs shared by 2 ranks")
    for choice in run_ranks(_agreed, 2, backend=backend, args=(True,)):
        assert choice == ThreadChoice(1, "1 CPU")
