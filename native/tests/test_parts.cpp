#include "check.hpp"

#include <limits>

#include "core/comm/parts.hpp"

using cobre::comm::find_fault;
using cobre::comm::packed_displacements;
using Kind = cobre::comm::PartFault::Kind;
using Numbers = std::vector<std::int64_t>;

TEST(packed_parts_follow_each_other) { CHECK((packed_displacements(Numbers{3, 0, 5}) == Numbers{0, 3, 3})); }

TEST(gaps_and_any_order_are_fine) {
  CHECK(find_fault(Numbers{2, 3}, Numbers{4, 0}, 6).kind == Kind::none);
  CHECK(find_fault(Numbers{1, 1}, Numbers{0, 5}, 6).kind == Kind::none);
}

TEST(an_empty_part_overlaps_nothing) {
  CHECK(find_fault(Numbers{3, 0}, Numbers{0, 1}, 3).kind == Kind::none);
  CHECK(find_fault(Numbers{2, 0, 2}, Numbers{2, 3, 0}, 4).kind == Kind::none);
}

TEST(an_overlap_names_both_parts) {
  const auto fault = find_fault(Numbers{2, 2, 2}, Numbers{4, 0, 3}, 6);
  CHECK(fault.kind == Kind::overlap);
  CHECK(fault.rank == 0);
  CHECK(fault.other == 2);
}

TEST(negative_and_oversized_parts_are_found) {
  CHECK(find_fault(Numbers{-1}, Numbers{0}, 3).kind == Kind::negative_count);
  CHECK(find_fault(Numbers{1}, Numbers{-1}, 3).kind == Kind::negative_displacement);
  CHECK(find_fault(Numbers{1, 2}, Numbers{0, 2}, 3).kind == Kind::beyond_end);
  CHECK(find_fault(Numbers{1, 2}, Numbers{0, 2}, 3).rank == 1);
}

TEST(a_sum_beyond_64_bits_does_not_wrap_into_the_buffer) {
  constexpr auto huge = std::numeric_limits<std::int64_t>::max();
  CHECK(find_fault(Numbers{huge}, Numbers{2}, 3).kind == Kind::beyond_end);
  CHECK(find_fault(Numbers{2}, Numbers{huge}, 3).kind == Kind::beyond_end);
}
