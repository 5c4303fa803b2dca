"""Three lines in plain words: how good the policy is, what the system does, how the run went."""

from __future__ import annotations

from cobre.report._facts import Facts, Market
from cobre.report._words import count, duration, money, money_between, percent, stopped
from cobre.results import Results

#: A bound that rises by less than this over the last tenth of the iterations has settled.
SETTLED = 1e-3
#: A stage or bus whose price is this many times the mean is worth a word.
DEAR = 1.02
#: Workers that have work for less than this share of their time mostly wait.
BUSY = 0.6


def reading(results: Results) -> tuple[str, str, str]:
    """Return what a run says, in three lines for people.

    Args:
        results: as `cobre.results.read` gives it; that of an unfinished run is read as far as it goes.

    Returns:
        How good the policy is; what the system does; how the run went, and what to do next.

    Raises:
        ResultsError: a table is damaged.
    """
    facts = Facts(results)
    return policy_line(facts), system_line(facts), run_line(facts)


def policy_line(facts: Facts) -> str:
    """How good the policy is."""
    bound, cost = facts.bound, facts.cost
    if bound is None and cost is None:
        return "There is no policy yet: no iteration has been finished."
    if cost is None:
        return (
            f"No policy can cost less than {money(bound or 0.0)}; what this one costs has not been simulated."
        )
    spread = "" if cost.count < 2 else f" on average over {count(cost.count, 'scenario')}"
    amount = money(cost.mean) if cost.count < 2 else money_between(cost.mean, cost.half_width())
    if bound is None:
        return f"The policy costs {amount}{spread}; the folder has no training to compare that with."
    return (
        f"The policy costs {amount}{spread}, and none can cost less than {money(bound)}: {gap_words(facts)}."
    )


def gap_words(facts: Facts) -> str:
    """How far the simulated mean is from the bound, and what that means; both must be there."""
    bound, cost = facts.bound, facts.cost
    if bound is None or cost is None:
        return "there is nothing to compare"
    gap, half = cost.mean - bound, cost.half_width()
    if cost.count < 2:
        return "one scenario tells little, simulate more"
    if abs(gap) <= half:
        return "the two agree within the sampling error"
    share = percent(abs(gap) / abs(bound)) if bound else money(abs(gap))
    if gap > 0:
        return f"a gap of {share}, more than sampling explains"
    return f"{share} below the bound, as for a policy that is averse to risk or scenarios of another kind"


def system_line(facts: Facts) -> str:
    """What the system does."""
    if not facts.simulated:
        return "What the system does is not known: there is no simulation in this folder."
    parts = [_supply(facts.supply_mwh)]
    if facts.market is not None:
        parts += [_prices(facts, facts.market), _deficits(facts, facts.market)]
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


def _prices(facts: Facts, market: Market) -> str:
    if market.price is None:
        return ""
    stage = max(market.by_stage, key=lambda number: market.by_stage[number])
    bus = max(market.by_bus, key=lambda number: market.by_bus[number])
    dear = [
        f"{words} ({price:,.0f} $)"
        for words, price in (
            (f"in {facts.stage_name(stage)}", market.by_stage[stage]),
            (f"at {facts.bus_name(bus)}", market.by_bus[bus]),
        )
        if price > DEAR * market.price
    ]
    most = f", most {' and '.join(dear)}" if dear else ""
    return f"a MWh costs {market.price:,.0f} $ on average{most}"


def _deficits(facts: Facts, market: Market) -> str:
    total = facts.cost.count if facts.cost else 0
    if not market.short:
        return f"none of {count(total, 'scenario')} leaves load unserved"
    verb = "leaves" if market.short == 1 else "leave"
    who = f"{market.short:,} of {count(total, 'scenario')}"
    return f"{who} {verb} load unserved, {percent(market.unserved)} of it"


def run_line(facts: Facts) -> str:
    """How the run went, and what to do next."""
    return f"{_course(facts)} {_next(facts)}"


def _course(facts: Facts) -> str:
    if not facts.trained:
        return "There is no iteration of training in this folder."
    words = (
        f"{count(facts.iterations, 'iteration')} took {duration(facts.training_s or 0.0)} on {_who(facts)}"
    )
    reason = facts.results.manifest.get("convergence", {}).get("termination_reason", "")
    if facts.unfinished != "training" and reason:
        words += f", until {stopped(reason)}"
    if facts.busy is not None:
        words += (
            f"; they were busy for {percent(facts.busy)} of it and with each other or waiting for the rest"
        )
    return f"{words}."


def _who(facts: Facts) -> str:
    return "in one process" if facts.workers == 1 else f"on {count(facts.workers, 'worker')}"


def _next(facts: Facts) -> str:
    if facts.unfinished:
        return f"The {facts.unfinished} has not finished; go on with: {facts.next_command}"
    if facts.trained and not facts.simulated:
        return "Simulate it to see what it costs: set simulation.enabled in config.json and run again."
    rise = facts.rise
    if rise is not None and rise[0] > SETTLED:
        last = count(rise[1], "iteration")
        return (
            f"The bound still rose by {percent(rise[0])} in the last {last}: raise the limit to tighten it."
        )
    if facts.busy is not None and facts.busy < BUSY:
        return "Fewer workers would hardly be slower."
    return "The bound has settled: nothing is left to do." if rise is not None else ""


def _apart(facts: Facts) -> bool:
    """Whether the policy costs more than the bound by more than a hundredth and than sampling explains."""
    if facts.bound is None or facts.cost is None:
        return False
    return facts.cost.mean - facts.bound > max(facts.cost.half_width(), 0.01 * abs(facts.bound))
