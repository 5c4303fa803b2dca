"""Summary of a case: its size, capacities and inflows in a few numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.case._case import Case
from cobre.elements import KINDS, data_class, labels
from cobre.elements.bus.data import Bus
from cobre.elements.hydro.data import Hydro
from cobre.elements.line.data import Line
from cobre.elements.non_controllable_source.data import NonControllableSource
from cobre.elements.thermal.data import Thermal
from cobre.formatting import count
from cobre.system import PolicyGraph, Stage, System

Floats = NDArray[np.float64]

#: MWh that 1 MW gives for each hm³ that runs through as 1 m³/s: hours of 1 m³/s in 1 hm³.
HOURS_PER_HM3 = 1e6 / 3600


@dataclass(frozen=True)
class BusSummary:
    """A bus: what is needed there, and what could be given or brought.

    Attributes:
        id: as in the case.
        name: likewise.
        load_mw: the mean load over the study.
        peak_mw: the largest load of a block.
        hydro_mw: the largest capacity of its plants together, as of the others.
        thermal_mw: …
        source_mw: what its sources give on average.
        line_mw: what lines can bring at most.
    """

    id: int
    name: str
    load_mw: float
    peak_mw: float
    hydro_mw: float
    thermal_mw: float
    source_mw: float
    line_mw: float


@dataclass(frozen=True)
class HydroSummary:
    """A hydro plant in its river.

    Attributes:
        id: as in the case.
        name: likewise.
        bus: where its power goes.
        downstream: the id of the plant that its water runs to; None for none.
        capacity_mw: the most power it can have.
        useful_hm3: what its reservoir can hold above the least volume.
        initial_percent: how much of that is there at the beginning; None without a reservoir.
        stored_gwh: what a full reservoir gives, here and in all plants below.
        inflow_m3s: the mean natural inflow over the study.
        inflow_mw: what that gives on average, here and in all plants below.
    """

    id: int
    name: str
    bus: int
    downstream: int | None
    capacity_mw: float
    useful_hm3: float
    initial_percent: float | None
    stored_gwh: float
    inflow_m3s: float
    inflow_mw: float


@dataclass(frozen=True)
class CaseSummary:
    """A case in a few numbers.

    Attributes:
        folder: where it is.
        start: its first day.
        end: the day after its last.
        counts: how many stages, buses, ... there are, by name.
        blocks: how many blocks the stages have: the fewest and the most.
        openings: how many realisations the stages have: the fewest and the most.
        lags: how many past inflows the inflow models look at, at most.
        random: how many inflows, loads and sources are random, by kind.
        given_openings: whether the case has the realisations itself, rather than how to draw them.
        annual_discount_percent: of the policy graph; the mean if its transitions differ.
        policy_graph: how stages follow one another, in words; nothing if they just do.
        risk_averse_stages: number of stages with a risk measure other than the expectation.
        buses: by id.
        hydros: by id.
        load_gwh: what all buses need over the study.
        stored_gwh: what all reservoirs hold when full.
        initial_gwh: what they hold at the beginning.
        training: passes, rules and other settings of the training, in words.
        simulated_scenarios: 0 if it is not simulated.
        warnings: what should be looked at.
    """

    folder: str
    start: str
    end: str
    counts: dict[str, int]
    blocks: tuple[int, int]
    openings: tuple[int, int]
    lags: int
    random: dict[str, int]
    given_openings: bool
    annual_discount_percent: float
    policy_graph: str
    risk_averse_stages: int
    buses: tuple[BusSummary, ...]
    hydros: tuple[HydroSummary, ...]
    load_gwh: float
    stored_gwh: float
    initial_gwh: float
    training: tuple[str, ...]
    simulated_scenarios: int
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it in JSON's types."""
        return asdict(self)


def summary(case: Case) -> CaseSummary:
    """Say in a few numbers what a case is.

    >>> from cobre.case import load
    >>> round(summary(load("examples/cases/one-reservoir")).hydros[0].useful_hm3)
    1000
    """
    system, config = case.system, case.config
    stages = system.stages
    hydros = tuple(_hydros(system))
    buses = tuple(_buses(system))
    initial = sum(hydro.stored_gwh * (hydro.initial_percent or 0) / 100 for hydro in hydros)
    hours = sum(float(stage.hours.sum()) for stage in stages)
    kinds = [entity.type for entity in case.scenarios.entities]
    return CaseSummary(
        folder=str(case.folder),
        start=stages[0].start.isoformat(),
        end=stages[-1].end.isoformat(),
        counts=_counts(system),
        blocks=_range([len(stage.blocks) for stage in stages]),
        openings=_range([stage.openings for stage in stages]),
        lags=max((len(row) for hydro in system.of(Hydro) for row in hydro.inflow.coefficients), default=0),
        random={kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        given_openings=case.scenarios.openings is not None,
        annual_discount_percent=_discount(stages),
        policy_graph=graph_words(system.graph),
        risk_averse_stages=sum(stage.risk["measure"] != "expectation" for stage in stages),
        buses=buses,
        hydros=hydros,
        load_gwh=sum(bus.load_mw for bus in buses) * hours / 1000,
        stored_gwh=sum(hydro.stored_gwh for hydro in hydros),
        initial_gwh=initial,
        training=tuple(_training(case)),
        simulated_scenarios=config.simulation.num_scenarios if config.simulation.enabled else 0,
        warnings=tuple(f"{warning.file}: {warning}" for warning in case.warnings),
    )


def _counts(system: System) -> dict[str, int]:
    elements = {labels(kind).KEY: len(system.of(data_class(kind))) for kind in KINDS}
    return {"stages": len(system.stages), **elements}


def _range(numbers: list[int]) -> tuple[int, int]:
    return min(numbers), max(numbers)


def _discount(stages: tuple[Stage, ...]) -> float:
    """The yearly rate of all stages together."""
    days = sum((stage.end - stage.start).days for stage in stages)
    factor = np.prod([stage.discount for stage in stages])
    return 100 * (float(factor ** (-365.25 / days)) - 1)


def graph_words(graph: PolicyGraph) -> str:
    """Return in words how stages follow one another; nothing if they just do."""
    if graph.is_chain:
        return ""
    kind = "finite horizon with other ways than from stage to stage" if graph.horizon is None else "cyclic"
    return f"{kind}, trajectories of {count(len(graph.steps), 'stage')}"


def _training(case: Case) -> Iterator[str]:
    training = case.config.training
    if not training.enabled:
        yield "not trained"
        return
    passes = training.forward_passes
    yield f"{passes} forward pass{'es'[: 2 * (passes != 1)]} in each iteration"
    joint = " and " if training.stopping_mode == "all" else " or "
    yield "stops " + joint.join(rule.summary() for rule in training.stopping_rules)
    selection = training.cut_selection
    if selection.enabled or (selection.enabled is None and selection.method):
        yield f"cut selection: {selection.method or 'level1'}"
    if training.cut_formulation == "multi":
        yield "a cut for each outcome"
    yield f"seed {case.scenarios.seed}"


def _weights(system: System) -> Floats:
    """The share of each stage in the time of the study."""
    hours = np.array([float(stage.hours.sum()) for stage in system.stages])
    return np.asarray(hours / hours.sum())


def _buses(system: System) -> Iterator[BusSummary]:
    weights = _weights(system)
    for bus in system.of(Bus):
        blocks = [mean * factors for mean, factors in zip(bus.load_mean_mw, bus.load_factors, strict=True)]
        mean = _block_mean(system, blocks)
        lines = [line.direct_mw for line in system.of(Line) if line.target_bus == bus.id]
        lines += [line.reverse_mw for line in system.of(Line) if line.source_bus == bus.id]
        sources = [source for source in system.of(NonControllableSource) if source.bus == bus.id]
        yield BusSummary(
            id=bus.id,
            name=bus.name,
            load_mw=float(weights @ mean),
            peak_mw=max(float(row.max()) for row in blocks),
            hydro_mw=sum(_capacity(hydro) for hydro in system.of(Hydro) if hydro.bus == bus.id),
            thermal_mw=sum(_largest(plant.max_mw) for plant in system.of(Thermal) if plant.bus == bus.id),
            source_mw=sum(float(weights @ (source.max_generation_mw * source.mean)) for source in sources),
            line_mw=sum(map(_largest, lines)),
        )


def _block_mean(system: System, rows: list[Floats]) -> Floats:
    """The mean over the hours of each stage."""
    return np.array(
        [float(stage.hours @ row / stage.hours.sum()) for stage, row in zip(system.stages, rows, strict=True)]
    )


def _largest(series: tuple[Floats, ...]) -> float:
    return max(float(row.max()) for row in series)


def _capacity(hydro: Hydro) -> float:
    return float(hydro.max_generation_mw.max())


def _hydros(system: System) -> Iterator[HydroSummary]:
    weights = _weights(system)
    below = _productivities(system)
    for hydro in system.of(Hydro):
        useful = float((hydro.max_storage_hm3 - hydro.min_storage_hm3).max())
        least = float(hydro.min_storage_hm3[0])
        inflow = float(weights @ mean_inflow(hydro))
        yield HydroSummary(
            id=hydro.id,
            name=hydro.name,
            bus=hydro.bus,
            downstream=hydro.downstream,
            capacity_mw=_capacity(hydro),
            useful_hm3=useful,
            initial_percent=100 * (hydro.initial_hm3 - least) / useful if useful > 0 else None,
            stored_gwh=useful * HOURS_PER_HM3 * below[hydro.id] / 1000,
            inflow_m3s=inflow,
            inflow_mw=inflow * below[hydro.id],
        )


def mean_inflow(hydro: Hydro) -> Floats:
    """The mean natural inflow of each stage, as the model has it without noise."""
    model, means = hydro.inflow, []
    past = model.initial_m3s
    for base, psi, transition in zip(model.base_m3s, model.psi, model.transitions, strict=True):
        means.append(float(base) + float(np.dot(psi, past)))
        past = transition.carried @ past + transition.share * means[-1]
    return np.array(means)


def _productivities(system: System) -> dict[int, float]:
    """Cumulated productivity of each plant and all plants downstream, in MW per m³/s."""
    plants = {hydro.id: hydro for hydro in system.of(Hydro)}
    own = {number: _productivity(hydro) for number, hydro in plants.items()}

    def below(number: int | None) -> float:
        total = 0.0
        while number is not None:
            total += own[number]
            number = plants[number].downstream
        return total

    return {number: below(number) for number in plants}


def _productivity(hydro: Hydro) -> float:
    """The mean of a plant's; where planes take its place, what it gives at full load."""
    given = hydro.mw_per_m3s[hydro.mw_per_m3s > 0]
    if given.size:
        return float(given.mean())
    flow = float(hydro.max_turbined_m3s.max())
    return _capacity(hydro) / flow if flow > 0 else 0.0
