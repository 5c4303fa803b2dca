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
