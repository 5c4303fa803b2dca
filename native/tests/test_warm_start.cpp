// Warm starts as numbers, and what is refused of numbers that come from a damaged file.
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "check.hpp"
#include "core/lp/warm_start.hpp"

using namespace cobre::lp;

namespace {

/// Three columns, two rows, four cuts, one mixture.
constexpr WarmStartLimits limits{3, 2, 4, 1};

bool refused(const std::vector<std::int32_t>& numbers) {
  try {
    static_cast<void>(decoded(numbers, limits));
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

}  // namespace

TEST(a_warm_start_survives_being_numbers) {
  const WarmStart start{.cuts = {3, -1}, .basis = {.columns = {0, 1, 2}, .rows = {1, 1, 3, 1}}};
  const std::vector<std::int32_t> numbers = encoded(start);
  CHECK((numbers == std::vector<std::int32_t>{2, 3, -1, 0, 1, 2, 1, 1, 3, 1}));
  const WarmStart found = decoded(numbers, limits);
  CHECK(found.cuts == start.cuts);
  CHECK(found.basis.columns == start.basis.columns && found.basis.rows == start.basis.rows);
  CHECK(decoded(encoded({}), limits).basis.columns.empty());
}

TEST(a_damaged_warm_start_is_refused) {
  CHECK(!refused({0, 0, 1, 2, 1, 0}));
  CHECK(refused({}));
  CHECK(refused({-1}));
  CHECK(refused({2, 0}));                     // fewer cuts than it says
  CHECK(refused({1, 4, 0, 1, 2, 1, 0, 1}));   // there is no cut 4
  CHECK(refused({1, -2, 0, 1, 2, 1, 0, 1}));  // nor a second mixture
  CHECK(refused({1, std::numeric_limits<std::int32_t>::min(), 0, 1, 2, 1, 0, 1}));
  CHECK(refused({0, 0, 1, 2, 1}));        // a status is missing
  CHECK(refused({0, 0, 1, 2, 1, 0, 0}));  // one too many
  CHECK(refused({0, 4, 1, 2, 1, 0}));     // no such status
  CHECK(refused({0, -1, 1, 2, 1, 0}));
  CHECK(refused({0, 256, 1, 2, 1, 0}));  // 0 in eight bits
  CHECK(refused({0, 0, 1, 2, 0, 0}));    // one basic variable for two rows
  CHECK(refused({0, 1, 1, 2, 1, 0}));    // three
}
