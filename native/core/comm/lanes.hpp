// Several elements at once, in the vector extension that GCC and Clang share.
//
// Said out loud because leaving it to the compiler does not last: of loops that differ in the number of
// operands or the width of the element it vectorises some and turns others into branches.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "reduce.hpp"

namespace cobre::comm {

/// IEEE 754 binary16, as its bits: GCC gives C++ a half type only from version 13 on.
struct Half {
  std::uint16_t bits;
};

template <class T, std::size_t width>
struct VectorOf {
  typedef T type __attribute__((vector_size(width)));
};
template <class T, std::size_t width>
using Vector = typename VectorOf<T, width>::type;

template <class V, class T>
[[gnu::always_inline]] inline V all(T value) noexcept {
  V lanes{};
  for (std::size_t i = 0; i < sizeof(V) / sizeof(T); ++i) lanes[i] = value;
  return lanes;
}

/// The operations on `width` bytes of elements. Integers wrap around, so the caller passes unsigned
/// ones for sums.
template <class T, std::size_t width>
struct Lanes {
  using Values = Vector<T, width>;

  [[gnu::always_inline]] static Values add(Values left, Values right) noexcept { return left + right; }

  template <ReduceOp op>
  [[gnu::always_inline]] static Values extreme(Values so_far, Values next) noexcept {
    auto take = op == ReduceOp::min ? next < so_far : next > so_far;
    if constexpr (std::is_floating_point_v<T>) take |= next != next;
    return take ? next : so_far;
  }

  [[gnu::always_inline]] static Values canonical(Values values) noexcept {
    if constexpr (std::is_floating_point_v<T>) {
      return values != values ? all<Values>(std::numeric_limits<T>::quiet_NaN()) : values;
    } else {
      return values;
    }
  }
};

/// Half as many bytes of halves, because their sums are formed in floats.
template <std::size_t width>
struct Lanes<Half, width> {
  using Values = Vector<std::uint16_t, width / 2>;
  using Signed = Vector<std::int16_t, width / 2>;
  static constexpr std::int16_t kInfinity = 0x7c00;

  [[gnu::always_inline]] static Values add(Values left, Values right) noexcept {
    // Rounding the float sum once more is harmless: 24 bits are at least twice 11 bits plus 2.
    return to_halves(to_floats(left) + to_floats(right));
  }

  template <ReduceOp op>
  [[gnu::always_inline]] static Values extreme(Values so_far, Values next) noexcept {
    const Signed mine = ordinal(so_far), other = ordinal(next);
    const Signed beyond = op == ReduceOp::min ? other < mine : other > mine;
    const Signed take = (beyond & (magnitude(so_far) <= kInfinity)) | (magnitude(next) > kInfinity);
    return take ? next : so_far;
  }

  [[gnu::always_inline]] static Values canonical(Values values) noexcept {
    return magnitude(values) > kInfinity ? all<Values>(std::uint16_t{0x7e00}) : values;
  }

 private:
  using Words = Vector<std::uint32_t, width>;
  using Floats = Vector<float, width>;

  /// Without the sign, as a whole number; NaN is above infinity.
  [[gnu::always_inline]] static Signed magnitude(Values values) noexcept { return Signed(values) & 0x7fff; }

  /// Whole numbers that are ordered like the halves, except NaN; -0 and +0 are both 0.
  [[gnu::always_inline]] static Signed ordinal(Values values) noexcept {
    const Signed sign = Signed(values) >> 15;  // 0 or -1
    return (magnitude(values) ^ sign) - sign;
  }

  /// Exact: every half is a float.
  [[gnu::always_inline]] static Floats to_floats(Values values) noexcept {
    const Words wide = __builtin_convertvector(values, Words);
    const Words sign = (wide & 0x8000u) << 16, number = (wide & 0x7fffu) << 13;
    // Read with the float's exponent bias it is too small by 2^112; this also normalises subnormals.
    const Words scaled = Words(Floats(number) * 0x1p112f);
    // Infinity and NaN: the exponent is all ones here and there.
    const Words beyond = Words(number >= 0x0f800000u) & 0x7f800000u;
    return Floats(sign | scaled | beyond);
  }

  /// Rounds to nearest, ties to even, as NumPy does.
  [[gnu::always_inline]] static Values to_halves(Floats values) noexcept {
    const Words sign = Words(values) & 0x80000000u, number = Words(values) ^ sign;
    // A subnormal half, below 2^-14: 0.5 has the exponent at which one unit of a float's last place is
    // 2^-24, a subnormal half's unit.
    const Words subnormal = Words(Floats(number) + 0.5f) - std::bit_cast<std::uint32_t>(0.5f);
    // From the float's exponent bias, 127, to the half's, 15, and half a unit up; a tie goes to the even
    // neighbour. A carry out of the top is infinity, as it should be.
    const Words normal = (number - (112u << 23) + 0x0fffu + ((number >> 13) & 1u)) >> 13;
    const Words finite = number < 0x38800000u ? subnormal : normal;
    const Words infinite = number > 0x7f800000u ? all<Words>(0x7e00u) : all<Words>(0x7c00u);
    const Words half = number >= 0x47800000u ? infinite : finite;  // 65536 and more, NaN
    return __builtin_convertvector(half | (sign >> 16), Values);
  }
};

/// x87's extended precision has no vectors.
template <std::size_t width>
struct Lanes<long double, width> {
  using Values = long double;

  static Values add(Values left, Values right) noexcept { return left + right; }

  template <ReduceOp op>
  static Values extreme(Values so_far, Values next) noexcept {
    const bool beyond = op == ReduceOp::min ? next < so_far : next > so_far;
    return (beyond | (next != next)) ? next : so_far;
  }

  static Values canonical(Values value) noexcept {
    return value != value ? std::numeric_limits<Values>::quiet_NaN() : value;
  }
};

}  // namespace cobre::comm
