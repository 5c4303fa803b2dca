"""Case folders: a hydrothermal study as JSON and Parquet files, in the format of Cobre 0.5.

`load` reads a folder and resolves it: penalties of a stage count before those of an entity, and those
before the ones of all; bounds may differ by stage; what is not in service has no capacity. Everything that
is wrong is found at once, and raised as one `cobre.errors.CaseError`. `schemas` has JSON Schemas for editors,
`create` makes a folder to begin with.
"""

from cobre.case._case import Case, load
from cobre.case._layout import DOCUMENTS, FILE_DESCRIPTIONS, REQUIRED_FILES, TABLE_COLUMNS
from cobre.case._openings import (
    CLASSES,
    correlations_of,
    given_values,
    noise_columns,
    noise_of,
)
from cobre.case._scenarios import (
    CorrelationGroup,
    External,
    InflowHistory,
    NoiseCorrelation,
    NoiseEntity,
    Scenarios,
)
from cobre.case._schemas import EDITOR_SETTINGS, schemas, write_schemas
from cobre.case._stochastic import StochasticInputs, stochastic_files
from cobre.case._summary import BusSummary, CaseSummary, HydroSummary, graph_words, summary
from cobre.case._templates import DEFAULT_TEMPLATE, Template, create, templates
from cobre.case._windows import RESIDUALS, Window, chosen_windows, usable_windows
from cobre.errors import CaseError, Finding
from cobre.inputs.config import Config, CutSelection, ScenarioSource, Training

__all__ = [
    "CLASSES",
    "DEFAULT_TEMPLATE",
    "DOCUMENTS",
    "EDITOR_SETTINGS",
    "FILE_DESCRIPTIONS",
    "REQUIRED_FILES",
    "RESIDUALS",
    "TABLE_COLUMNS",
    "BusSummary",
    "Case",
    "CaseError",
    "CaseSummary",
    "Config",
    "CorrelationGroup",
    "CutSelection",
    "External",
    "Finding",
    "HydroSummary",
    "InflowHistory",
    "NoiseCorrelation",
    "NoiseEntity",
    "ScenarioSource",
    "Scenarios",
    "StochasticInputs",
    "Template",
    "Training",
    "Window",
    "chosen_windows",
    "correlations_of",
    "create",
    "given_values",
    "graph_words",
    "load",
    "noise_columns",
    "noise_of",
    "schemas",
    "stochastic_files",
    "summary",
    "templates",
    "usable_windows",
    "write_schemas",
]
