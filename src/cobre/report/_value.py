"""Figure of the future cost function and water value along the volume of one reservoir."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cobre.errors import ResultsError
from cobre.formatting import money
from cobre.report._axes import GROUPED, NUMBER, key, money_y, named, of
from cobre.report._figure import Columns, Figure, Options, grouped, rounded
from cobre.report._panel import INFLOW_STATES, Floats, panel, require_simulation
from cobre.report._source import first_steps, label_of, labels, remembered
from cobre.report._storage import bounds, stored, volumes
from cobre.report._theme import Theme, altair
from cobre.results import Results
from cobre.sddp import Policy

FUTURE, CUTS, MEAN = "future cost", "cuts", "mean"
#: Number of volumes at which the future cost is computed, and of cuts drawn at most.
POINTS, LINES = 101, 24


@dataclass(frozen=True, eq=False)
class FutureCostSlice:
    """Future cost after a stage along one volume, with all other states at their simulated means.

    Attributes:
        volume: volumes at which it is computed.
        value: future cost.
        slope: its derivative, the negative of the water value.
        mean: simulated mean volume.
        at_mean: future cost at the mean volume.
        slope_at_mean: its derivative there.
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
    """Simulated means of the states after each stage, stored quantities and past inflows, by state name."""
    found = {state: values.mean(axis=0) for state, values in stored(results).items()}
    for table, (kind, _) in INFLOW_STATES.items():
        if table in results.tables:
            lags = panel(results, table)
            means = lags.means("inflow_m3s")[0]
            for hydro, number in {*zip(lags.entity.tolist(), lags.block.tolist(), strict=True)}:
                own = (lags.entity == hydro) & (lags.block == number)
                before = means[own][np.argsort(lags.stage[own])]
                # What is known before a stage is what was after the one before it; nothing needs the last.
                found[f"{kind}:{hydro}:{number}"] = np.append(before[1:], np.nan)
    return found


def options(results: Results) -> Options:
    """Options: plants with a reservoir, and stages with cuts."""
    require_simulation(results)
    policy = policy_of(results)
    steps = first_steps(results, policy.nodes)
    with_cuts = [steps[node] for node in steps if policy.cuts(node).active.any()]
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
def sliced(results: Results, hydro: int, stage: int) -> FutureCostSlice:
    """Return the future cost after a stage along the volume of a reservoir."""
    states = {name: float(values[stage]) for name, values in mean_states(results).items()}
    name, mean = f"storage:{hydro}", states[f"storage:{hydro}"]
    policy = policy_of(results)
    node = next(node for node, step in first_steps(results, policy.nodes).items() if step == stage)
    volume = np.linspace(*_range(results, hydro, stage), POINTS)
    value, slope = along(policy, node, states, name, np.append(volume, mean))
    return FutureCostSlice(volume, value[:-1], slope[:-1], mean, float(value[-1]), float(slope[-1]))


def along(
    policy: Policy, node: str, states: dict[str, float], name: str, points: Floats
) -> tuple[Floats, Floats]:
    """Future cost and its derivative at points that differ in one state, as `Policy.value` gives them."""
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
    """Limits of a reservoir's volume, or the simulated range where it has none."""
    simulated = volumes(results)[hydro][:, stage + 1]
    limits = bounds(results).get(hydro, np.full((stage + 1, 2), np.nan))[stage]
    low, high = np.where(np.isnan(limits), (simulated.min(), simulated.max()), limits)
    return float(low), float(high)


def rows(results: Results, hydro: int, stage: int) -> Columns:
    """One row per point of the future cost, per end of a cut, and for the simulated mean."""
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


def _cuts(found: FutureCostSlice) -> list[tuple[tuple[float, float], ...]]:
    """End points of the active cuts, clipped near the future cost; at most ``LINES`` of them."""
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
    """Future cost function, with the cuts that form it."""
    alt = altair()
    x = alt.X("volume:Q", title="volume after the stage, hm³", axis=alt.Axis(labelExpr=GROUPED))
    x.scale = alt.Scale(zero=False, nice=False)
    y = of(money_y("future cost, $"), "value")
    y.scale = alt.Scale(zero=False, nice=True)
    stroke = alt.Stroke(**key([FUTURE, CUTS], [theme.series[0], theme.quiet]))
    tooltip = [
        alt.Tooltip("volume:Q", title="volume, hm³", format=NUMBER),
        alt.Tooltip("value:Q", title="future cost, $", format=NUMBER),
        alt.Tooltip("worth:Q", title="water value, $/hm³", format=NUMBER),
    ]
    thin, thick = alt.Chart().mark_line(strokeWidth=0.7, opacity=0.7), alt.Chart().mark_line(strokeWidth=2.8)
    dot = alt.Chart().mark_point(filled=True, size=70, color=theme.series[1], opacity=1)
    near = alt.Chart().mark_point(filled=True, size=120, opacity=0)
    only = {what: f"datum.what == '{what}'" for what in (FUTURE, CUTS, MEAN)}
    return alt.layer(
        named(thin.encode(x, y, stroke=stroke, detail="line:N"), CUTS).transform_filter(only[CUTS]),
        named(thick.encode(x, y, stroke=stroke), FUTURE).transform_filter(only[FUTURE]),
        near.encode(x, y, tooltip=tooltip).transform_filter(only[FUTURE]),
        dot.encode(x, y, tooltip=tooltip).transform_filter(only[MEAN]),
    )


def caption(results: Results, hydro: int, stage: int) -> str:
    """Water value at the simulated mean volume."""
    found = sliced(results, hydro, stage)
    name = labels(results, "hydro", [hydro])[hydro]
    return (
        f"{name} after {label_of(results, stage)}, other states at their means · water value "
        f"{money(-found.slope_at_mean)} per hm³ at the mean volume, {grouped(found.mean)} hm³ (dot)"
    )


FIGURE = Figure(
    "value",
    "Water value",
    "What is an additional hm³ in the reservoir worth?",
    rows,
    chart,
    caption,
    ("hydro", "stage"),
    options,
)
