"""A year of two reservoirs: trained by two processes, interrupted, resumed by one, simulated.

Upper and lower reservoir lie on one river: what the upper one releases, the lower one receives.
It rains in January, seldom in July, and never the same.
"""

import math
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console

from cobre.progress import ProgressBar
from cobre.sddp import (
    BoundStalling,
    Checkpoint,
    IterationLimit,
    LimitedMemoryLevel1,
    MultistageProblem,
    StageModel,
    simulate,
    stages,
    train,
)

MONTHS = 12
DEMAND = 190


def month(model: StageModel, t: int) -> None:
    """Meet the demand of a month from water, gas, oil, or not at all."""
    upper, lower = model.state("upper", upper=150), model.state("lower", upper=80)
    hydro_upper, spill_upper = model.variable("hydro_upper", upper=80), model.variable("spill_upper")
    hydro_lower, spill_lower = model.variable("hydro_lower", upper=120), model.variable("spill_lower")
    gas = model.variable("gas", upper=40, cost=20)
    oil = model.variable("oil", upper=30, cost=60)
    deficit = model.variable("deficit", cost=300)

    season = 1 + 0.6 * math.cos(2 * math.pi * (t - 1) / 12)
    years = np.random.default_rng(t).lognormal(sigma=0.5, size=(2, 8))
    rain_upper = model.parameter("rain_upper", 50 * season * years[0])
    rain_lower = model.parameter("rain_lower", 20 * season * years[1])

    model.constraint(upper.outgoing == upper.incoming + rain_upper - hydro_upper - spill_upper)
    model.constraint(
        lower.outgoing == lower.incoming + rain_lower + hydro_upper + spill_upper - hydro_lower - spill_lower
    )
    model.constraint(hydro_upper + hydro_lower + gas + oil + deficit == DEMAND, name="demand")


def main() -> None:
    """Train in two sessions, compare with one, and look at the year."""
    problem = MultistageProblem.linear(stages(MONTHS, month), {"upper": 100, "lower": 40})
    settings = {
        "seed": 7,
        "trajectories": 8,
        "selection": LimitedMemoryLevel1(window=10),
    }
    with tempfile.TemporaryDirectory() as folder, ProgressBar(Console()) as progress:
        saved = Path(folder) / "run.cobre"
        print("-- first session: two processes, 15 iterations")
        train(
            problem,
            15,
            **settings,
            checkpoint=Checkpoint(saved, every=5),
            num_workers=2,
            listeners=[progress],
        )
        print("-- second session: goes on from the checkpoint, alone")
        enough = IterationLimit(60) | BoundStalling(8, tolerance=1e-3)
        result = train(problem, enough, **settings, resume=saved, listeners=[progress])
    print("-- the same in one session")
    undisturbed = train(problem, enough, **settings)
    print(f"same bits: {result.bounds.tobytes() == undisturbed.bounds.tobytes()}")

    print("-- 200 years under this policy")
    simulated = simulate(problem, result.policy, 200, columns=["gas", "oil", "deficit"])
    print(
        f"a year costs {simulated.estimate.mean / 1000:.1f} thousand on average, "
        f"more than {np.quantile(simulated.totals, 0.95) / 1000:.1f} thousand in one of twenty"
    )
    means = [("upper_out", "mean"), ("lower_out", "mean"), ("oil", "mean")]
    for row in simulated.table.group_by("step").aggregate(means).sort_by("step").to_pylist():
        store, oil = row["upper_out_mean"] + row["lower_out_mean"], row["oil_mean"]
        _, slopes = result.policy.value(str(row["step"] + 1), {"upper": 75, "lower": 40})
        print(
            f"month {row['step'] + 1:2}: {store:3.0f} in store, {oil:2.0f} from oil; "
            f"half full, a unit above saves {abs(slopes['upper']):3.0f}, below {abs(slopes['lower']):3.0f}"
        )


if __name__ == "__main__":  # workers import this file: what it does must not happen again in them
    main()
