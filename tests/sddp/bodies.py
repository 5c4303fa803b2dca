"""Studies that are small and hard on determinism, and bodies that run them on ranks.

Numbers are ugly on purpose: sums in another order would not have the same bits. Reservoirs in a cascade, with
noise in right-hand sides, costs, bounds and coefficients; some coefficients vanish in some realisations.
"""

import platform
import sys
import time
from dataclasses import dataclass, field
from unittest.mock import patch

import numpy as np

import cobre
from cobre import lp
from cobre.errors import CobreError
from cobre.lp import LinearProgram, Noise
from cobre.sddp import (
    AVaR,
    BoundStalling,
    Domination,
    EAVaR,
    Given,
    IterationLimit,
    Level1,
    LimitedMemoryLevel1,
    MultistageProblem,
    Node,
    OutOfSample,
    SimulationStopping,
    Statistical,
    WorstCase,
    simulate,
    train,
)
from cobre.sddp._machine import Machine
from tests.sddp.bits import Bits

PLANTS = 2  # thermal


def node(seed, name, *, states=3, count=4, sense="min", discount=1.0):
    """Reservoirs that pass water on, thermal plants, and a deficit: there always is a solution."""
    rng = np.random.default_rng(seed)
    n, sign = states, 1.0 if sense == "min" else -1.0
    arrive, leave, release, spill = (np.arange(k * n, (k + 1) * n) for k in range(4))
    thermal = 4 * n + np.arange(PLANTS)
    columns = 4 * n + PLANTS + 1
    costs, upper = np.zeros(columns), np.full(columns, np.inf)
    costs[spill], costs[thermal], costs[-1] = 0.01, rng.uniform(5, 40, PLANTS), 200 / 3
    costs[leave] = -rng.uniform(0, 0.02, n)
    upper[leave], upper[release], upper[thermal] = 30 + rng.random(n), 9 + rng.random(n), 10 + rng.random()
    matrix = np.zeros((n + 1, columns))
    for i in range(n):
        matrix[i, [arrive[i], leave[i], release[i], spill[i]]] = 1, -1, -1, -1
        if i:
            matrix[i, release[i - 1]] = 1
    matrix[n, release], matrix[n, thermal], matrix[n, -1] = rng.uniform(0.3, 1.1, n), 1, 1
    lower = np.zeros(columns)
    lower[arrive], upper[arrive] = -np.inf, np.inf
    noise = Noise(
        None if count < 3 else rng.dirichlet(np.ones(count)),
        rhs={**{i: -rng.gamma(2, 2, count) for i in range(n)}, n: rng.uniform(14, 30, count)},
        column_upper={int(thermal[0]): rng.uniform(2, 11, count)},
        cost={int(thermal[1]): sign * rng.uniform(10, 60, count)},
        coefficient={
            (n, int(release[0])): np.where(rng.random(count) < 0.3, 0.0, rng.uniform(0.5, 1, count))
        },
    )
    names = [f"{kind}{i}" for kind in ("in", "out", "release", "spill") for i in range(n)]
    names += [*(f"thermal{i}" for i in range(PLANTS)), "deficit"]
    program = LinearProgram(
        sign * costs,
        matrix,
        np.zeros(n + 1),
        np.zeros(n + 1),
        lower,
        upper,
        sign / 7,
        names,
        [*(f"balance{i}" for i in range(n)), "demand"],
    )
    return Node(
        name,
        program,
        {f"v{i}": int(column) for i, column in enumerate(arrive)},
        {f"v{i}": int(column) for i, column in enumerate(leave)},
        noise,
        discount,
    )


def initial(states):
    return {f"v{i}": 10 + i / 3 for i in range(states)}


def chain(stages=5, *, states=3, count=4, sense="min", first=1):
    nodes = [
        node(100 * states + t, f"t{t}", states=states, count=first if t == 0 else count, sense=sense)
        for t in range(stages)
    ]
    return MultistageProblem.linear(nodes, initial(states), sense=sense)


def markov(sense="min"):
    """Wet and dry, and now and then it is over early."""
    layers = [
        [node(10 * t + k, f"t{t}{kind}", count=3, sense=sense) for k, kind in enumerate(("wet", "dry"))]
        for t in range(4)
    ]
    ways = [[[0.6, 0.4]], [[0.7, 0.3], [0.2, 0.7]], [[0.7, 0.3], [0.25, 0.75]], [[0.5, 0.4], [0.3, 0.7]]]
    return MultistageProblem.markovian(layers, ways, initial(3), sense=sense)


def lattice():
    """Stages that are independent of each other, each with nodes that differ in data."""
    layers = [[node(10 * t + k, f"t{t}.{k}", count=2) for k in range(1 + 2 * (t > 0))] for t in range(4)]
    ways = [[[1.0]], [[0.5, 0.2, 0.3]], [[0.1, 0.6, 0.3]] * 3, [[0.25, 0.35, 0.4]] * 3]
    return MultistageProblem.markovian(layers, ways, initial(3))


def circle():
    return MultistageProblem.cyclic(
        [node(70 + t, f"season{t}", count=3, discount=0.6) for t in range(3)], initial(3)
    )


@dataclass(frozen=True)
class Study:
    """A problem, how to train it and how to simulate it."""

    problem: MultistageProblem
    training: dict = field(default_factory=dict)
    simulation: dict = field(default_factory=dict)


def other_realisations(problem):
    """As many as each node has, and not the same ones."""
    return OutOfSample(
        {
            each.name: Noise.from_table(each.noise.places, each.noise.table * 1.07)
            for each in problem.nodes
            if len(each.noise) > 1
        }
    )


def given_ways(problem, *, rows=(0, 1, 2)):
    """Three ways through a chain; the last one by values of its own."""
    names = [each.name for each in problem.nodes]
    ways = [[(name, row % len(problem.nodes[i].noise)) for i, name in enumerate(names)] for row in rows]
    ways[-1] = [(each.name, each.noise.table[-1] * 0.93) for each in problem.nodes]
    return Given(ways)


def studies():
    """All studies, by name. Each is small; together they use all that promises the same bits."""
    small, rewards = chain(), chain(4, states=4, sense="max", first=2)
    short = chain(3, states=2, count=3)
    return {
        "plain": Study(small, {"trajectories": 7, "stop": 6}),
        "level1": Study(
            rewards,
            {
                "trajectories": 5,
                "stop": 6,
                "risk": EAVaR(0.6, 0.3),
                "selection": Level1(every=2, threshold=2, activity_tolerance=1e-6),
            },
            {"sampling": other_realisations(rewards)},
        ),
        "lml1 multi": Study(
            small,
            {
                "trajectories": 5,
                "cuts": "multi",
                "risk": AVaR(0.4),
                "selection": LimitedMemoryLevel1(every=1, window=2),
                "stop": [BoundStalling(2, 0.01) & Statistical(0.5, 9, period=2), IterationLimit(12)],
            },
        ),
        "domination": Study(
            rewards,
            {
                "trajectories": 3,
                "stop": 6,
                "risk": {"root": WorstCase(), "t1": EAVaR(0.5, 0.2)},
                "selection": Domination(every=2, most=9),
                "sampling": other_realisations(rewards),
            },
        ),
        "markov": Study(
            markov(),
            {"trajectories": 5, "stop": [SimulationStopping(30, 2, 2, 1.0, 0.05), IterationLimit(12)]},
        ),
        "markov multi": Study(markov("max"), {"trajectories": 6, "stop": 5, "cuts": "multi"}),
        "lattice": Study(lattice(), {"trajectories": 5, "stop": 6, "selection": Level1(every=2)}),
        "circle": Study(
            circle(), {"trajectories": 2, "stop": 5, "selection": LimitedMemoryLevel1(every=2, window=3)}
        ),
        "given": Study(
            short,
            {"trajectories": 4, "stop": 4, "sampling": given_ways(short)},
            {"sampling": given_ways(short, rows=(2, 0, 1))},
        ),
    }


STUDIES = studies()


def run_study(name, **where):
    """Train and simulate a study; ``where`` says on which ranks and threads."""
    study = STUDIES[name]
    trained = train(study.problem, seed=11, **study.training, **where)
    simulated = simulate(
        study.problem,
        trained.policy,
        11,
        seed=5,
        columns=["thermal1", "release0"],
        duals=["demand", "balance1"],
        **study.simulation,
        **where,
    )
    return trained, simulated


def bits_of(name, **where):
    """The bits of a study that is trained and simulated now."""
    return Bits.of(*run_study(name, **where))


def several(comm, plan):
    """The bits of studies, each with a number of threads: pairs of a name and that number."""
    return [bits_of(name, comm=comm, threads=threads) for name, threads in plan]


def several_with_delays(comm, plan, seed):
    """The bits of studies as `several`, and this rank's solves of each, while ranks are late at random."""
    random, solve, found = np.random.default_rng([seed, comm.rank]), Machine.solve, []

    def late(self, step, batches):
        time.sleep(random.choice([0.0, 0.001, 0.004]))
        solve(self, step, batches)

    with patch.object(Machine, "solve", late):
        for name, threads in plan:
            result, table = run_study(name, comm=comm, threads=threads)
            found.append((Bits.of(result, table), [rank.solves for rank in result.log[-1].ranks]))
    return found


#: What rank 1 does differently from the others, by the name that the error should give it.
DIFFERENCES = {
    "problem": lambda comm: train(chain(3, states=3 if comm.rank == 1 else 2), 1, comm=comm),
    "seed": lambda comm: train(chain(3), 1, seed=comm.rank % 2, comm=comm),
    "trajectories": lambda comm: train(chain(3), 1, trajectories=5 + (comm.rank == 1), comm=comm),
    "stop": lambda comm: train(chain(3), 2 if comm.rank == 1 else 1, comm=comm),
    "cuts": lambda comm: train(chain(3), 1, cuts="multi" if comm.rank == 1 else "single", comm=comm),
    "risk": lambda comm: train(chain(3), 1, risk=AVaR(0.5) if comm.rank == 1 else None, comm=comm),
    "start": lambda comm: train(chain(3), 1, warm_start=_policy(1 + (comm.rank == 1)), comm=comm),
    "policy": lambda comm: simulate(chain(3), _policy(1 + (comm.rank == 1)), 4, comm=comm),
    "columns": lambda comm: simulate(
        chain(3), _policy(1), 4, columns=["release0"] * (comm.rank == 1), comm=comm
    ),
    "cobre": lambda comm: _with_other(cobre, "__version__", "0.0.1", comm),
    "highs": lambda comm: _with_other(lp, "HIGHS_VERSION", "0.0.1", comm),
    "numpy": lambda comm: _with_other(np, "__version__", "0.0.1", comm),
    "python": lambda comm: _with_other(platform, "python_version", lambda: "0.0.1", comm),
    "byte order": lambda comm: _with_other(sys, "byteorder", "big", comm),
}

#: What one rank alone cannot do: rank 1, and in the first rank 0.
REFUSALS = {
    "invalid on rank 0": lambda comm: train(chain(3), 1, trajectories=int(comm.rank > 0), comm=comm),
    "invalid": lambda comm: train(chain(3), 1, trajectories=1 - (comm.rank == 1), comm=comm),
    "missing": lambda comm: train(chain(3), 1, warm_start="missing" * (comm.rank == 1) or None, comm=comm),
}


def _policy(seed):
    return train(chain(3), 1, seed=seed, backend="local").policy


def _with_other(module, name, value, comm):
    """A run in which rank 1 is another installation."""
    with patch.object(module, name, value if comm.rank == 1 else getattr(module, name)):
        train(chain(3), 1, comm=comm)


def disagreements(comm):
    """The errors of all these attempts on this rank; the communicator is usable afterwards."""
    found = {}
    for name, attempt in {**DIFFERENCES, **REFUSALS}.items():
        try:
            attempt(comm)
        except CobreError as error:
            found[name] = error
    comm.barrier()
    assert train(chain(3), 1, comm=comm).iterations == 1
    return found
