#include "core/lp/cut_index.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cobre::lp {

namespace {

/// Tells most cuts apart (the mixing steps are those of splitmix64, Steele, Lea and Flood 2014).
std::uint64_t digest(const double* cut, std::size_t count, std::int32_t family) {
  auto hash = static_cast<std::uint64_t>(family);
  for (std::size_t i = 0; i < count; ++i) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(cut[i])) * 0xbf58476d1ce4e5b9U;
    hash ^= hash >> 31;
  }
  return hash;
}

}  // namespace

CutIndex::Found CutIndex::find(const double* batch, std::span<const std::int32_t> families) {
  extend();
  const std::size_t width = cuts_.layout().slopes.size() + 1;
  std::unordered_multimap<std::uint64_t, std::int32_t> own;
  Found found;
  for (std::size_t i = 0; i < families.size(); ++i) {
    const double* const cut = batch + i * width;
    const std::uint64_t key = digest(cut, width, families[i]);
    const auto [first, last] = places_.equal_range(key);
    const auto there =
        std::find_if(first, last, [&](const auto& entry) { return is_at(entry.second, cut, families[i]); });
    if (there != last) {
      found.known.push_back(there->second);
      continue;
    }
    const auto [begin, end] = own.equal_range(key);
    const bool repeated = std::any_of(begin, end, [&](const auto& entry) {
      const auto other = static_cast<std::size_t>(entry.second);
      return families[other] == families[i] &&
             std::memcmp(batch + other * width, cut, width * sizeof(double)) == 0;
    });
    if (repeated) continue;
    own.emplace(key, static_cast<std::int32_t>(i));
    found.added.push_back(static_cast<std::int32_t>(i));
  }
  std::sort(found.known.begin(), found.known.end());
  found.known.erase(std::unique(found.known.begin(), found.known.end()), found.known.end());
  return found;
}

bool CutIndex::is_at(std::int32_t place, const double* cut, std::int32_t family) const {
  if (cuts_.family(place) != family) return false;
  const std::vector<double> there = stored(place);
  return std::memcmp(there.data(), cut, there.size() * sizeof(double)) == 0;
}

/// The intercept and the slopes of a cut, in the order of states.
std::vector<double> CutIndex::stored(std::int32_t place) const {
  const CutLayout& layout = cuts_.layout();
  std::vector<double> numbers;
  numbers.reserve(layout.slopes.size() + 1);
  const auto append = [&](std::size_t number) {
    auto kind = StateKind::decided;
    while (number >= layout.end(kind)) kind = static_cast<StateKind>(static_cast<int>(kind) + 1);
    numbers.push_back(cuts_.numbers(kind, place)[number - layout.begin(kind)]);
  };
  append(0);
  for (const std::size_t number : layout.slopes) append(number);
  return numbers;
}

/// Take up cuts that have come since the last look.
void CutIndex::extend() {
  for (auto place = static_cast<std::int32_t>(places_.size());
       static_cast<std::size_t>(place) < cuts_.count(); ++place) {
    const std::vector<double> cut = stored(place);
    places_.emplace(digest(cut.data(), cut.size(), cuts_.family(place)), place);
  }
}

}  // namespace cobre::lp
