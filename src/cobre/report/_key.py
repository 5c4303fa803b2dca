"""The band of key figures at the top of the page."""

from __future__ import annotations

from dataclasses import dataclass

from cobre.report._facts import Facts
from cobre.report._reading import gap_words
from cobre.report._words import count, duration, money, money_between, percent, stopped

NONE = "\N{EN DASH}"


@dataclass(frozen=True)
class KeyFigure:
    """A number with a name, a unit and a remark."""

    label: str
    value: str
    unit: str = ""
    note: str = ""


def key_figures(facts: Facts) -> list[KeyFigure]:
    """Return the seven: three that matter most, then four."""
    return [
        _cost(facts),
        _bound(facts),
        _gap(facts),
        _iterations(facts),
        _time(facts),
        _scenarios(facts),
        _cuts(facts),
    ]


def _cost(facts: Facts) -> KeyFigure:
    label = "Simulated cost"
    if facts.cost is None:
        return KeyFigure(label, NONE, note="not simulated")
    if facts.cost.count < 2:
        return KeyFigure(label, *_split(money(facts.cost.mean)), "of one scenario")
    words = money_between(facts.cost.mean, facts.cost.half_width())
    return KeyFigure(label, *_split(words), "mean, with its 95 % interval")


def _bound(facts: Facts) -> KeyFigure:
    if facts.bound is None:
        return KeyFigure("Lower bound", NONE, note="no training in this folder")
    return KeyFigure("Lower bound", *_split(money(facts.bound)), "no policy can cost less on average")


def _gap(facts: Facts) -> KeyFigure:
    if facts.bound is None or facts.cost is None:
        return KeyFigure("Gap", NONE, note="needs a training and a simulation")
    if not facts.bound:
        return KeyFigure("Gap", *_split(money(facts.cost.mean)), gap_words(facts))
    share = (facts.cost.mean - facts.bound) / abs(facts.bound)
    return KeyFigure("Gap", percent(share).replace("-", "\N{MINUS SIGN}"), note=gap_words(facts))


def _iterations(facts: Facts) -> KeyFigure:
    if not facts.trained:
        return KeyFigure("Iterations", NONE, note="not trained here")
    reason = facts.results.manifest.get("convergence", {}).get("termination_reason", "")
    said = "so far" if facts.unfinished == "training" else f"until {stopped(reason)}"
    return KeyFigure("Iterations", f"{facts.iterations:,}", note=said)


def _time(facts: Facts) -> KeyFigure:
    known = {"training": facts.training_s, "simulation": facts.simulation_s}
    parts = {name: seconds for name, seconds in known.items() if seconds is not None}
    if not parts:
        return KeyFigure("Time", NONE)
    note = " and ".join(f"{duration(seconds)} of {name}" for name, seconds in parts.items())
    return KeyFigure("Time", duration(sum(parts.values())), note=note)


def _scenarios(facts: Facts) -> KeyFigure:
    if facts.cost is None:
        return KeyFigure("Scenarios", NONE, note="not simulated")
    stages = len(facts.market.by_stage) if facts.market else 0
    return KeyFigure(
        "Scenarios", f"{facts.cost.count:,}", note=f"of {count(stages, 'stage')}" if stages else ""
    )


def _cuts(facts: Facts) -> KeyFigure:
    if not facts.trained:
        return KeyFigure("Cuts", NONE, note="not trained here")
    active, made = facts.cuts
    note = "all of them in use" if active == made else f"in use, of {made:,} made"
    return KeyFigure("Cuts", f"{active:,}", note=note)


def _split(words: str) -> tuple[str, str]:
    value, _, unit = words.partition(" ")
    return value, unit
