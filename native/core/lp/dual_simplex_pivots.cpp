// The pivots of the dual simplex method: factors, prices, ratio tests, updates.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/lp/dual_simplex.hpp"
#include "core/processor.hpp"

namespace cobre::lp {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Devex weights are squared norms. A new reference begins when one is off by more than this factor, or after
/// so many pivots.
constexpr double most_weight_error = 9.0;
constexpr int most_reference_pivots = 100;

/// The first place of the largest infeasibility over weight, or -1 if none is infeasible. Blocks without a
/// larger one than before, which are most, are passed by at once.
[[gnu::always_inline]] inline std::ptrdiff_t furthest(const double* infeasibility, const double* weight,
                                                      std::ptrdiff_t count) {
  constexpr std::ptrdiff_t block = 8;
  std::ptrdiff_t best = -1;
  double worst = 0;
  const auto look = [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    for (std::ptrdiff_t p = begin; p < end; ++p) {
      if (infeasibility[p] > worst * weight[p]) {
        worst = infeasibility[p] / weight[p];
        best = p;
      }
    }
  };
  std::ptrdiff_t begin = 0;
  for (; begin + block <= count; begin += block) {
    double beyond[block];
    for (std::ptrdiff_t i = 0; i < block; ++i)
      beyond[i] = infeasibility[begin + i] - worst * weight[begin + i];
    const double most = std::max(std::max(std::max(beyond[0], beyond[4]), std::max(beyond[1], beyond[5])),
                                 std::max(std::max(beyond[2], beyond[6]), std::max(beyond[3], beyond[7])));
    if (most > 0) look(begin, begin + block);
  }
  look(begin, count);
  return best;
}

}  // namespace

/// Factorise the basis in `status_`.
bool DualSimplexSolver::factorise() {
  const bool has_weights = !weight_.empty();
  std::vector<double> weights(variables(), 1.0);
  for (std::size_t p = 0; p < weight_.size(); ++p) weights[head_[p]] = weight_[p];
  head_.clear();
  for (std::size_t j = 0; j < variables(); ++j) {
    if (status_[j] == BasisStatus::basic) head_.push_back(j);
  }
  if (head_.size() != rows() || !factor_->build(matrix_, head_)) return false;
  weight_.resize(rows());
  position_.assign(variables(), nowhere);
  for (std::size_t p = 0; p < rows(); ++p) {
    weight_[p] = weights[head_[p]];
    position_[head_[p]] = p;
  }
  reference_.resize(variables(), 1.0);
  if (!has_weights) start_reference();
  for (SparseVector* vector : {&row_, &column_, &change_}) {
    if (vector->array.size() != factor_->capacity()) vector->setup(static_cast<int>(factor_->capacity()));
    vector->clear();
  }
  infeasibility_.assign(rows(), 0.0);
  alpha_.assign(variables(), 0.0);
  reached_.resize(variables() + 1);
  candidates_.resize(variables() + 1);
  reached_count_ = 0;
  factorised_ = true;
  return true;
}

/// Compute everything from the basis in `status_`; false if it is singular.
bool DualSimplexSolver::prepare() {
  changed_.clear();
  if (!factorise()) return false;
  x_.resize(variables());
  d_.resize(variables());
  way_.assign(variables(), Way::none);
  take_over_costs();
  compute_primal();
  return true;
}

/// Compute reduced costs from the true costs, and place all variables that are not basic anew.
void DualSimplexSolver::take_over_costs() {
  work_cost_ = cost_;
  costs_changed_ = shifted_ = false;
  compute_dual();
  for (std::size_t j = 0; j < variables(); ++j) {
    if (position_[j] == nowhere) place(j);
  }
}

/// Put a variable that is not basic at a bound that exists, the one that its reduced cost asks for. If that
/// one does not exist, a shift of the cost makes the reduced cost 0 for now.
void DualSimplexSolver::place(std::size_t j) {
  const bool low = std::isfinite(lower_[j]), high = std::isfinite(upper_[j]);
  if (low && high) {
    if (status_[j] == BasisStatus::zero) status_[j] = BasisStatus::lower;
    if (d_[j] < -dual_tolerance) status_[j] = BasisStatus::upper;
    if (d_[j] > dual_tolerance) status_[j] = BasisStatus::lower;
  } else {
    status_[j] = low ? BasisStatus::lower : high ? BasisStatus::upper : BasisStatus::zero;
  }
  x_[j] = status_[j] == BasisStatus::lower ? lower_[j] : status_[j] == BasisStatus::upper ? upper_[j] : 0.0;
  way_[j] = lower_[j] == upper_[j]             ? Way::none
            : status_[j] == BasisStatus::lower ? Way::up
            : status_[j] == BasisStatus::upper ? Way::down
                                               : Way::both;
  if (dual_infeasibility(j) <= dual_tolerance) return;
  work_cost_[j] -= d_[j];
  d_[j] = 0.0;
  shifted_ = true;
}

/// Take over what has changed since the last solve: one solution with all that follows from bounds, and where
/// costs have changed everything but the factors anew.
void DualSimplexSolver::apply_changes() {
  if (costs_changed_) {
    changed_.clear();
    take_over_costs();
    return compute_primal();
  }
  change_.clear();
  for (const std::size_t j : changed_) {
    if (position_[j] != nowhere) continue;
    const double before = x_[j];
    place(j);
    move_nonbasic(j, x_[j] - before);
  }
  move_basics();
  for (const std::size_t j : changed_) {
    if (position_[j] != nowhere) note_infeasibility(position_[j]);
  }
  changed_.clear();
}

/// The column of a variable, times a step, leaves the right-hand side of the basic ones.
void DualSimplexSolver::move_nonbasic(std::size_t j, double step) {
  if (step == 0) return;
  if (j >= columns()) return add(change_, j - columns(), -step);
  for (const auto& [row, value] : matrix_.column(j)) add(change_, row, -step * value);
}

/// Basic variables follow the nonbasic ones that have moved.
void DualSimplexSolver::move_basics() {
  if (change_.count == 0) return;
  factor_->solve(change_);
  for (int k = 0; k < change_.count; ++k) {
    const std::size_t p = at(change_.index[at(k)]);
    if (p >= rows()) continue;
    x_[head_[p]] += change_.array[p];
    note_infeasibility(p);
  }
  change_.clear();
}

void DualSimplexSolver::note_infeasibility(std::size_t position) {
  const std::size_t j = head_[position];
  const double outside = std::max(lower_[j] - x_[j], x_[j] - upper_[j]);
  infeasibility_[position] = outside > primal_tolerance ? outside * outside : 0.0;
}

bool DualSimplexSolver::dual_feasible() const {
  bool feasible = true;
  for (std::size_t j = 0; j < variables(); ++j) feasible &= dual_infeasibility(j) <= dual_tolerance;
  return feasible;
}

void DualSimplexSolver::compute_primal() {
  change_.clear();
  for (std::size_t j = 0; j < variables(); ++j) {
    if (position_[j] == nowhere) {
      move_nonbasic(j, x_[j]);
    } else {
      x_[j] = 0.0;
    }
  }
  std::fill(infeasibility_.begin(), infeasibility_.end(), 0.0);
  for (std::size_t p = 0; p < rows(); ++p) note_infeasibility(p);
  move_basics();
}

void DualSimplexSolver::compute_dual() {
  change_.clear();
  for (std::size_t p = 0; p < rows(); ++p) {
    if (work_cost_[head_[p]] != 0) add(change_, p, work_cost_[head_[p]]);
  }
  if (change_.count > 0) factor_->solve_transposed(change_);
  y_.resize(rows());
  std::copy(work_cost_.begin(), work_cost_.end(), d_.begin());
  for (std::size_t i = 0; i < rows(); ++i) {
    // A basic row's dual is exactly 0, though rounding may have left more.
    y_[i] = position_[columns() + i] == nowhere ? change_.array[i] : 0.0;
    d_[columns() + i] = -y_[i];
    if (y_[i] == 0) continue;
    for (const auto& [j, value] : matrix_.row(i)) d_[j] -= y_[i] * value;
  }
  change_.clear();
  for (const std::size_t j : head_) d_[j] = 0.0;
  duals_exact_ = true;
}

/// Whether the rows are what they should be. Values have been large on the way, and have left rounding errors
/// in others: if they count, basic variables take them up, and may then be infeasible.
bool DualSimplexSolver::corrected() {
  bool accurate = true;
  change_.clear();
  for (std::size_t i = 0; i < rows(); ++i) {
    double sum = x_[columns() + i], size = std::max(1.0, std::fabs(sum));
    for (const auto& [j, value] : matrix_.row(i)) {
      const double term = value * x_[j];
      sum += term;
      size = std::max(size, std::fabs(term));
    }
    accurate &= std::fabs(sum) <= primal_tolerance * size;
    if (sum != 0) add(change_, i, -sum);
  }
  if (accurate) {
    change_.clear();
  } else {
    move_basics();
  }
  return !accurate;
}

/// Pivot until the basis is optimal; false if that fails.
bool DualSimplexSolver::iterate() {
  // Far more than solves from a warm-start basis take: beyond that it cycles, or HiGHS is faster.
  const int most = 100 + 20 * static_cast<int>(rows());
  bool fresh = factor_->exchanges() == 0;
  int corrections = 0;
  for (int step = 0; step < most; ++step) {
    const std::size_t position = leaving();
    if (position == nowhere) {
      if (!duals_exact_) compute_dual();
      const bool feasible = dual_feasible();
      if (feasible && !corrected()) return true;
      if (feasible && ++corrections < 3) continue;
      if (fresh || !prepare()) return false;
      fresh = true;
      continue;
    }
    const std::size_t out = head_[position];
    price_row(position);
    const double outside = x_[out] < lower_[out] ? x_[out] - lower_[out] : x_[out] - upper_[out];
    const std::size_t in = entering(outside);
    if (in == nowhere) return false;
    solve_column(in);
    if (must_refactorise(position, in)) {
      if (factor_->exchanges() == 0 || !prepare()) return false;
      fresh = true;
      continue;
    }
    flip();
    const double reduced = way_[in] == Way::down ? -feasible_cost(in) : feasible_cost(in);
    pivot(position, in, outside < 0 ? lower_[out] : upper_[out], reduced);
    ++iterations_;
    fresh = false;
  }
  return false;
}

/// Whether the factors are worn, or off: the pivot computed in two ways shows by how much.
bool DualSimplexSolver::must_refactorise(std::size_t position, std::size_t in) const {
  const double size = column_.array[position], error = std::fabs(size - alpha_[in]);
  return factor_->is_worn() || error > 1e-7 * (1 + std::fabs(size));
}

/// The position whose basic variable is furthest outside its bounds, by the weights; none if none is.
std::size_t DualSimplexSolver::leaving() const {
  const std::ptrdiff_t best =
      vectorised<furthest>(infeasibility_.data(), weight_.data(), static_cast<std::ptrdiff_t>(rows()));
  return best < 0 ? nowhere : static_cast<std::size_t>(best);
}

/// A row of the tableau: the position's row of the basis inverse times all columns.
void DualSimplexSolver::price_row(std::size_t position) {
  row_.clear();
  row_.packFlag = true;
  add(row_, position, 1.0);
  factor_->solve_transposed(row_);
  for (std::size_t k = 0; k < reached_count_; ++k) alpha_[reached_[k]] = 0.0;
  std::size_t count = 0;
  double* const alpha = alpha_.data();
  std::size_t* const reached = reached_.data();
  for (int k = 0; k < row_.count; ++k) {
    const std::size_t i = at(row_.index[at(k)]);
    const double factor = row_.array[i];
    if (i >= rows() || std::fabs(factor) < negligible) continue;
    for (const auto& [j, value] : matrix_.row(i)) {
      // Without branches, which could not be predicted. What is in the list stays different from 0.
      const double before = alpha[j];
      alpha[j] = (before + factor * value) + kHighsZero;
      reached[count] = j;
      count += before == 0 ? 1 : 0;
    }
    alpha[columns() + i] = factor;
    reached[count++] = columns() + i;
  }
  reached_count_ = count;
}

/// List the variables that can enter, and compute the norm of the row within the reference. There are no
/// branches that could not be predicted: most variables that are reached cannot enter.
void DualSimplexSolver::find_candidates(double sign) {
  constexpr double towards[] = {0.0, 1.0, -1.0, 0.0};  // by `Way`
  Candidate* const candidates = candidates_.data();
  const double *const alphas = alpha_.data(), *const reduced = d_.data();
  std::size_t count = 0;
  double norm = 0;
  for (std::size_t k = 0; k < reached_count_; ++k) {
    const std::size_t j = reached_[k];
    const double alpha = sign * alphas[j];
    double direction = towards[static_cast<std::size_t>(way_[j])];
    if (way_[j] == Way::both) direction = std::copysign(1.0, alpha);
    const double size = direction * alpha, cost = direction * reduced[j];
    candidates[count] = {j, size, 0.5 * (cost + std::fabs(cost))};  // the cost, or 0 where it is negative
    count += size > pivot_tolerance ? 1 : 0;
    norm += reference_[j] * (size * size);
  }
  candidate_count_ = count;
  norm_ = norm;
}

/// The variable that becomes basic, where the dual objective stops rising; those that are passed on the way
/// change their bounds (`flips_`). None if there is none: the programme is infeasible.
std::size_t DualSimplexSolver::entering(double infeasibility) {
  // Below its bound the basic variable must rise, above it must fall.
  find_candidates(infeasibility < 0 ? -1.0 : 1.0);
  flips_.clear();
  double slope = std::fabs(infeasibility);
  while (candidate_count_ > 0) {
    const std::span<Candidate> candidates(candidates_.data(), candidate_count_);
    // Of all that come about as early, the largest pivot (Harris); the rest remains.
    double least = infinity;
    for (const Candidate& candidate : candidates)
      least = std::min(least, (candidate.reduced + harris_tolerance) / candidate.size);
    const auto passes = [=](const Candidate& candidate) {
      return candidate.reduced <= least * candidate.size;
    };
    Candidate chosen{nowhere, 0.0, 0.0};
    const std::size_t passed = flips_.size();
    for (const Candidate& candidate : candidates) {
      if (!passes(candidate)) continue;
      if (candidate.size > chosen.size) chosen = candidate;
      slope -= candidate.size * (upper_[candidate.variable] - lower_[candidate.variable]);
      flips_.push_back(candidate.variable);
    }
    if (!(slope > 0)) {
      flips_.resize(passed);
      return chosen.variable;
    }
    const auto rest = std::remove_if(candidates.begin(), candidates.end(), passes);
    candidate_count_ = static_cast<std::size_t>(rest - candidates.begin());
  }
  return nowhere;
}

/// The column of a variable, solved with the basis.
void DualSimplexSolver::solve_column(std::size_t j) {
  column_.clear();
  column_.packFlag = true;
  if (j >= columns()) {
    add(column_, j - columns(), 1.0);
  } else {
    for (const auto& [row, value] : matrix_.column(j)) add(column_, row, value);
  }
  factor_->solve(column_);
}

/// Variables that have been passed go to their other bounds.
void DualSimplexSolver::flip() {
  change_.clear();
  for (const std::size_t j : flips_) {
    const double before = x_[j];
    const bool up = way_[j] == Way::up;
    status_[j] = up ? BasisStatus::upper : BasisStatus::lower;
    way_[j] = up ? Way::down : Way::up;
    x_[j] = up ? upper_[j] : lower_[j];
    move_nonbasic(j, x_[j] - before);
  }
  move_basics();
}

void DualSimplexSolver::pivot(std::size_t position, std::size_t in, double target, double reduced) {
  const std::size_t out = head_[position];
  const double size = column_.array[position];
  const double step = reduced / alpha_[in];
  if (step != 0) {
    for (std::size_t k = 0; k < reached_count_; ++k) d_[reached_[k]] -= step * alpha_[reached_[k]];
  }
  duals_exact_ = false;
  d_[in] = 0.0;
  d_[out] = -step;

  update_weights(position, size);
  const double move = (x_[out] - target) / size;
  x_[in] += move;
  head_[position] = in;
  position_[in] = position;
  position_[out] = nowhere;
  for (int k = 0; k < column_.count; ++k) {
    const std::size_t p = at(column_.index[at(k)]);
    if (p >= rows()) continue;
    if (p != position) x_[head_[p]] -= move * column_.array[p];
    note_infeasibility(p);
  }
  x_[out] = target;
  status_[in] = BasisStatus::basic;
  way_[in] = Way::none;
  status_[out] = target == lower_[out] ? BasisStatus::lower : BasisStatus::upper;
  way_[out] = lower_[out] == upper_[out] ? Way::none : target == lower_[out] ? Way::up : Way::down;
  factor_->exchange(column_, row_, position);
  if (reference_pivots_ >= most_reference_pivots) start_reference();
}

/// Devex (Harris 1973): weights that grow as the norms of rows of the tableau do within a reference, the
/// variables that were basic when it began. That of the leaving position is computed from its row.
void DualSimplexSolver::update_weights(std::size_t position, double pivot) {
  const double exact = std::max(norm_, 1.0), before = weight_[position], size = pivot * pivot;
  reference_pivots_ +=
      before > most_weight_error * exact || exact > most_weight_error * before ? most_reference_pivots : 1;
  for (int k = 0; k < column_.count; ++k) {
    const std::size_t p = at(column_.index[at(k)]);
    if (p >= rows()) continue;
    const double alpha = column_.array[p];
    weight_[p] = std::max(weight_[p], alpha * alpha / size * exact);
  }
  weight_[position] = std::max(exact / size, 1.0);
}

void DualSimplexSolver::start_reference() {
  reference_pivots_ = 0;
  std::fill(weight_.begin(), weight_.end(), 1.0);
  reference_.assign(variables(), 0.0);
  for (const std::size_t j : head_) reference_[j] = 1.0;
}

}  // namespace cobre::lp
