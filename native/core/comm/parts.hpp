// Where each rank's part lies in the receive buffer of an allgatherv, and whether it can lie there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace cobre::comm {

/// For numbers >= 0 that a caller made up: a sum beyond 64 bits stays at the largest number.
constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) noexcept {
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  return a > kLargest - b ? kLargest : a + b;
}

struct PartFault {
  enum class Kind : std::uint8_t { none, negative_count, negative_displacement, beyond_end, overlap };
  Kind kind = Kind::none;
  std::size_t rank = 0;   // whose part is at fault
  std::size_t other = 0;  // for an overlap: the part it runs into
};

/// The first fault of the parts [displs[r], displs[r] + counts[r]) in a buffer of `capacity`
/// elements. An empty part has no elements that could overlap.
PartFault find_fault(std::span<const std::int64_t> counts, std::span<const std::int64_t> displs,
                     std::int64_t capacity);

/// Parts that follow each other without gaps, in rank order.
std::vector<std::int64_t> packed_displacements(std::span<const std::int64_t> counts);

/// `total` things in `shares` shares of almost equal size: where share i begins; share `shares` is the end.
constexpr std::size_t share_begin(std::size_t total, std::size_t i, std::size_t shares) {
  return total / shares * i + std::min(i, total % shares);
}

}  // namespace cobre::comm
