"""Summary of a run in three lines: quality of the policy, operation of the system, course of the run."""

from __future__ import annotations

from cobre.estimates import relative_gap
from cobre.formatting import count, duration, money, money_between, percent
from cobre.report._facts import Facts
from cobre.report._source import Source, opened
from cobre.sddp.stopping import stopped_by

#: A bound that rises by less than this share in the last tenth of the iterations is stable.
STABLE = 1e-3
#: A gap above this share of the bound, and above sampling error, is large.
LARGE = 0.01
#: A stage or bus whose price exceeds the mean by this factor is mentioned.
EXPENSIVE = 1.02
#: Workers that compute for less than this share of their time are too many.
BUSY = 0.6


def reading(source: Source) -> tuple[str, str, str]:
    """Return a summary of a run in three lines.

    Args:
        source: a folder, or what `cobre.results.read` returned; the run may be unfinished.

    Returns:
        Lines about the policy, the system, and the run with advice on the next step.

    Raises:
        ResultsError: it is not a result folder, or a table is damaged.
    """
    facts = Facts(opened(source))
    return policy_line(facts), system_line(facts), run_line(facts)


def policy_line(facts: Facts) -> str:
    """Quality of the policy: simulated mean, lower bound and gap."""
    training, simulation = facts.training, facts.simulation
    if simulation is None:
        if training is None:
            return "There is no policy yet: no iteration has finished."
        adjusted = f" of the risk-adjusted cost ({facts.risk})" if facts.risk else ""
        return f"Lower bound {money(training.lower_bound)}{adjusted}; the policy has not been simulated."
    interval = "" if simulation.half_width is None else "95 % CI, "
    mean = f"Simulated mean {cost_words(facts)} ({interval}{count(simulation.scenarios, 'scenario')})"
    if training is None:
        return f"{mean}; the folder has no training to compare it with."
    return f"{mean}; lower bound {money(training.lower_bound)}, {gap_words(facts)}."


def cost_words(facts: Facts) -> str:
    """Simulated mean, with its confidence interval if there is one."""
    known = facts.simulation
    if known is None:
        return "an unknown amount"
    return money(known.mean) if known.half_width is None else money_between(known.mean, known.half_width)


def gap_words(facts: Facts) -> str:
    """Gap between simulated mean and lower bound, with its interpretation."""
    training, simulation = facts.training, facts.simulation
    if training is None or simulation is None:
        return "no gap without training and simulation"
    if facts.risk:
        return f"not comparable: the bound is of the risk-adjusted cost ({facts.risk})"
    if simulation.half_width is None:
        return "gap unknown from one scenario; simulate more"
    bound, gap = training.lower_bound, simulation.mean - training.lower_bound
    if abs(gap) <= simulation.half_width:
        return "within sampling error"
    relative = relative_gap(bound, simulation.mean)
    size = money(abs(gap)) if relative is None else percent(abs(relative))
    if gap > 0:
        return f"gap {size}, more than sampling error"
    return f"mean {size} below the bound, as for out-of-sample scenarios"


def system_line(facts: Facts) -> str:
    """Operation of the system: generation mix, marginal cost and deficit."""
    if facts.simulation is None:
        return "No operation to show: there is no simulation in this folder."
    parts = (_mix(facts.supply_mwh), _prices(facts), _deficits(facts))
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in parts if part)


def _mix(energy: dict[str, float]) -> str:
    total = sum(energy.values())
    given = {label: value / total for label, value in energy.items() if total > 0 and value > 0}
    if not given:
        return "no generation"
    mix = sorted(given.items(), key=lambda item: -item[1])
    return "generation mix: " + ", ".join(f"{label} {percent(share)}" for label, share in mix)


def _prices(facts: Facts) -> str:
    prices = facts.prices
    if prices is None:
        return ""
    stage = max(prices.by_stage, key=lambda number: prices.by_stage[number])
    bus = max(prices.by_bus, key=lambda number: prices.by_bus[number])
    places = (
        (f"in {facts.stage_name(stage)}", prices.by_stage[stage]),
        (f"at {facts.bus_name(bus)}", prices.by_bus[bus]),
    )
    high = [f"{place} ({price:,.0f})" for place, price in places if price > EXPENSIVE * prices.mean]
    highest = f", highest {' and '.join(high)}" if high else ""
    return f"mean marginal cost {prices.mean:,.0f} $/MWh{highest}"


def _deficits(facts: Facts) -> str:
    deficit, simulation = facts.summary.deficit, facts.simulation
    if deficit is None or simulation is None:
        return ""
    total = count(simulation.scenarios, "scenario")
    if not deficit.scenarios:
        return f"no deficit in {total}"
    share = percent(deficit.percent_of_load / 100)
    return f"deficit in {deficit.scenarios:,} of {total}, {share} of the load"


def run_line(facts: Facts) -> str:
    """Course of the run, and advice on the next step."""
    return f"{_course(facts)} {_next(facts)}".rstrip()


def _course(facts: Facts) -> str:
    training = facts.training
    if training is None:
        return "There is no training in this folder."
    who = "in one process" if facts.workers == 1 else f"on {count(facts.workers, 'worker')}"
    words = f"{count(training.iterations, 'iteration')} in {duration(training.seconds)} {who}"
    if facts.unfinished != "training" and training.stopped_by:
        words += f", stopped by {stopped_by(training.stopped_by)}"
    if facts.busy is not None:
        words += f"; {percent(facts.busy)} computing, the rest communication and waiting"
    return f"{words}."


def _next(facts: Facts) -> str:
    if facts.unfinished:
        return f"The {facts.unfinished} has not finished; resume it with: {facts.next_command}"
    if facts.training is None:
        return ""
    if facts.simulation is None:
        return "To estimate the cost of the policy, set simulation.enabled in config.json and run again."
    return _advice(facts)


def _advice(facts: Facts) -> str:
    rise = facts.rise
    if rise is not None and rise[0] > STABLE:
        last = count(rise[1], "iteration")
        return f"The bound still rose by {percent(rise[0])} in the last {last}; more would tighten it."
    if _gap_is_large(facts):
        return "The gap is large; more iterations may reduce it."
    if facts.busy is not None and facts.busy < BUSY:
        return "Fewer workers would take about as long."
    return "The bound is stable." if rise is not None else ""


def _gap_is_large(facts: Facts) -> bool:
    training, simulation = facts.training, facts.simulation
    if training is None or simulation is None or simulation.half_width is None or facts.risk:
        return False
    gap = simulation.mean - training.lower_bound
    return gap > max(simulation.half_width, LARGE * abs(training.lower_bound))
