"""The normal quantile against Python's own, against the error function, and against itself one by one."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobre.elementary import natural_log
from cobre.stochastic import uniforms
from cobre.stochastic._normal import normal_quantile, standard_normals

GRID = np.concatenate(
    [np.linspace(1e-4, 1 - 1e-4, 4001), 2.0 ** -np.arange(2, 1000), 1 - 2.0 ** -np.arange(2, 53)]
)


def test_it_is_the_quantile_of_the_standard_library():
    expected = [NormalDist().inv_cdf(p) for p in GRID]
    np.testing.assert_allclose(normal_quantile(GRID), expected, rtol=1e-15, atol=1e-17)


@given(st.floats(1e-300, 1 - 2**-53))
def test_the_distribution_function_undoes_it(p):
    x = float(normal_quantile(p))
    back = 0.5 * math.erfc(-x / math.sqrt(2))
    # A relative error of 1e-15 in x moves the probability by x · density(x) / p times as much.
    assert back == pytest.approx(p, rel=1e-15 * (4 + 4 * x * x))


@given(st.floats(1e-300, 1e300))
def test_the_logarithm_is_within_one_unit_in_the_last_place(x):
    assert abs(float(natural_log(x)) - math.log(x)) <= math.ulp(math.log(x))


@given(st.lists(st.floats(0, 1, exclude_min=True, exclude_max=True), min_size=1, max_size=20))
def test_arrays_have_the_bits_of_their_elements(ps):
    assert normal_quantile(ps).tobytes() == np.array([normal_quantile(p) for p in ps]).tobytes()


def test_it_is_odd():
    """Where 1 - p is exact: multiples of 2**-53."""
    p = np.floor(GRID[:4001] * 2**53) / 2**53
    assert np.array_equal(normal_quantile(p), -normal_quantile(1 - p))


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, 1.1, math.nan, math.inf])
def test_what_is_no_probability_is_refused(p):
    with pytest.raises(ValueError, match="no probability"):
        normal_quantile([0.5, p])


def test_extreme_uniforms_give_finite_and_symmetric_numbers():
    low, high = standard_normals([0.0, 1 - 2**-53])
    assert low == -high == NormalDist().inv_cdf(2**-53)
    assert low == pytest.approx(-8.21, abs=0.01)


def test_they_look_normal():
    """Bounds of five standard errors, for numbers that never change."""
    z = standard_normals(uniforms(5, np.arange(100_000))).ravel()
    for power, expected, variance in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)]:
        assert abs((z**power).mean() - expected) < 5 * (variance / z.size) ** 0.5


def test_the_bits_do_not_change():
    """Our own output: these numbers are part of every seeded result."""
    numbers = standard_normals(uniforms(1, np.arange(2)))
    assert [value.hex() for value in numbers.ravel().tolist()] == [
        "0x1.3a5827212ea90p+0",
        "0x1.bb85ef052de5ap-3",
        "0x1.c820d3008a01bp-2",
        "-0x1.f57d319ebb343p-5",
    ]
