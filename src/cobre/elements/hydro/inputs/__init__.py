"""Inputs of hydro plants, and how they become resolved data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cobre.elements.hydro import labels
from cobre.elements.hydro.data import Hydro, HydroPenalties
from cobre.elements.hydro.inputs import evaporation, filling
from cobre.elements.hydro.inputs.files import (
    ANNUAL,
    BOUNDS,
    COEFFICIENTS,
    GEOMETRY,
    HISTORY,
    PENALTIES,
    PLANES,
    PRODUCTION,
    SCENARIOS,
    STATISTICS,
)
from cobre.elements.hydro.inputs.inflow import Inflows
from cobre.elements.hydro.inputs.models import (
    HydroDefaults,
    HydroInitialConditions,
    HydroInput,
    HydroOverrides,
    Hydros,
)
from cobre.elements.hydro.inputs.production import ProductionChoices
from cobre.inputs.files import CaseFiles
from cobre.inputs.kind import JsonFile, KindInputs, NoiseInputs
from cobre.inputs.timeline import Series, first_given

#: The fields of a hydro plant's penalties, and the names that each may have, the more particular first.
_NAMES = {
    "spillage": ("spillage_cost",),
    "turbined": ("fpha_turbined_cost",),
    "diversion": ("diversion_cost",),
    "storage_below_per_hm3": ("storage_violation_below_cost",),
    "filling_below_per_hm3": ("filling_target_violation_cost",),
    "turbined_below": ("turbined_violation_below_cost",),
    "outflow_below": ("outflow_violation_below_cost",),
    "outflow_above": ("outflow_violation_above_cost",),
    "generation_below_per_mwh": ("generation_violation_below_cost",),
    "evaporation_above": ("evaporation_violation_pos_cost", "evaporation_violation_cost"),
    "evaporation_below": ("evaporation_violation_neg_cost", "evaporation_violation_cost"),
    "withdrawal_above": ("water_withdrawal_violation_pos_cost", "water_withdrawal_violation_cost"),
    "withdrawal_below": ("water_withdrawal_violation_neg_cost", "water_withdrawal_violation_cost"),
    "negative_inflow": ("inflow_nonnegativity_cost",),
}


def resolve(files: CaseFiles, hydro: HydroInput) -> Hydro:
    """Return a plant as resolved data."""
    own = BOUNDS.by_stage(files, hydro)
    production = files.derived(ProductionChoices)
    return Hydro(
        id=hydro.id,
        name=hydro.name,
        bus=hydro.bus_id,
        downstream=hydro.downstream_id,
        initial_hm3=_initial_volume(files, hydro.id),
        min_storage_hm3=own["min_storage_hm3"],
        max_storage_hm3=own["max_storage_hm3"],
        min_outflow_m3s=own["min_outflow_m3s"],
        max_outflow_m3s=own["max_outflow_m3s"],
        min_turbined_m3s=own["min_turbined_m3s"],
        max_turbined_m3s=own["max_turbined_m3s"],
        min_generation_mw=own["min_generation_mw"],
        max_generation_mw=own["max_generation_mw"],
        mw_per_m3s=production.productivity(hydro),
        planes=production.planes(hydro),
        diversion=hydro.diversion.downstream_id if hydro.diversion else None,
        max_diversion_m3s=own["max_diversion_m3s"],
        withdrawal_m3s=own["water_withdrawal_m3s"],
        evaporation=evaporation.resolve(hydro, files.table(GEOMETRY), files.timeline),
        inflow=files.derived(Inflows).resolve(hydro.id),
        penalties=_penalties(files, hydro),
        phases=filling.phases(hydro, files.timeline),
        filling=filling.resolve(hydro, own, files.timeline),
    )


def _initial_volume(files: CaseFiles, hydro: int) -> float:
    given = files.initial(HydroInitialConditions)
    volumes = [*given.storage, *given.filling_storage] if given else []
    return next((entry.value_hm3 for entry in volumes if entry.hydro_id == hydro), 0.0)


def _penalties(files: CaseFiles, hydro: HydroInput) -> HydroPenalties:
    return HydroPenalties(**{field: _penalty(files, hydro, names) for field, names in _NAMES.items()})


def _penalty(files: CaseFiles, hydro: HydroInput, names: Sequence[str]) -> Series:
    """The first level that has any of the names counts: stage, plant, all plants, the study."""
    by_stage, timeline = files.overrides(PENALTIES), files.timeline
    columns = [column.name for column in PENALTIES.columns]
    levels = [by_stage.given(hydro.id, name) for name in names if name in columns]
    levels += [
        timeline.constant(np.nan if value is None else value)
        for level in (hydro.penalties, files.penalties(HydroDefaults))
        for value in _values(level, names)
    ]
    if files.config is not None:
        levels.append(timeline.constant(files.config.modeling.inflow_non_negativity.penalty_cost))
    return first_given(levels)


def _values(level: HydroOverrides | HydroDefaults | None, names: Sequence[str]) -> list[float | None]:
    return [] if level is None else [getattr(level, name) for name in names]


def random_inflows(files: CaseFiles) -> list[int] | None:
    """Return all plants: the inflow of each has noise; None if nobody can know them."""
    hydros = files.ids("hydro")
    return None if hydros is None else sorted(hydros)


INPUTS = KindInputs(
    rank=2,
    noun="hydro",
    element=HydroInput,
    entries="hydros",
    files=(
        JsonFile(labels.FILE, "hydro plants, and which flows into which", Hydros, required=True),
        PRODUCTION,
        GEOMETRY,
        PLANES,
        HISTORY,
        STATISTICS,
        COEFFICIENTS,
        ANNUAL,
        PENALTIES,
    ),
    resolve=resolve,
    references={"bus_id": "bus", "downstream_id": "hydro", "diversion.downstream_id": "hydro"},
    bounds=BOUNDS,
    noise=NoiseInputs(SCENARIOS, "value_m3s", random_inflows, HISTORY),
    penalties=HydroDefaults,
    initial=HydroInitialConditions,
)
