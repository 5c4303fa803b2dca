"""The rank-ordered kernel against a plain Python loop, bit for bit."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cobre._native import ReduceOp, reduce
from cobre.comm import InvalidBufferSize

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64", "longdouble"]
OPERATIONS = [ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX]


def combine(op, so_far, following):
    """One step on NumPy scalars: the definition of the result."""
    if op is ReduceOp.SUM:
        return so_far + following
    if following != following or (following < so_far if op is ReduceOp.MIN else following > so_far):
        return following
    return so_far


def plain_loop(op, slots):
    out = np.empty_like(slots[0])
    with np.errstate(all="ignore"):
        for i in range(out.size):
            so_far = slots[0][i]
            for slot in slots[1:]:
                so_far = combine(op, so_far, slot[i])
            out[i] = np.nan if so_far != so_far else so_far
    return out


def bits(array):
    """The meaningful bytes of each element: x87's long double has six more that are chance in NumPy."""
    raw = np.ascontiguousarray(array).view(np.uint8).reshape(array.size, array.itemsize)
    x87 = array.dtype == np.longdouble and np.finfo(np.longdouble).nmant == 63
    return raw[:, :10].tolist() if x87 else raw.tolist()


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan]


def elements(dtype):
    kind = np.dtype(dtype)
    if kind.kind != "f":
        return hnp.from_dtype(kind)
    tiny = np.finfo(kind).smallest_subnormal
    special = [kind.type(value) for value in SPECIAL] + [tiny, -tiny, np.finfo(kind).max, -np.finfo(kind).max]
    if kind == np.longdouble:  # hypothesis draws none of these
        return st.sampled_from(special) | st.floats().map(kind.type)
    return st.sampled_from(special) | hnp.from_dtype(kind, allow_subnormal=True)


@st.composite
def groups(draw):
    dtype = draw(st.sampled_from(INTEGERS + FLOATS))
    ranks = draw(st.integers(1, 8))
    length = draw(st.integers(0, 40))
    table = draw(hnp.arrays(dtype, (ranks, length), elements=elements(dtype), fill=st.nothing()))
    return [np.ascontiguousarray(row) for row in table]


@given(slots=groups(), op=st.sampled_from(OPERATIONS))
def test_same_bits_as_the_plain_loop(slots, op):
    out = np.empty_like(slots[0])
    reduce(slots, out, op)
    assert bits(out) == bits(plain_loop(op, slots))


@given(slots=groups(), op=st.sampled_from(OPERATIONS), data=st.data())
def test_same_bits_in_place(slots, op, data):
    expected = plain_loop(op, slots)
    out = slots[data.draw(st.integers(0, len(slots) - 1))]
    reduce(slots, out, op)
    assert bits(out) == bits(expected)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)
def test_long_arrays_have_the_bits_of_short_ones(dtype, op):
    """Vector registers, blocks and their remainders: any length, cut anywhere, gives the same bits."""
    generator = np.random.default_rng(1)
    raw = generator.integers(0, 2**16, (5, 9_001)).astype(np.uint16)
    with np.errstate(all="ignore"):
        slots = list((raw.view(np.float16) if dtype in FLOATS else raw).astype(dtype))
        whole = np.empty_like(slots[0])
        reduce(slots, whole, op)
        for begin, end in [(0, 1), (1, 8), (511, 1025), (4095, 9_001), (8_999, 9_001)]:
            part = np.empty_like(whole[begin:end])
            reduce([slot[begin:end] for slot in slots], part, op)
            assert bits(part) == bits(whole[begin:end])
        np.testing.assert_array_equal(whole, plain_loop(op, slots))


def test_halves_are_added_as_numpy_adds_them():
    """All 65 536 halves against a spread of others: rounding, overflow and subnormals included."""
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    for bit_pattern in [0x0000, 0x0001, 0x03FF, 0x0400, 0x3C00, 0x3C01, 0x7BFF, 0x8001, 0xFBFF, 0x5555]:
        other = np.full(2**16, bit_pattern, np.uint16).view(np.float16)
        out = np.empty_like(every)
        reduce([every, other], out, ReduceOp.SUM)
        with np.errstate(all="ignore"):
            expected = every + other
        expected[np.isnan(expected)] = np.nan
        np.testing.assert_array_equal(out.view(np.uint16), expected.view(np.uint16))


@pytest.mark.parametrize("op", OPERATIONS[1:], ids=lambda op: op.name)
def test_nan_propagates_as_in_numpy(op):
    slots = [np.array([np.nan, 1.0, np.nan, 2.0]), np.array([1.0, np.nan, np.nan, 3.0])]
    out = np.empty(4)
    reduce(slots, out, op)
    np.testing.assert_array_equal(out, {ReduceOp.MIN: np.minimum, ReduceOp.MAX: np.maximum}[op](*slots))


def test_the_padding_of_a_long_double_is_always_the_same():
    if np.dtype(np.longdouble).itemsize != 16 or np.finfo(np.longdouble).nmant != 63:
        pytest.skip("long double has no padding here")
    slots = [
        np.frombuffer(bytes([1, 2, 3, 4, 5, 6, 7, 0xC0, 0xFF, 0x3F]) + bytes([n] * 6), np.longdouble)
        for n in (7, 9)
    ]
    out = np.frombuffer(bytearray(b"\xaa" * 16), np.longdouble)
    reduce(slots, out, ReduceOp.SUM)
    assert out.tobytes()[10:] == bytes(6)


def test_other_threads_run_during_a_large_reduction():
    """With the GIL held the counting thread could not move while the kernel works."""
    slots = [np.ones(3_000_000) for _ in range(8)]
    out = np.empty(3_000_000)
    started, finished = threading.Event(), threading.Event()
    turns = 0

    def work():
        started.set()
        for _ in range(10):
            reduce(slots, out, ReduceOp.SUM)
        finished.set()

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    while not finished.is_set():
        turns += 1
    thread.join()
    assert turns > 1000


def test_slots_must_fit_together():
    with pytest.raises(InvalidBufferSize, match="a slot differs from out: expected 3, got 2"):
        reduce([np.zeros(3), np.zeros(2)], np.zeros(3), ReduceOp.SUM)
    with pytest.raises(InvalidBufferSize, match="there are no slots"):
        reduce([], np.zeros(3), ReduceOp.SUM)
    with pytest.raises(TypeError, match="a slot has dtype int64 but out has dtype float64"):
        reduce([np.zeros(3, np.int64)], np.zeros(3), ReduceOp.SUM)
    memory = np.zeros(4)
    with pytest.raises(ValueError, match="overlap"):
        reduce([memory[1:]], memory[:-1], ReduceOp.SUM)
