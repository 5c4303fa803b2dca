// The pivots of the dual simplex method: the inverse, prices, ratio tests, updates.
#include "core/lp/dense.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cobre::lp {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double primal_tolerance = 1e-9, dual_tolerance = 1e-9;  // as for HiGHS, see highs.cpp
/// Reduced costs may pass zero by this much in exchange for a larger pivot: far below `dual_tolerance`, so
/// that the basis stays dual feasible.
constexpr double harris_tolerance = 1e-10;
/// Smaller pivots would amplify rounding errors of the inverse beyond the other tolerances.
constexpr double pivot_tolerance = 1e-7;
/// Errors of the inverse grow with each update; inverting anew costs about as much as fifty updates.
constexpr int updates_before_inverting = 100;

}  // namespace

/// The inverse of the basis in `status_`, by elimination: first those rows whose own variable is
/// basic, which need none, then columns in their order, each in the row where it is largest.
bool DenseSolver::invert() {
  std::vector<std::size_t> structural;
  head_.assign(rows_, variables());
  std::size_t basics = 0;
  for (std::size_t j = 0; j < variables(); ++j) {
    if (status_[j] != BasisStatus::basic) continue;
    ++basics;
    if (j < columns_) {
      structural.push_back(j);
    } else {
      head_[j - columns_] = j;
    }
  }
  if (basics != rows_) return false;
  inverse_.reset(rows_);
  // Sparse columns first: they fill in little.
  std::stable_sort(structural.begin(), structural.end(),
                   [&](std::size_t a, std::size_t b) { return by_column_[a].size() < by_column_[b].size(); });
  for (const std::size_t j : structural) {
    column_of_inverse(j, alpha_column_);
    std::size_t best = rows_;
    for (std::size_t r = 0; r < rows_; ++r) {
      if (head_[r] != variables()) continue;
      if (best == rows_ || std::fabs(alpha_column_[r]) > std::fabs(alpha_column_[best])) best = r;
    }
    if (best == rows_ || std::fabs(alpha_column_[best]) < pivot_tolerance) return false;
    head_[best] = j;
    inverse_.exchange(best, alpha_column_);
  }
  weight_.assign(rows_, 1.0);
  has_inverse_ = true;
  has_duals_ = false;
  updates_ = 0;
  return true;
}

/// The column of a variable, times the inverse.
void DenseSolver::column_of_inverse(std::size_t j, std::vector<double>& out) const {
  std::fill(out.begin(), out.end(), 0.0);
  if (j >= columns_) {
    inverse_.add_column(j - columns_, -1.0, out);
  } else {
    for (const Entry& entry : by_column_[j]) {
      inverse_.add_column(static_cast<std::size_t>(entry.column), entry.value, out);
    }
  }
}

/// Put each variable that is not basic at a bound that exists, the one that its reduced cost asks for.
bool DenseSolver::place_nonbasic() {
  movable_.clear();
  for (std::size_t j = 0; j < variables(); ++j) {
    if (status_[j] == BasisStatus::basic) continue;
    const bool low = std::isfinite(lower_[j]), high = std::isfinite(upper_[j]);
    if (low && high) {
      if (status_[j] == BasisStatus::zero) status_[j] = BasisStatus::lower;
      if (d_[j] < -dual_tolerance) status_[j] = BasisStatus::upper;
      if (d_[j] > dual_tolerance) status_[j] = BasisStatus::lower;
    } else {
      status_[j] = low ? BasisStatus::lower : high ? BasisStatus::upper : BasisStatus::zero;
    }
    x_[j] = status_[j] == BasisStatus::lower ? lower_[j] : status_[j] == BasisStatus::upper ? upper_[j] : 0.0;
    if (!fixed(j)) movable_.push_back(j);
  }
  return dual_feasible();
}

bool DenseSolver::dual_feasible() const {
  for (std::size_t j = 0; j < variables(); ++j) {
    if (status_[j] == BasisStatus::basic || fixed(j)) continue;
    if (d_[j] < -dual_tolerance && status_[j] != BasisStatus::upper) return false;
    if (d_[j] > dual_tolerance && status_[j] != BasisStatus::lower) return false;
  }
  return true;
}

void DenseSolver::compute_primal() {
  std::fill(work_.begin(), work_.end(), 0.0);
  for (std::size_t j = 0; j < columns_; ++j) {
    if (status_[j] == BasisStatus::basic || x_[j] == 0) continue;
    for (const Entry& entry : by_column_[j])
      work_[static_cast<std::size_t>(entry.column)] += entry.value * x_[j];
  }
  for (std::size_t i = 0; i < rows_; ++i) {
    if (status_[columns_ + i] != BasisStatus::basic) work_[i] -= x_[columns_ + i];
  }
  for (std::size_t r = 0; r < rows_; ++r) x_[head_[r]] = -inverse_.times(r, work_);
}

void DenseSolver::compute_dual() {
  std::fill(work_.begin(), work_.end(), 0.0);
  for (std::size_t r = 0; r < rows_; ++r) {
    if (cost_[head_[r]] != 0) inverse_.add_row(r, cost_[head_[r]], work_);
  }
  y_.assign(work_.begin(), work_.begin() + static_cast<std::ptrdiff_t>(rows_));
  for (std::size_t i = 0; i < rows_; ++i) {
    if (status_[columns_ + i] == BasisStatus::basic) y_[i] = 0.0;  // exactly: rounding may have left more
  }
  d_.resize(variables());
  for (std::size_t j = 0; j < columns_; ++j) {
    double reduced = cost_[j];
    for (const Entry& entry : by_column_[j])
      reduced -= y_[static_cast<std::size_t>(entry.column)] * entry.value;
    d_[j] = status_[j] == BasisStatus::basic ? 0.0 : reduced;
  }
  for (std::size_t i = 0; i < rows_; ++i)
    d_[columns_ + i] = status_[columns_ + i] == BasisStatus::basic ? 0.0 : y_[i];
  has_duals_ = true;
}

/// Whether the rows are what they should be.
bool DenseSolver::accurate() const {
  for (std::size_t i = 0; i < rows_; ++i) {
    double sum = 0, size = 1;
    for (const Entry& entry : by_row_[i]) {
      const double term = entry.value * x_[static_cast<std::size_t>(entry.column)];
      sum += term;
      size = std::max(size, std::fabs(term));
    }
    if (!(std::fabs(sum - x_[columns_ + i]) <= primal_tolerance * size)) return false;
  }
  return true;
}

/// The row whose basic variable is furthest outside its bounds, by Devex weights; -1 if none is.
int DenseSolver::leaving() const {
  int best = -1;
  double worst = 0;
  for (std::size_t r = 0; r < rows_; ++r) {
    const std::size_t j = head_[r];
    const double outside = std::max(lower_[j] - x_[j], x_[j] - upper_[j]);
    if (outside > primal_tolerance && outside * outside > worst * weight_[r]) {
      worst = outside * outside / weight_[r];
      best = static_cast<int>(r);
    }
  }
  return best;
}

/// A row of the inverse times all columns that are not basic.
void DenseSolver::price_row(std::size_t r) {
  const double* const row = inverse_.row(r);
  alpha_row_.assign(variables(), 0.0);
  for (std::size_t i = 0; i < rows_; ++i) {
    if (row[i] == 0) continue;
    for (const Entry& entry : by_row_[i])
      alpha_row_[static_cast<std::size_t>(entry.column)] += row[i] * entry.value;
    alpha_row_[columns_ + i] = -row[i];
  }
}

/// The variable that becomes basic, where the dual objective stops rising; those that are passed on the way
/// change their bounds (`flips_`). -1 if there is none: the programme is infeasible.
int DenseSolver::entering(double infeasibility) {
  candidates_.clear();
  flips_.clear();
  // Below its bound the basic variable must rise, above it must fall.
  const double sign = infeasibility < 0 ? -1.0 : 1.0;
  for (const std::size_t j : movable_) {
    const double alpha = sign * alpha_row_[j], size = std::fabs(alpha);
    if (size <= pivot_tolerance || (status_[j] == BasisStatus::lower && alpha < 0) ||
        (status_[j] == BasisStatus::upper && alpha > 0)) {
      continue;
    }
    const double reduced = feasible_cost(j);
    candidates_.push_back({j, size, reduced / size, (reduced + harris_tolerance) / size});
  }
  double slope = std::fabs(infeasibility);
  while (!candidates_.empty()) {
    double least = infinity;
    for (const Candidate& candidate : candidates_) least = std::min(least, candidate.latest);
    // Of all that come about as early, the largest pivot (Harris).
    const Candidate* chosen = nullptr;
    for (const Candidate& candidate : candidates_) {
      if (candidate.ratio > least) continue;
      if (chosen == nullptr || candidate.size > chosen->size) chosen = &candidate;
      slope -= candidate.size * (upper_[candidate.variable] - lower_[candidate.variable]);
    }
    if (!(slope > 0)) return static_cast<int>(chosen->variable);
    std::erase_if(candidates_, [&](const Candidate& candidate) {
      if (candidate.ratio > least) return false;
      flips_.push_back(candidate.variable);
      return true;
    });
  }
  return -1;
}

/// Variables that have been passed go to their other bounds.
void DenseSolver::flip() {
  for (const std::size_t j : flips_) {
    const double before = x_[j];
    status_[j] = status_[j] == BasisStatus::lower ? BasisStatus::upper : BasisStatus::lower;
    x_[j] = status_[j] == BasisStatus::lower ? lower_[j] : upper_[j];
    column_of_inverse(j, work_);
    for (std::size_t r = 0; r < rows_; ++r) x_[head_[r]] -= (x_[j] - before) * work_[r];
  }
}

/// The size of a reduced cost; 0 where rounding has given it the wrong sign.
double DenseSolver::feasible_cost(std::size_t j) const {
  return status_[j] == BasisStatus::lower   ? std::max(0.0, d_[j])
         : status_[j] == BasisStatus::upper ? std::max(0.0, -d_[j])
                                            : 0.0;
}

void DenseSolver::pivot(std::size_t r, std::size_t q, double target) {
  const std::size_t out = head_[r];
  const double step =
      (status_[q] == BasisStatus::upper ? -feasible_cost(q) : feasible_cost(q)) / alpha_row_[q];
  for (std::size_t& j : movable_) {
    d_[j] -= step * alpha_row_[j];
    if (j == q) j = out;  // which takes its place, unless it is fixed and cannot come back
  }
  if (fixed(out)) std::erase(movable_, out);
  d_[q] = 0.0;
  d_[out] = -step;

  const double move = (x_[out] - target) / alpha_column_[r];
  for (std::size_t i = 0; i < rows_; ++i) x_[head_[i]] -= move * alpha_column_[i];
  x_[q] += move;
  x_[out] = target;

  const double pivot_weight = std::max(weight_[r], 1.0), size = alpha_column_[r] * alpha_column_[r];
  for (std::size_t i = 0; i < rows_; ++i) {
    if (i != r && alpha_column_[i] != 0) {
      weight_[i] = std::max(weight_[i], alpha_column_[i] * alpha_column_[i] / size * pivot_weight);
    }
  }
  weight_[r] = std::max(pivot_weight / size, 1.0);

  inverse_.exchange(r, alpha_column_);
  head_[r] = q;
  status_[q] = BasisStatus::basic;
  status_[out] = target == lower_[out] ? BasisStatus::lower : BasisStatus::upper;
  ++updates_;
}

/// Invert the basis and compute everything from it again.
bool DenseSolver::refactor() {
  if (!invert()) return false;
  compute_dual();
  if (!place_nonbasic()) return false;
  compute_primal();
  return true;
}

/// Pivot until the basis is optimal; false if that fails.
bool DenseSolver::iterate() {
  // Far more than solves from a warm-start basis take: beyond that it cycles, or HiGHS is faster.
  const int most = 100 + 20 * static_cast<int>(rows_);
  bool fresh = updates_ == 0;
  for (int step = 0; step < most; ++step) {
    const int r = leaving();
    if (r < 0) {
      compute_dual();
      if (accurate() && dual_feasible()) return true;
      if (fresh || !refactor()) return false;
      fresh = true;
      continue;
    }
    const auto row = static_cast<std::size_t>(r);
    const std::size_t out = head_[row];
    price_row(row);
    const double outside = x_[out] < lower_[out] ? x_[out] - lower_[out] : x_[out] - upper_[out];
    const int q = entering(outside);
    if (q < 0) return false;
    const auto in = static_cast<std::size_t>(q);
    column_of_inverse(in, alpha_column_);
    // The pivot computed in two ways: a difference shows how far the inverse is off.
    const double error = std::fabs(alpha_column_[row] - alpha_row_[in]);
    if (updates_ >= updates_before_inverting || error > 1e-7 * (1 + std::fabs(alpha_column_[row]))) {
      if (updates_ == 0 || !refactor()) return false;
      continue;
    }
    flip();
    pivot(row, in, outside < 0 ? lower_[out] : upper_[out]);
    ++iterations_;
    fresh = false;
  }
  return false;
}

}  // namespace cobre::lp
