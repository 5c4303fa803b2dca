"""Problems from books and from the tests of other packages, with the values published for them.

A value is as exact as it was printed; ``tolerance`` is half its last digit, or what its source allows. Where
``tree`` holds, `tests.sddp.extensive` can confirm it, and does in `tests.sddp.test_textbook`.
"""

import runpy
from dataclasses import dataclass
from itertools import product
from math import sin
from pathlib import Path

from cobre.sddp import MultistageProblem
from cobre.sddp.modeling import stage, stages
from tests.sddp.extensive import Risk

EXAMPLES = Path(__file__).parents[2] / "examples" / "sddp"


@dataclass(frozen=True)
class Textbook:
    """A problem and what it is known to be worth.

    ``iterations`` of ten trajectories each have been enough for the bound to come within ``tolerance``.
    """

    name: str
    source: str
    problem: MultistageProblem
    value: float
    tolerance: float
    risk: Risk | None = None
    iterations: int = 50
    tree: bool = True


def example(name):
    """Return the problem of a script in examples/sddp."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))["problem"]()


def fast_hydro_thermal():
    def build(model, t):
        x = model.state("x", upper=8)
        y, p = model.variable("y"), model.variable("p", cost=-5)
        rain = model.parameter("rain", [6] if t == 1 else [2, 10])
        model.constraint(p + y >= 6)
        model.constraint(x.outgoing <= x.incoming - y + rain)

    return MultistageProblem.linear(stages(2, build), {"x": 0}, sense="max", value_bound=0)


def fast_production_management():
    def build(model, t):
        x = [model.state(f"x{i}") for i in range(2)]
        s = [model.variable(f"s{i}", cost=-price) for i, price in enumerate([2.33, 2.54])]
        demand = model.parameter("demand", [0] if t == 1 else [2, 10])
        for i, cost in enumerate([0.2, 0.7]):
            model.constraint(s[i] <= x[i].incoming)
            model.cost(cost * x[i].outgoing)
        model.constraint(s[0] + s[1] <= demand)

    return MultistageProblem.linear(stages(3, build), {"x0": 0, "x1": 0}, value_bound=-50)


def stock():
    def build(model, t):
        x = model.state("x", upper=1)
        u = model.variable("u", upper=0.5, cost=sin(3 * t) - 1)
        gain = model.parameter("gain", [k / 30 for k in range(10)])
        model.constraint(x.outgoing == x.incoming - u + gain)

    return MultistageProblem.linear(stages(5, build), {"x": 0.5}, value_bound=-4)


def multistock():
    losses = list(product((0.0, 0.15, 0.3), repeat=3))

    def build(model, t):
        x = [model.state(f"x{i}", upper=1) for i in range(3)]
        u = [model.variable(f"u{i}", upper=0.5, cost=sin(3 * t) - 1) for i in range(3)]
        model.constraint(sum(u) <= 1.5)
        for i in range(3):
            loss = model.parameter(f"loss{i}", [each[i] for each in losses])
            model.constraint(x[i].outgoing == x[i].incoming + u[i] - loss)

    return MultistageProblem.linear(stages(5, build), {f"x{i}": 0.5 for i in range(3)}, value_bound=-12)


def power_expansion(count, penalty):
    """Capacities of four technologies, bought before the demand of three blocks is known."""
    hours = [1, 7000 / 8760, 1500 / 8760]
    demand = [(3919, 7086), (7329 - 3919, 9004 - 7086), (10315 - 7329, 11169 - 9004)]

    def build(model, t):
        missed = model.variable("missed", cost=penalty)
        blocks = [[] for _ in hours]
        bought = []
        for i, (price, fuel) in enumerate(zip([16, 5, 32, 2], [25, 80, 6.5, 160], strict=True)):
            x = model.state(f"x{i}")
            bought.append(model.variable(f"v{i}", cost=price, upper=0 if t == count else float("inf")))
            used = [model.variable(f"y{i}{j}", cost=fuel * share) for j, share in enumerate(hours)]
            model.constraint(x.outgoing == x.incoming + bought[i])
            model.constraint(sum(used) <= x.incoming)
            for block, part in zip(blocks, used, strict=True):
                block.append(part)
        if t > 1:
            model.probabilities = [0.9, 0.1]
            for j, block in enumerate(blocks):
                model.constraint(sum(block) + missed >= model.parameter(f"d{j}", demand[j]))

    return MultistageProblem.linear(stages(count, build), {f"x{i}": 0 for i in range(4)}, value_bound=0)


def mccardle_farm():
    """Hay: three cuttings, in weather that is one of three kinds, to feed a herd through the year."""
    feeding = [[0, 1, 2], [0, 0, 1], [0, 0, 0]]  # by cutting and period
    days, demand = [60, 60, 245], [210, 210, 858]
    crop = [[30, 75, 37.5], [15, 37.5, 18.25], [7.5, 18.75, 9.325]]  # by period and weather

    def plan(model):
        acres = model.state("acres", upper=60)
        model.constraint(acres.outgoing <= acres.incoming)
        for i in range(3):
            bales = model.state(f"bales{i}")
            model.constraint(bales.incoming == bales.outgoing)

    def period(model, t, weather):
        acres = model.state("acres", upper=60)
        model.constraint(acres.outgoing <= acres.incoming)
        model.cost(50 * acres.incoming)
        all_eaten, all_sold, all_stored = [], [], []
        for i in range(3):
            bales = model.state(f"bales{i}")
            buy, sell = model.variable(f"buy{i}", cost=5 + i), model.variable(f"sell{i}", cost=-4.5 - i)
            eat = model.variable(f"eat{i}", cost=feeding[i][t])
            more, less = model.variable(f"more{i}", cost=1000), model.variable(f"less{i}", cost=1000)
            left = bales.incoming + buy - eat - sell + more - less
            cut = crop[t][weather] * acres.incoming if i == t else 0
            model.constraint(bales.outgoing == left + cut)
            model.constraint(sell <= bales.incoming)
            model.cost(0.05 * days[t] * bales.incoming)
            all_eaten.append(eat)
            all_sold.append(sell)
            all_stored.append(bales.outgoing)
        model.constraint(sum(all_eaten) >= demand[t])
        model.constraint(sum(all_stored) <= 3000)
        model.constraint(sum(all_sold) <= 3000)

    chances = [0.14, 0.69, 0.17]
    layers = [[stage("plan", plan)]]
    layers += [[stage(f"{t}.{w}", period, t, w) for w in range(3)] for t in range(3)]
    matrices = [[[1.0]], [chances], [chances] * 3, [chances] * 3]
    initial = {"acres": 60, "bales0": 0, "bales1": 0, "bales2": 0}
    return MultistageProblem.markovian(layers, matrices, initial, value_bound=-100_000)


def asset_management_stagewise():
    stocks_grow, bonds_grow = [1.25, 1.06], [1.14, 1.12]

    def build(model, t, i):
        stocks, bonds = model.state("stocks"), model.state("bonds")
        wealth = stocks_grow[i] * stocks.incoming + bonds_grow[i] * bonds.incoming
        if t == 1:
            model.constraint(stocks.outgoing + bonds.outgoing == 55 + stocks.incoming + bonds.incoming)
        elif t < 4:
            extra = model.parameter("extra", [-1, 5])
            model.constraint(wealth + extra == stocks.outgoing + bonds.outgoing)
            model.random(stocks.outgoing, cost=[0.02, 0.0])
            model.probabilities = [0.6, 0.4]
        else:
            model.constraint(wealth + model.variable("u", cost=-4) - model.variable("v", cost=1) == 80)

    layers = [[stage(f"{t}.{i}", build, t, i) for i in range(1 if t == 1 else 2)] for t in (1, 2, 3, 4)]
    matrices = [[[1.0]], [[0.5, 0.5]], [[0.5, 0.5]] * 2, [[0.5, 0.5]] * 2]
    initial = {"stocks": 0, "bonds": 0}
    return MultistageProblem.markovian(layers, matrices, initial, sense="max", value_bound=1000)


def hydro_valley(*, rain, markov, sense="max"):
    """Two reservoirs, one above the other, with turbines of falling efficiency."""
    flows, powers = [50, 60, 70], [55, 65, 70]
    prices = [[1, 2], [2, 1], [3, 4]]
    inflows = [[0, 20, 50], [0, 0, 20]]
    sign = 1 if sense == "max" else -1

    def build(model, t, i):
        above, power = 0, 0
        for r in range(2):
            volume = model.state(f"volume{r}", upper=200)
            spill = model.variable(f"spill{r}", cost=-1000 * sign)
            inflow = model.variable(f"inflow{r}")
            shares = [model.variable(f"share{r}{level}", upper=1) for level in range(3)]
            outflow = sum(flow * share for flow, share in zip(flows, shares, strict=True))
            model.constraint(
                volume.outgoing - volume.incoming - inflow + outflow + spill - above == 0, name=f"water{r}"
            )
            model.constraint(sum(shares) <= 1)
            model.random(inflow, upper=inflows[r] if rain and t > 0 else [0])
            above = outflow + spill
            power += sum(each * share for each, share in zip(powers, shares, strict=True))
        model.cost(sign * prices[t][i] * power)

    widths = (1, 2, 2) if markov else (1, 1, 1)
    layers = [[stage(f"{t}.{i}", build, t, i) for i in range(width)] for t, width in enumerate(widths)]
    matrices = [[[1.0]], [[0.6, 0.4]], [[0.6, 0.4], [0.3, 0.7]]] if markov else [[[1.0]]] * 3
    initial = {"volume0": 200, "volume1": 200}
    return MultistageProblem.markovian(layers, matrices, initial, sense=sense, value_bound=sign * 1e6)


def fuel_prices(*, climates):
    """The reservoir of the tutorial, with fuel that is dear when it is dry, in one climate or two."""
    wet, dry = [1 / 6, 1 / 3, 1 / 2], [1 / 2, 1 / 3, 1 / 6]

    def build(model, t, chances):
        volume = model.state("volume", upper=200)
        thermal, hydro, spill = (model.variable(name) for name in ("thermal", "hydro", "spill"))
        inflow = model.parameter("inflow", [0, 50, 100])
        model.constraint(volume.outgoing == volume.incoming + inflow - hydro - spill)
        model.constraint(thermal + hydro == 150)
        model.random(thermal, cost=[50 * t * factor for factor in (1.5, 1.0, 0.75)])
        model.probabilities = chances

    if not climates:
        nodes = [stage(str(t), build, t, [1 / 3] * 3) for t in (1, 2, 3)]
        return MultistageProblem.linear(nodes, {"volume": 200}, value_bound=0)
    layers = [[stage("1", build, 1, wet)]]
    layers += [[stage(f"{t} wet", build, t, wet), stage(f"{t} dry", build, t, dry)] for t in (2, 3)]
    matrices = [[[1.0]], [[0.75, 0.25]], [[0.75, 0.25], [0.25, 0.75]]]
    return MultistageProblem.markovian(layers, matrices, {"volume": 200}, value_bound=0)


def one_node_that_may_follow_itself(initial, chance, *, offset, weight):
    """A state that stays as it is; each visit costs ``offset`` and ``weight`` times the state."""

    def build(model):
        x = model.state("x", lower=-float("inf"))
        model.constraint(x.incoming == x.outgoing)
        model.cost(weight * x.outgoing + offset)

    nodes = [stage("node", build)]
    ways = {"node": {"node": chance}}
    return MultistageProblem(nodes, {"x": initial}, {"node": 1.0}, ways, value_bound=0)


def year_round():
    """A reservoir run for ever through three seasons, in which fuel becomes dearer."""

    def build(model, t):
        x = model.state("x", lower=5, upper=15)
        thermal, hydro = model.variable("thermal", cost=t), model.variable("hydro")
        spill = model.variable("spill", cost=1)
        balance = model.constraint(x.outgoing - x.incoming + hydro + spill == 0)
        demand = model.constraint(hydro + thermal == 0)
        model.random(balance, rhs=[0, 3, 10])
        model.random(demand, rhs=[7.5, 5, 2.5])
        model.discount = 0.95 if t == 3 else 1.0

    return MultistageProblem.cyclic(stages(3, build), {"x": 10}, value_bound=0)


AVERSE, WORST = [(0.5, 1.0), (0.5, 0.66)], [(0.5, 1.0), (0.5, 0.0)]
#: Printed beside the tutorials at sddp.dev; the tests of SDDP.jl do not repeat them.
PRINTED = "SDDP.jl's documentation, tutorial "
VALLEY = hydro_valley(rain=True, markov=True)
VALLEY_COSTS = hydro_valley(rain=True, markov=True, sense="min")

TEXTBOOK = [
    Textbook("newsvendor", "FAST quick start; SDDP.jl FAST_quickstart", example("newsvendor"), -2, 1e-6),
    Textbook("fast hydro", "FAST; SDDP.jl FAST_hydro_thermal", fast_hydro_thermal(), -10, 1e-6),
    Textbook(
        "production",
        "FAST; SDDP.jl FAST_production_management",
        fast_production_management(),
        -23.96,
        5e-3,
    ),
    Textbook("stock", "StochDynamicProgramming.jl; SDDP.jl …_stock", stock(), -1.471, 1e-3, tree=False),
    Textbook(
        "multistock",
        "StochDynamicProgramming.jl; SDDP.jl …_multistock",
        multistock(),
        -4.349,
        1e-2,
        iterations=100,
        tree=False,
    ),
    Textbook(
        "power expansion, 2 stages",
        "StructDualDynProg.jl problem 5.2; SDDP.jl …_prob5.2_2stages",
        power_expansion(2, 1e6),
        340315.52,
        0.1,
    ),
    Textbook(
        "power expansion, 3 stages",
        "StructDualDynProg.jl problem 5.2; SDDP.jl …_prob5.2_3stages",
        power_expansion(3, 1e5),
        406712.49,
        0.1,
    ),
    Textbook(
        "farm", "McCardle's hay farm; SDDP.jl agriculture_mccardle_farm", mccardle_farm(), 4074.1391, 1e-4
    ),
    Textbook(
        "assets",
        "Birge and Louveaux, section 1.2; SDDP.jl asset_management_simple",
        example("asset_management"),
        1.514,
        5e-4,
    ),
    Textbook(
        "assets under risk",
        "SDDP.jl asset_management_stagewise",
        asset_management_stagewise(),
        1.278,
        1e-3,
        risk=dict.fromkeys(("3.0", "3.1"), ((0.5, 1.0), (0.5, 0.5))),
    ),
    Textbook(
        "farmer",
        "Birge and Louveaux, section 1.1; SDDP.jl the_farmers_problem",
        example("farmer"),
        108390,
        0.1,
    ),
    Textbook("reservoir", PRINTED + "first_steps", example("hydro_thermal"), 8333.33, 5e-3),
    Textbook(
        "reservoir and fuel",
        PRINTED + "objective_uncertainty",
        fuel_prices(climates=False),
        10625,
        5e-3,
    ),
    Textbook(
        "reservoir, fuel and climate",
        PRINTED + "markov_uncertainty",
        fuel_prices(climates=True),
        8072.917,
        5e-3,
    ),
    Textbook("valley, certain", "SDDP.jl hydro_valley", hydro_valley(rain=False, markov=False), 835.0, 1e-3),
    Textbook("valley, rain", "SDDP.jl hydro_valley", hydro_valley(rain=True, markov=False), 838.33, 1e-2),
    Textbook("valley, prices", "SDDP.jl hydro_valley", hydro_valley(rain=False, markov=True), 851.8, 1e-2),
    Textbook("valley, both", "SDDP.jl hydro_valley", VALLEY, 855.0, 1.0),
    Textbook(
        "valley under risk",
        "SDDP.jl hydro_valley",
        VALLEY,
        828.157,
        1.0,
        risk=dict.fromkeys(VALLEY.index, AVERSE),
    ),
    Textbook(
        "valley at its worst",
        "SDDP.jl hydro_valley",
        VALLEY_COSTS,
        -780.867,
        1.0,
        risk=dict.fromkeys(VALLEY_COSTS.index, WORST),
    ),
    Textbook(
        "endless cost",
        "SDDP.jl infinite_horizon_trivial: a geometric series",
        one_node_that_may_follow_itself(0, 0.9, offset=2, weight=0),
        20.0,
        1e-3,
        iterations=100,
        tree=False,
    ),
    Textbook(
        "endless state",
        "SDDP.jl no_strong_duality: a geometric series",
        one_node_that_may_follow_itself(1, 0.5, offset=0, weight=1),
        2.0,
        1e-5,
        tree=False,
    ),
    Textbook(
        "endless reservoir",
        "SDDP.jl infinite_horizon_hydro_thermal",
        example("endless_reservoir"),
        119.167,
        0.1,
        iterations=100,
        tree=False,
    ),
    Textbook(
        "endless year",
        "SDDP.jl's documentation, example Hydro_thermal, with a discount for its chance of ending",
        year_round(),
        236.43,
        0.1,
        iterations=100,
        tree=False,
    ),
]
