"""Noise in m³/s and MW against the formulas, number by number."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobre.elements.bus.data import Bus
from cobre.elements.bus.noise import load
from cobre.elements.hydro.data import Inflow
from cobre.elements.hydro.noise import METHODS, TRUNCATING, inflow_noise
from cobre.elements.noise import random_elements
from cobre.elements.non_controllable_source.data import NonControllableSource
from cobre.elements.non_controllable_source.noise import available
from cobre.system import System

ETA = st.lists(st.floats(-5, 5), min_size=1, max_size=6)
NUMBER = st.floats(-50, 50)


def river(base, scale, psi=(), past=()):
    return Inflow(np.array([base]), (np.array(psi, float),), np.array([scale]), tuple(past))


def bus(mean, std, factors=((1.0,),), number=1):
    series = np.array(mean, float)
    return Bus(number, "", (), series, series, np.array(std, float), tuple(np.array(f) for f in factors))


def source(maximum, mean, std, factors=((1.0,),), number=1):
    series = np.array(mean, float)
    given = tuple(np.array(f) for f in factors)
    return NonControllableSource(
        number, "", 1, np.array(maximum, float), series, np.array(std, float), given, series
    )


@given(NUMBER, st.floats(0, 50), ETA, st.sampled_from(["none", "penalty"]))
def test_without_truncation_noise_is_scaled(base, scale, eta, method):
    assert inflow_noise(river(base, scale, [0.5]), 0, eta, method).tolist() == [scale * e for e in eta]


@given(NUMBER, st.floats(0, 50), ETA, st.sampled_from(TRUNCATING))
def test_truncation_without_lags_is_the_positive_part(base, scale, eta, method):
    noise = inflow_noise(river(base, scale, [0.0, 0.0]), 0, eta, method)
    for value, e in zip(noise, eta, strict=True):
        assert base + value == pytest.approx(max(0.0, base + scale * e), abs=1e-12)
        assert base + value >= 0


@given(NUMBER, st.floats(0, 50), ETA, st.lists(st.tuples(st.floats(-1, 1), NUMBER), max_size=3))
def test_truncation_with_known_lags_is_the_positive_part(base, scale, eta, lags):
    model = river(base, scale, [psi for psi, _ in lags])
    certain = base + sum(psi * lag for psi, lag in lags)
    noise = inflow_noise(model, 0, eta, "truncation", [lag for _, lag in lags])
    np.testing.assert_allclose(certain + noise, np.maximum(0, certain + scale * np.array(eta)), atol=1e-9)


def test_positive_inflows_keep_their_bits():
    eta = [0.1, 0.2, -0.3]
    model = river(100.0, 7.0)
    assert (
        inflow_noise(model, 0, eta, "truncation").tobytes() == inflow_noise(model, 0, eta, "none").tobytes()
    )


def test_truncation_that_never_acts_needs_no_lags():
    model = river(20.0, 5.0, [0.5, 0.0, 0.2])
    assert inflow_noise(model, 0, [1.0, -4.0], "truncation").tolist() == [5.0, -20.0]


@pytest.mark.parametrize(("psi", "eta"), [([0.5], -4.1), ([-0.1], 0.0), ([0.5, -0.1], 1.0)])
@pytest.mark.parametrize("method", TRUNCATING)
def test_truncation_that_depends_on_the_state_is_refused(psi, eta, method):
    with pytest.raises(NotImplementedError, match=f"stage 0 has lagged inflows, so what '{method}' does"):
        inflow_noise(river(20.0, 5.0, psi), 0, [0.0, eta], method)


def test_truncation_by_state_cannot_be_described_by_cuts():
    """Why it is refused: a shortage costs 1 per m³/s, and that is not convex in the lag."""

    def cost(lag):
        return 30 - max(0.0, -10 + lag)

    assert cost(10) > (cost(0) + cost(20)) / 2


def test_wrong_arguments():
    with pytest.raises(ValueError, match="is 'cut'; give one of none, penalty"):
        inflow_noise(river(1.0, 1.0), 0, [0.0], "cut")
    with pytest.raises(ValueError, match="stage 0 has 2 lags; 1 were given"):
        inflow_noise(river(1.0, 1.0, [0.1, 0.1]), 0, [0.0], "truncation", [1.0])
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
