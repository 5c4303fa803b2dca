"""The farmer: divide the land among three crops before the weather is known.

Source: Birge and Louveaux, "Introduction to Stochastic Programming", section 1.1. Yields are a fifth above or
below their mean, wheat and corn are needed as fodder and can be bought, and beets beyond a quota fetch
little. The optimal value is a profit of 108390.
"""

from cobre.sddp import MultistageProblem
from cobre.sddp.modeling import StageModel, stage

#: Cost of planting and mean yield per acre; fodder needed; prices per tonne of selling, within and beyond the
#: quota, and of buying; the quota.
CROPS = {
    "wheat": (150, 2.5, 200, 170, 0, 238, float("inf")),
    "corn": (230, 3.0, 240, 150, 0, 210, float("inf")),
    "beets": (260, 20.0, 0, 36, 10, 1000, 6000),
}


def plant(model: StageModel) -> None:
    """Divide 500 acres."""
    areas = {name: model.state(name) for name in CROPS}
    model.constraint(sum(area.outgoing for area in areas.values()) <= 500)
    for name, (cost, *_) in CROPS.items():
        model.cost(-cost * areas[name].outgoing)


def harvest(model: StageModel) -> None:
    """Feed, buy and sell."""
    for name, (_, mean, fodder, price, low_price, buying, quota) in CROPS.items():
        area = model.state(name)
        sold = model.variable(f"{name} sold", upper=quota, cost=price)
        dumped = model.variable(f"{name} sold beyond the quota", cost=low_price)
        bought = model.variable(f"{name} bought", cost=-buying)
        fed = model.constraint(mean * area.incoming + bought - sold - dumped >= fodder)
        model.random((fed, area.incoming), coefficient=[1.2 * mean, mean, 0.8 * mean])


def problem() -> MultistageProblem:
    """Return two stages: plant, then harvest in one of three kinds of weather."""
    nodes = [stage("plant", plant), stage("harvest", harvest)]
    return MultistageProblem.linear(nodes, dict.fromkeys(CROPS, 0.0), sense="max", value_bound=500_000)


if __name__ == "__main__":
    from cobre import sddp

    result = sddp.train(problem(), stop=sddp.IterationLimit(40), seed=1)
    print(f"the expected profit is {result.bound:.0f}")
