#include "core/lp/warm_start.hpp"

#include <algorithm>
#include <stdexcept>

namespace cobre::lp {

namespace {

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

std::vector<std::uint8_t> statuses(std::span<const std::int32_t> numbers) {
  constexpr auto last = static_cast<std::int32_t>(BasisStatus::zero);
  require(std::all_of(numbers.begin(), numbers.end(), [](auto n) { return n >= 0 && n <= last; }),
          "a basis has a status that does not exist");
  return {numbers.begin(), numbers.end()};
}

}  // namespace

std::size_t StartSlots::size() const {
  return 1 + cuts + (columns + rows + cuts + sizeof(std::int32_t) - 1) / sizeof(std::int32_t);
}

void StartSlots::write(const WarmStart& start, std::int32_t* slot) const {
  const bool fits = !start.basis.columns.empty() && start.cuts.size() <= cuts;
  slot[0] = fits ? static_cast<std::int32_t>(start.cuts.size()) : -1;
  if (!fits) return;
  auto* const bytes =
      reinterpret_cast<std::uint8_t*>(std::copy(start.cuts.begin(), start.cuts.end(), slot + 1));
  std::copy(start.basis.rows.begin(), start.basis.rows.end(),
            std::copy(start.basis.columns.begin(), start.basis.columns.end(), bytes));
}

WarmStart StartSlots::read(const std::int32_t* slot) const {
  if (slot[0] < 0) return {};
  const auto count = static_cast<std::size_t>(slot[0]);
  const std::int32_t* const end = slot + 1 + count;
  const auto* const statuses = reinterpret_cast<const std::uint8_t*>(end);
  const std::uint8_t* const of_rows = statuses + columns;
  return {.cuts = {slot + 1, end}, .basis = {{statuses, of_rows}, {of_rows, of_rows + rows + count}}};
}

std::vector<std::int32_t> encoded(const WarmStart& start) {
  std::vector<std::int32_t> numbers{static_cast<std::int32_t>(start.cuts.size())};
  numbers.insert(numbers.end(), start.cuts.begin(), start.cuts.end());
  numbers.insert(numbers.end(), start.basis.columns.begin(), start.basis.columns.end());
  numbers.insert(numbers.end(), start.basis.rows.begin(), start.basis.rows.end());
  return numbers;
}

WarmStart decoded(std::span<const std::int32_t> numbers, const WarmStartLimits& limits) {
  require(!numbers.empty() && numbers[0] >= 0, "a warm start begins with its number of cuts");
  const auto count = static_cast<std::size_t>(numbers[0]);
  require(count < numbers.size(), "a warm start has fewer cuts than it says");
  const auto cuts = numbers.subspan(1, count), basis = numbers.subspan(1 + count);
  for (const std::int64_t cut : cuts) {
    require(
        cut < static_cast<std::int64_t>(limits.cuts) && -1 - cut < static_cast<std::int64_t>(limits.mixtures),
        "a warm start has a cut that does not exist");
  }
  WarmStart start{.cuts = {cuts.begin(), cuts.end()}, .basis = {}};
  if (basis.empty()) return start;
  const std::size_t rows = limits.rows + count;
  require(basis.size() == limits.columns + rows, "a basis has one status per column and row");
  require(static_cast<std::size_t>(
              std::count(basis.begin(), basis.end(), static_cast<std::int32_t>(BasisStatus::basic))) == rows,
          "a basis has as many basic variables as rows");
  start.basis = {statuses(basis.first(limits.columns)), statuses(basis.subspan(limits.columns))};
  return start;
}

}  // namespace cobre::lp
