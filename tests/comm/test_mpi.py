"""The mpi backend under real launchers, Open MPI's and MPICH's: the kit, failures, what is detected."""

import os
import re
import subprocess
import sys
from functools import cache

import pytest

from cobre.comm import run_ranks
from cobre.comm.testing._sequence import _mixed_sequence
from tests.comm.group_bodies import DISAGREEMENTS
from tests.mpi_launch import MPICH, OPEN_MPI
from tests.processes import DEADLINE_S

LONG_S = 240


# The kit.


@cache
def digests_of(backend, size):
    """What another backend gives for the kit's random sequence of collectives."""
    [digests, *others] = run_ranks(_mixed_sequence, size, backend=backend)
    assert all(other == digests for other in others)
    return digests


# Thousands of barriers among others: on a busy machine, eight ranks on two cores take minutes.
@pytest.mark.timeout(2 * LONG_S)
@pytest.mark.parametrize("sizes", [[2], [1, 3, 4], [8]], ids=str)
def test_mpi_keeps_the_contract_and_gives_the_bits_of_the_other_backends(mpiexec, sizes):
    """Groups of several sizes run side by side, on communicators that the program has split."""
    reported = set()
    for size, failed, digests in mpiexec(sum(sizes), "whole_kit", sizes, within_s=LONG_S).all(sum(sizes)):
        assert failed == []
        assert digests == digests_of("shm", size)
        assert digests == digests_of("tcp", size)
        if size == 1:
            assert digests == digests_of("local", size)
        reported.add(size)
    assert reported == set(sizes)


def test_the_kit_holds_on_several_machines(mpiexec):
    """Two machines, of two ranks and of one, as far as regions and leaders can tell."""
    for _, failed, _ in mpiexec(3, "whole_kit", [3], 2).all(3):
        assert failed == []


# What leaves MPI as it was: one launch for all, because starting takes longer than most of them.

PEACEFUL = (
    "joined",  # before anything of ours has started MPI
    "help_is_missing",
    "machines",
    "existing_communicator",
    "pieces",
    "many_regions",
    "allocation_failed",
    "region_disagreement",
)
_peaceful = {}


@pytest.fixture
def results_of(mpiexec):
    """The results of one of these bodies on four ranks."""
    name = mpiexec.launcher.name
    if name not in _peaceful:
        _peaceful[name] = None  # a launch that fails is not repeated
        _peaceful[name] = mpiexec(4, "several", *PEACEFUL).all(4)
    assert _peaceful[name] is not None, "the launch failed, as the first test that needed it shows"
    return lambda body: [result[body] for result in _peaceful[name]]


def test_a_program_that_has_started_mpi_keeps_it(results_of):
    """mpi4py asks for the highest thread level; afterwards its world works, and is not finalised."""
    assert results_of("joined") == [(True, 4, False)] * 4


def test_help_shows_the_contract(results_of):
    assert results_of("help_is_missing") == [[]] * 4


def test_every_machine_has_its_leader_and_its_regions(results_of):
    """Ranks 0 and 2 on one, 1 and 3 on the other."""
    assert results_of("machines") == [
        (True, [0, 2], [100] * 3),
        (True, [1, 3], [101] * 3),
        (False, [0, 2], [100] * 3),
        (False, [1, 3], [101] * 3),
    ]


def test_a_communicator_of_the_program_is_used_and_left_alone(results_of):
    for rank, (members, still_there, refused) in enumerate(results_of("existing_communicator")):
        assert members == ([2, 0] if rank % 2 == 0 else [3, 1])
        assert still_there == 2
        assert refused.endswith("MpiConfig.comm is a int, not an mpi4py.MPI.Intracomm")


def test_the_contract_holds_when_mpi_carries_little_at_once(results_of):
    assert results_of("pieces") == [[]] * 4


def test_regions_in_a_row_take_no_more_memory_and_what_a_rank_keeps_stays(results_of):
    """The leader touches all of each region; of 24 further ones it holds the one that another rank keeps."""
    grown, kept = zip(*results_of("many_regions"), strict=True)
    assert grown[0] <= 1
    assert kept == (True,) * 4


def test_all_ranks_of_a_machine_without_memory_say_so_and_the_group_goes_on(results_of):
    told = results_of("allocation_failed")
    assert [requested for requested, _ in told] == [8000] * 4
    words = [words for _, words in told]
    assert words[:2] == ["another machine of the group has no memory for it"] * 2
    assert words[2:] == ["10 bytes are available; ask for less, or run where there is more memory"] * 2


def test_unequal_regions_are_refused_on_all_ranks(results_of):
    for words in results_of("region_disagreement"):
        assert words.startswith("create_shared_region: the ranks disagree: ranks 0, 2, 3 called ")
        assert "; rank 1 called " in words


# Starting and ending.


def test_cobre_starts_mpi_once_and_ends_it(mpiexec):
    """With no variable of ours set: the launcher's are enough."""
    ended = mpiexec(2, "started_by_us")
    library = "Open MPI" if mpiexec.launcher is OPEN_MPI else "MPICH"
    for early, backend, level, about, size in ended.all(2):
        assert (early, backend, size) == (False, "mpi", 2)
        assert level in ("serialized", "multiple")
        assert library in about
    assert ended.out.split() == ["finalised", "True"] * 2


def test_after_finalisation_everything_says_so(mpiexec):
    for raised, again in mpiexec(2, "after_finalize").all(2):
        assert len(raised) == 7
        for words in raised:
            assert words.startswith("InvalidCommunicator: ")
            assert "MPI has been finalised" in words
        assert again.endswith("MPI has been finalised, and it cannot start again in this process")


# Failures.


def test_an_error_of_mpi_keeps_its_code(mpiexec):
    _, (code, truncate, words, after) = mpiexec(2, "truncated").all(2)
    assert code == truncate
    assert words.startswith("broadcast: MPI says: ")
    assert after == "InvalidCommunicator"


def test_an_error_class_that_says_more_has_an_exception_of_its_own(mpiexec):
    for words, after, no_memory, truncated in mpiexec(2, "without_communicator").all(2):
        assert words.startswith("InvalidCommunicator: barrier: MPI says: ")
        assert after == "InvalidCommunicator"
        assert no_memory == ("AllocationFailed", 4096)
        assert truncated == "CollectiveFailed"


def test_checked_calls_that_differ_fail_on_all_ranks_and_say_who_called_what(mpiexec, monkeypatch):
    monkeypatch.setenv("COBRE_COMM_CHECK", "1")
    for told in mpiexec(3, "disagreements", DISAGREEMENTS).all(3):
        assert len(told) == len(DISAGREEMENTS)
        for number, words in told:
            assert number == 1, words  # in the very call that differs
            assert "the ranks disagree: ranks 0, 2 called " in words
            assert "; rank 1 called " in words


def test_an_uncaught_exception_ends_the_job(mpiexec):
    ended = mpiexec(3, "raise_on_rank_1")
    assert ended.code != 0
    assert "ValueError: the reservoir is empty" in ended.err
    assert ended.seconds_since_it_happened < 15
    assert ended.results == {}


def test_a_killed_rank_ends_the_job(mpiexec):
    ended = mpiexec(3, "killed_on_rank_1")
    assert ended.code != 0
    assert ended.seconds_since_it_happened < 15
    assert ended.results == {}


@pytest.mark.parametrize("operation", ["barrier", "allreduce", "fence", "create_shared_region"])
def test_a_rank_that_never_comes_ends_the_job_in_time(mpiexec, monkeypatch, operation):
    monkeypatch.setenv("COBRE_MPI_TIMEOUT_SECS", "2")
    ended = mpiexec(3, "rank_1_never_comes", operation)
    assert ended.code != 0
    assert re.search(rf"cobre: rank [02] \(pid \d+\) has been in {operation}\b.* for 2 s", ended.err)
    assert 2 <= ended.seconds_since_it_happened < 20


def test_a_rank_that_never_joins_ends_the_job_in_time(mpiexec, monkeypatch):
    monkeypatch.setenv("COBRE_MPI_TIMEOUT_SECS", "2")
    ended = mpiexec(3, "rank_1_never_joins")
    assert ended.code != 0
    assert re.search(r"cobre: pid \d+ has been joining its group for 2 s", ended.err)
    assert ended.seconds_since_it_happened < 20


@pytest.mark.skipif("COBRE_TEST_LARGE" not in os.environ, reason="takes 5 GB: COBRE_TEST_LARGE=1 runs it")
def test_more_bytes_than_mpi_counts(mpiexec):
    assert mpiexec(2, "large_counts").all(2) == [[True] * 3] * 2


# What is detected where MPI is not, or not for us.


def test_a_child_of_a_rank_is_told_that_it_is_none(mpiexec):
    for rank, (pid, out) in enumerate(mpiexec(2, "child_of_a_rank").all(2)):
        *refused, backend = out.splitlines()
        assert len(refused) == 2, rank
        for words in refused:
            assert words.startswith("InitializationFailed")
            assert f"this process was started by a rank (pid {pid}) and is none itself" in words
        assert backend == "local", "which it says itself"


def test_a_launcher_of_another_mpi_is_refused(mpiexec):
    """Otherwise each process would be the only rank of a world of its own, and do all the work."""
    other = MPICH if mpiexec.launcher is OPEN_MPI else OPEN_MPI
    if not other.mpiexec.exists():
        pytest.skip(f"{other.name} is not installed; make test installs it")
    ended = mpiexec(2, "other_library", other.variables.get("MPI4PY_LIBMPI"))
    if other is MPICH:  # which refuses by itself, and not by an error that a program could catch
        assert ended.code != 0
        assert "PMI" in ended.err
        assert ended.results == {}
        return
    assert ended.code == 0, ended.err
    assert len(ended.results) == 2
    for words in ended.results.values():  # what such a world leaves in shared memory is its library's affair
        assert "the launcher started 2 ranks, but this process is alone in MPI's world" in words
        assert "because it is Open MPI" in words


def test_a_launch_without_mpi4py_never_runs_each_rank_alone(mpiexec):
    for detected, named in mpiexec(2, "without_mpi4py").all(2):
        for words in (detected, named):
            assert "backend 'mpi' cannot run here" in words
            assert "pip install 'cobre-parallel[mpi]'" in words
        assert "COBRE_COMM_BACKEND=local if each process is meant to run alone" in detected


def run_alone(program, **variables):
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
        timeout=DEADLINE_S,
    )
    assert ended.stderr == ""
    return ended.stdout.strip()


def test_the_batch_shell_of_slurm_is_alone_and_leaves_mpi_alone():
    """As sbatch runs a script: a rank of nothing, in a job of many tasks."""
    program = """
import sys
from cobre.comm import create_communicator
print(create_communicator().topology.backend, "mpi4py" in sys.modules)
"""
    slurm = {"SLURM_PROCID": "0", "SLURM_JOB_ID": "7", "SLURM_NTASKS": "4", "SLURM_JOB_NODELIST": "n[1-2]"}
    assert run_alone(program, **slurm) == "local False"


def test_mpi4py_without_a_library_is_refused(tmp_path):
    program = """
from cobre.comm import BackendNotAvailable, create_communicator
try: create_communicator("mpi")
except BackendNotAvailable as error: print(error)
"""
    said = run_alone(program, MPI4PY_LIBMPI=str(tmp_path / "libmpi.so"))
    assert said.startswith("backend 'mpi' cannot run here: mpi4py cannot load an MPI library: ")
    assert said.endswith("load the site's MPI, or pip install 'cobre-parallel[mpi]'")
