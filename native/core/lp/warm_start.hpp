// Warm starts: where a solve begins instead of from scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/lp/solver.hpp"

namespace cobre::lp {

/// The cuts in the programme, and its basis with them. Cuts below 0 are mixtures: -1 is the first.
struct WarmStart {
  std::vector<std::int32_t> cuts;
  Basis basis;
};

/// Warm starts in slots of equal size, which processes may share: a number of cuts, the cuts, and the
/// statuses of columns, rows and cuts, a byte each. A slot without a warm start has -1 cuts.
struct StartSlots {
  std::size_t columns, rows;  // of the programme without cuts
  std::size_t cuts;           // that can be tight at once and not depend on each other

  /// The length of a slot in numbers.
  [[nodiscard]] std::size_t size() const;
  void write(const WarmStart& start, std::int32_t* slot) const;
  [[nodiscard]] WarmStart read(const std::int32_t* slot) const;
};

/// A warm start as plain numbers, for files and other ranks: the number of cuts, the cuts, the statuses of
/// columns, then those of rows.
std::vector<std::int32_t> encoded(const WarmStart& start);

/// What a warm start must fit.
struct WarmStartLimits {
  std::size_t columns, rows;  // of the programme without cuts
  std::size_t cuts, mixtures;
};

/// The warm start in such numbers, which may come from a damaged file.
///
/// Throws std::invalid_argument if they are none: solvers take statuses and the number of basic variables on
/// trust, and would read beyond their arrays.
WarmStart decoded(std::span<const std::int32_t> numbers, const WarmStartLimits& limits);

}  // namespace cobre::lp
