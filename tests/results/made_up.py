"""Runs that nobody made: a system, iterations and tables with the right columns and any numbers."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa

from cobre import case, results
from tests.case.folders import write
from tests.case.valid_case import valid

STATES = ("storage:0", "storage:1", "inflow:0:1")


def made_up_run(folder):
    """A run of the case that is right, written to ``folder``."""
    read = case.load(write(folder, valid()))
    return results.RunDescription(
        read.system,
        STATES,
        seed=7,
        settings=read.config.model_dump(mode="json", by_alias=True),
        topology=results.RunTopology("shm", ranks=2, threads=3, hosts=("b", "a", "b")),
        case=folder,
    )


def iteration(number, *, bound=None, ranks=2):
    times = [
        SimpleNamespace(
            rank=rank,
            forward_s=0.5,
            backward_s=0.75,
            communication_s=0.125,
            solving_s=2.0,
            solves=40,
            trajectories=5,
            waiting_s=0.0625,
        )
        for rank in range(ranks)
    ]
    return SimpleNamespace(
        iteration=number,
        bound=100.0 + number if bound is None else bound,
        estimate=SimpleNamespace(mean=150.0, standard_deviation=5.0, count=10),
        cuts_added=20,
        cuts_revived=0,
        cuts_active=20 * number - number,
        programmes=70,
        solves=80,
        simplex_iterations=999,
        retries=1,
        forward_s=0.5,
        backward_s=0.75,
        selection_s=0.25,
        seconds=2.0 * number,
        ranks=tuple(times),
        risk_neutral=True,
    )


def made_up_log(iterations=3):
    log = results.TrainingLog()
    for number in range(1, iterations + 1):
        log.add(iteration(number))
    return log


def made_up_tables(scenarios, names=("costs", "hydros", "violations/generic"), rows=4):
    """Tables whose numbers depend on the scenario, the row and the column alone; violations have no rows."""
    tables = {}
    for name in names:
        each = 0 if name.startswith("violations") else rows
        numbers = np.repeat(np.asarray(scenarios, np.int32), each)
        columns = {"scenario_id": pa.array(numbers, pa.int32())}
        described = results.cost_columns({"hydro"}) if name == "costs" else results.SIMULATION[name]
        for place, field in enumerate(results.schema_of(described)):
            values = (numbers * 7 + np.tile(np.arange(each), len(scenarios)) + place) % 100
            columns[field.name] = pa.array(values).cast(field.type)
        fields = [pa.field("scenario_id", pa.int32(), False), *results.schema_of(described)]
        tables[name] = pa.table(columns).cast(pa.schema(fields))
    return tables


def write_all(writer, run, scenarios, *, iterations=3):
    """A whole run."""
    writer.begin(run)
    writer.policy_path.write_bytes(b"a policy")
    writer.finish(made_up_log(iterations), "the iteration limit of 3 is reached")
    writer.begin_simulation(scenarios, run.topology)
    write_scenarios(writer, range(scenarios))
    writer.finish_simulation()


def write_scenarios(writer, scenarios, **tables):
    """Some scenarios of a simulation that has begun."""
    with writer.scenarios() as writing:
        writing.write(made_up_tables(scenarios, **tables))


def contents(folder):
    """All files of a folder, hidden ones too."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
