"""Three lines in plain words: how good the policy is, what the system does, how the run went."""

from __future__ import annotations

from cobre.formatting import count, duration, money, money_between, percent, stopped
from cobre.report._facts import Facts
from cobre.report._source import Source, opened

#: A bound that rises by less than this in the last tenth of the iterations has settled.
SETTLED = 1e-3
#: A gap of more than this share of the bound, and than sampling explains, is wide.
WIDE = 0.01
#: A stage or bus whose price is this many times the mean is worth a word.
DEAR = 1.02
#: Workers that compute for less than this share of their time mostly wait.
BUSY = 0.6


def reading(source: Source) -> tuple[str, str, str]:
    """Return what a run says, in three lines for people.

    Args:
        source: a folder, or what `cobre.results.read` returned; an unfinished run is read as far as it goes.

    Returns:
        How good the policy is; what the system does; how the run went, and what to do next.

    Raises:
        ResultsError: it is no result, or a table is damaged.
    """
    facts = Facts(opened(source))
    return policy_line(facts), system_line(facts), run_line(facts)


def policy_line(facts: Facts) -> str:
    """How good the policy is."""
    training, simulation = facts.training, facts.simulation
    if simulation is None:
        if training is None:
            return "There is no policy yet: no iteration has been finished."
        least = money(training.lower_bound)
        return f"No policy can cost less than {least}; what this one costs has not been simulated."
    costs = f"The policy costs {cost_words(facts)} on average over {count(simulation.scenarios, 'scenario')}"
    if training is None:
        return f"{costs}; the folder has no training to compare that with."
    return f"{costs}, and none can cost less than {money(training.lower_bound)}: {gap_words(facts)}."


def cost_words(facts: Facts) -> str:
    """The simulated mean, with its interval if there is one."""
    known = facts.simulation
    if known is None:
        return "an unknown amount"
    return money(known.mean) if known.half_width is None else money_between(known.mean, known.half_width)


def gap_words(facts: Facts) -> str:
    """How far the simulated mean is from the bound, and what that means."""
    training, simulation = facts.training, facts.simulation
    if training is None or simulation is None:
        return "there is nothing to compare"
    if simulation.half_width is None:
        return "one scenario tells little, simulate more"
    bound, gap = training.lower_bound, simulation.mean - training.lower_bound
    if abs(gap) <= simulation.half_width:
        return "the two agree within the sampling error"
    share = percent(abs(gap) / abs(bound)) if bound else money(abs(gap))
    if gap > 0:
        return f"a gap of {share}, more than sampling explains"
    return f"{share} below the bound, as for a policy that is averse to risk or scenarios of another kind"


def system_line(facts: Facts) -> str:
    """What the system does."""
    if facts.simulation is None:
        return "What the system does is not known: there is no simulation in this folder."
    parts = (_supply(facts.supply_mwh), _prices(facts), _deficits(facts))
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in parts if part)


def _supply(energy: dict[str, float]) -> str:
    total = sum(energy.values())
    given = {words: value / total for words, value in energy.items() if total > 0 and value > 0}
    if not given:
        return "nothing is generated"
    (first, share), *others = sorted(given.items(), key=lambda item: -item[1])
    rest = "".join(f", {words} {percent(value)}" for words, value in others)
    verb = "give" if first.endswith("s") else "gives"
    return f"{first} {verb} {percent(share)} of the energy{rest}"


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
    dear = [f"{words} ({price:,.0f} $)" for words, price in places if price > DEAR * prices.mean]
    most = f", most {' and '.join(dear)}" if dear else ""
    return f"a MWh costs {prices.mean:,.0f} $ on average{most}"


def _deficits(facts: Facts) -> str:
    deficit, simulation = facts.summary.deficit, facts.simulation
    if deficit is None or simulation is None:
        return ""
    total = count(simulation.scenarios, "scenario")
    if not deficit.scenarios:
        return f"none of {total} leaves load unserved"
    verb = "leaves" if deficit.scenarios == 1 else "leave"
    share = percent(deficit.percent_of_load / 100)
    return f"{deficit.scenarios:,} of {total} {verb} load unserved, {share} of all load"


def run_line(facts: Facts) -> str:
    """How the run went, and what to do next."""
    return f"{_course(facts)} {_next(facts)}".rstrip()


def _course(facts: Facts) -> str:
    training = facts.training
    if training is None:
        return "There is no iteration of training in this folder."
    who = "in one process" if facts.workers == 1 else f"on {count(facts.workers, 'worker')}"
    words = f"{count(training.iterations, 'iteration')} took {duration(training.seconds)} {who}"
    if facts.unfinished != "training" and training.stopped_by:
        words += f", until {stopped(training.stopped_by)}"
    if facts.busy is not None:
        words += (
            f"; they computed for {percent(facts.busy)} of it and met or waited for each other in the rest"
        )
    return f"{words}."


def _next(facts: Facts) -> str:
    if facts.unfinished:
        return f"The {facts.unfinished} has not finished; go on with: {facts.next_command}"
    if facts.training is None:
        return ""
    if facts.simulation is None:
        return "Simulate it to see what it costs: set simulation.enabled in config.json and run again."
    return _advice(facts)


def _advice(facts: Facts) -> str:
    rise = facts.rise
    if rise is not None and rise[0] > SETTLED:
        last = count(rise[1], "iteration")
        return f"The bound still rose by {percent(rise[0])} in the last {last}: more would tighten it."
    if _wide(facts):
        return "The gap is wide: more iterations may narrow it."
    if facts.busy is not None and facts.busy < BUSY:
        return "Fewer workers would hardly be slower."
    return "The bound has settled: nothing is left to do." if rise is not None else ""


def _wide(facts: Facts) -> bool:
    training, simulation = facts.training, facts.simulation
    if training is None or simulation is None or simulation.half_width is None:
        return False
    gap = simulation.mean - training.lower_bound
    return gap > max(simulation.half_width, WIDE * abs(training.lower_bound))
