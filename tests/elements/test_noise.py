"""Noise in m³/s and MW against the formulas, number by number."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobre.elements.bus.data import Bus
from cobre.elements.bus.noise import load
from cobre.elements.hydro.data import Inflow
from cobre.elements.hydro.inflow_bounds import lag_bounds
from cobre.elements.hydro.noise import METHODS, TRUNCATING, inflow_noise
from cobre.elements.noise import random_elements
from cobre.elements.non_controllable_source.data import NonControllableSource
from cobre.elements.non_controllable_source.noise import available
from cobre.system import System

ETA = st.lists(st.floats(-5, 5), min_size=1, max_size=6)
NUMBER = st.floats(-50, 50)


def river(base, scale, psi=(), past=()):
    return Inflow(np.array([base]), (np.array(psi, float),), np.array([scale]), tuple(past))


def bounded(model, *noise):
    return replace(model, bounds=lag_bounds(model, noise))


def bus(mean, std, factors=((1.0,),), number=1):
    series = np.array(mean, float)
    return Bus(number, "", (), series, series, np.array(std, float), tuple(np.array(f) for f in factors))


def source(maximum, mean, std, factors=((1.0,),), number=1):
    series = np.array(mean, float)
    given = tuple(np.array(f) for f in factors)
    return NonControllableSource(
        number, "", 1, np.array(maximum, float), series, np.array(std, float), given, series
    )


@given(NUMBER, st.floats(0, 50), ETA)
def test_an_inflow_without_lags(base, scale, eta):
    """Untouched, with a slack of what it lacks, or truncated: number by number."""
    plain, none = inflow_noise(river(base, scale, [0.0, 0.0]), 0, np.array(eta), "none")
    same, slack = inflow_noise(river(base, scale, [0.0, 0.0]), 0, np.array(eta), "penalty")
    lifted, nothing = inflow_noise(river(base, scale), 0, np.array(eta), "truncation")
    assert plain.tolist() == same.tolist() == [base + scale * e for e in eta]
    assert slack.tolist() == [max(0.0, -(base + scale * e)) for e in eta]
    assert lifted.tolist() == [max(0.0, base + scale * e) for e in eta]
    assert not none.any()
    assert not nothing.any()


@given(NUMBER, st.floats(0, 50), ETA, st.floats(-1, 1).filter(bool), NUMBER)
def test_an_inflow_with_a_certain_lag(base, scale, eta, psi, lag):
    """That of the first stage: slack and truncation are of the inflow itself."""
    model = bounded(river(base, scale, [psi], [lag]), np.array(eta))
    inflows = [base + scale * e + psi * lag for e in eta]
    _, slack = inflow_noise(model, 0, np.array(eta), "truncation_with_penalty")
    np.testing.assert_allclose(slack, [max(0.0, -inflow) for inflow in inflows], atol=1e-9)
    lifted, _ = inflow_noise(model, 0, np.array(eta), "truncation")
    np.testing.assert_allclose(lifted + psi * lag, [max(0.0, one) for one in inflows], atol=1e-9)


@pytest.mark.parametrize("method", ["penalty", *TRUNCATING])
def test_lags_of_which_nothing_is_known_set_no_limit(method):
    own, slack = inflow_noise(river(20.0, 5.0, [0.5]), 0, np.array([1.0, -4.0]), method)
    assert own.tolist() == [25.0, 0.0]
    assert slack.tolist() == [np.inf, np.inf]


def test_positive_inflows_keep_their_bits():
    eta, model = np.array([0.1, 0.2, -0.3]), river(100.0, 7.0)
    (plain, _), (lifted, _) = (inflow_noise(model, 0, eta, method) for method in ("none", "truncation"))
    assert lifted.tobytes() == plain.tobytes()


def test_truncation_by_state_cannot_be_described_by_cuts():
    """Why it is relaxed: a shortage costs 1 per m³/s, and that is not convex in the lag."""

    def cost(lag):
        return 30 - max(0.0, -10 + lag)

    assert cost(10) > (cost(0) + cost(20)) / 2


def test_wrong_arguments():
    with pytest.raises(ValueError, match="is 'cut'; give one of none, penalty"):
        inflow_noise(river(1.0, 1.0), 0, np.array([0.0]), "cut")
    assert System(stages=()).negative_inflows in METHODS


@given(NUMBER, st.floats(0.1, 50), ETA, st.lists(st.floats(0, 2), min_size=1, max_size=3))
def test_load_in_its_blocks(mean, std, eta, factors):
    table = load(bus([mean], [std], [factors]), 0, eta)
    assert table.tolist() == [[max(0.0, mean + std * e) * f for f in factors] for e in eta]


def test_a_certain_load_keeps_its_sign():
    assert load(bus([-5.0], [0.0]), 0, [1.0]).tolist() == [[-5.0]]
    assert load(bus([-5.0, 7.0], [0.0, 1.0], [[1.0], [1.0]]), 0, [1.0]).tolist() == [[0.0]]


@given(
    st.floats(0, 100),
    st.floats(0, 1),
    st.floats(0, 1),
    ETA,
    st.lists(st.floats(0, 2), min_size=1, max_size=3),
)
def test_availability_in_its_blocks(maximum, mean, std, eta, factors):
    table = available(source([maximum], [mean], [std], [factors]), 0, eta)
    expected = [[maximum * min(max(mean + std * e, 0.0), 1.0) * f for f in factors] for e in eta]
    np.testing.assert_array_equal(table, expected)


def test_elements_that_never_vary_have_no_noise():
    buses = (bus([1.0, 1.0], [0.0, 0.0]), bus([1.0, 1.0], [0.0, 2.0]))
    sources = (source([1.0], [1.0], [0.1]), source([1.0], [1.0], [0.0]))
    system = System(stages=(), elements={Bus: buses, NonControllableSource: sources})
    assert random_elements(system) == {
        "hydro": (),
        "bus": buses[1:],
        "non_controllable_source": sources[:1],
    }
