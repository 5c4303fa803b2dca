"""Whatever a user starts joins the group that was asked for, or is refused; no rank of several runs alone.

Environments (each variable present, absent, malformed) are crossed with arguments and entry points. In this
process mpi4py counts as not installed; real launchers follow at the end.
"""

import itertools
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field

import pytest

import cobre
from cobre import sddp
from cobre.errors import BackendError, InitializationFailed, InvalidBackend, MissingConfiguration
from cobre.study import Study
from tests.cli.commands import COBRE
from tests.cli.commands import cobre as command
from tests.mpi_launch import FOREIGN
from tests.processes import DEADLINE_S
from tests.study.cases import copy

SETTINGS = {"iterations": 1, "scenarios": 0, "passes": 1}


@dataclass(frozen=True)
class Environment:
    """Variables beside ``COBRE_COMM_BACKEND``, and what they ask for."""

    variables: dict[str, str]
    #: Backend and size of the group that this process can join; size 2 if the other rank never comes.
    group: tuple[str, int] | None = None
    #: What is absent or malformed.
    wrong: set[str] = field(default_factory=set)

    @property
    def several(self):
        return bool(self.wrong) or (self.group is not None and self.group[1] > 1)


SHM = {"COBRE_SHM_NAME": "/cobre-test-entry", "COBRE_SHM_RANK": "0", "COBRE_SHM_SIZE": "1"}
TCP = {"COBRE_TCP_RANK": "0", "COBRE_TCP_SIZE": "1"}
SOON = {"COBRE_SHM_TIMEOUT_SECS": "0.05", "COBRE_TCP_CONNECT_TIMEOUT_MS": "50"}


def without(variables, name):
    return {key: value for key, value in variables.items() if key != name}


ENVIRONMENTS = {
    "nothing": Environment({}),
    "shm": Environment(SHM, ("shm", 1)),
    "shm, one of two": Environment({**SHM, "COBRE_SHM_SIZE": "2"}, ("shm", 2)),
    "tcp": Environment(TCP, ("tcp", 1)),
    "tcp, one of two": Environment(
        {**TCP, "COBRE_TCP_SIZE": "2", "COBRE_TCP_BIND_ADDR": "127.0.0.1", "COBRE_TCP_PORT": "29771"},
        ("tcp", 2),
    ),
    "tcp, other rank": Environment(
        {"COBRE_TCP_RANK": "1", "COBRE_TCP_SIZE": "2"},
        ("tcp", 2),
        {"COBRE_TCP_COORDINATOR", "COBRE_TCP_SECRET"},
    ),
    "one rank of Open MPI": Environment({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}),
    "two ranks of Open MPI": Environment(
        {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, ("mpi", 2)
    ),
    "two ranks of MPICH": Environment({"PMI_RANK": "0", "PMI_SIZE": "2"}, ("mpi", 2)),
    "MPICH, of how many": Environment({"PMI_RANK": "0"}, ("mpi", 2)),
    "another rank of Intel MPI": Environment({"MPI_LOCALRANKID": "1"}, ("mpi", 2)),
    "another rank of PMIx": Environment({"PMIX_RANK": "1"}, ("mpi", 2)),
    "malformed PMI_SIZE": Environment({"PMI_RANK": "0", "PMI_SIZE": "two"}, ("mpi", 2), {"PMI_SIZE"}),
    "tcp, each rank with a launcher of its own": Environment(
        {"PMI_RANK": "0", "PMI_SIZE": "1", "COBRE_TCP_RANK": "1", "COBRE_TCP_SIZE": "2"},
        ("tcp", 2),
        {"COBRE_TCP_COORDINATOR", "COBRE_TCP_SECRET"},
    ),
    "srun": Environment({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2", "SLURM_JOB_ID": "7"}, ("mpi", 2)),
    "sbatch": Environment({"SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_JOB_ID": "7"}),
    "srun of one task": Environment({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_JOB_ID": "7"}),
}
for complete, backend in ((SHM, "shm"), (TCP, "tcp")):
    for variable in complete:
        # Without its rank 0 a tcp group needs everything that another rank does.
        others = {"COBRE_TCP_COORDINATOR"} if variable == "COBRE_TCP_RANK" else set()
        absent = others | {variable}
        if variable == "COBRE_TCP_SIZE":
            absent |= {"COBRE_TCP_SECRET"}
        ENVIRONMENTS[f"no {variable}"] = Environment(without(complete, variable), (backend, 1), absent)
        malformed = Environment({**complete, variable: "one"}, (backend, 1), absent)
        ENVIRONMENTS[f"malformed {variable}"] = malformed

NAMES = (None, "auto", "local", "shm", "tcp", "mpi", "smh")
ARGUMENTS = tuple(itertools.product(("auto", "local", "shm", "tcp", "mpi", "smh"), (None, 1)))


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    return cobre.CaseLoader.load(copy("one-reservoir", tmp_path_factory.mktemp("cases") / "case", **SETTINGS))


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for variable in list(os.environ):
        if variable.startswith(FOREIGN):
            monkeypatch.delenv(variable)
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.setattr("cobre.cli._exit.PATIENCE_S", 0.0)


def set_up(monkeypatch, named, environment, within=SOON):
    for name, value in {**within, **environment.variables}.items():
        monkeypatch.setenv(name, value)
    if named is not None:
        monkeypatch.setenv("COBRE_COMM_BACKEND", named)


def outcome_of(train):
    """Return the topology of a training and None, or None and the refusal."""
    try:
        return train().engine.topology, None
    except BackendError as refusal:
        return None, refusal


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
@pytest.mark.parametrize("named", NAMES)
def test_python_joins_what_was_asked_for_or_refuses(monkeypatch, case, named, environment):
    """Every environment with every argument, without workers to start."""
    set_up(monkeypatch, named, environment)
    for backend, workers in ARGUMENTS:
        told = f"{backend=} {workers=}"
        topology, refusal = outcome_of(lambda: cobre.train(case, backend=backend, num_workers=workers))  # noqa: B023
        asked = backend if backend != "auto" else named
        if refusal:
            assert asked != "local", told
            assert asked not in {None, "auto"} or environment.several, told
            if isinstance(refusal, MissingConfiguration) and refusal.backend == (environment.group or " ")[0]:
                assert set(refusal.variables) == environment.wrong, told
            continue
        assert backend != "smh", told
        got = (topology.backend, topology.size)
        if "local" in {backend, named if backend == "auto" or workers == 1 else None}:
            assert got == ("local", 1), told
            continue
        assert not environment.several, told
        asked = None if asked == "auto" else asked
        if environment.group is None:  # nothing says several, and then one worker is this process
            assert got == ("local", 1), told
            assert asked is None or workers == 1, told
        else:
            assert got == environment.group, told
            assert asked in {None, environment.group[0]}, told


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_the_engine_works_alone_only_where_nothing_else_was_asked_for(monkeypatch, case, environment):
    """`sddp.train` joins nothing by itself: whatever asks for a group is refused, and says how to go on."""
    problem = Study.of(case).problem
    set_up(monkeypatch, None, environment)
    own = environment.group[0] if environment.group else "auto"
    for named, backend in itertools.product(NAMES, ("auto", "local", "shm", "tcp", "mpi")):
        monkeypatch.setenv("COBRE_COMM_BACKEND", named or "auto")
        asked = backend if backend != "auto" else named or "auto"
        alone = asked == "local" or (asked in {"auto", own} and not environment.several)
        if named == "smh":
            alone = backend == "local"
        told = f"{named=} {backend=}"
        try:
            assert sddp.train(problem, 1, trajectories=1, backend=backend).iterations == 1
        except BackendError:
            assert not alone, told
        else:
            assert alone or named == "local" == backend, told


@pytest.mark.parametrize(
    ("named", "backend", "environment", "outcome"),
    [
        (None, "auto", "nothing", "shm"),
        (None, "tcp", "nothing", "tcp"),
        ("tcp", "auto", "nothing", "tcp"),
        ("tcp", "shm", "nothing", "shm"),
        ("local", "shm", "two ranks of MPICH", "shm"),
        (None, "auto", "sbatch", "shm"),
        ("local", "auto", "nothing", InitializationFailed),
        (None, "local", "nothing", InitializationFailed),
        ("mpi", "auto", "nothing", BackendError),
        (None, "mpi", "nothing", BackendError),
        ("smh", "auto", "nothing", InvalidBackend),
        (None, "auto", "two ranks of MPICH", InitializationFailed),
        (None, "shm", "two ranks of Open MPI", InitializationFailed),
        ("shm", "auto", "srun", InitializationFailed),
        (None, "auto", "shm, one of two", InitializationFailed),
        ("shm", "shm", "tcp, one of two", InitializationFailed),
        (None, "auto", "no COBRE_SHM_RANK", MissingConfiguration),
        (None, "shm", "no COBRE_TCP_SIZE", MissingConfiguration),
    ],
)
def test_workers_are_those_that_were_asked_for(  # noqa: PLR0917
    monkeypatch, case, named, backend, environment, outcome
):
    set_up(monkeypatch, named, ENVIRONMENTS[environment], within={})
    if isinstance(outcome, str):
        topology = cobre.train(case, backend=backend, num_workers=2).engine.topology
        assert (topology.backend, topology.size) == (outcome, 2)
    else:
        with pytest.raises(outcome):
            cobre.train(case, backend=backend, num_workers=2)


def test_a_group_may_be_described_by_arguments(monkeypatch, case):
    """Equal to the variables, which they take precedence over."""
    topology = cobre.train(case, rank=0, size=1).engine.topology
    assert (topology.backend, topology.size) == ("tcp", 1)
    monkeypatch.setenv("COBRE_TCP_SIZE", "7")
    monkeypatch.setenv("COBRE_COMM_BACKEND", "shm")
    assert cobre.train(case, rank=0, size=1).engine.topology.backend == "tcp"
    with pytest.raises(MissingConfiguration) as raised:
        cobre.train(case, coordinator="node-1", size=2)
    assert raised.value.variables == ("COBRE_TCP_RANK", "COBRE_TCP_SECRET")
    for others in ({"num_workers": 2}, {"backend": "shm"}):
        with pytest.raises(
            InitializationFailed, match="coordinator, rank and size describe a group to join, but"
        ):
            cobre.train(case, rank=0, size=1, **others)


TWO_RANKS = """
import sys, cobre
case, output, rank, port = sys.argv[1:]
import os; os.environ["COBRE_TCP_PORT"] = port
group = {"coordinator": "127.0.0.1", "rank": int(rank), "size": 2}
os.environ["COBRE_TCP_BIND_ADDR"] = "127.0.0.1"
result = cobre.train(case, **group)
os.environ["COBRE_TCP_PORT"] = str(int(port) + 1)
settings = {"simulation": {"enabled": True, "num_scenarios": 2}}
simulated = cobre.simulate(case, result, settings, output=output, **group)
os.environ["COBRE_TCP_PORT"] = str(int(port) + 2)
done = cobre.run(case, output=output, **group)
print(result.engine.topology, result.final_lower_bound, simulated.mean_cost, done.training.final_lower_bound)
"""


def test_ranks_described_by_arguments_work_together(case, tmp_path):
    """Each function of two processes without a launcher, as on two machines."""
    arguments = [str(case.folder), str(tmp_path / "out")]
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", TWO_RANKS, *arguments, str(rank), "29781"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    told = [rank.communicate(timeout=DEADLINE_S)[0] for rank in ranks]
    assert told[0] == told[1]
    assert told[0].startswith("tcp, 2 ranks on 1 host")
    assert str(cobre.train(case).final_lower_bound) in told[0]


@pytest.mark.parametrize("named", [None, "tcp", "shm", "mpi", "smh"])
@pytest.mark.parametrize(
    "environment",
    [
        "nothing",
        "tcp, other rank",
        "two ranks of MPICH",
        "srun",
        "no COBRE_SHM_RANK",
        "malformed COBRE_TCP_RANK",
    ],
)
@pytest.mark.parametrize("options", [[], ["--workers", "2"], ["--backend", "tcp"]], ids=" ".join)
def test_the_command_refuses_before_it_writes(  # noqa: PLR0917
    monkeypatch, case, tmp_path, named, environment, options
):
    """With exit code 2 and the words of the same errors, or it does what was asked for."""
    set_up(monkeypatch, named, ENVIRONMENTS[environment], within={})
    output = tmp_path / "out"
    code, _, err = command("run", case.folder, "--output", output, "--quiet", *options)
    alone_is_fine = environment == "nothing" and named is None and options != ["--backend", "tcp"]
    starts = environment == "nothing" and named in {None, "tcp", "shm"} and options == ["--workers", "2"]
    assert (code == 0) == (alone_is_fine or starts), err
    if code:
        assert code == 2
        assert not output.exists()
        assert len(re.findall(r"^error( on rank \d)?: ", err, re.MULTILINE)) == 1


def test_srun_without_mpi_fails_once_for_all_ranks(case, tmp_path):
    """As SLURM starts two tasks, mpi4py being absent: one message, no results, no rank that runs alone."""
    hide_mpi4py(tmp_path)
    output = tmp_path / "out"
    variables = {"SLURM_STEP_NUM_TASKS": "2", "SLURM_JOB_ID": "7", "PYTHONPATH": str(tmp_path)}
    tasks = [
        subprocess.Popen(
            [*COBRE, "run", str(case.folder), "--output", str(output)],
            env={**os.environ, **variables, "SLURM_PROCID": str(number)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    errors = [task.communicate(timeout=DEADLINE_S)[1] for task in tasks]
    assert [task.returncode for task in tasks] == [2, 2]
    assert sum("error: backend 'mpi' cannot run here" in words for words in errors) == 1
    assert "pip install 'cobre-parallel[mpi]'" in errors[0]
    assert not output.exists()


def hide_mpi4py(folder):
    """Let Python processes with this folder on their path believe that mpi4py is not installed."""
    (folder / "sitecustomize.py").write_text("import sys\nsys.modules['mpi4py'] = None\n")


LAUNCHED = """
import cobre, sys
heard = []
result = cobre.train(sys.argv[1], progress_callback=lambda event: heard.append(event.worker_id))
cobre.simulate(sys.argv[1], result, {"simulation": {"enabled": True, "num_scenarios": 1}}, output=sys.argv[2])
print(result.engine.topology, result.final_lower_bound, "heard", heard)
"""


def one_rank_hears_all(out):
    """Whether the callback of rank 0 has had an event of both ranks, and that of the other rank none."""
    return (out.count("heard [0, 1]"), out.count("heard []")) == (1, 1)


@pytest.mark.parametrize("extra", [True, False], ids=["with mpi4py", "without"])
def test_mpiexec_joins_or_refuses(  # noqa: PLR0917
    monkeypatch, mpiexec, case, tmp_path, start_process, extra
):
    """The command and a script under real launchers, with the extra and without it."""
    if not extra:
        hide_mpi4py(tmp_path)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    launcher = mpiexec.launcher
    output, script = tmp_path / "out", tmp_path / "script.py"
    script.write_text(LAUNCHED)  # MPICH's launcher loses lines of an argument
    for program in (
        [*COBRE, "run", str(case.folder), "--output", str(output)],
        [sys.executable, str(script), str(case.folder), str(output)],
    ):
        process = start_process(str(launcher.mpiexec), *launcher.options, "-n", "2", *program)
        out, err = process.communicate(timeout=DEADLINE_S)
        if extra:
            assert process.returncode == 0, err
            assert any(output.rglob("*.cobre"))
        else:
            assert process.returncode != 0
            assert "COBRE_COMM_BACKEND=local if each process is meant to run alone" in err
            assert not output.exists()
    if extra:  # the last program was the script
        assert "mpi, 2 ranks" in out
        assert one_rank_hears_all(out)


SCRIPT = (sys.executable, "-c", LAUNCHED)
RUN = (*COBRE, "run")


@pytest.mark.parametrize(
    ("named", "options", "program", "outcome"),
    [
        (None, (), SCRIPT, "shm, 2 ranks"),
        ("tcp", (), SCRIPT, "tcp, 2 ranks"),
        ("tcp", ("--backend", "shm"), SCRIPT, "shm, 2 ranks"),
        (None, ("--env", "COBRE_COMM_BACKEND=local"), SCRIPT, "shm, 2 ranks"),
        ("local", (), SCRIPT, "backend 'local' could not start"),
        ("mpi", (), SCRIPT, "backend 'mpi' cannot run here"),
        ("smh", (), SCRIPT, "'smh' is not a backend"),
        (None, (), (*RUN, "--workers", "2"), r"cannot start 2 workers"),
        (None, (), (*RUN, "--backend", "tcp"), r"COBRE_TCP_RANK is not set"),
    ],
)
def test_ranks_of_cobre_launch_join_or_are_refused(  # noqa: PLR0917
    monkeypatch, case, tmp_path, named, options, program, outcome
):
    if named:
        monkeypatch.setenv("COBRE_COMM_BACKEND", named)
    where = (
        (case.folder, tmp_path / "out") if program is SCRIPT else (case.folder, "--output", tmp_path / "out")
    )
    code, out, err = command("launch", "-n", "2", *options, "--", *program, *where)
    if outcome.endswith("ranks"):
        assert code == 0, err
        assert out.count(outcome) == 2
        assert one_rank_hears_all(out)
    else:
        assert code == 2
        assert outcome in out + err
        assert not (tmp_path / "out").exists()
