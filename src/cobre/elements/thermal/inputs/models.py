"""Models of ``system/thermals.json``, and of what is committed before the study."""

from __future__ import annotations

from pydantic import Field

from cobre.inputs.models import Count, Document, Id, InService, NonNegative, Strict


class ThermalGeneration(Strict):
    """Bounds."""

    min_mw: NonNegative
    max_mw: NonNegative


class GnlConfig(Strict):
    """Generation is committed so many stages in advance, as where liquefied natural gas must be ordered."""

    lag_stages: Count


class ThermalInput(InService, title="Thermal"):
    """Burns fuel."""

    bus_id: Id
    cost_per_mwh: NonNegative
    generation: ThermalGeneration
    gnl_config: GnlConfig | None = None


class Thermals(Document):
    """The whole file."""

    thermals: list[ThermalInput]


class PipelineEntry(Strict):
    """Generation committed before the study for one of its stages: 1 is the first."""

    thermal_id: Id
    stage_offset: Count
    committed_mw: NonNegative


class ThermalInitialConditions(Strict):
    """Generation committed before the study, of plants with a ``gnl_config``."""

    gnl_pipeline: list[PipelineEntry] = Field(default_factory=list)
