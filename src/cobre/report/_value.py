"""What water is worth: the value function along the volume of one reservoir."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cobre.errors import ResultsError
from cobre.formatting import money
from cobre.report._axes import GROUPED, NUMBER, key, money_y, named, of
from cobre.report._figure import Columns, Figure, Options, grouped, rounded
from cobre.report._panel import Floats, panel, require_simulation
from cobre.report._source import label_of, labels, remembered
from cobre.report._storage import bounds, volumes
from cobre.report._theme import Theme, altair
from cobre.results import Results
from cobre.sddp import Policy

FUTURE, CUTS, MEAN = "future cost", "cuts", "mean"
#: At how many volumes the value is computed, and how many cuts are drawn at most.
POINTS, LINES = 101, 24


@dataclass(frozen=True, eq=False)
class Slice:
    """The value after a stage along one volume, all other states being what they are in the mean.

    Attributes:
        volume: where it is computed.
        value: what the following stages cost.
        slope: what one more hm³ changes of it.
        mean: the mean volume of the simulation.
        at_mean: the value there.
        slope_at_mean: likewise.
    """

    volume: Floats
    value: Floats
    slope: Floats
    mean: float
    at_mean: float
    slope_at_mean: float


@remembered
def policy_of(results: Results) -> Policy:
    """Return the policy.

    Raises:
        ResultsError: there is none.
        PolicyFileError: it cannot be read.
    """
    if not results.policy_path.exists():
        reason = "there is no policy; run the case with training.enabled, or copy the policy here"
        raise ResultsError(str(results.policy_path), "missing", reason)
    return Policy.load(results.policy_path)


@remembered
def mean_states(results: Results) -> dict[str, Floats]:
    """What stages leave behind in the mean of the simulation, by the names of states: volumes and inflows."""
    found = {f"storage:{hydro}": values[:, 1:].mean(axis=0) for hydro, values in volumes(results).items()}
    hydros = panel(results, "hydros")
    latest = hydros.means("incremental_inflow_m3s")[0][hydros.first_rows]
    found |= {f"inflow:{hydro}:1": values for hydro, values in zip(hydros.ids, latest, strict=True)}
    if "inflow_lags" in results.tables:
        lags = panel(results, "inflow_lags")
        means = lags.means("inflow_m3s")[0]
        for hydro, lag in {*zip(lags.entity.tolist(), lags.block.tolist(), strict=True)}:
            own = (lags.entity == hydro) & (lags.block == lag)  # what a stage knows is older by one after it
            found[f"inflow:{hydro}:{lag + 1}"] = means[own][np.argsort(lags.stage[own])]
    return found


def options(results: Results) -> Options:
    """The plants with a reservoir, and the stages after which costs are known to follow."""
    require_simulation(results)
    policy = policy_of(results)
    with_cuts = [stage for stage, node in enumerate(policy.nodes) if policy.cuts(node).active.any()]
    hydros = [int(name.split(":")[1]) for name in policy.states if name.startswith("storage:")]
    hydros = [hydro for hydro in hydros if np.ptp(_range(results, hydro)) > 0]
    if not (with_cuts and hydros):
        reason = "there is no reservoir, or no cut; train for some iterations"
        raise ResultsError(str(results.policy_path), "incomplete", reason)
    return {
        "hydro": labels(results, "hydro", hydros),
        "stage": {stage: label_of(results, stage) for stage in with_cuts},
    }


@remembered
def sliced(results: Results, hydro: int, stage: int) -> Slice:
    """Cut the value function after a stage along the volume of a reservoir."""
    states = {name: float(values[stage]) for name, values in mean_states(results).items()}
    name, mean = f"storage:{hydro}", states[f"storage:{hydro}"]
    volume = np.linspace(*_range(results, hydro, stage), POINTS)
    value, slope = along(policy_of(results), stage, states, name, np.append(volume, mean))
    return Slice(volume, value[:-1], slope[:-1], mean, float(value[-1]), float(slope[-1]))


def along(
    policy: Policy, stage: int, states: dict[str, float], name: str, points: Floats
) -> tuple[Floats, Floats]:
    """The value and its slope at points that differ in one state, as `Policy.value` has them."""
    node = policy.nodes[stage]
    record, place = policy.records[node], policy.states.index(name)
    cuts, families = record.cuts[record.active], record.families[record.active]
    rest = np.array([0.0 if state == name else states[state] for state in policy.states])
    heights = (cuts[:, 0] + cuts[:, 1:] @ rest)[:, None] + cuts[:, 1 + place, None] * points
    count = 1 + record.mixtures.shape[1]
    best, slopes = np.full((count, len(points)), -np.inf), np.zeros((count, len(points)))
    best[0] = policy.value_bounds[node]
    for family in np.unique(families).tolist():
        own = np.flatnonzero(families == family)
        highest = own[np.argmax(heights[own], axis=0)]
        top = heights[highest, np.arange(len(points))]
        higher = top > best[family]
        best[family] = np.where(higher, top, best[family])
        slopes[family] = np.where(higher, cuts[highest, 1 + place], 0.0)
    for mixture in record.mixtures:
        mixed = mixture @ best[1:]
        higher = mixed > best[0]
        best[0] = np.where(higher, mixed, best[0])
        slopes[0] = np.where(higher, mixture @ slopes[1:], slopes[0])
    return best[0], slopes[0]


def _range(results: Results, hydro: int, stage: int = 0) -> tuple[float, float]:
    """The volumes between which a reservoir is kept; where it has no limit, those that were simulated."""
    simulated = volumes(results)[hydro][:, stage + 1]
    limits = bounds(results).get(hydro, np.full((stage + 1, 2), np.nan))[stage]
    low, high = np.where(np.isnan(limits), (simulated.min(), simulated.max()), limits)
    return float(low), float(high)


def rows(results: Results, hydro: int, stage: int) -> Columns:
    """A row for each point of the value, for both ends of each cut, and for the mean of the simulation."""
    found = sliced(results, hydro, stage)
    ends = [(line, *end) for line, both in enumerate(_cuts(found), 1) for end in both]
    line, volume, value = (list(column) for column in zip(*ends, strict=True))
    return {
        "what": [FUTURE] * POINTS + [CUTS] * len(ends) + [MEAN],
        "line": [0] * POINTS + line + [0],
        "volume": rounded([*found.volume, *volume, found.mean]),
        "value": rounded([*found.value, *value, found.at_mean]),
        "worth": rounded([*-found.slope, *[np.nan] * len(ends), -found.slope_at_mean]),
    }


def _cuts(found: Slice) -> list[tuple[tuple[float, float], ...]]:
    """Both ends of the cuts that the value consists of, as far as they are near it; some of many."""
    first = np.sort(np.unique(found.slope, return_index=True)[1])
    some = first[np.unique(np.linspace(0, len(first) - 1, LINES).astype(int))]
    floor = found.value.min() - 0.12 * np.ptp(found.value)
    lowest, highest = float(found.volume[0]), float(found.volume[-1])
    drawn = []
    for slope, height in zip(
        found.slope[some], (found.value - found.slope * found.volume)[some], strict=True
    ):
        crossing = float((floor - height) / slope) if slope else highest
        ends = (lowest, min(highest, crossing)) if slope <= 0 else (max(lowest, crossing), highest)
        drawn.append(tuple((volume, float(height + slope * volume)) for volume in ends))
    return drawn


def chart(results: Results, theme: Theme) -> Any:
    """The highest of the cuts, with the cuts that are somewhere the highest."""
    alt = altair()
    x = alt.X("volume:Q", title="volume after the stage, hm³", axis=alt.Axis(labelExpr=GROUPED))
    x.scale = alt.Scale(zero=False, nice=False)
    y = of(money_y("future cost, $"), "value")
    y.scale = alt.Scale(zero=False, nice=True)
    stroke = alt.Stroke(**key([FUTURE, CUTS], [theme.series[0], theme.quiet]))
    told = [
        alt.Tooltip("volume:Q", title="volume, hm³", format=NUMBER),
        alt.Tooltip("value:Q", title="future cost, $", format=NUMBER),
        alt.Tooltip("worth:Q", title="one more hm³ saves, $", format=NUMBER),
    ]
    thin, thick = alt.Chart().mark_line(strokeWidth=0.7, opacity=0.7), alt.Chart().mark_line(strokeWidth=2.8)
    dot = alt.Chart().mark_point(filled=True, size=70, color=theme.series[1], opacity=1)
    near = alt.Chart().mark_point(filled=True, size=120, opacity=0)
    only = {what: f"datum.what == '{what}'" for what in (FUTURE, CUTS, MEAN)}
    return alt.layer(
        named(thin.encode(x, y, stroke=stroke, detail="line:N"), CUTS).transform_filter(only[CUTS]),
        named(thick.encode(x, y, stroke=stroke), FUTURE).transform_filter(only[FUTURE]),
        near.encode(x, y, tooltip=told).transform_filter(only[FUTURE]),
        dot.encode(x, y, tooltip=told).transform_filter(only[MEAN]),
    )


def caption(results: Results, hydro: int, stage: int) -> str:
    """What water is worth where the simulation is in the mean."""
    found = sliced(results, hydro, stage)
    name = labels(results, "hydro", [hydro])[hydro]
    return (
        f"{name} after {label_of(results, stage)}, all else as in the mean · at {grouped(found.mean)} hm³, "
        f"the mean (dot), one more hm³ saves {money(-found.slope_at_mean)}"
    )


FIGURE = Figure(
    "value",
    "Value of water",
    "What is one more hm³ in the reservoir worth?",
    rows,
    chart,
    caption,
    ("hydro", "stage"),
    options,
)
