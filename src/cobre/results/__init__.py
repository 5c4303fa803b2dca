"""Results of a run on disk: schema, writer and reader.

The folder has the layout, the tables and the columns of Cobre's output format 2.0;
``docs/reference/outputs.md`` tells where it differs.
"""

from cobre.elements.tables import Column
from cobre.results._columns import schema_of
from cobre.results._files import write_bytes
from cobre.results._layout import LAYOUTS, Layout, LayoutName
from cobre.results._lock import exclusive_output
from cobre.results._manifest import RunDescription, RunTopology
from cobre.results._reader import Results, read
from cobre.results._scenarios import ScenarioWriter
from cobre.results._simulation_tables import POLICY_STAGE, SIMULATION, cost_columns, cost_components
from cobre.results._solved import (
    SOLVED_POLICY,
    SolvedProblem,
    begin_solved,
    is_solved,
    read_solved,
    write_solved,
)
from cobre.results._training_log import TrainingLog
from cobre.results._training_tables import TRAINING
from cobre.results._writer import Writer

__all__ = [
    "LAYOUTS",
    "POLICY_STAGE",
    "SIMULATION",
    "SOLVED_POLICY",
    "TRAINING",
    "Column",
    "Layout",
    "LayoutName",
    "Results",
    "RunDescription",
    "RunTopology",
    "ScenarioWriter",
    "SolvedProblem",
    "TrainingLog",
    "Writer",
    "begin_solved",
    "cost_columns",
    "cost_components",
    "exclusive_output",
    "is_solved",
    "read",
    "read_solved",
    "schema_of",
    "write_bytes",
    "write_solved",
]
