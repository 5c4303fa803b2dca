"""The shm backend between real processes: the kit, mismatches, strangers, stale notes, silence."""

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from cobre.comm import (
    InitializationFailed,
    MissingConfiguration,
    ShmConfig,
    create_communicator,
    run_ranks,
)
from cobre.comm.assembly import rendezvous
from cobre.comm.assembly.rendezvous import Note
from cobre.comm.regions.shared import available_bytes
from tests.comm import group_bodies, shm_bodies, tcp_bodies
from tests.processes import eventually, sleeps

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="shm rests on futexes, memfds and pidfds")


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 16])
def test_shm_keeps_the_contract(size):
    for failed in run_ranks(group_bodies.whole_kit, size, args=("shm",), timeout_s=110):
        assert failed == []


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("slot_bytes", ["4096", "1048576"])
def test_the_contract_holds_for_any_slot_length(size, slot_bytes):
    """Two ranks do not share the work of a sum, three do."""
    env = {"COBRE_SHM_SLOT_BYTES": slot_bytes}
    for failed in run_ranks(group_bodies.whole_kit, size, args=("shm",), env=env):
        assert failed == []


@pytest.mark.parametrize("size", [2, 3])
def test_an_allreduce_of_several_slots_works_in_place(size):
    """Lengths that slots do not divide, below those that are read straight from a peer's memory."""
    assert all(run_ranks(tcp_bodies.large_allreduce_in_place, size, args=(200_003,)))


def test_one_copy_and_two_give_the_same_bits():
    """600 000 doubles: by the kernel where it allows it, by chunks where it does not."""
    one = run_ranks(shm_bodies.large_collectives, 3, args=(600_000,))
    two = run_ranks(shm_bodies.large_collectives, 3, args=(600_000,), env={"COBRE_SHM_ONE_COPY": "off"})
    assert [digests for digests, _ in one] == [digests for digests, _ in two]
    assert {used for _, used in two} == {False}


@pytest.mark.parametrize(
    ("usual", "odd"), group_bodies.DISAGREEMENTS, ids=lambda name: name.replace(" ", "_")
)
def test_ranks_that_call_different_things_all_learn_who_called_what(usual, odd):
    """Whichever rank is the odd one; nobody hangs, nobody goes on."""
    for odd_rank in (0, 2):
        told = run_ranks(group_bodies.disagree, 3, args=(usual, odd, odd_rank), timeout_s=30)
        others = ", ".join(str(rank) for rank in range(3) if rank != odd_rank)
        for call, words in told:
            assert call == 1
            assert "the ranks disagree: " in words
            assert f"rank {odd_rank} called " in words
            assert f"ranks {others} called " in words


@pytest.mark.parametrize("late", [0, 1, 2])
def test_a_silent_rank_is_named_within_the_timeout(late, tmp_path):
    args, env = (late, str(tmp_path / "told")), {"COBRE_SHM_TIMEOUT_SECS": "1"}
    for rank, (call, words) in enumerate(run_ranks(group_bodies.wait_for_a_late_rank, 3, args=args, env=env)):
        assert call == 1
        assert f"rank {late} (pid " in words, rank
        assert "did not come within 1 s" in words, rank


def test_a_region_is_one_memory_that_outlives_everything():
    expected = np.arange(1000) % 3
    for contents in run_ranks(shm_bodies.region_addresses, 3):
        assert contents == expected.tolist()


def test_a_group_that_finds_no_memory_is_refused_on_all_ranks():
    requested = run_ranks(shm_bodies.split_without_memory, 3, timeout_s=30)
    assert requested == [requested[0]] * 3
    assert requested[0] > 0


def test_a_container_has_what_its_limit_leaves(tmp_path):
    """Files as the kernel writes them; the innermost group has no limit, the one around it has."""
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    8000 kB\n")
    pod = tmp_path / "cgroup" / "pod"
    (pod / "app").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "cgroup").write_text("0::/pod/app\n")

    def available():
        return available_bytes(tmp_path / "proc", tmp_path / "cgroup")

    assert available() == 8000 * 1024
    (pod / "app" / "memory.max").write_text("max\n")
    assert available() == 8000 * 1024
    (pod / "memory.max").write_text("5000000\n")
    (pod / "memory.current").write_text("1000000\n")
    assert available() == 4_000_000
    (pod / "memory.current").write_text("6000000\n")
    assert available() == 0


def test_a_running_group_has_no_name_at_all():
    assert run_ranks(shm_bodies.names_in_use, 2) == [[], []]


# Groups by an agreed name, as they are started by hand.


@pytest.fixture
def name(request):
    """A fresh name, and no trace of it afterwards."""
    unique = f"/cobre-test-{os.getpid()}-{time.monotonic_ns()}"
    yield unique
    Path(f"/dev/shm{unique}").unlink(missing_ok=True)


RANK = """
import sys
from cobre.comm import ShmConfig, create_communicator, CobreError
name, rank, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
timeout_s = float(sys.argv[4]) if len(sys.argv) > 4 else 20.0
try:
    with create_communicator(ShmConfig(name, rank, size, timeout_s=timeout_s)) as comm:
        comm.barrier()
        print("met", comm.size)
except CobreError as error:
    print(type(error).__name__, error)
""".replace("create_communicator, CobreError", "create_communicator\nfrom cobre import CobreError")


def start(*arguments, **options):
    command = [sys.executable, "-c", RANK, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def appeared(name):
    """The note of a group, once it is there."""
    path = Path(f"/dev/shm{name}")
    eventually(path.exists)
    return path


def said(process):
    return process.communicate(timeout=60)[0].strip()


def test_ranks_meet_at_an_agreed_name_whoever_comes_first(name):
    others = [start(name, rank, 3) for rank in (2, 1)]
    assert [said(process) for process in (start(name, 0, 3), *others)] == ["met 3"] * 3
    assert not Path(f"/dev/shm{name}").exists(), "the name goes as soon as all have come"


def test_the_note_is_private_while_it_exists(name):
    rank0 = start(name, 0, 2)
    path = appeared(name)
    assert path.stat().st_mode & 0o777 == 0o600
    assert said(start(name, 1, 2)) == "met 2"
    assert said(rank0) == "met 2"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_cannot_attach(name):
    rank0 = start(name, 0, 2)
    path = appeared(name)
    note = Note.unpack(path.read_bytes())
    stranger = """
import os, sys
os.setgid(65534); os.setuid(65534)
for path in sys.argv[1:]:
    try: os.open(path, os.O_RDWR)
    except PermissionError: print("refused")
"""
    tried = subprocess.run(
        [sys.executable, "-c", stranger, str(path), f"/proc/{note.pid}/fd/{note.fd}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert tried.stdout.split() == ["refused", "refused"]
    assert said(start(name, 1, 2)) == "met 2"
    assert said(rank0) == "met 2"


def test_ranks_that_never_come_are_named(name):
    assert said(start(name, 0, 4, 0.5)) == (
        "InitializationFailed backend 'shm' could not start: ranks that did not come in time: 1, 2, 3"
    )
    assert not Path(f"/dev/shm{name}").exists()
    assert "rank 0 did not come within 0.5 s" in said(start(name, 1, 4, 0.5))


def test_a_size_that_differs_is_refused(name):
    rank0 = start(name, 0, 2, 3)
    assert "this rank expects 3 ranks, rank 0 expects 2" in said(start(name, 2, 3, 3))
    assert said(start(name, 1, 2)) == "met 2"
    assert said(rank0) == "met 2"


def test_two_processes_of_one_rank_are_told_apart(name):
    waiting = [start(name, 0, 3), start(name, 1, 3)]
    path = Path(f"/dev/shm{name}")
    twin = start(name, 1, 3)
    answers = []
    deadline = time.monotonic() + 20
    while not answers and time.monotonic() < deadline:  # one was first; the other is refused at once
        answers = [process for process in (waiting[1], twin) if process.poll() is not None]
        time.sleep(0.01)
    assert "rank 1 is taken already, by pid " in said(answers[0])
    assert path.exists()
    assert said(start(name, 2, 3)) == "met 3"
    assert sorted(said(process) for process in {waiting[0], waiting[1], twin} - set(answers)) == ["met 3"] * 2


def test_a_note_of_a_killed_run_is_in_nobodys_way(name):
    """Rank 0 takes its place; another rank cannot tell whose it is, but clears it away."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    path = Path(f"/dev/shm{name}")
    for rank in (0, 1):
        path.write_bytes(Note(0, 2, gone.pid, 3, 1, 131072).pack())
        path.chmod(0o600)
        if rank == 1:
            told = f"rank 0 .pid {gone.pid}. exited before the group was complete; read its own traceback"
            with pytest.raises(InitializationFailed, match=told):
                create_communicator(ShmConfig(name, rank, 2, timeout_s=5))
            assert not path.exists()
        rank0 = start(name, 0, 2)
        eventually(lambda: path.exists() and Note.unpack(path.read_bytes()).pid != gone.pid)
        assert said(start(name, 1, 2)) == "met 2"
        assert said(rank0) == "met 2"


def test_a_file_that_is_no_note_is_left_alone(name):
    path = Path(f"/dev/shm{name}")
    path.write_text("precious")
    path.chmod(0o600)
    with pytest.raises(InitializationFailed, match="is there already and is no note of a group"):
        create_communicator(ShmConfig(name, 0, 2, timeout_s=5))
    assert path.read_text() == "precious"


@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_killed_while_the_group_assembles_is_named_at_once(name, victim):
    """Rank 2 never comes; nothing but the death of one rank can end the other."""
    ranks = [start(name, rank, 3) for rank in (0, 1)]
    eventually(lambda: all("memfd:cobre" in Path(f"/proc/{rank.pid}/maps").read_text() for rank in ranks))
    eventually(lambda: sleeps(ranks[victim].pid))  # in the meeting: it waits for nothing else
    ranks[victim].kill()
    words = said(ranks[1 - victim])
    assert words.endswith(f"rank {victim} (pid {ranks[victim].pid}) exited; read its own traceback first")
    assert said(ranks[victim]) == ""
    assert not Path(f"/dev/shm{name}").exists()


def test_a_name_in_use_is_refused(name):
    rank0 = start(name, 0, 2)
    path = appeared(name)
    with pytest.raises(
        InitializationFailed, match=f"another group is using {path} .its rank 0 is pid {rank0.pid}"
    ):
        create_communicator(ShmConfig(name, 0, 2))
    assert said(start(name, 1, 2)) == "met 2"
    assert said(rank0) == "met 2"


def test_a_note_that_others_could_have_written_is_refused(name):
    path = Path(f"/dev/shm{name}")
    path.write_bytes(Note(0, 2, os.getpid(), 3, 1, 131072).pack())
    path.chmod(0o666)
    with pytest.raises(InitializationFailed, match="is not private to this user"):
        create_communicator(ShmConfig(name, 1, 2, timeout_s=5))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system to fill")
def test_a_full_file_system_is_said_and_nothing_stays(tmp_path, monkeypatch):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "cobre-test", tmp_path], check=True)
    try:
        (tmp_path / "filler").write_bytes(bytes(4096))
        monkeypatch.setattr(rendezvous, "_FOLDER", str(tmp_path))
        with pytest.raises(InitializationFailed, match="No space left on device; free some space"):
            create_communicator(ShmConfig("/full", 0, 2, timeout_s=5))
        assert [entry.name for entry in tmp_path.iterdir()] == ["filler"]
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_half_a_note_is_no_note(name):
    path = Path(f"/dev/shm{name}")
    path.write_bytes(Note(0, 2, os.getpid(), 3, 1, 131072).pack()[:-1] + b"?")
    path.chmod(0o600)
    with pytest.raises(InitializationFailed, match="rank 0 did not come within 0.2 s"):
        create_communicator(ShmConfig(name, 1, 2, timeout_s=0.2))


def test_a_segment_of_another_group_is_refused(name):
    """A descriptor number means nothing once its process has opened something else under it."""
    path = Path(f"/dev/shm{name}")
    fd = os.memfd_create("something-else")
    os.ftruncate(fd, 1 << 22)
    path.write_bytes(Note(0, 2, os.getpid(), fd, 1, 131072).pack())
    path.chmod(0o600)
    with path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(InitializationFailed, match="belongs to another group or version"):
            create_communicator(ShmConfig(name, 1, 2, timeout_s=5))
    os.close(fd)


def test_missing_settings_are_named(monkeypatch):
    monkeypatch.setenv("COBRE_SHM_NAME", "/cobre-42")
    with pytest.raises(MissingConfiguration) as raised:
        create_communicator()
    assert raised.value.variables == ("COBRE_SHM_RANK", "COBRE_SHM_SIZE")
