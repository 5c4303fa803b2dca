"""A reservoir that is run for ever: a graph with a cycle.

Source: SDDP.jl's example infinite_horizon_hydro_thermal. Each week is followed by another with probability
0.9, which is a discount by another name; spilling is dear, and little rain comes with much demand. The
optimal value is 119.167.
"""

from cobre.sddp import MultistageProblem
from cobre.sddp.modeling import StageModel, stage


def week(model: StageModel) -> None:
    """Meet the demand of a week from water and fuel."""
    volume = model.state("volume", lower=5, upper=15)
    thermal = model.variable("thermal", cost=1)
    hydro = model.variable("hydro")
    spill = model.variable("spill", cost=10)
    inflow = model.parameter("inflow", [0, 5, 10])
    demand = model.parameter("demand", [7.5, 5, 2.5])
    model.constraint(volume.outgoing == volume.incoming + inflow - hydro - spill, name="balance")
    model.constraint(hydro + thermal == demand, name="demand")


def problem() -> MultistageProblem:
    """Return one node that may follow itself."""
    return MultistageProblem(
        nodes=[stage("week", week)],
        initial_state={"volume": 10},
        beginning={"week": 1.0},
        transitions={"week": {"week": 0.9}},
        value_bound=0,
    )


if __name__ == "__main__":
    from cobre import sddp

    result = sddp.train(problem(), stop=sddp.IterationLimit(40), seed=1)
    print(f"the expected cost is at least {result.bound:.2f}")
