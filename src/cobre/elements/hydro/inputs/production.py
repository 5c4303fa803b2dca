"""Production functions of hydro plants, by stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cobre.elements.hydro import labels
from cobre.elements.hydro.data import Planes
from cobre.elements.hydro.inputs.files import GEOMETRY, PLANES, PRODUCTION
from cobre.elements.hydro.inputs.filling import phases
from cobre.elements.hydro.inputs.fitting import Floats, fit
from cobre.elements.hydro.inputs.models import (
    BySeason,
    ByStageRanges,
    Fpha,
    FphaConfig,
    HydroInput,
    ModelChoice,
    ProductionModels,
)
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.tables import ABSENT
from cobre.inputs.timeline import Series, StageTimeline


def production_models(files: CaseFiles) -> list[ByStageRanges | BySeason]:
    """Return the entries of the file of generation models; none if it is not there, or wrong."""
    found = files.document(PRODUCTION.name, ProductionModels)
    return found.production_models if found else []


def choice(model: ByStageRanges | BySeason, stage_id: int, season: int) -> ModelChoice | None:
    """Generation model of a plant in a stage; None for that of the plant's own entry."""
    if isinstance(model, ByStageRanges):
        for entry in model.stage_ranges:
            last = stage_id if entry.end_stage_id is None else entry.end_stage_id
            if entry.start_stage_id <= stage_id <= last:
                return entry
        return None
    found = [entry for entry in model.seasons if entry.season_id == season]
    return found[0] if found else ModelChoice(model=model.default_model)


def choices(model: ByStageRanges | BySeason) -> Sequence[ModelChoice]:
    """Return the models of an entry, by ranges of stages or by season."""
    return model.seasons if isinstance(model, BySeason) else model.stage_ranges


@dataclass(frozen=True, eq=False)
class ProductionChoices:
    """Generation models of hydro plants, as given in the files of a case."""

    files: CaseFiles
    timeline: StageTimeline

    @classmethod
    def of(cls, files: CaseFiles) -> ProductionChoices:
        """The choices of a case."""
        return cls(files, files.timeline)

    @cached_property
    def _choices(self) -> dict[int, list[ModelChoice | None]]:
        """By plant, the model of each stage; None for that of the plant's own entry."""
        pairs = list(zip(self.timeline.ids, self.timeline.seasons, strict=True))
        return {
            model.hydro_id: [choice(model, stage, season) for stage, season in pairs]
            for model in production_models(self.files)
        }

    def _stages(self, hydro: HydroInput) -> Iterator[tuple[int, ModelChoice]]:
        """Place and model of each stage."""
        own = ModelChoice(model=hydro.generation.model)
        for place, chosen in enumerate(self._choices.get(hydro.id, [None] * len(self.timeline))):
            yield place, chosen or own

    def productivity(self, hydro: HydroInput) -> Series:
        """MW per m³/s, by stage; 0 where planes say what there is."""
        own = 0.0 if isinstance(hydro.generation, Fpha) else hydro.generation.productivity_mw_per_m3s
        found = self.timeline.constant(own)
        for place, chosen in self._stages(hydro):
            if chosen.model == "fpha":
                found[place] = 0.0
            elif chosen.productivity_override is not None:
                found[place] = chosen.productivity_override
        return found

    def planes(self, hydro: HydroInput) -> tuple[Planes | None, ...]:
        """The planes below which the power is, by stage; None where it is proportional to the flow."""
        fitted: dict[FphaConfig | None, Planes] = {}
        found: list[Planes | None] = [None] * len(self.timeline)
        phase = phases(hydro, self.timeline)
        for place, chosen in self._stages(hydro):
            if chosen.model != "fpha" or phase[place] != "operating":
                continue
            if self._given(hydro, place, chosen):
                found[place] = self._read(hydro.id, place)
            else:
                if chosen.fpha_config not in fitted:
                    fitted[chosen.fpha_config] = fit(hydro, *self._geometry(hydro.id), chosen.fpha_config)
                found[place] = fitted[chosen.fpha_config]
        return tuple(found)

    def _given(self, hydro: HydroInput, place: int, chosen: ModelChoice) -> bool:
        """True if planes are given: as the model says, or else if there are any."""
        if chosen.fpha_config is not None:
            return chosen.fpha_config.source == "precomputed"
        return bool(len(self._rows(hydro.id, place))) or not len(self._geometry(hydro.id)[0])

    def _rows(self, hydro: int, place: int) -> np.ndarray:
        """The rows of a stage's planes: its own, or else those of all stages."""
        table = self.files.table(PLANES)
        if table is None:
            return np.empty(0, np.int64)
        mine = table["hydro_id"] == hydro
        own = np.flatnonzero(mine & (table["stage_id"] == self.timeline.ids[place]))
        rows = own if len(own) else np.flatnonzero(mine & (table["stage_id"] == ABSENT))
        return rows[np.argsort(table["plane_id"][rows], kind="stable")]

    def _read(self, hydro: int, place: int) -> Planes:
        table, rows = self.files.table(PLANES), self._rows(hydro, place)
        if table is None:
            raise LookupError(PLANES.name)  # `check` has said so
        share = np.where(np.isnan(table["kappa"]), 1.0, table["kappa"])[rows]
        slopes = (table[name][rows] for name in ("gamma_v", "gamma_q", "gamma_s"))
        return Planes(table["gamma_0"][rows] * share, *slopes)

    def _geometry(self, hydro: int) -> tuple[Floats, Floats]:
        """Volumes and heights of a reservoir, by volume."""
        table = self.files.table(GEOMETRY)
        if table is None:
            return np.empty(0), np.empty(0)
        rows = np.flatnonzero(table["hydro_id"] == hydro)
        rows = rows[np.argsort(table["volume_hm3"][rows], kind="stable")]
        return table["volume_hm3"][rows], table["height_m"][rows]

    def check(self, report: Report) -> None:
        """Report models that lack what they need."""
        for hydro in self.files.of(HydroInput):
            phase = phases(hydro, self.timeline)
            for place, chosen in self._stages(hydro):
                if phase[place] != "operating":
                    continue
                if problem := self._problem(hydro, place, chosen):
                    message, remedy = problem
                    where = f"hydro {hydro.id}, stage {self.timeline.ids[place]}"
                    file = PRODUCTION.name if hydro.id in self._choices else labels.FILE
                    report.error(
                        "dimension", file, message, remedy, entity=where, field="model", value=chosen.model
                    )
                    break  # one stage tells it for all

    def _problem(self, hydro: HydroInput, place: int, chosen: ModelChoice) -> tuple[str, str] | None:
        """The numbers that a model lacks, and the remedy."""
        if chosen.model != "fpha":
            lacks = isinstance(hydro.generation, Fpha) and chosen.productivity_override is None
            return ("there is no productivity", "add productivity_override") if lacks else None
        if chosen.productivity_override is not None:
            return "a productivity has no meaning where there are planes", "remove productivity_override"
        if self._given(hydro, place, chosen):
            missing = not len(self._rows(hydro.id, place))
            return (f"there are no planes in {PLANES.name}", "add them") if missing else None
        for name in ("tailrace", "hydraulic_losses", "efficiency"):
            if getattr(hydro, name) is None:
                return f"planes cannot be fitted without {name}", f"add {name} to the plant, or give planes"
        return self._misfit(hydro, chosen)

    def _misfit(self, hydro: HydroInput, chosen: ModelChoice) -> tuple[str, str] | None:
        volumes, heights = self._geometry(hydro.id)
        if len(volumes) < 2:
            message = f"planes can only be fitted to two points or more in {GEOMETRY.name}"
            return message, "add the points of the plant's reservoir, or give planes"
        try:
            fit(hydro, volumes, heights, chosen.fpha_config)
        except ValueError as error:
            remedy = "correct the geometry, tailrace, losses and fpha_config of the plant, or give planes"
            return f"no planes could be fitted: {error}", remedy
        return None
