"""A reservoir and a thermal plant that meet a demand in three stages.

Source: the first tutorial of SDDP.jl, "An introduction to SDDP.jl" (sddp.dev/stable/tutorial/first_steps).
Inflows are 0, 50 or 100, fuel becomes dearer from stage to stage, and water saved now replaces dear fuel
later. The optimal value is 8333.33.
"""

from cobre.sddp import MultistageProblem
from cobre.sddp.modeling import StageModel, stages


def week(model: StageModel, t: int) -> None:
    """Meet a demand of 150 from water and fuel."""
    volume = model.state("volume", upper=200)
    thermal = model.variable("thermal", cost=50 * t)
    hydro = model.variable("hydro")
    spill = model.variable("spill")
    inflow = model.parameter("inflow", [0, 50, 100])
    model.constraint(volume.outgoing == volume.incoming + inflow - hydro - spill, name="balance")
    model.constraint(hydro + thermal == 150, name="demand")


def problem() -> MultistageProblem:
    """Return three weeks, beginning with a full reservoir."""
    return MultistageProblem.linear(stages(3, week), {"volume": 200}, value_bound=0)


if __name__ == "__main__":
    from cobre import sddp

    result = sddp.train(problem(), stop=sddp.IterationLimit(20), seed=1)
    print(f"the expected cost is at least {result.bound:.2f}")
