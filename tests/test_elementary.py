"""Elementary functions against exact arithmetic and the C library; and who must use them."""

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from cobre.elementary import log2, power, square

SOURCES = Path(__file__).parents[1] / "src" / "cobre"
#: Packages whose arithmetic decides bits of a policy. Bindings and tests of findings do not.
DECIDING = ("sddp", "lp", "stochastic", "hydrothermal", "elements", "estimates.py", "case/_stages.py")
#: Calls whose last bit depends on the processor; NumPy squares arrays by a product.
DEPENDS = re.compile(r"\bnp\.(exp|log|power|dot|einsum|matmul|linalg)|\bmath\.(exp|log|pow)|\) ?\*\* ?\w")
ALLOWED = {"np.sum((points - points[tour[-1]]) ** 2, axis=1)"}


def test_squares_and_powers_are_rounded_correctly():
    rng = np.random.default_rng(1)
    for value in (rng.random(500) * 10.0 ** rng.integers(-6, 9, 500)).tolist():
        assert square(value) == float(Fraction(value) ** 2)
        assert power(value, 3.0) == float(Fraction(value) ** 3)
        assert power(value, -2.0) == float(1 / Fraction(value) ** 2)


def test_a_power_with_a_fraction_is_that_of_the_c_library_but_for_the_last_bit():
    for rate in np.linspace(0.001, 0.4, 50).tolist():
        found = power(1 + rate, -31 / 365.25)
        assert abs(found - (1 + rate) ** (-31 / 365.25)) <= math.ulp(found)


def test_logarithms_to_base_2():
    exponents = np.arange(-1000.0, 1000.0)
    assert np.array_equal(log2(np.ldexp(1.0, exponents.astype(int))), exponents)
    numbers = np.random.default_rng(2).random(1000) * 1e5
    np.testing.assert_allclose(log2(numbers), np.log2(numbers), rtol=0, atol=1e-14)


@pytest.mark.parametrize("place", DECIDING)
def test_what_decides_bits_calls_nothing_that_depends_on_the_processor(place):
    root = SOURCES / place
    files = sorted(root.rglob("*.py")) if root.is_dir() else [root]
    lines = [line.strip() for file in files for line in file.read_text().splitlines()]
    code = [line for line in lines if not line.startswith((">>>", "#", '"'))]
    assert [line for line in code if DEPENDS.search(line) and not any(each in line for each in ALLOWED)] == []
