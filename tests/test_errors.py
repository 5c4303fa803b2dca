"""Every error survives the way to another process, fields and words included."""

import pickle

import pytest

from cobre import errors

EXAMPLES = [
    errors.CollectiveFailed("allgatherv", "rank 2 (pid 4711) exited; read its own traceback first", 15),
    errors.InvalidBufferSize("allreduce", 4, 3, "recv differs from send"),
    errors.InvalidRoot(5, 2),
    errors.InvalidCommunicator("this communicator was closed; create a new one"),
    errors.AllocationFailed(1 << 40, "the machine has less"),
    errors.BackendNotAvailable(
        "mpi", "mpi4py is not installed", "pip install 'cobre-parallel[mpi]'", ["local"]
    ),
    errors.InvalidBackend("sockets", ["local", "shm"], "COBRE_COMM_BACKEND"),
    errors.InitializationFailed("tcp", "port 29500 is in use"),
    errors.MissingConfiguration("shm", [errors.ConfigurationProblem("COBRE_SHM_RANK", "a rank", None, "0")]),
    errors.WorkerError(2, exit_code=7),
    errors.InvalidProblem(["node 'a': the cost of column 'x' is nan", "there are no realisations"]),
    errors.SolveError("infeasible", "a", 3, {"volume": 10.0}, "infeasible_node_a_realisation_3.mps", 1),
    errors.BoundError(7, "a", 112.0, 100.0, "cut_3_node_a_realisation_0.mps", 3, 6),
    errors.PolicyFileError("a.policy", "it is truncated"),
    errors.OutputError("out/training/_manifest.json", "No space left on device"),
    errors.ResultsError("out", "missing", "there is no training/_manifest.json; check the path"),
    errors.CaseError(
        [
            errors.Finding("missing_file", "stages.json", "", "", None, "the file is missing", "add it"),
            errors.Finding("meaning", "system/buses.json", "bus 3", "buses[0].id", 3, "is odd"),
            errors.Finding("meaning", "system/buses.json", "", "", None, "there are no buses"),
        ],
        "my_case",
    ),
    errors.InvalidChoice("hydro", "Lakes", ["Lake", "River", "Sea"]),
    errors.MissingExtra("figures", "report"),
]

#: The same error in its other forms.
WORKER_ERRORS = [
    errors.WorkerError(1, signal=9),
    errors.WorkerError(1, signal=60),
    errors.WorkerError(0, 1, errors.InvalidRoot(5, 2)),
    errors.WorkerError(0, 3, SystemExit(3)),
    errors.WorkerError(3, inner=TimeoutError("was still running after 5 s")),
]


@pytest.mark.parametrize("error", EXAMPLES + WORKER_ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_survives_pickling(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert repr(vars(copy)) == repr(vars(error))  # an exception inside equals no other
    assert repr(copy.__cause__) == repr(error.__cause__)
    assert str(copy) == str(error)


def test_the_examples_are_all_there_are():
    """A new error needs an example here, and the families stay as small as the contract says."""
    families = (errors.CommError, errors.BackendError, errors.ValidationError, errors.SolverError)
    families += (errors.IOError,)
    leaves = {leaf for family in families for leaf in family.__subclasses__()}
    alone = {errors.WorkerError, errors.MissingExtra}
    assert leaves | alone == {type(example) for example in EXAMPLES}
    assert set(errors.CobreError.__subclasses__()) == {*families, *alone}


#: Kinds of the registry that implementations of Cobre share.
KINDS = """
    MissingFile ParseError SchemaViolation TypeMismatch OutOfRange InvalidEnum DuplicateId MissingReference
    CoverageMismatch StageMismatch IncompatibleSettings PhysicalConstraint CapacityViolation
    PenaltyConsistency SolverFailure MpiError CheckpointFailed OutputCorrupted OutputNotFound IncompatibleRuns
    WorkerFailed
"""


@pytest.mark.parametrize("error", EXAMPLES + WORKER_ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_has_four_fields_for_programs(error):
    error.add_note("which is no field")
    record = error.record()
    assert list(record) == ["kind", "message", "context", "suggestion"]
    assert record["kind"] in KINDS.split()
    assert record["message"] in str(error)
    assert record["suggestion"] is None or record["suggestion"]
    assert record["context"]["class"] == type(error).__name__
    assert not any(name.startswith("_") for name in record["context"])
    copy = pickle.loads(pickle.dumps(error))
    assert repr(copy.record()) == repr(record)


def test_the_fields_have_the_names_of_the_registry():
    context = {type(error): error.context for error in EXAMPLES}
    assert context[errors.CollectiveFailed]["error_code"] == 15
    assert context[errors.InvalidBackend] == {
        "class": "InvalidBackend",
        "requested_value": "sockets",
        "available_backends": ("local", "shm"),
        "setting": "COBRE_COMM_BACKEND",
    }
    assert context[errors.BackendNotAvailable]["available_backends"] == ("local",)
    assert context[errors.MissingConfiguration]["missing_variables"] == ("COBRE_SHM_RANK",)
    assert context[errors.SolveError] == {
        "class": "SolveError",
        "solver_status": "infeasible",
        "stage": "a",
        "opening": 3,
        "state": {"volume": 10.0},
        "saved": "infeasible_node_a_realisation_3.mps",
        "rank": 1,
    }
    assert context[errors.CaseError]["file"] == "stages.json"
    inner = errors.WorkerError(2, 1, errors.InvalidRoot(5, 2)).context["inner"]
    assert inner == errors.InvalidRoot(5, 2).record()


def test_kind_and_suggestion_say_more_where_the_class_has_several():
    assert (
        errors.InitializationFailed("shm", "fork", kind="IncompatibleSettings").kind == "IncompatibleSettings"
    )
    assert errors.InitializationFailed("tcp", "port 29500 is in use").kind == "MpiError"
    statuses = {"missing": "OutputNotFound", "incomplete": "OutputNotFound", "damaged": "OutputCorrupted"}
    for status, kind in statuses.items():
        assert errors.ResultsError("out", status, "why").kind == kind
    assert [error.kind for error in EXAMPLES if isinstance(error, errors.CaseError)] == ["MissingFile"]
    suggestions = {type(error): error.suggestion for error in EXAMPLES}
    assert suggestions[errors.CaseError] == "add it"
    assert suggestions[errors.BackendNotAvailable] == "pip install 'cobre-parallel[mpi]'"
    assert suggestions[errors.MissingConfiguration] == "set COBRE_SHM_RANK (for example 0)"
    assert suggestions[errors.SolveError].startswith("Every node must be feasible")
    assert suggestions[errors.PolicyFileError] is None


def test_the_words_say_what_happened_and_what_to_do():
    assert [str(example) for example in EXAMPLES + WORKER_ERRORS] == [
        "allgatherv: rank 2 (pid 4711) exited; read its own traceback first (MPI error 15)",
        "allreduce: recv differs from send: expected 4, got 3",
        "broadcast: root 5 is not a rank; this communicator has ranks 0 to 1",
        "this communicator was closed; create a new one",
        "cannot allocate a region of 1,099,511,627,776 bytes: the machine has less",
        "backend 'mpi' cannot run here: mpi4py is not installed; pip install 'cobre-parallel[mpi]'",
        "COBRE_COMM_BACKEND='sockets' is not a backend; choose one of local, shm",
        "backend 'tcp' could not start: port 29500 is in use",
        "backend 'shm' is not configured:\n"
        "  - COBRE_SHM_RANK is not set; it should hold a rank, for example 0",
        "rank 2 exited with code 7",
        "the problem is not valid; 2 findings:\n"
        "  - node 'a': the cost of column 'x' is nan\n"
        "  - there are no realisations",
        "rank 1: node 'a', realisation 3, incoming state volume = 10: the programme is infeasible. "
        "Every node must be feasible for every state that previous nodes can reach (relatively complete "
        "recourse). Add a slack column with a high cost to rows that may be violated, or tighten the bounds "
        "of the states. The programme was saved to infeasible_node_a_realisation_3.mps.",
        "in iteration 7, cut 3 of node 'a' is 112, but the recomputed value is 100. A programme was solved "
        "inaccurately in iteration 6. Resume from an earlier checkpoint, or start again in units with "
        "coefficients between 1e-3 and 1e6: a wide range of them is the usual cause. The programme was saved "
        "to cut_3_node_a_realisation_0.mps.",
        "a.policy: it is truncated",
        "out/training/_manifest.json cannot be written: No space left on device. Free disk space, "
        "check permissions, or choose another output folder; finished results are kept, and the manifest has "
        "the state of the run",
        "out: there is no training/_manifest.json; check the path",
        "my_case is not valid; 3 findings:\n"
        "  stages.json\n"
        "    - the file is missing; add it\n"
        "  system/buses.json\n"
        "    - bus 3, buses[0].id: is odd\n"
        "    - there are no buses",
        "unknown hydro 'Lakes'; did you mean Lake?",
        "dependencies of figures are missing: pip install 'cobre-parallel[report]'",
        "rank 1 was killed by SIGKILL (signal 9)",
        "rank 1 was killed by signal 60",
        "rank 0 raised InvalidRoot: broadcast: root 5 is not a rank; this communicator has ranks 0 to 1",
        "rank 0 exited with code 3",
        "rank 3 was still running after 5 s",
    ]
