"""tcp inside TLS: the same contract, certificates on both sides, and nothing left behind either."""

import shutil
import subprocess
import time

import pytest

from cobre.comm import InitializationFailed, TcpConfig, create_communicator
from cobre.comm.assembly.tls import Tls
from cobre.comm.tcp import BACKEND
from tests.comm import group_bodies, tcp_bodies
from tests.comm.tcp_ranks import run_tcp
from tests.comm.workers import Worker
from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="the certificates are made by the openssl program"
)


def make_certificates(folder):
    """An authority, and a certificate that it has signed; the variables that use them."""
    script = ROOT / "examples" / "several_machines" / "certificates.sh"
    subprocess.run(["sh", str(script), "1", str(folder)], check=True, capture_output=True, timeout=60)
    files = {"CERT": "rank-0.pem", "KEY": "rank-0.key", "CA": "ca.pem"}
    return {f"COBRE_TCP_TLS_{use}": str(folder / file) for use, file in files.items()}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("tls"))


def test_tcp_keeps_the_contract_inside_tls(certificates):
    for failed in run_tcp(group_bodies.whole_kit, 3, "tcp", **certificates):
        assert failed == []


@pytest.mark.parametrize("topology", ["star", "direct"])
def test_large_payloads_pass_through_tls(certificates, topology):
    assert all(run_tcp(tcp_bodies.large_allreduce_in_place, 3, 300_007, topology=topology, **certificates))


@pytest.mark.parametrize("how", ["closed", "dropped", "disagreement", "one does not come", "another size"])
def test_nothing_is_left_behind(certificates, how):
    """Neither the thread that carries the bytes nor a socket."""
    for rank, (before, after, told) in enumerate(run_tcp(tcp_bodies.what_stays, 3, how, **certificates)):
        assert after == before, f"rank {rank}, {told}"


@pytest.mark.parametrize("victim", [0, 2])
def test_a_killed_rank_is_named_within_a_second(pool, certificates, victim):
    ranks = pool.group("tcp", 3, "allreduce large", variables=certificates)
    killed_at = time.monotonic()
    ranks[victim].process.kill()
    for rank in {0, 1, 2} - {victim}:
        fact = ranks[rank].hear()
        assert f"rank {victim} (pid {ranks[victim].pid}) exited" in fact["words"]
        assert fact["at"] - killed_at < 1.0


@pytest.mark.parametrize("changed", ["another authority", "no TLS"])
def test_who_has_no_certificate_of_ours_is_not_let_in(certificates, tmp_path, changed):
    """Even with the right secret; and the group can still be completed by those who belong to it."""
    theirs = make_certificates(tmp_path) if changed == "another authority" else {}
    workers = [Worker() for _ in range(3)]
    rank_0, stranger, rank_1 = workers
    try:
        with BACKEND.rank_environments(2) as variables:
            rank_0.begin(backend="tcp", variables={**variables[0], **certificates}, action="meet")
            short = {"COBRE_TCP_CONNECT_TIMEOUT_MS": "500"}
            stranger.begin(backend="tcp", variables={**variables[1], **theirs, **short}, action="meet")
            assert stranger.outcome()["error"] == "InitializationFailed"
            rank_1.begin(backend="tcp", variables={**variables[1], **certificates}, action="meet")
            assert [rank.outcome()["met"] for rank in (rank_0, rank_1)] == [2, 2]
    finally:
        for worker in workers:
            worker.end()


def test_files_that_are_no_certificates_are_named(certificates, tmp_path):
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("this is no certificate")
    for use in ("cert", "key", "ca"):
        files = {
            f"tls_{name}": certificates[f"COBRE_TCP_TLS_{name.upper()}"] for name in ("cert", "key", "ca")
        }
        files[f"tls_{use}"] = str(nonsense)
        with pytest.raises(
            InitializationFailed, match="the certificates of COBRE_TCP_TLS_CERT, _KEY and _CA"
        ):
            create_communicator(TcpConfig(0, 2, bind_addr="127.0.0.1", **files))


def test_a_relay_that_ended_before_it_was_told_to_is_closed_all_the_same(certificates):
    """Its thread may see that it is to end when bytes wake it, before the call that ends it does."""
    files = {f"tls_{name}": certificates[f"COBRE_TCP_TLS_{name.upper()}"] for name in ("cert", "key", "ca")}
    tls = Tls(TcpConfig(0, 2, bind_addr="127.0.0.1", **files))
    tls._relay._closing_by = time.monotonic()
    tls._relay._wake.send(b"!")
    tls._relay._thread.join()
    tls.close()
