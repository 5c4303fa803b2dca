"""tcp between machines: network namespaces on a switch of their own, cut cables, ways that are closed.

Nothing of this touches the machine's own network: the switch is in a namespace too, and all of it goes
with the namespaces.
"""

import os
import shutil
import subprocess
import time
from contextlib import contextmanager

import pytest

from tests.comm.workers import Worker

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ip") is None,
    reason="network namespaces take root and the program ip",
)

TIMEOUT_S = 1.5  # also for ranks to begin, which takes a while if the machine is busy


def ip(*arguments):
    subprocess.run(["ip", *map(str, arguments)], check=True, capture_output=True, text=True, timeout=30)


class Network:
    """Machines, each a namespace, that are connected as a test says."""

    def __init__(self):
        self.names = []

    def machine(self, name):
        full = f"cobre-test-{os.getpid()}-{name}"
        ip("netns", "add", full)
        self.names.append(full)
        ip("-n", full, "link", "set", "lo", "up")
        return full

    def close(self):
        for name in self.names:
            ip("netns", "del", name)


def cable(machine, interface, other, other_interface):
    ip("-n", machine, "link", "add", interface, "type", "veth", "peer", other_interface, "netns", other)
    ip("-n", machine, "link", "set", interface, "up")
    ip("-n", other, "link", "set", other_interface, "up")


@pytest.fixture
def network():
    network = Network()
    try:
        yield network
    finally:
        network.close()


class Switched:
    """Machines on one switch: machine r has the address 10.0.0.(r + 1)."""

    def __init__(self, network, size):
        self.switch = network.machine("switch")
        self.machines = [network.machine(rank) for rank in range(size)]
        ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", self.switch, "link", "set", "bridge", "up")
        for rank, machine in enumerate(self.machines):
            cable(machine, "eth0", self.switch, f"port{rank}")
            ip("-n", self.switch, "link", "set", f"port{rank}", "master", "bridge")
            ip("-n", machine, "addr", "add", f"10.0.0.{rank + 1}/24", "dev", "eth0")

    def coordinator(self, rank):
        return "10.0.0.1"

    def unplug(self, rank):
        """From now on what this machine sends gets nowhere, and nothing reaches it; nobody is told."""
        ip("-n", self.switch, "link", "set", f"port{rank}", "nomaster")

    def separate(self, rank, other):
        """From now on what these two send each other gets nowhere."""
        for here, there in ((rank, other), (other, rank)):
            ip("-n", self.machines[here], "route", "add", "blackhole", f"10.0.0.{there + 1}/32")


class Spokes:
    """Machines of which each has a cable to the first only, which hands nothing on."""

    def __init__(self, network, size):
        self.machines = [network.machine(rank) for rank in range(size)]
        hub = self.machines[0]
        for rank, machine in enumerate(self.machines[1:], 1):
            cable(machine, "eth0", hub, f"eth{rank}")
            ip("-n", machine, "addr", "add", f"10.0.{rank}.2/24", "dev", "eth0")
            ip("-n", hub, "addr", "add", f"10.0.{rank}.1/24", "dev", f"eth{rank}")
            # What is meant for another spoke is sent to the hub, and is never heard of again.
            ip("-n", machine, "route", "add", "default", "via", f"10.0.{rank}.1")
        forward = "echo 0 > /proc/sys/net/ipv4/ip_forward"
        ip("netns", "exec", hub, "sh", "-c", forward)

    def coordinator(self, rank):
        return f"10.0.{max(rank, 1)}.1"


@contextmanager
def ranks_on(net, secret_file, action, **variables):
    """A rank on every machine, which has been told what to do. The default port: each has all to itself."""
    workers = [Worker("ip", "netns", "exec", machine) for machine in net.machines]
    try:
        for rank, worker in enumerate(workers):
            own = {
                "COBRE_TCP_RANK": str(rank),
                "COBRE_TCP_SIZE": str(len(workers)),
                "COBRE_TCP_COORDINATOR": net.coordinator(rank),
                "COBRE_TCP_SECRET_FILE": str(secret_file),
            }
            worker.begin(backend="tcp", variables={**own, **variables}, action=action)
        yield workers
    finally:
        for worker in workers:
            worker.end()


@pytest.mark.parametrize(("size", "topology"), [(2, "auto"), (4, "star"), (4, "direct")])
def test_tcp_keeps_the_contract_between_machines(network, secret_file, size, topology):
    net = Switched(network, size)
    with ranks_on(net, secret_file, "kit", COBRE_TCP_TOPOLOGY=topology) as workers:
        for worker in workers:
            assert worker.hear(110)["failed"] == []


def check_that_it_failed_in_time(worker, cut_at, named):
    fact = worker.hear()
    assert fact["error"] == "CollectiveFailed"
    for words in named:
        assert words in fact["words"], fact
    assert fact["at"] - cut_at < TIMEOUT_S + 1.0, fact
    return fact


@pytest.mark.parametrize(
    ("topology", "victim", "action"),
    [
        ("star", 0, "allreduce"),
        ("star", 2, "allgatherv large"),
        ("direct", 0, "allgatherv large"),
        ("direct", 2, "allreduce"),
    ],
)
def test_a_cut_cable_is_noticed_on_both_sides_within_the_timeout(
    network, secret_file, topology, victim, action
):
    net = Switched(network, 3)
    variables = {"COBRE_TCP_TOPOLOGY": topology, "COBRE_TCP_TIMEOUT_SECS": str(TIMEOUT_S)}
    with ranks_on(net, secret_file, action, **variables) as workers:
        for rank, worker in enumerate(workers):
            fact = worker.hear()
            assert (fact.get("joined"), fact.get("directly")) == (rank, topology == "direct"), fact
        names = [
            f"rank {rank} (pid {worker.pid} on 10.0.0.{rank + 1})" for rank, worker in enumerate(workers)
        ]
        silence = f"did not come within {TIMEOUT_S:g} s"
        cut_at = time.monotonic()
        net.unplug(victim)
        for rank, worker in enumerate(workers):
            if rank != victim:
                check_that_it_failed_in_time(worker, cut_at, [names[victim], silence])
        # A rank knows that rank 0 does not answer. Rank 0 names whoever was silent for so long: one of the
        # two when the other's last bytes came later.
        fact = check_that_it_failed_in_time(workers[victim], cut_at, [silence])
        assert any(name in fact["words"] for name in (names[1:] if victim == 0 else names[:1])), fact


def test_a_broken_way_between_two_ranks_is_told_from_a_missing_rank(network, secret_file):
    """Both reach rank 0, so all learn which connection it was."""
    net = Switched(network, 3)
    variables = {"COBRE_TCP_TOPOLOGY": "direct", "COBRE_TCP_TIMEOUT_SECS": str(TIMEOUT_S)}
    with ranks_on(net, secret_file, "allreduce", **variables) as workers:
        for rank, worker in enumerate(workers):
            assert worker.hear().get("joined") == rank
        cut_at = time.monotonic()
        net.separate(1, 2)
        for worker in workers:
            named = ["the connection between rank ", f"(pid {workers[1].pid} ", f"(pid {workers[2].pid} "]
            check_that_it_failed_in_time(worker, cut_at, [*named, "look at the network between them"])


def test_ranks_that_reach_only_rank_0_are_connected_by_it(network, secret_file):
    with ranks_on(Spokes(network, 3), secret_file, "meet") as workers:
        for rank, worker in enumerate(workers):
            fact = worker.hear()
            assert (fact.get("joined"), fact.get("directly")) == (rank, False), fact
            assert worker.hear()["met"] == 3


def test_ranks_that_insist_on_direct_connections_are_told_that_there_are_none(network, secret_file):
    with ranks_on(Spokes(network, 3), secret_file, "meet", COBRE_TCP_TOPOLOGY="direct") as workers:
        facts = [worker.hear() for worker in workers]
        assert {fact.get("error") for fact in facts} == {"InitializationFailed"}, facts
        assert "other ranks could not connect with each other" in facts[0]["words"]
        assert "ranks that did not come to rank 1: 2" in facts[1]["words"]
        assert "cannot reach 10.0.1.2 port " in facts[2]["words"]
