"""What the format has and this package cannot use yet: by name, so that nothing is ignored in silence."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from pydantic import BaseModel

from cobre.case._config import Config
from cobre.case._noise import noise_entities
from cobre.case._production import BySeason, ByStageRanges, ModelChoice, ProductionModels
from cobre.case._raw import FILE_OF, Raw
from cobre.case._report import Report
from cobre.case._stages import Stages
from cobre.stochastic import MOST_SOBOL

#: Settings of how the original program works inside; they change nothing that is found.
_INSIDE = (
    "simulation.io_channel_capacity",
    "simulation.output_mode",
    "training.solver.retry_max_attempts",
    "training.solver.retry_time_budget_seconds",
    "training.cut_selection.basis_activity_window",
    "policy.checkpointing.store_basis",
    "policy.checkpointing.compress",
)
#: What may be asked to be written and is not, and what is written whether it is asked for or not.
_NOT_WRITTEN = ("exports.states", "exports.forward_detail", "exports.backward_detail", "exports.stochastic")
_ALWAYS_WRITTEN = ("exports.training", "exports.cuts")
#: Settings that change what is found or written, unless they are empty or say that nothing is wanted.
_WANTED = (
    "training.forward_pass",
    "training.cut_selection.threshold",
    "training.cut_selection.cut_activity_tolerance",
    "training.cut_selection.max_active_per_stage",
    "upper_bound_evaluation.enabled",
)


def check(raw: Raw, report: Report) -> None:
    """Report what cannot be used."""
    if raw.config:
        _check_config(raw.config, report)
    if raw.stages:
        _check_graph(raw.stages, report)
        _check_states(raw.stages, report)
    _check_hydros(raw, report)
    _check_production(raw, report)
    _check_thermals(raw, report)
    _check_initial_conditions(raw, report)
    _check_sampling(raw, report)


def _check_sampling(raw: Raw, report: Report) -> None:
    """Openings that somebody else has to choose, and sequences that have no end of dimensions."""
    given = "scenarios/noise_openings.parquet" in raw.tables
    count = len(noise_entities(raw) or ())
    for stage in raw.stages.stages if raw.stages and not given else ():
        if stage.sampling_method == "selective":
            message = "openings cannot be chosen by what they represent yet"
        elif stage.sampling_method == "qmc_sobol" and count > MOST_SOBOL:
            message = f"there are {count} random numbers, and direction numbers for {MOST_SOBOL} of them"
        else:
            continue
        report.error(
            "unsupported",
            "stages.json",
            message,
            entity=f"stage {stage.id}",
            field="sampling_method",
            value=stage.sampling_method,
            suggestion="use another method, or give scenarios/noise_openings.parquet",
        )


def _check_config(config: Config, report: Report) -> None:
    for name in _INSIDE:
        if _given(config, name) is not None:
            report.warn("unsupported", "config.json", "has no effect here", field=name)
    for name in _NOT_WRITTEN:
        if _given(config, name):
            report.warn("unsupported", "config.json", "has no effect yet: it is not written", field=name)
    for name in _ALWAYS_WRITTEN:
        if _given(config, name) is False:
            report.warn("unsupported", "config.json", "has no effect: it is always written", field=name)
    for name in _WANTED:
        value = _given(config, name)
        if value not in (None, False, 0):
            shown = None if isinstance(value, BaseModel) else str(value)
            report.error("unsupported", "config.json", "cannot be used yet", field=name, value=shown)
    if config.simulation.policy_type == "inner":
        message = "policies of vertices cannot be used yet"
        suggestion = "use 'outer'"
        report.error(
            "unsupported",
            "config.json",
            message,
            field="simulation.policy_type",
            value="inner",
            suggestion=suggestion,
        )


def _given(config: Config, name: str) -> object:
    """The value of a setting that the file has; None if it does not."""
    here: object = config
    for part in name.split("."):
        if not isinstance(here, BaseModel) or part not in here.model_fields_set:
            return None
        here = getattr(here, part)
    return here


def _check_graph(stages: Stages, report: Report) -> None:
    graph = stages.policy_graph
    if graph.type == "cyclic":
        message = "studies without an end cannot be used yet"
        report.error("unsupported", "stages.json", message, field="policy_graph.type", value="cyclic")
        return
    ids = [stage.id for stage in stages.ordered]
    chain = set(itertools.pairwise(ids))
    given = {(edge.source_id, edge.target_id) for edge in graph.transitions if edge.probability > 0}
    named = all(edge.source_id in ids and edge.target_id in ids for edge in graph.transitions)
    if named and not given <= chain:
        message = "each stage must be followed by the next: other graphs cannot be used yet"
        report.error("unsupported", "stages.json", message, field="policy_graph.transitions")


def _check_states(stages: Stages, report: Report) -> None:
    """Volumes are always states, as in the original; past inflows are where a model looks back."""
    for stage in stages.stages:
        if stage.state_variables is not None and not stage.state_variables.storage:
            message = "has no effect: volumes are always carried over"
            field = "state_variables.storage"
            report.warn("unsupported", "stages.json", message, entity=f"stage {stage.id}", field=field)


def _check_hydros(raw: Raw, report: Report) -> None:
    file, fitted = FILE_OF["hydros"], _fitted(raw)
    for hydro in raw.hydros:
        owner = f"hydro {hydro.id}"
        if hydro.generation.model == "linearized_head":
            message = "the head is not modelled: the productivity is used in all stages"
            where = {"entity": owner, "field": "generation.model"}
            report.warn("unsupported", file, message, value="linearized_head", **where)
        for field in ("tailrace", "hydraulic_losses", "efficiency"):
            if getattr(hydro, field) is not None and hydro.id not in fitted:
                message = "has no effect, because the productivity is given, or planes are"
                report.warn("unsupported", file, message, entity=owner, field=field)


def _fitted(raw: Raw) -> set[int]:
    """The plants for which planes are fitted, or may be."""
    own = {hydro.id for hydro in raw.hydros if hydro.generation.model == "fpha"}
    found = raw.document("system/hydro_production_models.json", ProductionModels)
    for model in found.production_models if found else ():
        sources = {entry.fpha_config.source for entry in _entries(model) if entry.fpha_config}
        own = own | {model.hydro_id} if "computed" in sources else own - {model.hydro_id}
    return own


def _entries(model: ByStageRanges | BySeason) -> Sequence[ModelChoice]:
    return model.seasons if isinstance(model, BySeason) else model.stage_ranges


def _check_production(raw: Raw, report: Report) -> None:
    file = "system/hydro_production_models.json"
    found = raw.document(file, ProductionModels)
    for model in found.production_models if found else ():
        owner = f"hydro {model.hydro_id}"
        names = {entry.model for entry in _entries(model)}
        names |= {model.default_model} if isinstance(model, BySeason) else set()
        if "linearized_head" in names:
            message = "the head is not modelled: the productivity is used"
            report.warn("unsupported", file, message, entity=owner, field="model", value="linearized_head")


def _check_thermals(raw: Raw, report: Report) -> None:
    for plant in raw.thermals:
        if plant.gnl_config is not None:
            message = "ordering gas in advance cannot be modelled yet"
            owner = f"thermal {plant.id}"
            report.error("unsupported", FILE_OF["thermals"], message, entity=owner, field="gnl_config")


def _check_initial_conditions(raw: Raw, report: Report) -> None:
    if raw.initial is None:
        return
    if raw.initial.recent_observations:
        message = "a study that begins within a season cannot be modelled yet"
        report.error("unsupported", "initial_conditions.json", message, field="recent_observations")
