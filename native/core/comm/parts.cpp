#include "parts.hpp"

#include <algorithm>
#include <numeric>

namespace cobre::comm {

PartFault find_fault(std::span<const std::int64_t> counts, std::span<const std::int64_t> displs,
                     std::int64_t capacity) {
  using Kind = PartFault::Kind;
  bool in_order = true;  // nearly always; then no sorting is needed to see that nothing overlaps
  std::int64_t end = 0;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    if (counts[rank] < 0) return {Kind::negative_count, rank};
    if (displs[rank] < 0) return {Kind::negative_displacement, rank};
    if (counts[rank] > capacity || displs[rank] > capacity - counts[rank]) {  // the sum could overflow
      return {Kind::beyond_end, rank};
    }
    if (counts[rank] == 0) continue;
    in_order = in_order && displs[rank] >= end;
    end = displs[rank] + counts[rank];
  }
  if (in_order) return {};

  std::vector<std::size_t> by_position(counts.size());
  std::iota(by_position.begin(), by_position.end(), std::size_t{0});
  std::erase_if(by_position, [&](std::size_t rank) { return counts[rank] == 0; });
  std::sort(by_position.begin(), by_position.end(),
            [&](std::size_t a, std::size_t b) { return displs[a] < displs[b]; });
  for (std::size_t i = 1; i < by_position.size(); ++i) {
    const auto before = by_position[i - 1];
    const auto after = by_position[i];
    if (displs[after] < displs[before] + counts[before]) return {Kind::overlap, after, before};
  }
  return {};
}

std::vector<std::int64_t> packed_displacements(std::span<const std::int64_t> counts) {
  std::vector<std::int64_t> displs(counts.size());
  std::exclusive_scan(
      counts.begin(), counts.end(), displs.begin(), std::int64_t{0},
      [](auto sum, auto count) { return saturating_add(sum, std::max(count, std::int64_t{0})); });
  return displs;
}

}  // namespace cobre::comm
