"""The tcp backend between real processes: the kit, the bits, large payloads, mismatches, what stays."""

import os
import socket
import sys

import pytest

from cobre.comm import run_ranks
from cobre.comm.assembly.admission import prepare
from tests.comm import group_bodies, tcp_bodies
from tests.comm.tcp_ranks import run_tcp

TOPOLOGIES = ["star", "direct"]
# Up to two ranks there is only one way to connect them.
SIZES = [(1, "auto"), (2, "auto"), *((size, topology) for size in (3, 4, 5, 8) for topology in TOPOLOGIES)]

in_both_topologies = pytest.mark.parametrize("topology", TOPOLOGIES)
needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="/proc shows what a process holds")


@pytest.mark.parametrize(("size", "topology"), SIZES)
def test_tcp_keeps_the_contract(size, topology):
    for failed in run_tcp(group_bodies.whole_kit, size, "tcp", topology=topology):
        assert failed == []


@pytest.mark.parametrize("size", [1, 3, 5])
def test_the_bits_are_those_of_every_other_backend(size):
    """Whoever reduces, in whatever pieces."""
    args = (20_000 + size, 40)
    expected = run_ranks(
        tcp_bodies.random_sequence, size, backend="local" if size == 1 else "shm", args=args, timeout_s=100
    )
    for topology in TOPOLOGIES:
        assert run_tcp(tcp_bodies.random_sequence, size, *args, topology=topology) == expected


@in_both_topologies
@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_large_allreduce_works_in_place(size, topology):
    """A length that neither ranks nor chunks divide."""
    assert all(run_tcp(tcp_bodies.large_allreduce_in_place, size, 1_000_003, topology=topology))


@pytest.mark.skipif(not hasattr(socket, "TCP_CONGESTION"), reason="the system has one congestion control")
def test_connections_within_a_machine_are_not_paced():
    """Those to one's own address: another one may lie beyond a network, which has its own default."""

    def control(connection):
        return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        for source in ("127.0.0.1", "127.0.0.2"):
            with socket.create_connection(listener.getsockname(), source_address=(source, 0)) as connection:
                default = control(connection)
                prepare(connection)
                assert control(connection) == (b"reno" if source == "127.0.0.1" else default)


@in_both_topologies
def test_parts_may_be_empty(topology):
    assert run_tcp(tcp_bodies.empty_parts, 4, topology=topology) == [[True] * 3] * 4


@pytest.mark.skipif("COBRE_TEST_LARGE" not in os.environ, reason="takes 13 GB: COBRE_TEST_LARGE=1 runs it")
@pytest.mark.parametrize(("size", "topology"), [(2, "auto"), (3, "star"), (3, "direct")])
def test_payloads_may_be_larger_than_4_gib(size, topology):
    marks = [1, 2, 3, 4, 5, 6, 7]
    for broadcast, total in run_tcp(tcp_bodies.beyond_four_gib, size, topology=topology):
        assert broadcast == (marks, 7)
        assert total == ([size * mark for mark in marks], 7)


@in_both_topologies
def test_regions_are_each_ranks_own_and_all_are_leaders(topology):
    for outcome in run_tcp(tcp_bodies.regions_and_leaders, 3, topology=topology):
        assert outcome == (True, [0] * 5, True, (0, 1, True))


@in_both_topologies
@pytest.mark.parametrize("unlucky", [0, 2])
def test_where_one_rank_has_no_memory_all_are_told_and_go_on(topology, unlucky):
    for rank, (told, total) in enumerate(
        run_tcp(tcp_bodies.one_rank_has_no_memory, 3, unlucky, topology=topology)
    ):
        reason = "there is none" if rank == unlucky else "another rank has no memory for it"
        assert told == [(8000, reason), (8008, reason)]
        assert total == 3


# Ranks that do not fit together.


@pytest.mark.parametrize(("size", "topology"), [(2, "auto"), (3, "star"), (3, "direct")])
def test_ranks_that_call_different_things_all_learn_who_called_what(size, topology):
    """Whichever rank is the odd one; nobody hangs, nobody goes on."""
    for cases in zip(*run_tcp(tcp_bodies.disagree_in_every_way, size, topology=topology), strict=True):
        for rank, (usual, odd, odd_rank, (call, words)) in enumerate(cases):
            case = f"{usual} and on rank {odd_rank} {odd}: in call {call} rank {rank} was told: {words}"
            # A broadcast may be complete on a rank that another rank, which it does not hear, contradicts.
            own = odd if rank == odd_rank else usual
            assert call == 1 or (call == 2 and own.startswith(("broadcast", "split_local"))), case
            assert "the ranks disagree: " in words, case
            assert f"rank {odd_rank} called " in words, case
            # Of a rank whose broadcast was complete the others may have heard what it called next.
            assert words.count(" called ") in {2, 3}, case


@in_both_topologies
@pytest.mark.parametrize("late", [0, 2])
def test_a_silent_rank_is_named_within_the_timeout(topology, late, tmp_path):
    args, env = (late, str(tmp_path / "told")), {"COBRE_TCP_TIMEOUT_SECS": "1"}
    told = run_tcp(group_bodies.wait_for_a_late_rank, 3, *args, topology=topology, **env)
    for rank, (call, words) in enumerate(told):
        # What the others sent before they gave up may be all that the late rank needs, the first time.
        assert call == 1 or (call == 2 and rank == late)
        assert f"rank {late} (pid " in words, rank
        assert "did not come within 1 s" in words, rank


# Directly or by rank 0.


@pytest.mark.parametrize("stars", [[0], [2], [1, 2]])
def test_where_one_rank_wants_a_star_all_are_connected_so(stars):
    assert run_tcp(tcp_bodies.fall_back, 3, stars) == [(False, 3.0)] * 3


def test_where_nothing_stands_against_it_all_are_connected_directly():
    assert run_tcp(tcp_bodies.fall_back, 4, []) == [(True, 4.0)] * 4


# What stays when a group is over.


@needs_proc
@in_both_topologies
def test_nobody_can_connect_once_the_group_is_complete(topology):
    assert run_tcp(tcp_bodies.open_doors, 4, topology=topology) == [[]] * 4


@needs_proc
@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("closed", "None"),
        ("dropped", "None"),
        ("disagreement", "the ranks disagree: "),
        ("one does not come", "ranks that did not come within 0.3 s: 2"),
        ("one says star", "direct connections"),
        ("no direct connections", "could not connect with each other|did not come to rank 1|is no way"),
        # Rank 1 may come when the others have given up already.
        ("another size", "expects 4 ranks, rank 0 expects 3|cannot reach"),
    ],
    ids=lambda text: text.replace(" ", "_").replace(",", ""),
)
def test_nothing_is_left_behind(how, words):
    for rank, (before, after, told) in enumerate(run_tcp(tcp_bodies.what_stays, 3, how, topology="direct")):
        assert after == before, f"rank {rank}, {told}"
        if how != "one does not come" or rank != 2:
            assert any(part in told for part in words.split("|")), told
