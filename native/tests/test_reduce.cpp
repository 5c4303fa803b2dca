#include "check.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/comm/reduce.hpp"

using namespace cobre::comm;

namespace {

template <class T>
std::vector<T> reduced(ReduceOp op, Element element, const std::vector<std::vector<T>>& slots) {
  std::vector<const void*> addresses;
  for (const auto& slot : slots) addresses.push_back(slot.data());
  std::vector<T> out(slots[0].size());
  reduce(op, element, addresses.data(), addresses.size(), out.data(), out.size());
  return out;
}

}  // namespace

TEST(the_order_is_that_of_the_ranks) {
  // (1e16 + 1) + 1 loses both ones, 1 + 1 + 1e16 keeps them: only one order gives this result.
  CHECK((reduced<double>(ReduceOp::sum, Element::float64, {{1e16}, {1.0}, {1.0}})[0] == 1e16));
  CHECK((reduced<double>(ReduceOp::sum, Element::float64, {{1.0}, {1.0}, {1e16}})[0] == 1e16 + 2));
}

TEST(every_element_of_a_long_array_is_reduced) {
  const std::size_t length = 100'003;  // no multiple of a block
  std::vector<std::vector<double>> slots(3, std::vector<double>(length));
  for (std::size_t rank = 0; rank < 3; ++rank)
    for (std::size_t i = 0; i < length; ++i) slots[rank][i] = static_cast<double>(i * (rank + 1));
  const auto sums = reduced<double>(ReduceOp::sum, Element::float64, slots);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < length; ++i) wrong += sums[i] != static_cast<double>(6 * i);
  CHECK(wrong == 0);
}

TEST(out_may_be_any_of_the_slots) {
  for (std::size_t in_place = 0; in_place < 3; ++in_place) {
    std::vector<std::vector<int>> slots(3, std::vector<int>(2000, 1));
    const void* addresses[] = {slots[0].data(), slots[1].data(), slots[2].data()};
    reduce(ReduceOp::sum, Element::int32, addresses, 3, slots[in_place].data(), 2000);
    CHECK((slots[in_place] == std::vector<int>(2000, 3)));
  }
}

TEST(unaligned_buffers_work) {
  std::vector<std::byte> a(81), b(81), out(81);
  const double one = 1.0, two = 2.0;
  for (std::size_t i = 0; i < 10; ++i) {
    std::memcpy(a.data() + 1 + 8 * i, &one, 8);
    std::memcpy(b.data() + 1 + 8 * i, &two, 8);
  }
  const void* addresses[] = {a.data() + 1, b.data() + 1};
  reduce(ReduceOp::sum, Element::float64, addresses, 2, out.data() + 1, 10);
  double last;
  std::memcpy(&last, out.data() + 73, 8);
  CHECK(last == 3.0);
}

TEST(integers_wrap_around) {
  CHECK((reduced<std::int8_t>(ReduceOp::sum, Element::int8, {{127}, {1}})[0] == -128));
  CHECK((reduced<std::int64_t>(ReduceOp::sum, Element::int64,
                               {{std::numeric_limits<std::int64_t>::max()}, {1}})[0] ==
         std::numeric_limits<std::int64_t>::min()));
}

TEST(a_nan_result_is_the_canonical_one) {
  const double odd_nan = std::bit_cast<double>(0xfff8000000001234u);
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
    const auto out =
        reduced<double>(op, Element::float64, {{odd_nan, 1.0, odd_nan}, {1.0, odd_nan, odd_nan}});
    for (const double value : out) CHECK(std::bit_cast<std::uint64_t>(value) == 0x7ff8000000000000u);
  }
  const auto difference = reduced<double>(ReduceOp::sum, Element::float64, {{infinity}, {-infinity}});
  CHECK(std::bit_cast<std::uint64_t>(difference[0]) == 0x7ff8000000000000u);
  CHECK(std::bit_cast<std::uint64_t>(reduced<double>(ReduceOp::sum, Element::float64, {{odd_nan}})[0]) ==
        0x7ff8000000000000u);
}

TEST(of_equal_numbers_the_lower_ranks_is_kept) {
  for (const auto op : {ReduceOp::min, ReduceOp::max}) {
    const auto out = reduced<double>(op, Element::float64, {{-0.0, 0.0}, {0.0, -0.0}});
    CHECK(std::bit_cast<std::uint64_t>(out[0]) == 0x8000000000000000u);
    CHECK(std::bit_cast<std::uint64_t>(out[1]) == 0);
  }
}

TEST(halves_survive_a_round_trip) {
  std::vector<std::uint16_t> all(0x10000), nothing(all.size(), 0x8000u);  // x + -0 is x, also for -0
  for (std::uint32_t bits = 0; bits < all.size(); ++bits) all[bits] = static_cast<std::uint16_t>(bits);
  const auto sums = reduced<std::uint16_t>(ReduceOp::sum, Element::float16, {all, nothing});
  std::size_t wrong = 0;
  for (std::uint32_t bits = 0; bits < all.size(); ++bits) {
    const bool nan = (bits & 0x7fffu) > 0x7c00u;
    wrong += sums[bits] != (nan ? 0x7e00u : bits);
  }
  CHECK(wrong == 0);
}

TEST(wider_vectors_give_the_same_bits) {
  struct {
    Element element;
    std::size_t size;
  } const kinds[] = {{Element::int8, 1},    {Element::int16, 2},   {Element::int32, 4},  {Element::int64, 8},
                     {Element::uint8, 1},   {Element::uint16, 2},  {Element::uint32, 4}, {Element::uint64, 8},
                     {Element::float16, 2}, {Element::float32, 4}, {Element::float64, 8}};
  std::mt19937_64 random(42);
  std::size_t wrong = 0;
  for (const auto& kind : kinds) {
    for (const auto op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
      for (std::size_t ranks = 1; ranks <= 9; ++ranks) {
        for (const std::size_t count : {1, 3, 4, 17, 33, 5000}) {
          const std::size_t bytes = count * kind.size;
          // Any bits at all, at an odd address: in halves, NaN and subnormals are common.
          std::vector<std::vector<unsigned char>> memory(ranks, std::vector<unsigned char>(bytes + 1));
          std::vector<const void*> slots;
          for (auto& slot : memory) {
            for (auto& byte : slot) byte = static_cast<unsigned char>(random() >> 20);
            slots.push_back(slot.data() + 1);
          }
          std::vector<unsigned char> one(bytes), other(bytes);
          reduce(op, kind.element, slots.data(), ranks, one.data(), count);
          reduce_baseline(op, kind.element, slots.data(), ranks, other.data(), count);
          wrong += one != other;
        }
      }
    }
  }
  CHECK(wrong == 0);
}
