"""Risk measures against their definitions: a linear programme, and Rockafellar and Uryasev's minimum."""

import json
import pickle

import highspy
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cobre.sddp.risk import AVaR, EAVaR, Expectation, Mixture, RiskMeasure, WorstCase

LEVELS = st.floats(0.001, 1.0)


@st.composite
def outcomes(draw):
    count = draw(st.integers(1, 12))
    rows = draw(st.integers(1, 4))
    shares = draw(st.lists(st.integers(0, 20), min_size=count, max_size=count).filter(any))
    # Few different values, so that ties happen.
    values = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e6, 1e6))
    costs = draw(st.lists(st.lists(values, min_size=count, max_size=count), min_size=rows, max_size=rows))
    return np.array(costs), np.array(shares) / sum(shares)


MEASURES = st.one_of(
    st.just(Expectation()),
    st.just(WorstCase()),
    LEVELS.map(AVaR),
    st.builds(EAVaR, st.floats(0, 1), LEVELS),
)


def avar_by_programme(costs, probabilities, level):
    """The worst expectation over densities of at most 1/level, as a linear programme."""
    solver = highspy.Highs()
    solver.silent()
    weights = [
        solver.addVariable(0, p / level, obj=-cost) for cost, p in zip(costs, probabilities, strict=True)
    ]
    solver.addConstr(sum(weights[1:], weights[0] + 0) == 1)
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return -solver.getObjectiveValue()


def avar_by_minimum(costs, probabilities, level):
    """The minimum of t + E[(cost - t)+] / level (Rockafellar and Uryasev 2000), which a cost attains."""
    return min(t + np.dot(probabilities, np.maximum(costs - t, 0)) / level for t in costs)


@given(outcomes(), LEVELS)
@example((np.zeros((1, 3)), np.array([0.0, 0.5, 0.5])), 0.5)
def test_avar_is_the_minimum_of_rockafellar_and_uryasev(case, level):
    costs, probabilities = case
    weights = AVaR(level).weights(costs, probabilities)
    for row, weight in zip(costs, weights, strict=True):
        expected = avar_by_minimum(row, probabilities, level)
        assert np.dot(weight, row) == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(row).max() + 1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_avar_is_the_worst_expectation_of_its_set(seed):
    random = np.random.default_rng(seed)
    costs = random.integers(-5, 6, (2, 7)).astype(float)
    probabilities = random.dirichlet(np.ones(7))
    level = random.uniform(0.05, 1)
    weights = AVaR(level).weights(costs, probabilities)
    for row, weight in zip(costs, weights, strict=True):
        assert np.dot(weight, row) == pytest.approx(avar_by_programme(row, probabilities, level), abs=1e-6)


@given(outcomes(), MEASURES)
def test_weights_are_a_distribution_within_the_possible(case, measure):
    costs, probabilities = case
    weights = measure.weights(costs, probabilities)
    assert weights.shape == costs.shape
    assert np.all(weights >= 0)
    assert weights.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert not np.any(weights[:, probabilities == 0])


@given(outcomes(), MEASURES, st.data())
def test_a_row_does_not_depend_on_the_others(case, measure, data):
    costs, probabilities = case
    together = measure.weights(costs, probabilities)
    row = data.draw(st.integers(0, len(costs) - 1))
    alone = measure.weights(costs[row : row + 1], probabilities)
    assert alone.tobytes() == together[row].tobytes()
    transposed = np.asfortranarray(np.vstack([costs] * 3))
    assert measure.weights(transposed, probabilities)[row].tobytes() == alone.tobytes()


@pytest.mark.parametrize("measure", [AVaR(0.37), EAVaR(0.3, 0.111), WorstCase(), Expectation()])
def test_a_row_does_not_depend_on_many_others(measure):
    random = np.random.default_rng(7)
    costs, probabilities = random.normal(size=(1000, 129)), random.dirichlet(np.ones(129))
    together = measure.weights(costs, probabilities)
    for row in (0, 1, 500, 999):
        assert measure.weights(costs[row : row + 1], probabilities).tobytes() == together[row].tobytes()


def test_ties_go_to_the_lower_index():
    costs, probabilities = np.array([[1.0, 2.0, 2.0, 2.0], [0.0, -0.0, 0.0, -1.0]]), np.full(4, 0.25)
    assert AVaR(0.5).weights(costs, probabilities).tolist() == [[0, 0.5, 0.5, 0], [0.5, 0.5, 0, 0]]
    assert WorstCase().weights(costs, probabilities).tolist() == [[0, 1, 0, 0], [1, 0, 0, 0]]


@given(outcomes())
def test_the_extremes_of_avar(case):
    costs, probabilities = case
    assert np.array_equal(AVaR(1).weights(costs, probabilities), Expectation().weights(costs, probabilities))
    # 20 * 12 is the most by which the probabilities above are divided.
    tiny = AVaR(1e-3).weights(costs, probabilities)
    assert np.array_equal(tiny, WorstCase().weights(costs, probabilities))


def test_no_units_at_all():
    for measure in (Expectation(), WorstCase(), AVaR(0.5), EAVaR(0.5, 0.5)):
        assert measure.weights(np.empty((0, 2)), np.array([0.5, 0.5])).shape == (0, 2)


def test_operators_mix():
    mixed = 0.5 * Expectation() + AVaR(0.1) * 0.3 + 0.2 * WorstCase()
    assert mixed == Mixture(((0.5, Expectation()), (0.3, AVaR(0.1)), (0.2, WorstCase())))
    nested = 0.5 * EAVaR(0.5, 0.1) + 0.5 * WorstCase()
    assert nested == Mixture(((0.25, Expectation()), (0.25, AVaR(0.1)), (0.5, WorstCase())))
    tenths = sum((0.1 * AVaR(0.1) for _ in range(9)), 0.1 * AVaR(0.1))
    assert isinstance(tenths, Mixture)


def test_a_mixture_is_the_sum_of_its_parts():
    costs, probabilities = np.array([[1.0, 5.0, 3.0, 2.0]]), np.full(4, 0.25)
    weights = EAVaR(0.4, 0.25).weights(costs, probabilities)
    assert weights == pytest.approx(np.array([[0.1, 0.7, 0.1, 0.1]]))


@given(MEASURES)
def test_equal_measures_have_equal_specs(measure):
    again = pickle.loads(pickle.dumps(measure))
    assert again == measure
    assert again.spec() == measure.spec() == json.loads(json.dumps(measure.spec()))


def test_specs_tell_measures_apart():
    measures = [Expectation(), WorstCase(), AVaR(0.1), AVaR(0.2), EAVaR(0.5, 0.1), EAVaR(0.4, 0.1)]
    assert len({json.dumps(measure.spec()) for measure in measures}) == len(measures)
    assert AVaR(1).spec() == AVaR(1.0).spec()
    assert Mixture([[1, AVaR(1)]]) == 1 * AVaR(1.0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: AVaR(0), "above 0 and at most 1"),
        (lambda: AVaR(1.5), "above 0 and at most 1"),
        (lambda: AVaR(float("nan")), "above 0 and at most 1"),
        (lambda: AVaR("much"), "give a number"),
        (lambda: EAVaR(1.5, 0.1), "from 0 to 1"),
        (lambda: EAVaR(-0.5, 0.1), "from 0 to 1"),
        (lambda: Mixture(()), "no measures"),
        (lambda: Mixture(((0.5, Expectation()),)), "sum to 0.5"),
        (lambda: Mixture(((1.5, Expectation()), (-0.5, WorstCase()))), "-0.5"),
        (lambda: Mixture(((1.0, "mean"),)), "'mean'"),
        (lambda: Expectation() + WorstCase(), "sum to 2"),
        (lambda: 0.6 * Expectation() + 0.6 * WorstCase(), "sum to 1.2"),
        (lambda: -0.5 * Expectation(), "-0.5"),
        ((0.6 * Expectation()).spec, "weight of 0.4"),
        (lambda: (0.6 * Expectation()).weights(np.ones((1, 1)), np.ones(1)), "weight of 0.4"),
    ],
)
def test_what_is_no_measure_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_only_measures_can_be_added():
    with pytest.raises(TypeError):
        Expectation() + 1


@pytest.mark.parametrize("measure", [Expectation(), AVaR(0.5), WorstCase(), EAVaR(0.5, 0.5)])
@pytest.mark.parametrize(
    ("costs", "probabilities", "words"),
    [
        ([1.0, 2.0], [0.5, 0.5], "shape"),
        ([[1.0, 2.0]], [1.0], "shape"),
        ([[]], [], "at least one"),
        ([[1.0, np.nan]], [0.5, 0.5], "finite"),
        ([[1.0, np.inf]], [0.5, 0.5], "finite"),
        ([[1.0, 2.0]], [0.5, 0.4], "sum to 1"),
        ([[1.0, 2.0]], [1.5, -0.5], "negative"),
        ([[1.0, 2.0]], [np.nan, 1.0], "sum to 1"),
    ],
)
def test_bad_arrays_are_refused(measure, costs, probabilities, words):
    with pytest.raises(ValueError, match=words):
        measure.weights(np.array(costs), np.array(probabilities))


def test_a_measure_of_ones_own():
    class Best(RiskMeasure):
        def weights(self, costs, probabilities):
            return WorstCase().weights(-costs, probabilities)

        def spec(self):
            return {"measure": "best"}

    hurwicz = 0.25 * Best() + 0.75 * WorstCase()
    assert hurwicz.weights(np.array([[3.0, 1.0]]), np.array([0.5, 0.5])).tolist() == [[0.75, 0.25]]
