"""Evaporation as a linear function of the volume: what evaporates per area, times the tangent to the area."""

from __future__ import annotations

import numpy as np

from cobre.elements.hydro.data import Evaporation
from cobre.elements.hydro.inputs.models import HydroInput
from cobre.inputs.tables import Table
from cobre.inputs.timeline import Series, StageTimeline


def resolve(hydro: HydroInput, geometry: Table | None, timeline: StageTimeline) -> Evaporation | None:
    """The flow that evaporates from a reservoir, by stage; None if that is not modelled.

    A millimetre of a square kilometre is 1000 m³, so ``c`` mm in a stage of ``H`` hours make a flow of
    ``c · area / (3.6 · H)`` m³/s. The area is linear between the points of the geometry, and replaced by its
    tangent at the reference volume: the given one of the month, or the middle of the reservoir.
    """
    if hydro.evaporation is None or geometry is None:
        return None
    rows = np.flatnonzero(geometry["hydro_id"] == hydro.id)
    rows = rows[np.argsort(geometry["volume_hm3"][rows], kind="stable")]
    volumes, areas = geometry["volume_hm3"][rows], geometry["area_km2"][rows]
    middle = (hydro.reservoir.min_storage_hm3 + hydro.reservoir.max_storage_hm3) / 2
    constant, slope = timeline.constant(0.0), timeline.constant(0.0)
    for place, (stage, month) in enumerate(zip(timeline.stages, timeline.seasons, strict=True)):
        given = hydro.evaporation.reference_volumes_hm3
        volume = given[month] if given else middle
        hours = sum(block.hours for block in stage.blocks)
        m3s_per_km2 = hydro.evaporation.coefficients_mm[month] / (3.6 * hours)
        slope[place] = m3s_per_km2 * _slope(volumes, areas, volume)
        constant[place] = m3s_per_km2 * float(np.interp(volume, volumes, areas)) - slope[place] * volume
    return Evaporation(constant, slope)


def _slope(volumes: Series, areas: Series, volume: float) -> float:
    """Slope of the area over the volume; at a point of the curve, the slope above it."""
    if len(volumes) < 2:
        return 0.0
    right = int(np.clip(np.searchsorted(volumes, volume, side="right"), 1, len(volumes) - 1))
    return float((areas[right] - areas[right - 1]) / (volumes[right] - volumes[right - 1]))
