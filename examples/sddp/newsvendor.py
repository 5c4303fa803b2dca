"""The newsvendor: order before demand is known, sell as much of it as is asked for.

Source: the quick start of FAST, a MATLAB toolbox by Leopold Cambier (web.stanford.edu/~lcambier/fast), in the
numbers of SDDP.jl's example FAST_quickstart. Ordering costs 1, a sale brings 2, demand is 2 or 3; the first
two units sell surely, the third half the time, which just pays for it. The optimal value is -2.
"""

from cobre.sddp import MultistageProblem
from cobre.sddp.modeling import StageModel, stage


def order(model: StageModel) -> None:
    """Order papers in the evening."""
    papers = model.state("papers")
    model.cost(papers.outgoing)


def sell(model: StageModel) -> None:
    """Sell them in the morning, to as many as come."""
    papers = model.state("papers")
    sold = model.variable("sold", cost=-2)
    model.constraint(sold <= papers.incoming)
    model.random(sold, upper=[2, 3])


def problem() -> MultistageProblem:
    """Return two stages: order, then sell."""
    nodes = [stage("order", order), stage("sell", sell)]
    return MultistageProblem.linear(nodes, {"papers": 0}, value_bound=-10)


if __name__ == "__main__":
    from cobre import sddp

    result = sddp.train(problem(), stop=sddp.IterationLimit(20), seed=1)
    print(f"the optimal cost is {result.bound:.2f}")
