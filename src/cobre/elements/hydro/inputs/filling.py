"""When a hydro plant is there, and how its new reservoir is filled before it operates."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from cobre.elements.hydro.data import Filling, Phase
from cobre.elements.hydro.inputs.models import HydroInput
from cobre.inputs.timeline import Series, StageTimeline


def phases(hydro: HydroInput, timeline: StageTimeline) -> tuple[Phase, ...]:
    """Phase of a plant (absent, filling or operating), by stage."""
    return tuple(_phase(hydro, stage) for stage in timeline.ids)


def exists(hydro: HydroInput, timeline: StageTimeline) -> NDArray[np.bool_]:
    """Stages in which a plant is filling or operating."""
    return np.array([phase != "absent" for phase in phases(hydro, timeline)])


def _phase(hydro: HydroInput, stage: int) -> Phase:
    if hydro.serves(stage):
        return "operating"
    entry = hydro.entry_stage_id
    fills = hydro.filling is not None and entry is not None and hydro.filling.start_stage_id <= stage < entry
    return "filling" if fills else "absent"


def resolve(hydro: HydroInput, bounds: Mapping[str, Series], timeline: StageTimeline) -> Filling | None:
    """Filling of a reservoir; None if it is never filled."""
    here = filled(hydro, timeline)
    if not here.any():
        return None
    after = [hydro.serves(stage) for stage in timeline.ids[1:]] + [hydro.serves(timeline.ids[-1] + 1)]
    retained = np.where(here, bounds["filling_inflow_m3s"], 0.0)
    return Filling(retained, np.where(here & np.array(after), bounds["min_storage_hm3"], 0.0))


def filled(hydro: HydroInput, timeline: StageTimeline) -> NDArray[np.bool_]:
    """Stages in which a plant's new reservoir is being filled."""
    return np.array([phase == "filling" for phase in phases(hydro, timeline)])
