"""Which backend an environment leads to, and what is said when it cannot be had."""

import os
import sys
import types

import pytest

from cobre.comm import (
    BackendNotAvailable,
    InitializationFailed,
    InvalidBackend,
    LaunchedRank,
    LocalConfig,
    MissingConfiguration,
    MpiConfig,
    ShmConfig,
    available_backends,
    backend_of_workers,
    backend_to_start,
    choose,
    create_communicator,
    launched_rank,
    names_group,
    refuse_to_run_alone,
)
from cobre.comm.config import MPI_LAUNCHER_VARIABLES
from cobre.comm.local import LocalCommunicator
from cobre.comm.registry import Backend, load


class PretendMpi(Backend):
    """Stands in for the mpi backend where only the choice is tested."""

    name, summary = "mpi", "pretended"

    def configure(self, env):
        return LocalConfig()

    def connect(self, config):
        return LocalCommunicator()

    def launched_as(self, env):
        return MpiConfig.launched_as(env)


class PretendMissingMpi(PretendMpi):
    def obstacle(self):
        return BackendNotAvailable("mpi", "mpi4py is not installed", "pip install 'cobre-parallel[mpi]'")


def install(monkeypatch, backend):
    module = types.ModuleType("cobre.comm.mpi")
    module.BACKEND = backend
    monkeypatch.setitem(sys.modules, "cobre.comm.mpi", module)


@pytest.fixture
def mpi(monkeypatch):
    install(monkeypatch, PretendMpi())


@pytest.fixture
def no_mpi(monkeypatch):
    install(monkeypatch, PretendMissingMpi())


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    for variable in ("COBRE_COMM_BACKEND", "COBRE_SHM_NAME", *MPI_LAUNCHER_VARIABLES):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize("variable", MPI_LAUNCHER_VARIABLES)
@pytest.mark.usefixtures("mpi")
def test_each_launcher_variable_leads_to_mpi(variable):
    choice = choose({variable: "0", "COBRE_TCP_COORDINATOR": "node-1", "COBRE_SHM_NAME": "/x"})
    assert (choice.backend, choice.passed_over) == ("mpi", ())
    assert variable in choice.reason


@pytest.mark.parametrize(
    ("env", "backend", "reason"),
    [
        ({}, "local", "nothing in the environment names a group"),
        ({"COBRE_COMM_BACKEND": "auto"}, "local", "nothing in the environment names a group"),
        ({"COBRE_SHM_NAME": "/x"}, "shm", "COBRE_SHM_NAME is set"),
        ({"COBRE_TCP_COORDINATOR": "a"}, "tcp", "COBRE_TCP_COORDINATOR is set"),
        ({"COBRE_TCP_COORDINATOR": "a", "COBRE_SHM_NAME": "/x"}, "tcp", "COBRE_TCP_COORDINATOR is set"),
        (
            {"COBRE_TCP_RANK": "0", "COBRE_SHM_NAME": "/x"},
            "tcp",
            "COBRE_TCP_RANK is 0: the coordinator itself",
        ),
        ({"COBRE_COMM_BACKEND": "local", "COBRE_SHM_NAME": "/x"}, "local", "COBRE_COMM_BACKEND is 'local'"),
        ({"COBRE_COMM_BACKEND": "tcp"}, "tcp", "COBRE_COMM_BACKEND is 'tcp'"),
    ],
)
def test_the_chain(env, backend, reason):
    choice = choose(env)
    assert (choice.backend, choice.reason) == (backend, reason)


@pytest.mark.parametrize("variable", ["COBRE_TCP_RANK", "COBRE_TCP_SIZE", "COBRE_SHM_RANK", "COBRE_SHM_SIZE"])
def test_half_a_configuration_is_refused(monkeypatch, variable):
    """One variable of a group makes this process one of its ranks, which never runs alone instead."""
    monkeypatch.setenv(variable, "1")
    with pytest.raises(MissingConfiguration) as raised:
        create_communicator()
    assert variable not in raised.value.variables
    assert choose({variable: "1"}).reason == f"{variable} is set"
    assert names_group({variable: "1"})


SLURM_BATCH = {"SLURM_PROCID": "0", "SLURM_JOB_ID": "7", "SLURM_NTASKS": "4"}


@pytest.mark.parametrize(
    ("env", "why"),
    [
        (SLURM_BATCH, "this is the batch shell, not a step started by srun"),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, "its job has one task"),
        ({**SLURM_BATCH, "SLURM_STEP_NUM_TASKS": "1"}, "its job step has one task"),
    ],
)
@pytest.mark.usefixtures("mpi")
def test_a_slurm_batch_step_is_no_mpi_launch(env, why):
    choice = choose(env)
    assert choice.backend == "local"
    assert choice.passed_over == (f"mpi: SLURM_PROCID is set, but {why}",)


@pytest.mark.parametrize(
    "env",
    [
        {"SLURM_PROCID": "3"},
        {**SLURM_BATCH, "SLURM_STEP_NUM_TASKS": "4"},
        {**SLURM_BATCH, "PMI_RANK": "0"},
    ],
)
@pytest.mark.usefixtures("mpi")
def test_srun_is_an_mpi_launch(env):
    assert choose(env).backend == "mpi"


@pytest.mark.usefixtures("mpi")
def test_a_child_of_a_rank_is_no_rank():
    """It has the launcher's variables and the pid of another process, alive or not."""
    launched = {"PMI_RANK": "1", "PMI_SIZE": "4"}
    assert choose({**launched, "COBRE_MPI_RANK_PID": str(os.getpid())}).backend == "mpi"
    child = {**launched, "COBRE_MPI_RANK_PID": "1"}
    assert choose({**child, "COBRE_COMM_BACKEND": "mpi"}).backend == "mpi", "it was asked for"
    choice = choose({**child, "COBRE_SHM_NAME": "/x"})
    assert choice.backend == "shm"
    assert choice.passed_over == (
        "mpi: an MPI launcher set PMI_RANK, PMI_SIZE, but for a rank (pid 1) that started this process; "
        "it is no rank itself",
    )
    assert choose(child).backend == "mpi", "mpi refuses it, since a launcher in between may mean it"
    assert choose({**child, "COBRE_COMM_BACKEND": "local"}).backend == "local"


@pytest.mark.usefixtures("no_mpi")
@pytest.mark.parametrize(
    "env",
    [
        {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"},
        {"PMI_RANK": "0"},
        {"MPI_LOCALRANKID": "1"},
        {"PMI_RANK": "0", "PMI_SIZE": "2"},
        {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2"},
        {"SLURM_PROCID": "1", "SLURM_JOB_ID": "7"},
    ],
)
def test_a_launch_without_mpi_is_refused_with_every_way_out(monkeypatch, env):
    for variable, value in env.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(BackendNotAvailable, match="mpi4py is not installed") as raised:
        create_communicator()
    for remedy in ("pip install 'cobre-parallel[mpi]'", "COBRE_TCP_COORDINATOR", "COBRE_COMM_BACKEND=local"):
        assert remedy in str(raised.value)
    monkeypatch.setenv("COBRE_COMM_BACKEND", "local")
    assert create_communicator().size == 1


@pytest.mark.parametrize("variable", ["PMI_RANK", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"])
def test_a_malformed_number_of_a_launcher_is_refused(monkeypatch, variable):
    monkeypatch.setenv("PMI_RANK", "0")
    monkeypatch.setenv(variable, "many")
    with pytest.raises(MissingConfiguration, match=f"{variable} is 'many'; it should hold a number, set by"):
        create_communicator()


@pytest.mark.usefixtures("mpi")
def test_a_launcher_of_one_rank_does_not_hide_the_group_it_belongs_to():
    """One launcher per rank of a tcp group, such as one job step each."""
    one = {"PMI_RANK": "0", "PMI_SIZE": "1"}
    choice = choose({**one, "COBRE_TCP_COORDINATOR": "node-1"})
    assert (choice.backend, choice.reason) == ("tcp", "COBRE_TCP_COORDINATOR is set")
    assert choice.passed_over == ("mpi: an MPI launcher set PMI_RANK, PMI_SIZE, but for one rank",)
    assert choose(one).backend == "mpi"
    assert choose({"PMI_RANK": "0", "COBRE_TCP_COORDINATOR": "node-1"}).backend == "mpi", "of how many?"


@pytest.mark.parametrize(
    ("requested", "env"),
    [
        ("tcp", {}),
        ("auto", {"COBRE_COMM_BACKEND": "shm"}),
        ("auto", {"COBRE_SHM_NAME": "/x"}),
        ("auto", {"COBRE_TCP_COORDINATOR": "node-1"}),
        ("auto", {"COBRE_TCP_RANK": "1", "COBRE_TCP_SIZE": "2"}),
        ("auto", {"PMI_RANK": "1"}),
        ("auto", {"PMI_RANK": "0"}),
        (
            "auto",
            {"COBRE_COMM_BACKEND": "tcp", "COBRE_TCP_RANK": "1", "COBRE_TCP_SIZE": "2", "PMI_SIZE": "1"},
        ),
    ],
)
@pytest.mark.usefixtures("mpi")
def test_alone_is_refused_where_a_group_was_asked_for(requested, env):
    with pytest.raises(InitializationFailed, match=r"give comm=create_communicator\(\) .*backend='local'"):
        refuse_to_run_alone(requested, env)
    refuse_to_run_alone("local", env)
    refuse_to_run_alone("auto", {**env, "COBRE_COMM_BACKEND": "local"})


@pytest.mark.parametrize(
    "env", [{}, {"PMI_RANK": "0", "PMI_SIZE": "1"}, {"COBRE_TCP_RANK": "0", "COBRE_TCP_SIZE": "1"}]
)
@pytest.mark.usefixtures("mpi")
def test_alone_is_fine_as_the_only_rank(env):
    refuse_to_run_alone("auto", env)


@pytest.mark.usefixtures("no_mpi")
def test_a_launch_without_mpi_may_have_set_up_another_group():
    launched = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}
    assert choose({**launched, "COBRE_TCP_COORDINATOR": "node-1"}).backend == "tcp"
    assert choose({**launched, "COBRE_SHM_NAME": "/x"}).backend == "shm"
    assert "mpi4py is not installed" in choose({**launched, "COBRE_SHM_NAME": "/x"}).passed_over[0]


@pytest.mark.usefixtures("no_mpi")
def test_a_launch_of_one_rank_needs_no_mpi(monkeypatch):
    monkeypatch.setenv("PMI_SIZE", "1")
    assert create_communicator().size == 1


def test_the_backend_of_ranks_that_are_started():
    """The argument wins over the variable, and the variable over the default."""
    named = {"COBRE_COMM_BACKEND": "tcp"}
    assert backend_to_start(env={}) == "shm"
    assert backend_to_start(env={"COBRE_TCP_COORDINATOR": "node-1"}) == "tcp"
    assert backend_to_start(env={"COBRE_TCP_COORDINATOR": "node-1", "COBRE_COMM_BACKEND": "shm"}) == "shm"
    assert (backend_to_start(env=named), backend_of_workers(2, env=named)) == ("tcp", "tcp")
    assert backend_of_workers(2, "shm", named) == "shm"
    assert backend_of_workers(2, "mpi", {}) == "mpi", "which refuses when it is to start them"
    with pytest.raises(InvalidBackend, match="'smh' is not a backend"):
        backend_of_workers(2, "smh", {})


@pytest.mark.parametrize(
    ("requested", "env", "words"),
    [
        ("auto", {"COBRE_COMM_BACKEND": "local"}, "4 workers were asked .* COBRE_COMM_BACKEND is 'local'"),
        ("local", {"COBRE_COMM_BACKEND": "shm"}, "4 workers were asked .* backend is 'local'"),
        ("auto", {"COBRE_TCP_RANK": "1", "COBRE_TCP_SIZE": "2"}, "rank 1 of 2 .* cannot start 4 workers"),
        ("shm", {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}, "rank 0 of 2 .*MPI launcher"),
        ("auto", {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "3"}, "rank 1 of 3 .*SLURM_PROCID"),
    ],
)
def test_workers_that_contradict_the_environment_are_refused(requested, env, words):
    with pytest.raises(InitializationFailed, match=words) as raised:
        backend_of_workers(4, requested, env)
    assert raised.value.args[2] == "IncompatibleSettings"


def test_workers_in_each_process_of_a_launcher_are_started_if_that_is_said_twice():
    env = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2", "COBRE_COMM_BACKEND": "local"}
    assert backend_of_workers(4, "shm", env) == "shm"
    with pytest.raises(MissingConfiguration, match="COBRE_SHM_RANK"):
        backend_of_workers(4, "shm", {"COBRE_SHM_SIZE": "2"})


@pytest.mark.usefixtures("no_mpi")
def test_what_was_asked_for_is_never_replaced(monkeypatch):
    monkeypatch.setenv("COBRE_COMM_BACKEND", "mpi")
    with pytest.raises(BackendNotAvailable, match=r"not installed; pip install 'cobre-parallel\[mpi\]'"):
        create_communicator()
    with pytest.raises(BackendNotAvailable):
        create_communicator("mpi")


@pytest.mark.parametrize("name", ["", " ", "SHM", "shm ", "sockets", "tcp,shm"])
def test_an_unknown_name_in_the_environment_is_refused(monkeypatch, name):
    monkeypatch.setenv("COBRE_COMM_BACKEND", name)
    with pytest.raises(InvalidBackend) as raised:
        create_communicator()
    assert (raised.value.requested, raised.value.source) == (name, "COBRE_COMM_BACKEND")
    assert str(raised.value) == (
        f"COBRE_COMM_BACKEND={name!r} is not a backend; choose one of auto, local, shm, tcp, mpi"
    )


def test_an_unknown_name_in_code_is_refused():
    with pytest.raises(InvalidBackend, match="backend='sockets' is not a backend"):
        create_communicator("sockets")
    with pytest.raises(TypeError, match="a backend's name or configuration, not int"):
        create_communicator(4)


def test_a_configuration_object_needs_no_environment(monkeypatch):
    monkeypatch.setenv("COBRE_COMM_BACKEND", "tcp")
    assert create_communicator(LocalConfig()).topology.backend == "local"
    assert create_communicator("local").topology.backend == "local"
    assert create_communicator("auto").topology.backend == "local"


def test_a_variable_of_the_chosen_backend_is_named(monkeypatch):
    """Once a backend runs here, its own settings decide; before that it says that it cannot run."""
    monkeypatch.setenv("COBRE_SHM_NAME", "/x")
    with pytest.raises((MissingConfiguration, BackendNotAvailable), match="shm"):
        create_communicator()
    assert ShmConfig.backend == "shm"


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("backend", ["shm", "tcp", "socket"])
@pytest.mark.usefixtures("socket_backend")
def test_a_rank_that_the_launcher_starts_knows_which_it_is(backend, size):
    with load(backend).rank_environments(size) as environments:
        expected = [LaunchedRank(backend, rank, size) for rank in range(size)]
        assert [launched_rank(env=env) for env in environments] == expected
        assert [launched_rank(backend, env) for env in environments] == expected


@pytest.mark.parametrize("backend", ["auto", "local", "shm", "tcp", "socket"])
@pytest.mark.usefixtures("socket_backend")
def test_a_process_that_nobody_launched_is_no_rank(backend):
    assert launched_rank(backend, {}) is None
    assert launched_rank(backend, SLURM_BATCH) is None


@pytest.mark.parametrize(
    ("env", "rank", "size"),
    [
        ({"PMI_RANK": "2", "PMI_SIZE": "4"}, 2, 4),
        ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "PMI_RANK": "0"}, 2, 4),
        ({"PMIX_RANK": "2", "PMI_SIZE": "3"}, 2, 3),
        ({**SLURM_BATCH, "SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "4"}, 2, 4),
        ({"MPI_LOCALRANKID": "1"}, 1, 2),
        ({"PMI_RANK": "0"}, 0, 1),
    ],
)
@pytest.mark.usefixtures("mpi")
def test_ranks_of_mpi_launchers(env, rank, size):
    assert launched_rank(env=env) == LaunchedRank("mpi", rank, size)


@pytest.mark.usefixtures("no_mpi")
def test_a_rank_is_one_even_where_its_backend_cannot_run():
    """One of the ranks then says so, and not each of them."""
    env = {"COBRE_COMM_BACKEND": "mpi", "PMI_RANK": "2", "PMI_SIZE": "4"}
    assert launched_rank(env=env) == LaunchedRank("mpi", 2, 4)


def test_a_rank_of_which_too_little_is_known():
    shm = {"COBRE_SHM_NAME": "/x", "COBRE_SHM_RANK": "3"}
    with pytest.raises(MissingConfiguration, match="COBRE_SHM_SIZE is not set"):
        launched_rank(env=shm)
    with pytest.raises(MissingConfiguration, match="COBRE_SHM_RANK is 'three'"):
        launched_rank(env={**shm, "COBRE_SHM_RANK": "three", "COBRE_SHM_SIZE": "4"})
    tcp = {"COBRE_TCP_COORDINATOR": "node-1", "COBRE_TCP_RANK": "3", "COBRE_TCP_SIZE": "4"}
    assert launched_rank(env=tcp) == LaunchedRank("tcp", 3, 4), "the secret is needed to connect only"


def test_the_status_of_every_backend_is_known():
    status = available_backends()
    assert list(status)[:4] == ["local", "shm", "tcp", "mpi"]
    assert status["local"].available
    for backend in status.values():
        assert backend.available == (backend.reason == "")
