// IEEE 754 binary16 without compiler support: GCC gives C++ a half type only from version 13 on.
#pragma once

#include <bit>
#include <cstdint>

namespace cobre::comm {

struct Half {
  std::uint16_t bits;
};

/// Exact: every half is a float.
inline float to_float(Half half) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(half.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(half.bits & 0x7fffu) << 13;
  if (magnitude >= 0x0f800000u) {  // infinity or NaN: the exponent is all ones here and there
    return std::bit_cast<float>(sign | magnitude | 0x7f800000u);
  }
  // Read with the float's exponent bias the number is too small by 2^112; this also normalises subnormals.
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled));
}

/// Rounds to nearest, ties to even, as NumPy does.
inline Half to_half(float value) noexcept {
  const std::uint32_t all = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = all & 0x80000000u;
  std::uint32_t magnitude = all ^ sign;
  std::uint32_t half;
  if (magnitude >= 0x47800000u) {  // 65536 and more, infinity, NaN
    half = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  } else if (magnitude < 0x38800000u) {  // below 2^-14: a subnormal half
    // 0.5 has the exponent at which one unit of a float's last place is 2^-24, a subnormal half's unit.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    half = std::bit_cast<std::uint32_t>(aligned) - std::bit_cast<std::uint32_t>(0.5f);
  } else {
    const std::uint32_t odd = (magnitude >> 13) & 1u;
    magnitude -= 112u << 23;     // from the float's exponent bias, 127, to the half's, 15
    magnitude += 0x0fffu + odd;  // half a unit; a tie goes to the even neighbour
    half = magnitude >> 13;      // a carry out of the top is infinity, as it should be
  }
  return Half{static_cast<std::uint16_t>(half | (sign >> 16))};
}

}  // namespace cobre::comm
