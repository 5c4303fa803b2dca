// Where cuts are, by their bits: a cut that is there already is not stored again.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/lp/cuts.hpp"

namespace cobre::lp {

class CutIndex {
 public:
  explicit CutIndex(const Cuts& cuts) : cuts_(cuts) {}

  /// Cuts that differ from all others, by their numbers in a batch, and the places of those that are there.
  struct Found {
    std::vector<std::int32_t> added, known;  // both ascending
  };
  /// Look up a batch: of each cut an intercept and one slope per state, and its family.
  [[nodiscard]] Found find(const double* batch, std::span<const std::int32_t> families);

 private:
  [[nodiscard]] bool is_at(std::int32_t place, const double* cut, std::int32_t family) const;
  [[nodiscard]] std::vector<double> stored(std::int32_t place) const;
  void extend();

  const Cuts& cuts_;
  std::unordered_multimap<std::uint64_t, std::int32_t> places_;  // by digest, of all cuts but the latest
};

}  // namespace cobre::lp
