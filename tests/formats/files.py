"""Small files of our own, with known values."""

import json

DEMAND = {"low": (10.0, 0.5), "middle": (20.0, 0.3), "high": (40.0, 0.2)}
#: Buy at 2, sell at 5: of the second ten half is sold for certain, which pays; of the third a fifth does not.
NEWSVENDOR = 5 * (10 * 0.5 + 20 * 0.5) - 2 * 20
#: If the price falls to 3 in the middle: the second ten bring 0.3 x 3 + 0.2 x 5 = 1.9 each, and cost 2.
FALLING = 10 * (0.5 * 5 + 0.3 * 3 + 0.2 * 5 - 2)


def affine(constant=0.0, **coefficients):
    terms = [{"variable": name, "coefficient": value} for name, value in coefficients.items()]
    return {"type": "ScalarAffineFunction", "terms": terms, "constant": constant}


def product(coefficient, *pair):
    terms = [{"coefficient": coefficient, "variable_1": pair[0], "variable_2": pair[1]}]
    return {"type": "ScalarQuadraticFunction", "affine_terms": [], "quadratic_terms": terms, "constant": 0.0}


def above(name, lower=0.0):
    return {"function": {"type": "Variable", "name": name}, "set": {"type": "GreaterThan", "lower": lower}}


def stochoptformat(*, prices=None):
    """A newsvendor; with prices, one for each demand, by a product of random variable and decision."""
    support = [{"d": demand} for demand, _ in DEMAND.values()]
    for each, price in zip(support, prices or (), strict=bool(prices)):
        each["price"] = price
    random = ["d"] + ["price"] * bool(prices)
    sell = {
        "version": {"major": 1, "minor": 2},
        "variables": [{"name": name} for name in ("x_in", "x_out", "u", *random)],
        "objective": {"sense": "max", "function": product(1.0, "u", "price") if prices else affine(u=5.0)},
        "constraints": [
            {"function": affine(u=1.0, x_in=-1.0), "set": {"type": "LessThan", "upper": 0.0}},
            # Written as a number below an interval, with a constant on the left.
            {
                "function": affine(u=1.0, d=-1.0, constant=3.0),
                "set": {"type": "Interval", "lower": -1e3, "upper": 3.0},
            },
            above("u"),
        ],
    }
    buy = {
        "version": {"major": 1, "minor": 2},
        "variables": [{"name": "x_in"}, {"name": "x_out"}],
        "objective": {"sense": "max", "function": affine(x_out=-2.0)},
        "constraints": [above("x_out"), above("x_in")],
    }
    states = {"x": {"in": "x_in", "out": "x_out"}}
    return {
        "version": {"major": 1, "minor": 0},
        "root": {"state_variables": {"x": 0.0}, "successors": {"buy": 1.0}},
        "nodes": {
            "buy": {"subproblem": "buying", "successors": {"sell": 1.0}},
            "sell": {
                "subproblem": "selling",
                "realizations": [
                    {"probability": p, "support": each}
                    for each, (_, p) in zip(support, DEMAND.values(), strict=True)
                ],
            },
        },
        "subproblems": {
            "buying": {"state_variables": states, "subproblem": buy},
            "selling": {"state_variables": states, "random_variables": random, "subproblem": sell},
        },
    }


def variable(name, stage, obj=0.0, ub="inf", kind="CONTINUOUS"):
    obj = obj if isinstance(obj, list) else [obj]
    return {"name": name, "stage": stage, "obj": obj, "lb": [0.0], "ub": [ub], "type": kind}


def term(name, stage, coefficient=1.0):
    return {"name": name, "stage": stage, "coefficient": [coefficient]}


def mspformat(*, prices=None, kind="CONTINUOUS"):
    """The same newsvendor; prices are random numbers in the objective, and half as large in the lattice."""
    price = [{"ADD": "half"}, {"MUL": 2.0}] if prices else 5.0
    problem = {
        "version": "MSMLP 1.1",
        "name": "newsvendor",
        "maximize": True,
        "variables": [variable("x", 0, -2.0, kind=kind), variable("u", 1, price)],
        "constraints": [
            {"name": "stock", "type": "LEQ", "lhs": [term("u", 1), term("x", 0, -1.0)], "rhs": [0.0]},
            # 7 is added and taken away again.
            {
                "name": "",
                "type": "GEQ",
                "lhs": [term("u", 1, -1.0)],
                "rhs": [{"ADD": "demand"}, {"MUL": [-1.0]}, {"ADD": [7.0]}, {"ADD": -7.0}],
            },
        ],
    }
    nodes = {
        name: {"stage": 1, "state": {"demand": demand}, "successors": {}}
        for name, (demand, _) in DEMAND.items()
    }
    for node, value in zip(nodes.values(), prices or (), strict=bool(prices)):
        node["state"]["half"] = value / 2
    first = {"stage": 0, "state": {}, "successors": {name: p for name, (_, p) in DEMAND.items()}}
    return problem, {**nodes, "first": first}


def write(path, content):
    path.write_text(json.dumps(content))
    return path
