"""The counter-based generator against published vectors and a plain implementation in Python's integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobre.stochastic import generator, uniforms
from cobre.stochastic._counter import philox

WORD = st.integers(0, 2**32 - 1)
SEED = st.integers(0, 2**64 - 1)

# From Random123's tests/kat_vectors, "philox4x32 10": counter, key, output.
VECTORS = [
    "00000000 00000000 00000000 00000000 00000000 00000000 6627e8d5 e169c58d bc57ac4c 9b00dbd8",
    "ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff 408f276d 41c83b0e a20bc7c6 6d5451fd",
    "243f6a88 85a308d3 13198a2e 03707344 a4093822 299f31d0 d16cfe09 94fdcceb 5001e420 24126ea1",
]


def as_uniforms(words):
    """Two numbers of 53 bits, in exact arithmetic, from four words."""
    return [((words[i] << 32 | words[i + 1]) >> 11) / 2**53 for i in (0, 2)]


def philox_in_python(counter, key):
    """Salmon et al. 2011, section 3.3, word by word; the keys of all rounds first."""
    keys = [((key[0] + r * 0x9E3779B9) % 2**32, (key[1] + r * 0xBB67AE85) % 2**32) for r in range(10)]
    x = list(counter)
    for low, high in keys:
        high0, low0 = divmod(0xD2511F53 * x[0], 2**32)
        high1, low1 = divmod(0xCD9E8D57 * x[2], 2**32)
        x = [high1 ^ x[1] ^ low, low1, high0 ^ x[3] ^ high, low0]
    return x


@pytest.mark.parametrize("vector", VECTORS)
def test_known_answers(vector):
    words = [int(word, 16) for word in vector.split()]
    counter, key, expected = words[:4], words[4:6], words[6:]
    seed = key[0] | key[1] << 32
    assert [int(word) for word in philox(seed, tuple(np.uint64(word) for word in counter))] == expected
    assert philox_in_python(counter, key) == expected
    assert uniforms(seed, *counter).tolist() == as_uniforms(expected)


@given(SEED, st.lists(WORD, max_size=4))
def test_every_point_is_as_in_plain_integers(seed, coordinates):
    counter = [*coordinates, 0, 0, 0, 0][:4]
    expected = as_uniforms(philox_in_python(counter, [seed % 2**32, seed >> 32]))
    assert uniforms(seed, *coordinates).tolist() == expected


@given(SEED, st.lists(WORD, min_size=1, max_size=9), st.lists(WORD, min_size=1, max_size=5))
def test_arrays_are_points_side_by_side(seed, rows, columns):
    table = uniforms(seed, np.array(rows)[:, None], 3, np.array(columns, np.uint32))
    assert table.shape == (len(rows), len(columns), 2)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            assert table[i, j].tobytes() == uniforms(seed, row, 3, column).tobytes()


def test_they_look_uniform_and_independent():
    """Bounds of five standard errors, for numbers that never change."""
    table = uniforms(2024, np.arange(1000)[:, None], np.arange(100))
    count = table.size
    assert ((table >= 0) & (table < 1)).all()
    assert abs(table.mean() - 1 / 2) < 5 * (1 / 12 / count) ** 0.5
    assert abs(table.var() - 1 / 12) < 5 * (1 / 180 / count) ** 0.5
    cells = np.histogram(table, 64, (0, 1))[0]
    assert ((cells - count / 64) ** 2 / (count / 64)).sum() < 63 + 5 * (2 * 63) ** 0.5
    for one, other in [
        (table[..., 0], table[..., 1]),
        (table[1:], table[:-1]),
        (table[:, 1:], table[:, :-1]),
    ]:
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 5 / one.size**0.5


def test_all_53_bits_are_used():
    scaled = (uniforms(1, np.arange(4000)) * 2**53).astype(np.uint64)
    ones = np.array([(scaled >> np.uint64(bit) & np.uint64(1)).mean() for bit in range(53)])
    assert (abs(ones - 0.5) < 0.05).all()


def test_an_empty_array_gives_an_empty_array():
    assert uniforms(1, np.arange(0)).shape == (0, 2)


@pytest.mark.parametrize("function", [uniforms, generator])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((-1,), "the seed is -1"),
        ((2**64,), "the seed is"),
        ((0, -1), "coordinate 0 has the value -1"),
        ((0, 0, 2**32), "coordinate 1 has the value 4294967296"),
        ((0, 2**70), "coordinate 0"),
        ((0, 1, 2, 3, 4, 5), "at most 4"),
    ],
)
def test_what_does_not_fit_is_refused(function, arguments, words):
    with pytest.raises(ValueError, match=words):
        function(*arguments)


def test_one_bad_element_is_refused():
    with pytest.raises(ValueError, match="the value -7"):
        uniforms(0, np.array([1, -7, 3]))


@pytest.mark.parametrize("function", [uniforms, generator])
@pytest.mark.parametrize("arguments", [(1.0,), (True,), (0, 1.0), (0, True), (0, "1")])
def test_what_is_no_integer_is_refused(function, arguments):
    with pytest.raises(TypeError, match="give"):
        function(*arguments)


def test_integers_of_numpy_are_integers():
    assert np.array_equal(uniforms(np.uint64(5), np.int8(3)), uniforms(5, 3))


@given(SEED, st.lists(WORD, min_size=4, max_size=4))
def test_a_generator_repeats_itself_and_leaves_the_lowest_word_to_numpy(seed, coordinates):
    made = generator(seed, *coordinates)
    state = made.bit_generator.state["state"]
    low, high = coordinates[0] | coordinates[1] << 32, coordinates[2] | coordinates[3] << 32
    assert state["counter"].tolist() == [0, low, high, 0]
    assert state["key"].tolist() == [seed, 0]
    assert made.random(3).tolist() == generator(seed, *coordinates).random(3).tolist()


def test_generators_of_different_points_differ():
    points = [(0,), (1,), (0, 1), (0, 0, 1), (0, 0, 0, 1), (1, 1)]
    draws = {generator(seed, *point).random() for seed in (0, 1, 2**63) for point in points}
    assert len(draws) == 3 * len(points)
