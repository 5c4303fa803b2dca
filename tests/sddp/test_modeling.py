"""What the builder makes is what a careful hand would have written."""

import numpy as np
import pytest
from highspy import HighsVarType

from cobre.lp import LinearProgram, Noise
from cobre.sddp import MultistageProblem
from cobre.sddp.modeling import StageModel, stage, stages

INF = np.inf


def assert_same_program(made, written):
    for name in ("costs", "row_lower", "row_upper", "column_lower", "column_upper"):
        np.testing.assert_array_equal(getattr(made, name), getattr(written, name), err_msg=name)
    for name in ("starts", "rows", "values"):
        np.testing.assert_array_equal(getattr(made.matrix, name), getattr(written.matrix, name), err_msg=name)
    assert made.matrix.shape == written.matrix.shape
    assert made.offset == written.offset
    assert made.column_names == written.column_names
    assert made.row_names == written.row_names


def reservoir(model, t):
    volume = model.state("volume", lower=10, upper=200)
    thermal = model.variable("thermal", upper=100, cost=50 * t)
    hydro = model.variable("hydro")
    inflow = model.parameter("inflow", [0, 50, 100])
    model.constraint(volume.incoming - volume.outgoing - hydro + inflow >= 0, name="balance")
    demand = model.constraint(2 * thermal + hydro == 150)
    model.constraint(-5 <= hydro - thermal <= 5, name="near")
    model.random(demand, rhs=[150, 140, 130])
    model.cost(0.5 * volume.outgoing + 3 * thermal + 7)
    model.cost(hydro)
    model.probabilities = [0.2, 0.3, 0.5]
    model.discount = 0.9


def test_arrays_equal_those_written_by_hand():
    node = stage("2", reservoir, 2)
    written = LinearProgram(
        costs=[0, 0.5, 103, 1, 0],
        matrix=[[1, -1, 0, -1, 1], [0, 0, 2, 1, 0], [0, 0, -1, 1, 0]],
        row_lower=[0, 150, -5],
        row_upper=[INF, 150, 5],
        column_lower=[-INF, 10, 0, 0, -INF],
        column_upper=[INF, 200, 100, INF, INF],
        offset=7,
        column_names=["volume_in", "volume_out", "thermal", "hydro", "inflow"],
        row_names=["balance", "r1", "near"],
    )
    assert_same_program(node.program, written)
    noise = Noise([0.2, 0.3, 0.5], fix={4: [0, 50, 100]}, rhs={1: [150, 140, 130]})
    assert dict(zip(node.noise.places, node.noise.table.T.tolist(), strict=True)) == dict(
        zip(noise.places, noise.table.T.tolist(), strict=True)
    )
    np.testing.assert_array_equal(node.noise.probabilities, noise.probabilities)
    assert (node.name, node.discount) == ("2", 0.9)
    assert (node.incoming, node.outgoing) == ({"volume": 0}, {"volume": 1})


def test_stages_are_numbered_from_one():
    nodes = stages(3, reservoir)
    assert [node.name for node in nodes] == ["1", "2", "3"]
    assert [node.program.costs[2] for node in nodes] == [53, 103, 153]
    MultistageProblem.linear(nodes, {"volume": 100}).check()


def test_every_kind_of_random_number():
    model = StageModel("all")
    x, y = model.variable("x"), model.variable("y")
    row, other = model.constraint(x + y <= 5), model.constraint(x - y == 0)
    model.random(row, lower=[0, 1], upper=[2, 3])
    model.random(other, rhs=[4, 5])
    model.random(x, lower=[6, 7], upper=[8, 9], cost=[10, 11])
    model.random(y, fix=[12, 13])
    model.random((other, y), coefficient=[14, 15])
    noise = model.node().noise
    assert dict(zip(noise.places, noise.table.T.tolist(), strict=True)) == {
        ("row_lower", 0): [0, 1],
        ("row_upper", 0): [2, 3],
        ("rhs", 1): [4, 5],
        ("column_lower", 0): [6, 7],
        ("column_upper", 0): [8, 9],
        ("cost", 0): [10, 11],
        ("fix", 1): [12, 13],
        ("coefficient", (1, 1)): [14, 15],
    }


def test_a_number_that_is_not_there_is_refused():
    model = StageModel("wrong")
    x = model.variable("x")
    row = model.constraint(x <= 5)
    with pytest.raises(TypeError, match=r"has no rhs, only fix, cost, lower, upper"):
        model.random(x, rhs=[1])
    with pytest.raises(TypeError, match=r"has no cost, only rhs, lower, upper"):
        model.random(row, cost=[1])
    with pytest.raises(TypeError, match=r"has no upper, only coefficient"):
        model.random((row, x), upper=[1])


def test_constants_in_a_constraint_move_to_its_bounds():
    model = StageModel("constants")
    x = model.variable("x")
    model.constraint(x + 3 <= 5)
    model.constraint(x + 3 >= 1)
    program = model.node().program
    assert (program.row_upper[0], program.row_lower[1]) == (2, -2)


def test_what_highspy_adds_is_kept():
    model = StageModel("more")
    several = model.highs.addVariables(3, ub=4)
    model.constraint(several.sum() == 6)
    program = model.node().program
    assert program.matrix.dense().tolist() == [[1, 1, 1]]
    assert program.column_upper.tolist() == [4, 4, 4]


def test_a_stage_without_rows_or_columns():
    assert StageModel("empty").node().program.matrix.shape == (0, 0)
    model = StageModel("no rows")
    model.state("x")
    assert model.node().program.matrix.shape == (0, 2)


def test_integers_are_refused():
    model = StageModel("whole")
    model.highs.addVariable(type=HighsVarType.kInteger)
    with pytest.raises(ValueError, match=r"'whole' has integer variables"):
        model.node()


def test_a_model_can_go_on_after_it_was_used():
    model = StageModel("twice")
    x = model.variable("x", cost=1)
    first = model.node()
    model.cost(x)
    model.state("y")
    assert first.program.costs.tolist() == [1]
    assert first.incoming == {}
    assert model.node().program.costs.tolist() == [2, 0, 0]
