"""Fields of hydro plants that are given and have no effect; each is named in one warning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cobre.elements.hydro import labels
from cobre.elements.hydro.inputs.files import BOUNDS, INITIAL, PLANES, PRODUCTION
from cobre.elements.hydro.inputs.inflow import Inflows
from cobre.elements.hydro.inputs.models import (
    BySeason,
    HydroDefaults,
    HydroInitialConditions,
    HydroInput,
    ModelChoice,
)
from cobre.elements.hydro.inputs.production import choices, production_models
from cobre.formatting import count
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report

_FITTING_DATA = ("tailrace", "hydraulic_losses", "efficiency")
_VALIDITY = ("valid_v_min_hm3", "valid_v_max_hm3", "valid_q_max_m3s")
_INFLOW_COST = "inflow_nonnegativity_cost"


def check(files: CaseFiles, report: Report) -> None:
    """Report fields that are given and change nothing."""
    hydros, fitted = files.of(HydroInput), _fitted(files)
    for field in _FITTING_DATA:
        owners = [one.id for one in hydros if getattr(one, field) is not None and one.id not in fitted]
        reason = "the productivity is given, or planes are"
        _warn(report, labels.FILE, field, owners, reason)
    _check_configs(files, report)
    planes = files.table(PLANES)
    for column in _VALIDITY if planes else ():
        owners = np.unique(planes["hydro_id"][~np.isnan(planes[column])]).tolist() if planes else []
        _warn(report, PLANES.name, column, owners, "planes count for all volumes and flows")
    if files.has_stages:
        rows = BOUNDS.overrides(files)
        closed = [one.id for one in hydros if one.diversion is None]
        owners = [one for one in closed if np.any(rows.given(one, "max_diversion_m3s") > 0)]
        _warn(report, BOUNDS.table.name, "max_diversion_m3s", owners, "the plant has no diversion")
        _check_past_seasons(files, report)
    _check_inflow_costs(files, hydros, report)


def _warn(report: Report, file: str, field: str, owners: Sequence[int], reason: str) -> None:
    """Report a field that has no effect for some plants."""
    if owners:
        where = f" for {count(len(owners), 'hydro plant')}" if len(owners) > 1 else ""
        message, entity = f"has no effect{where}: {reason}", f"hydro {owners[0]}"
        report.warn("unsupported", file, message, "leave it out", entity=entity, field=field)


def _fitted(files: CaseFiles) -> set[int]:
    """The plants for which planes are fitted, or may be."""
    own = {hydro.id for hydro in files.of(HydroInput) if hydro.generation.model == "fpha"}
    for model in production_models(files):
        sources = {entry.fpha_config.source for entry in choices(model) if entry.fpha_config}
        own = own | {model.hydro_id} if "computed" in sources else own - {model.hydro_id}
    return own


def _check_configs(files: CaseFiles, report: Report) -> None:
    """Report settings of planes that are given, and of models without planes."""
    idle: dict[tuple[str, str], list[int]] = {}
    for model in production_models(files):
        part = "seasons" if isinstance(model, BySeason) else "stage_ranges"
        for entry in choices(model):
            for name, reason in _idle_settings(entry):
                idle.setdefault((f"{part}.{name}", reason), []).append(model.hydro_id)
    for (field, reason), owners in idle.items():
        _warn(report, PRODUCTION.name, field, list(dict.fromkeys(owners)), reason)


def _idle_settings(entry: ModelChoice) -> Iterable[tuple[str, str]]:
    config = entry.fpha_config
    if config is None:
        return
    if entry.model != "fpha":
        yield "fpha_config", f"the model {entry.model} has no planes"
    elif config.source == "precomputed":
        for name in sorted(config.model_fields_set - {"source"}):
            yield f"fpha_config.{name}", "the planes are given"


def _check_past_seasons(files: CaseFiles, report: Report) -> None:
    """Report seasons of past inflows that are not those before the study: values are the latest first."""
    initial, inflows = files.initial(HydroInitialConditions), files.derived(Inflows)
    for entry in initial.past_inflows if initial else ():
        for back, season in enumerate(entry.season_ids or (), 1):
            before = inflows.season_before(back)
            if before not in {None, season}:
                message = (
                    f"has no effect: values_m3s are the latest first, so value {back} is of season {before}, "
                    f"not of season {season}"
                )
                remedy, owner = "put the values in that order, or leave season_ids out", entry.hydro_id
                where = {"entity": f"hydro {owner}", "field": "past_inflows.season_ids"}
                report.warn("meaning", INITIAL, message, remedy, value=season, **where)
                break


def _check_inflow_costs(files: CaseFiles, hydros: Sequence[HydroInput], report: Report) -> None:
    """Report costs of lifting negative inflows where the method has none."""
    if files.config is None:
        return
    settings = files.config.modeling.inflow_non_negativity
    if settings.method not in {"none", "truncation"}:
        return
    message = f"has no effect: the method {settings.method} adds no water at a cost"
    remedy = "leave it out, or use a method with a penalty"
    if "penalty_cost" in settings.model_fields_set:
        where = "modeling.inflow_non_negativity.penalty_cost"
        report.warn("unsupported", "config.json", message, remedy, field=where)
    if files.has_penalties and getattr(files.penalties(HydroDefaults), _INFLOW_COST) is not None:
        report.warn("unsupported", "penalties.json", message, remedy, field=f"hydro.{_INFLOW_COST}")
    owners = [one.id for one in hydros if one.penalties and getattr(one.penalties, _INFLOW_COST) is not None]
    reason = f"the method {settings.method} adds no water at a cost"
    _warn(report, labels.FILE, f"penalties.{_INFLOW_COST}", owners, reason)
