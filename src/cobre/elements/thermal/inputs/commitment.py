"""Generation committed in advance: between which limits, and what is committed when the study begins.

A commitment must keep the limits of the stage it is for, which are known when it is made: so it can always be
generated. Where blocks or the stages that may come differ, the narrowest limits count.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cobre.elements.thermal.data import AdvanceCommitment
from cobre.elements.thermal.inputs.models import PipelineEntry, ThermalInitialConditions, ThermalInput
from cobre.inputs.files import CaseFiles
from cobre.inputs.timeline import BlockSeries

#: The least and the most of a commitment, in MW.
Limits = tuple[float, float]


def resolve(
    files: CaseFiles, plant: ThermalInput, lower: BlockSeries, upper: BlockSeries
) -> AdvanceCommitment | None:
    """Return the commitment of a plant as resolved data, with its limits by block; None if it needs none."""
    if plant.gnl_config is None:
        return None
    lag, given = plant.gnl_config.lag_stages, given_mw(files, plant.id)
    ahead = [files.timeline.ahead(place, lag) for place in range(len(files.timeline))]
    limits = [
        narrowest(lower, upper, places) if places else _beyond_the_end(files, plant, place + lag)
        for place, places in enumerate(ahead)
    ]
    return AdvanceCommitment(
        lag,
        tuple(given.get(offset, 0.0) for offset in range(1, lag + 1)),
        np.array([low for low, _ in limits]),
        np.array([high for _, high in limits]),
    )


def narrowest(lower: BlockSeries, upper: BlockSeries, places: Iterable[int]) -> Limits:
    """Return the limits of what all blocks of some stages can generate."""
    places = list(places)
    low = max(float(lower[place].max()) for place in places)
    return low, min(float(upper[place].min()) for place in places)


def given_mw(files: CaseFiles, plant: int) -> dict[int, float]:
    """Return what is committed for a plant before the study, by the number of the stage from 1."""
    return {entry.stage_offset: entry.committed_mw for entry in pipeline(files) if entry.thermal_id == plant}


def pipeline(files: CaseFiles) -> list[PipelineEntry]:
    """Return all that is committed before the study."""
    initial = files.initial(ThermalInitialConditions)
    return initial.gnl_pipeline if initial else []


def _beyond_the_end(files: CaseFiles, plant: ThermalInput, place: int) -> Limits:
    """The limits of a commitment after the end: nothing, unless cuts of another study give it a value."""
    stages = files.timeline.ids
    is_valued = files.config is not None and files.config.policy.boundary is not None
    if not is_valued or not plant.serves(stages[-1] + place - len(stages) + 1):
        return 0.0, 0.0
    return plant.generation.min_mw, plant.generation.max_mw
