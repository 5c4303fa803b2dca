// The primal method's pivots: from a basis that is primal feasible to one that is dual feasible, too.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/lp/dual_simplex.hpp"

namespace cobre::lp {

/// False where it fails, or finds that costs fall without limit.
bool DualSimplexSolver::iterate_primal() {
  const int most = 100 + 2 * static_cast<int>(rows());  // few are needed: beyond that it cycles
  for (int step = 0; step < most; ++step) {
    const std::size_t in = improving();
    if (in == nowhere) return true;
    const double direction = d_[in] < 0 ? 1.0 : -1.0;
    solve_column(in);
    const std::size_t position = blocking(direction);
    if (reaches_own_bound(in, position)) {
      flips_.assign(1, in);
      flip();
      continue;
    }
    if (position == nowhere) return false;
    const std::size_t out = head_[position];
    const bool rises = direction * column_.array[position] < 0;
    price_row(position);
    if (must_refactorise(position, in)) {
      if (factor_->exchanges() == 0 || !factorise()) return false;
      compute_dual();
      compute_primal();
      continue;
    }
    norm_ = weight_[position];  // its row has not been measured
    pivot(position, in, rises ? upper_[out] : lower_[out], d_[in]);
    ++iterations_;
  }
  return false;
}

/// Whether a variable that enters is at its other bound before the one at the position is at a bound.
bool DualSimplexSolver::reaches_own_bound(std::size_t in, std::size_t position) const {
  if (way_[in] == Way::both || std::isinf(upper_[in] - lower_[in])) return false;
  if (position == nowhere) return true;
  const double rate = (d_[in] < 0 ? -1.0 : 1.0) * column_.array[position];
  return upper_[in] - lower_[in] <= distance(head_[position], rate) / std::fabs(rate);
}

/// How far a variable is from the bound to which it moves at this rate.
double DualSimplexSolver::distance(std::size_t j, double rate) const {
  return std::max(0.0, rate > 0 ? upper_[j] - x_[j] : x_[j] - lower_[j]);
}

/// The variable whose reduced cost has the wrong sign by most; none if none has.
std::size_t DualSimplexSolver::improving() const {
  std::size_t best = nowhere;
  double worst = dual_tolerance;
  for (std::size_t j = 0; j < variables(); ++j) {
    const double wrong = dual_infeasibility(j);
    if (wrong <= worst) continue;
    worst = wrong;
    best = j;
  }
  return best;
}

/// The position whose variable reaches a bound first while one enters that rises or falls: of all that do so
/// nearly as early, the one with the largest pivot (Harris). None if none does.
std::size_t DualSimplexSolver::blocking(double direction) const {
  const auto for_each_rate = [&](auto look) {
    for (int k = 0; k < column_.count; ++k) {
      const std::size_t p = at(column_.index[at(k)]);
      if (p < rows() && std::fabs(column_.array[p]) > pivot_tolerance) look(p, -direction * column_.array[p]);
    }
  };
  double least = HUGE_VAL;
  for_each_rate([&](std::size_t p, double rate) {
    least = std::min(least, (distance(head_[p], rate) + harris_tolerance) / std::fabs(rate));
  });
  std::size_t best = nowhere;
  double largest = 0;
  for_each_rate([&](std::size_t p, double rate) {
    if (std::fabs(rate) <= largest || !(distance(head_[p], rate) <= least * std::fabs(rate))) return;
    if (std::isinf(distance(head_[p], rate))) return;
    largest = std::fabs(rate);
    best = p;
  });
  return best;
}

}  // namespace cobre::lp
