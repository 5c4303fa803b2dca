"""The stochastic model of a case: where it comes from, and its numbers as files that a case may have.

A case that has these files in its folder ``scenarios`` has the same model, and fits and draws nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]

from cobre.case._correlation import FILE as CORRELATION
from cobre.case._correlation import CorrelationFile
from cobre.case._layout import OPENINGS
from cobre.case._openings import openings_of
from cobre.case._scenarios import NoiseCorrelation, noise_entities
from cobre.elements.bus.data import Bus
from cobre.elements.bus.inputs import STATISTICS as LOADS
from cobre.elements.hydro.inputs.estimation import Estimation, Statistics
from cobre.elements.hydro.inputs.files import COEFFICIENTS, HISTORY, STATISTICS
from cobre.elements.hydro.inputs.inflow import Inflows
from cobre.elements.hydro.inputs.models import HydroInput
from cobre.inputs.files import CaseFiles
from cobre.inputs.tables import TableFile
from cobre.stochastic import SeasonModel
from cobre.system import System

if TYPE_CHECKING:
    from cobre.case._case import Case

_FITTING_REPORT = "fitting_report.json"
#: Whether inflows have a history, statistics and coefficients → what the format calls that.
_PATHS = {
    (False, True, False): "user_stats_white_noise",
    (False, True, True): "user_provided_no_history",
    (True, False, False): "full_estimation",
    (True, False, True): "user_ar_history_stats",
    (True, True, False): "partial_estimation",
    (True, True, True): "user_provided_all",
}
_ARROW = {"id": pa.int32(), "number": pa.float64()}
#: Columns that the original program only reads if they are unsigned.
_UNSIGNED = ("opening_index", "entity_index")


@dataclass(frozen=True, eq=False)
class StochasticInputs:
    """The parts of the stochastic model as the files of a case give them.

    Attributes:
        provenance: where each of them comes from, as ``model_provenance.json`` has it.
        files: tables and contents of JSON files, as far as the system does not have them; none unless they
            are to be exported.
    """

    provenance: Mapping[str, Any]
    files: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, files: CaseFiles) -> StochasticInputs:
        """Those of files that were found to be right."""
        wanted = files.config is not None and files.config.exports.stochastic
        return cls(_provenance(files), _inputs(files) if wanted else {})


def _provenance(files: CaseFiles) -> dict[str, Any]:
    """Each part is from a file of the user, estimated, or not applicable."""
    history, statistics, lags = (files.has(table) for table in (HISTORY, STATISTICS, COEFFICIENTS))
    hydros, fitted = files.of(HydroInput), history and not lags
    inflows = files.derived(Inflows)
    models = inflows.estimation.models if inflows.estimation else {}

    def source(given: bool, made: bool) -> str:
        return "user_file" if given else "estimated" if made else "n/a"

    method = "PACF" if fitted else "user_provided" if history and not statistics else None
    return {
        "estimation_path": _PATHS.get((history, statistics, lags), "deterministic"),
        "seasonal_stats_source": source(statistics, history),
        "ar_coefficients_source": source(lags, history),
        "correlation_source": source(CORRELATION in files.documents, inflows.estimation is not None),
        "opening_tree_source": source(files.has(OPENINGS), bool(noise_entities(files))),
        "n_hydros": len(hydros),
        "ar_method": method,
        "ar_max_order": max(map(_order, models.values()), default=0) if fitted else None,
        "white_noise_fallbacks": [],  # a plant that nothing can be fitted to is an error here
    }


def stochastic_files(case: Case) -> dict[str, Any]:
    """Return the model as files that the folder ``scenarios`` of a case may have, by their names there.

    They are Arrow tables, and the contents of JSON files.
    """
    found = dict(case.stochastic.files)
    if case.scenarios.entities:
        found[_name(OPENINGS)] = _openings(case)
    if any(bus.load_std_mw.any() for bus in case.system.of(Bus)):
        found[_name(LOADS)] = _loads(case.system)
    found.setdefault(_name_of(CORRELATION), _correlation(case.system, case.scenarios.correlation))
    return found


def _inputs(files: CaseFiles) -> dict[str, Any]:
    inflows, given = files.derived(Inflows), files.document(CORRELATION, CorrelationFile)
    lags = (
        (hydro, stage, lag, *numbers)
        for (hydro, stage), own in sorted(inflows.coefficients.items())
        for lag, numbers in sorted(own.items())
    )
    moments = ((*key, *numbers) for key, numbers in sorted(_statistics(files, inflows).items()))
    found: dict[str, Any] = {
        _name(STATISTICS): _table(STATISTICS, moments),
        _name(COEFFICIENTS): _table(COEFFICIENTS, lags),
    }
    if inflows.estimation is not None and not files.has(COEFFICIENTS):
        found[_FITTING_REPORT] = _fitting_report(inflows.estimation)
    if given is not None:
        found[_name_of(CORRELATION)] = given.model_dump(mode="json", by_alias=True, exclude={"schema_"})
    return found


def _statistics(files: CaseFiles, inflows: Inflows) -> Statistics:
    """The statistics, with those that fitted lags need of stages before the study."""
    found, fitted = dict(inflows.statistics), inflows.estimation
    cycle, first = inflows.stages.cycle, inflows.timeline.seasons[0]
    if fitted is None or files.has(STATISTICS) or first not in cycle:
        return found
    for hydro, model in fitted.models.items():
        for back in range(1, inflows.order + 1):
            season = model[(cycle.index(first) - back) % len(cycle)]
            number = min(inflows.timeline.ids[0], 0) - back
            found.setdefault((hydro, number), (season.mean_m3s, season.std_m3s))
    return found


def _fitting_report(fitted: Estimation) -> dict[str, Any]:
    hydros = {
        str(hydro): {
            "selected_order": _order(model),
            "coefficients": [season.coefficients.tolist() for season in model],
        }
        for hydro, model in fitted.models.items()
    }
    return {"hydros": hydros}


def _order(model: Iterable[SeasonModel]) -> int:
    return max(len(season.coefficients) for season in model)


def _openings(case: Case) -> pa.Table:
    rows = (
        (stage.id, k, entity, value)
        for stage, noise in zip(case.system.stages, openings_of(case), strict=True)
        for k, row in enumerate(noise.tolist())
        for entity, value in enumerate(row)
    )
    return _table(OPENINGS, rows)


def _loads(system: System) -> pa.Table:
    rows = (
        (bus.id, stage.id, float(bus.load_mean_mw[t]), float(bus.load_std_mw[t]))
        for bus in system.of(Bus)
        for t, stage in enumerate(system.stages)
    )
    return _table(LOADS, rows)


def _correlation(system: System, fitted: NoiseCorrelation | None) -> dict[str, Any]:
    """Correlations that no file gives: those of each season, or none."""
    method, by_stage = (fitted.method, fitted.by_stage) if fitted else ("cholesky", {})
    if not by_stage:
        return {"method": method, "profiles": {"default": {"correlation_groups": []}}, "schedule": []}
    names = {stage.id: f"season_{stage.season}" for stage in system.stages}
    profiles = {
        names[stage]: {
            "correlation_groups": [
                {
                    "name": group.name,
                    "entities": [one._asdict() for one in group.entities],
                    "matrix": group.matrix.tolist(),
                }
                for group in groups
            ]
        }
        for stage, groups in by_stage.items()
    }
    schedule = [{"stage_id": stage, "profile_name": name} for stage, name in names.items()]
    return {"method": method, "profiles": profiles, "schedule": schedule}


def _table(file: TableFile, rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    types = {one.name: pa.uint32() if one.name in _UNSIGNED else _ARROW[one.type] for one in file.columns}
    schema = pa.schema([pa.field(name, kind, nullable=False) for name, kind in types.items()])
    columns = list(zip(*rows, strict=True)) or [() for _ in schema]
    return pa.table(
        [pa.array(list(one), kind.type) for one, kind in zip(columns, schema, strict=True)], schema
    )


def _name(file: TableFile) -> str:
    return _name_of(file.name)


def _name_of(path: str) -> str:
    """The name of a file without its folder."""
    return path.rpartition("/")[2]
