"""``stages.json``: the time of a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field

from cobre.inputs.models import Count, Document, Id, Index, NonNegative, Positive, Strict

Method = Literal["saa", "lhs", "qmc_sobol", "qmc_halton", "selective", "historical_residuals"]


class BlockInput(Strict, title="Block"):
    """Some hours of a stage."""

    id: Index
    name: str
    hours: Positive


class CVaR(Strict):
    """Conditional value at risk: the mean of the worst openings of the stage, and its weight."""

    alpha: Annotated[
        float, Field(gt=0, le=1, description="Tail fraction: 0.05 for the worst 5 %, 1 for the expectation")
    ]
    weight: Annotated[
        float,
        Field(ge=0, le=1, alias="lambda", description="Weight of the CVaR; the expectation has the rest"),
    ]


class RiskAverse(Strict):
    """Risk measure of the stage's own openings: (1 - lambda) * expectation + lambda * CVaR."""

    cvar: CVaR

    def spec(self) -> dict[str, Any]:
        """Return the measure as `cobre.sddp.risk.from_spec` takes it."""
        if self.cvar.weight == 0 or self.cvar.alpha == 1:
            return {"measure": "expectation"}
        return {"measure": "eavar", "weight": 1 - self.cvar.weight, "level": self.cvar.alpha}


class StateVariables(Strict):
    """State variables passed from a stage to the next."""

    storage: bool = True
    inflow_lags: bool = False


class StageInput(Strict, title="Stage"):
    """A period between two decisions."""

    id: Annotated[int, Field(ge=0, lt=2**31)]
    start_date: date
    end_date: date
    blocks: Annotated[list[BlockInput], Field(min_length=1)]
    num_scenarios: Count
    season_id: Index | None = None
    block_mode: Literal["parallel", "chronological"] = "parallel"
    state_variables: StateVariables | None = None
    risk_measure: Literal["expectation"] | RiskAverse = "expectation"
    sampling_method: Method = "saa"

    @property
    def risk(self) -> dict[str, Any]:
        """The risk measure, as `cobre.sddp.risk.from_spec` takes it."""
        given = self.risk_measure
        return {"measure": given} if isinstance(given, str) else given.spec()


class PreStudyStage(Strict):
    """A period before the study, of which only the inflows matter."""

    id: Annotated[int, Field(ge=-(2**31), lt=0)]
    start_date: date
    end_date: date
    season_id: Index | None = None


class Season(Strict):
    """A part of the year."""

    id: Index
    label: str
    month_start: Annotated[int, Field(ge=1, le=12)]
    day_start: Annotated[int, Field(ge=1, le=31)] | None = None
    month_end: Annotated[int, Field(ge=1, le=12)] | None = None
    day_end: Annotated[int, Field(ge=1, le=31)] | None = None

    @property
    def begins(self) -> tuple[int, int]:
        """Month and day."""
        return self.month_start, self.day_start or 1

    def has(self, day: date) -> bool:
        """True if a day is between the first and the last of a custom season, across New Year or not."""
        last = (self.month_end or self.month_start, self.day_end or 31)
        if self.begins <= last:
            return self.begins <= (day.month, day.day) <= last
        return self.begins <= (day.month, day.day) or (day.month, day.day) <= last


class SeasonDefinitions(Strict):
    """The parts of the year."""

    cycle_type: Literal["monthly", "weekly", "custom"]
    seasons: Annotated[list[Season], Field(min_length=1)]

    @property
    def cycle(self) -> tuple[int, ...]:
        """The seasons of a year in their order; none if some of them overlap."""
        if self.cycle_type == "weekly":
            return tuple(sorted(season.id for season in self.seasons))
        ordered = sorted(self.seasons, key=lambda season: season.begins)
        if self.cycle_type == "custom" and any(map(_overlap, ordered, ordered[1:])):
            return ()
        return tuple(season.id for season in ordered)

    def contains(self, season_id: int, day: date) -> bool:
        """True if a day is in a season, and perhaps in others, too."""
        seasons = [season for season in self.seasons if season.id == season_id]
        if self.cycle_type == "weekly":
            return season_id == min(day.isocalendar().week, 52) - 1
        if self.cycle_type == "monthly":
            return any(season.month_start == day.month for season in seasons)
        return any(season.has(day) for season in seasons)

    def season_of(self, day: date) -> tuple[int, int] | None:
        """The year and the season that a day belongs to, if there is one."""
        if self.cycle_type == "weekly":
            year, week, _ = day.isocalendar()
            place = min(week, 52) - 1  # the days of a 53rd week go with those of the last
            return (year, place) if place in self.cycle else None
        if self.cycle_type == "monthly":
            found = [season for season in self.seasons if season.month_start == day.month]
            return (day.year, found[0].id) if found else None
        found = [season for season in self.seasons if season.has(day)]
        if not found or not self.cycle:
            return None
        # The last day of one may be given as the first of the next, to which it belongs.
        begun = [season for season in found if season.begins <= (day.month, day.day)]
        season = max(begun or found, key=lambda season: season.begins)
        return (day.year if begun else day.year - 1), season.id


def _overlap(one: Season, following: Season) -> bool:
    last = (one.month_end or one.month_start, one.day_end or 31)
    return not one.begins < following.begins or not one.begins <= last <= following.begins


class Transition(Strict):
    """Transition from a stage to a possible successor."""

    source_id: Id
    target_id: Id
    probability: Annotated[float, Field(ge=0, le=1)]
    annual_discount_rate_override: NonNegative | None = None


class PolicyGraph(Strict):
    """Policy graph: horizon, transitions between stages, and discount rate.

    Stages without transitions are followed by the next one, as long as all transitions given lead to the next
    stage or back; else these are all there are.
    """

    type: Literal["finite_horizon", "cyclic"]
    annual_discount_rate: NonNegative
    transitions: list[Transition] = Field(default_factory=list)
    max_horizon_length: Annotated[
        Count | None, Field(description="Cyclic: the most stages of a trajectory; 240 unless given")
    ] = None
    discount_threshold: Annotated[
        float | None,
        Field(
            gt=0,
            lt=1,
            description="Cyclic: trajectories end where the discount factor is smaller; 1e-6 unless given",
        ),
    ] = None

    def following(self, ids: Sequence[int]) -> dict[int, dict[int, float]]:
        """Return the stages that may follow each one with their probabilities, which sum to 1; all by id.

        Args:
            ids: of all stages, in their order. Transitions of others are left out.
        """
        given: dict[int, dict[int, float]] = {stage: {} for stage in ids}
        for edge in self.transitions:
            if edge.probability > 0 and edge.source_id in given and edge.target_id in given:
                ways = given[edge.source_id]
                ways[edge.target_id] = ways.get(edge.target_id, 0.0) + edge.probability
        following = dict(pairwise(ids))
        if all(target <= source or following[source] == target for source, target in edges(given)):
            for source, target in following.items():
                given[source] = given[source] or {target: 1.0}
        return {source: _normalised(ways) for source, ways in given.items()}


def edges(following: Mapping[int, Mapping[int, float]]) -> Iterator[tuple[int, int]]:
    """Yield each source and target of `PolicyGraph.following`."""
    return ((source, target) for source, ways in following.items() for target in ways)


def _normalised(ways: Mapping[int, float]) -> dict[int, float]:
    total = sum(ways.values())
    return {target: ways[target] / total for target in sorted(ways)}


class Stages(Document):
    """The whole file."""

    policy_graph: PolicyGraph
    stages: list[StageInput]
    season_definitions: SeasonDefinitions | None = None
    pre_study_stages: list[PreStudyStage] = Field(default_factory=list)

    @property
    def all(self) -> list[StageInput | PreStudyStage]:
        """The stages of the study and those before it."""
        return [*self.stages, *self.pre_study_stages]

    @property
    def ordered(self) -> list[StageInput]:
        """The stages of the study, by id."""
        return sorted(self.stages, key=lambda stage: stage.id)

    @property
    def following(self) -> dict[int, dict[int, float]]:
        """The stages that may follow each one, with their probabilities, by id."""
        return self.policy_graph.following([stage.id for stage in self.ordered])

    def season(self, stage: StageInput | PreStudyStage) -> int:
        """The season of a stage; the calendar month, from 0, where the file gives none."""
        return stage.start_date.month - 1 if stage.season_id is None else stage.season_id

    @cached_property
    def noise_groups(self) -> dict[int, int]:
        """By a stage's id, the place of the first stage of its season and year: they share what is drawn."""
        first: dict[tuple[int, int], int] = {}
        return {
            stage.id: place
            if stage.season_id is None
            else first.setdefault((stage.season_id, stage.start_date.year), place)
            for place, stage in enumerate(self.ordered)
        }

    @property
    def cycle(self) -> tuple[int, ...]:
        """The seasons of a year in their order; none if a year has them in more than one way."""
        if self.season_definitions:
            return self.season_definitions.cycle
        monthly = all(self.season(stage) == stage.start_date.month - 1 for stage in self.stages)
        return tuple(range(12)) if monthly else tuple(sorted({self.season(stage) for stage in self.stages}))

    def season_of(self, day: date) -> tuple[int, int] | None:
        """The year and the season that a day belongs to; None if to no season, or nobody can know.

        The year of a season is the one that it begins in, so the order of both is the order of time.
        """
        if self.season_definitions:
            return self.season_definitions.season_of(day)
        return (day.year, day.month - 1) if self.cycle == tuple(range(12)) else None
