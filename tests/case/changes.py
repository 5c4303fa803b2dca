"""Changes to a case that is right, and a look at what they lead to."""

import copy

import pytest

from cobre import case
from cobre.case import CaseError
from tests.case import folders
from tests.case.valid_case import valid

CONFIG, STAGES, PENALTIES, INITIAL = "config.json", "stages.json", "penalties.json", "initial_conditions.json"
BUSES, LINES, HYDROS, THERMALS = (f"system/{name}.json" for name in ("buses", "lines", "hydros", "thermals"))
SOURCES = "system/non_controllable_sources.json"
BATTERIES, BATTERY_BOUNDS = "system/batteries.json", "constraints/battery_bounds.parquet"
STATIONS, CONTRACTS = "system/pumping_stations.json", "system/energy_contracts.json"
PRODUCTION, GEOMETRY = "system/hydro_production_models.json", "system/hydro_geometry.parquet"
PLANES = "system/fpha_hyperplanes.parquet"
INFLOWS, COEFFICIENTS = "scenarios/inflow_seasonal_stats.parquet", "scenarios/inflow_ar_coefficients.parquet"
LOADS, AVAILABILITY = "scenarios/load_seasonal_stats.parquet", "scenarios/non_controllable_stats.parquet"
OPENINGS, CORRELATION = "scenarios/noise_openings.parquet", "scenarios/correlation.json"
GENERIC, GENERIC_BOUNDS = (
    "constraints/generic_constraints.json",
    "constraints/generic_constraint_bounds.parquet",
)
THERMAL_BOUNDS, HYDRO_BOUNDS = "constraints/thermal_bounds.parquet", "constraints/hydro_bounds.parquet"
EXCHANGE, LOAD_FACTORS = "constraints/exchange_factors.json", "scenarios/load_factors.json"


def at(file, path, value):
    """A change of one value; an index just beyond the end of a list appends to it."""

    def change(files):
        here = files[file]
        *steps, last = path.split(".")
        for step in steps:
            here = here[int(step) if isinstance(here, list) else step]
        if isinstance(here, list) and int(last) == len(here):
            here.append(value)
        else:
            here[int(last) if isinstance(here, list) else last] = value

    return change


def without(file, path=None):
    def change(files):
        if path is None:
            del files[file]
            return
        here = files[file]
        *steps, last = path.split(".")
        for step in steps:
            here = here[int(step) if isinstance(here, list) else step]
        del here[int(last) if isinstance(here, list) else last]

    return change


def no_last_row(file):
    def change(files):
        files[file] = {name: values[:-1] for name, values in files[file].items()}

    return change


def more_rows(file):
    def change(files):
        files[file] = {name: [*values, values[-1]] for name, values in files[file].items()}

    return change


def content(file, text):
    return lambda files: files.update({file: text})


def findings(folder, *changes):
    """What is wrong with the case after the changes."""
    files = copy.deepcopy(valid())
    for change in changes:
        change(files)
    with pytest.raises(CaseError) as raised:
        case.load(folders.write(folder, files))
    return raised.value.findings


def assert_found(folder, expected):
    """The change leads to a finding with that kind and file, and these parts of a field and a message."""
    change, kind, file, field, message = expected
    found = findings(folder, change)
    assert any(
        one.kind == kind and one.file == file and field in one.field and message in one.message
        for one in found
    ), [str(one) for one in found]
