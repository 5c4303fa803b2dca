"""Checks of the policy graph in ``stages.json``, and the graph as resolved data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from cobre.elements.hydro.inputs.inflow import Inflows
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.stages import StageInput, Stages, edges
from cobre.inputs.tables import STAGE
from cobre.system import PolicyGraph, negligible_after, whole_years

#: The most stages of a trajectory, and the discount factor before which it ends, unless the case says so: the
#: typical values of the specification.
MOST_STAGES, THRESHOLD = 240, 1e-6
FILE, WHERE = "stages.json", "policy_graph.transitions"


def check(files: CaseFiles, stages: Stages, report: Report) -> None:
    """Report transitions and discount rates that make no sense."""
    errors = len(report.errors)
    _check_transitions(stages, files.ids(STAGE), report)
    _check_settings(stages, report)
    is_known = files.is_complete(FILE) and len({stage.id for stage in stages.stages}) == len(stages.stages)
    if len(report.errors) > errors or not is_known or not stages.stages:
        return
    _check_ends(stages, report)
    _check_reach(stages, report)
    _check_rates(stages, report)
    _check_seasons(stages, report)
    _check_lags(files, stages, report)
    if files.config and files.config.policy.boundary and stages.policy_graph.type == "cyclic":
        message = "a study without an end has no value of what is left at its end"
        remedy = "remove policy.boundary, or use finite_horizon"
        report.error("meaning", "config.json", message, remedy, field="policy.boundary")


def successions(stages: Stages) -> Iterator[tuple[StageInput, StageInput]]:
    """Yield each stage with those that may follow it later in the file."""
    by_id = {stage.id: stage for stage in stages.stages}
    for source, target in edges(stages.following):
        if target > source:
            yield by_id[source], by_id[target]


def _check_transitions(stages: Stages, known: set[int] | None, report: Report) -> None:
    total: dict[int, float] = defaultdict(float)
    for index, transition in enumerate(stages.policy_graph.transitions):
        for field in ("source_id", "target_id"):
            stage = getattr(transition, field)
            if known is not None and stage not in known:
                where = f"{WHERE}[{index}].{field}"
                remedy = "add it to stages, or name another"
                report.error(
                    "reference", FILE, f"there is no stage {stage}", remedy, field=where, value=stage
                )
        total[transition.source_id] += transition.probability
    for stage, probability in sorted(total.items()):
        if abs(probability - 1) > 1e-6:
            message = f"the probabilities of what follows sum to {probability:g}, not to 1"
            remedy = "let the probabilities from each stage sum to 1"
            entity = f"stage {stage}"
            report.error("meaning", FILE, message, remedy, entity=entity, field=WHERE, value=probability)


def _check_settings(stages: Stages, report: Report) -> None:
    graph = stages.policy_graph
    for name in ("max_horizon_length", "discount_threshold"):
        if graph.type != "cyclic" and getattr(graph, name) is not None:
            message, remedy = "has no effect: only cyclic studies have it", "leave it out"
            report.warn("unsupported", FILE, message, remedy, field=f"policy_graph.{name}")


def _check_ends(stages: Stages, report: Report) -> None:
    """Report finite studies with a way back, and cyclic ones without."""
    back = [edge for edge in edges(stages.following) if edge[1] <= edge[0]]
    graph = stages.policy_graph
    if graph.type == "cyclic" and not back:
        message = "no transition leads back to an earlier stage"
        remedy = "add one from the last stage to the first of the cycle, or use finite_horizon"
        report.error("meaning", FILE, message, remedy, field=WHERE)
    if graph.type != "cyclic" and back:
        source, target = back[0]
        message = f"stage {target} follows stage {source}, so a study with a finite horizon would not end"
        remedy = "use the type cyclic, or let each stage be followed by later ones"
        entity = f"stage {source}"
        report.error("meaning", FILE, message, remedy, entity=entity, field=WHERE, value=target)


def _check_reach(stages: Stages, report: Report) -> None:
    ids, graph = [stage.id for stage in stages.ordered], _graph(stages)
    distances = graph.distances()
    for number, stage in enumerate(ids):
        if number not in distances:
            message = f"no way leads there from stage {ids[0]}, in which the study begins"
            remedy = "add a transition to it, or remove the stage"
            report.error("meaning", FILE, message, remedy, entity=f"stage {stage}", field=WHERE)
    needed, most = max(distances.values()) + 1, stages.policy_graph.max_horizon_length
    if stages.policy_graph.type == "cyclic" and most is not None and most < needed:
        message = f"trajectories of {most} stages would never come to all stages: that takes {needed}"
        remedy = f"give at least {needed}"
        field = "policy_graph.max_horizon_length"
        report.error("dimension", FILE, message, remedy, field=field, value=most)


def _check_rates(stages: Stages, report: Report) -> None:
    """Report stages with several rates, and cycles without any."""
    left: dict[int, set[int]] = {}
    for stage, ways in stages.following.items():
        rates = _rates(stages, stage)
        if len(rates) > 1:
            message = f"its transitions have different discount rates: {', '.join(f'{r:g}' for r in rates)}"
            remedy = "give all transitions from a stage the same rate"
            report.error("unsupported", FILE, message, remedy, entity=f"stage {stage}", field=WHERE)
        if max(rates) == 0:
            left[stage] = set(ways)
    while ends := [stage for stage, after in left.items() if not after & left.keys()]:
        for stage in ends:
            del left[stage]
    if left:
        names = ", ".join(map(str, sorted(left)))
        message = f"costs count for ever on a cycle without discount, that of stages {names}"
        remedy = "give annual_discount_rate, or one of the cycle's transitions, a rate above 0"
        report.error("meaning", FILE, message, remedy, field="policy_graph.annual_discount_rate", value=0.0)


def _check_seasons(stages: Stages, report: Report) -> None:
    """Report ways back to another part of the year."""
    by_id = {stage.id: stage for stage in stages.stages}
    for source, target in edges(stages.following):
        end, start = by_id[source].end_date, by_id[target].start_date
        if target <= source and whole_years(start, end) is None:
            message = f"it ends on {end}, and stage {target}, which follows, begins on another day: {start}"
            remedy = "let the way back lead to the stage with the next season, if that is meant"
            entity = f"stage {source}"
            report.warn("meaning", FILE, message, remedy, entity=entity, field=WHERE, value=target)


def _check_lags(files: CaseFiles, stages: Stages, report: Report) -> None:
    """Report inflow models with lags where the stage before one is not that of the file."""
    if files.has_stages and files.derived(Inflows).has_means:
        for source, target in edges(stages.following):
            if target <= source:
                message = f"a way back to stage {target}, and inflow models whose seasons have several stages"
                remedy = "give each season of a year one stage, or use inflows without lags"
                report.error("unsupported", FILE, message, remedy, entity=f"stage {source}", field=WHERE)
    ids = [stage.id for stage in stages.ordered]
    jumps = [(s, t) for s, t in edges(stages.following) if t > s and ids.index(t) != ids.index(s) + 1]
    if jumps and files.has_stages and files.derived(Inflows).order:
        source, target = jumps[0]
        message = (
            f"stage {target} may follow it, and inflow models look back at the stages before in the file"
        )
        remedy = "let each stage be followed by the next or an earlier one, or use inflows without lags"
        report.error("unsupported", FILE, message, remedy, entity=f"stage {source}", field=WHERE)


def _rates(stages: Stages, stage: int) -> list[float]:
    """The yearly rates of the transitions from a stage; that of all others where it has none."""
    graph = stages.policy_graph
    given = [edge for edge in graph.transitions if edge.source_id == stage and edge.probability > 0]
    overrides = (edge.annual_discount_rate_override for edge in given)
    rates = {graph.annual_discount_rate if rate is None else rate for rate in overrides}
    return sorted(rates) or [graph.annual_discount_rate]


def rate_of(stages: Stages, stage: int) -> float:
    """Return the yearly discount rate of what follows a stage."""
    return _rates(stages, stage)[0]


def resolve(stages: Stages, discounts: Sequence[float]) -> PolicyGraph:
    """Return the graph as resolved data; ``discounts`` are the factors of the stages."""
    graph, given = _graph(stages), stages.policy_graph
    if given.type != "cyclic":
        return graph
    needed = max(graph.distances().values()) + 1
    most = given.max_horizon_length or max(MOST_STAGES, needed)
    steps = negligible_after(graph, discounts, given.discount_threshold or THRESHOLD, most)
    return PolicyGraph(graph.following, max(needed, steps))


def _graph(stages: Stages) -> PolicyGraph:
    following: Mapping[int, Mapping[int, float]] = stages.following
    place = {stage: number for number, stage in enumerate(following)}
    ways = ({place[target]: p for target, p in after.items()} for after in following.values())
    return PolicyGraph(tuple(ways))
