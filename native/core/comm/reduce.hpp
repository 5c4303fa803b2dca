// The one reduction behind every backend: element by element, in rank order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cobre::comm {

enum class ReduceOp : std::uint8_t { sum, min, max };

/// The element types that can be reduced.
enum class Element : std::uint8_t {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  float32,
  float64,
  longdouble,
};

/// out[i] = op(… op(op(slots[0][i], slots[1][i]), slots[2][i]) …, slots[ranks-1][i])
///
/// Needs ranks >= 1. Neither `out` nor the slots need be aligned. `out` may be one of the slots; it
/// must not overlap one partly. Integers wrap around. A NaN in any slot gives NaN, for all three
/// operations, and a NaN result is always the positive quiet one without payload: sign and payload
/// of a NaN otherwise depend on the processor and on operand order. Of two equal numbers, which
/// includes -0 and +0, min and max keep the lower rank's.
void reduce(ReduceOp op, Element element, const void* const* slots, std::size_t ranks, void* out,
            std::size_t count) noexcept;

/// The same result by what every processor of the architecture has. `reduce` chooses by itself; this is for
/// tests, which would otherwise see only the choice made on their machine.
void reduce_baseline(ReduceOp op, Element element, const void* const* slots, std::size_t ranks, void* out,
                     std::size_t count) noexcept;

}  // namespace cobre::comm
