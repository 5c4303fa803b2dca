"""The band of key figures at the top of the page."""

from __future__ import annotations

from dataclasses import dataclass

from cobre.estimates import relative_gap
from cobre.formatting import count, duration, money, percent
from cobre.report._facts import Facts
from cobre.report._reading import cost_words, gap_words
from cobre.sddp.stopping import stopped_by

NONE = "\N{EN DASH}"


@dataclass(frozen=True)
class KeyFigure:
    """Number with a label, a unit and a note."""

    label: str
    value: str
    unit: str = ""
    note: str = ""


def key_figures(facts: Facts) -> list[KeyFigure]:
    """Return seven key figures, the three main ones first."""
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
    known = facts.simulation
    if known is None:
        return KeyFigure("Simulated cost", NONE, note="not simulated")
    note = "one scenario" if known.half_width is None else "mean, with its 95 % confidence interval"
    return KeyFigure("Simulated cost", *_split(cost_words(facts)), note)


def _bound(facts: Facts) -> KeyFigure:
    if facts.training is None:
        return KeyFigure("Lower bound", NONE, note="not trained here")
    words = money(facts.training.lower_bound)
    cost = f"risk-adjusted cost: {facts.risk}" if facts.risk else "expected cost"
    return KeyFigure("Lower bound", *_split(words), f"minimum {cost}")


def _gap(facts: Facts) -> KeyFigure:
    if facts.training is None or facts.simulation is None:
        return KeyFigure("Gap", NONE, note="needs a training and a simulation")
    if facts.risk:
        return KeyFigure("Gap", NONE, note="undefined with a risk measure")
    bound, mean = facts.training.lower_bound, facts.simulation.mean
    gap = relative_gap(bound, mean)
    text = money(mean - bound) if gap is None else percent(gap).replace("-", "\N{MINUS SIGN}")
    return KeyFigure("Gap", *_split(text), gap_words(facts))


def _iterations(facts: Facts) -> KeyFigure:
    training = facts.training
    if training is None:
        return KeyFigure("Iterations", NONE, note="not trained here")
    said = "so far" if facts.unfinished == "training" else f"stopped by {stopped_by(training.stopped_by)}"
    return KeyFigure("Iterations", f"{training.iterations:,}", note=said)


def _time(facts: Facts) -> KeyFigure:
    trained = facts.training.seconds if facts.training else None
    known = {"training": trained, "simulation": facts.simulation_s}
    parts = {name: seconds for name, seconds in known.items() if seconds is not None}
    if not parts:
        return KeyFigure("Time", NONE)
    note = " and ".join(f"{duration(seconds)} of {name}" for name, seconds in parts.items())
    return KeyFigure("Time", duration(sum(parts.values())), note=note)


def _scenarios(facts: Facts) -> KeyFigure:
    if facts.simulation is None:
        return KeyFigure("Scenarios", NONE, note="not simulated")
    note = f"of {count(facts.stages, 'stage')}" if facts.stages else ""
    return KeyFigure("Scenarios", f"{facts.simulation.scenarios:,}", note=note)


def _cuts(facts: Facts) -> KeyFigure:
    training = facts.training
    if training is None:
        return KeyFigure("Cuts", NONE, note="not trained here")
    everything = training.cuts_active == training.cuts
    note = "all active" if everything else f"active, of {training.cuts:,} generated"
    return KeyFigure("Cuts", f"{training.cuts_active:,}", note=note)


def _split(words: str) -> tuple[str, str]:
    value, _, unit = words.partition(" ")
    return value, unit
