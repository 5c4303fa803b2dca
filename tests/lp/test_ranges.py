"""Ranges of a programme's numbers: extremes by hand, in units that do not change the programme."""

import numpy as np
import pytest

from cobre.lp import LinearProgram, Noise, number_ranges
from cobre.lp._scaling import scales_of

PROGRAM = LinearProgram(
    [3.0, 0.0, -5.0],
    [[1.0, -20.0, 0.0], [0.0, 4.0, 0.5]],
    row_lower=[0.0, 7.0],
    row_upper=[60.0, np.inf],
    column_upper=[np.inf, 8.0, 9.0],
    column_names=("a", "b", "c"),
    row_names=("first", "second"),
)
NOISE = Noise(rhs={0: [30.0, 90.0]}, cost={1: [0.25, 2.0]}, coefficient={(1, 0): [1e3, 2e3]})


def found(noise=NOISE):
    return {one.part: one for one in number_ranges(PROGRAM, noise)}


def test_zeros_and_infinities_are_no_extremes_and_signs_do_not_count():
    ranges = {part: (one.least[::2], one.greatest[::2]) for part, one in found(Noise()).items()}
    assert ranges == {
        "coefficients": ((0.5, "second, c"), (20.0, "first, b")),
        "costs": ((3.0, "a"), (5.0, "c")),
        "bounds": ((8.0, "b"), (9.0, "c")),
        "right-hand sides": ((7.0, "second"), (60.0, "first")),
    }


def test_realisations_count_too():
    ranges = found()
    assert ranges["coefficients"].greatest[::2] == (2e3, "second, a")
    assert ranges["costs"].least[::2] == (0.25, "b")
    assert ranges["right-hand sides"].greatest[::2] == (90.0, "first")


def test_units_are_those_of_the_solver():
    scales, ranges = scales_of(PROGRAM, NOISE), found()
    assert ranges["bounds"].least.scaled == 8.0 / scales.column[1]
    assert ranges["costs"].greatest.scaled == 5.0 * scales.column[2] * scales.cost
    assert ranges["right-hand sides"].least.scaled == 7.0 * scales.row[1]
    every = np.abs(
        PROGRAM.matrix.values * scales.row[PROGRAM.matrix.rows] * scales.column[PROGRAM.matrix.columns]
    )
    random = NOISE.table[:, 2] * scales.row[1] * scales.column[0]
    assert ranges["coefficients"].scaled_greatest.scaled == max(*every, *random)
    assert ranges["coefficients"].scaled_least.scaled == min(*every, *random)


@pytest.mark.parametrize("swap", [False, True])
def test_joined_ranges_are_those_of_both(swap):
    program = LinearProgram([100.0, 1.0], [[1, 1]])
    (costs,) = (one for one in number_ranges(program, Noise()) if one.part == "costs")
    ranges = [found()["costs"].at("stage 1"), costs.at("stage 2")]
    one, other = reversed(ranges) if swap else ranges
    joined = one.joined(other)
    assert (joined.least.place, joined.greatest.place) == ("stage 1, b", "stage 2, x0")
    assert joined.scaled_least.scaled == min(one.scaled_least.scaled, other.scaled_least.scaled)
    assert joined.scaled_greatest.scaled == max(one.scaled_greatest.scaled, other.scaled_greatest.scaled)
