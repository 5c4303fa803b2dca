"""Save for an education: stocks or bonds, over three periods that go well or badly.

Source: Birge and Louveaux, "Introduction to Stochastic Programming", section 1.2, as a Markov chain in the
manner of SDDP.jl's example asset_management_simple. 55 are invested, 80 are needed at the end; a surplus is
worth 1, each unit that is missing costs 4. The optimal value is 1.514.
"""

from cobre.sddp import MultistageProblem
from cobre.sddp.modeling import StageModel, stage

STOCKS, BONDS = [1.25, 1.06], [1.14, 1.12]  # what one unit becomes in good times and in bad


def invest(model: StageModel) -> None:
    """Divide what is there."""
    stocks, bonds = model.state("stocks"), model.state("bonds")
    model.constraint(stocks.outgoing + bonds.outgoing == 55)


def rebalance(model: StageModel, times: int) -> None:
    """Divide again what has become of it."""
    stocks, bonds = model.state("stocks"), model.state("bonds")
    wealth = STOCKS[times] * stocks.incoming + BONDS[times] * bonds.incoming
    model.constraint(wealth == stocks.outgoing + bonds.outgoing)


def pay(model: StageModel, times: int) -> None:
    """Compare with what is needed."""
    stocks, bonds = model.state("stocks"), model.state("bonds")
    over, short = model.variable("over", cost=-1), model.variable("short", cost=4)
    wealth = STOCKS[times] * stocks.incoming + BONDS[times] * bonds.incoming
    model.constraint(wealth - over + short == 80)


def problem() -> MultistageProblem:
    """Return four stages; after the first, times are good or bad, whatever they were before."""
    nodes = [[stage("invest", invest)]]
    nodes += [[stage(f"{t} {('good', 'bad')[i]}", rebalance, i) for i in (0, 1)] for t in (1, 2)]
    nodes += [[stage(f"3 {name}", pay, i) for i, name in enumerate(("good", "bad"))]]
    matrices = [[[1.0]], [[0.5, 0.5]], [[0.5, 0.5]] * 2, [[0.5, 0.5]] * 2]
    return MultistageProblem.markovian(nodes, matrices, {"stocks": 0, "bonds": 0}, value_bound=-1000)


if __name__ == "__main__":
    from cobre import sddp

    result = sddp.train(problem(), stop=sddp.IterationLimit(40), seed=1)
    print(f"the expected shortfall, weighed against surplus, is {result.bound:.3f}")
