#include "core/lp/dual_simplex.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/lp/highs.hpp"

namespace cobre::lp {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A bound's status for the row's variable, which is minus the row's value.
BasisStatus opposite(BasisStatus status) {
  return status == BasisStatus::lower   ? BasisStatus::upper
         : status == BasisStatus::upper ? BasisStatus::lower
                                        : status;
}

}  // namespace

DualSimplexSolver::DualSimplexSolver(const Program& program)
    : DualSimplexSolver(program, make_basis_factor(static_cast<std::size_t>(program.rows))) {}

DualSimplexSolver::DualSimplexSolver(const Program& program, std::unique_ptr<BasisFactor> factor)
    : program_(program), factor_(std::move(factor)) {
  load();
}

void DualSimplexSolver::load() {
  matrix_.load(program_);
  lower_ = program_.column_lower;
  upper_ = program_.column_upper;
  cost_ = program_.cost;
  for (const double bound : program_.row_upper) lower_.push_back(-bound);
  for (const double bound : program_.row_lower) upper_.push_back(-bound);
  cost_.resize(variables(), 0.0);
  clear();
}

void DualSimplexSolver::clear() {
  factorised_ = duals_exact_ = has_basis_ = false;
  status_.clear();
  weight_.clear();
  changed_.clear();
  highs_answers_ = 0;
}

void DualSimplexSolver::start_from(const Basis& basis) {
  if (basis.columns.empty()) return;
  if (basis.columns.size() != columns() || basis.rows.size() != rows()) {
    throw std::runtime_error("the basis belongs to another programme");
  }
  // A basis of HiGHS can have a status of its own, for variables that are nonbasic without saying where.
  const auto known = [](std::uint8_t code) {
    return code <= static_cast<std::uint8_t>(BasisStatus::zero) ? static_cast<BasisStatus>(code)
                                                                : BasisStatus::lower;
  };
  status_.resize(variables());
  for (std::size_t j = 0; j < columns(); ++j) status_[j] = known(basis.columns[j]);
  for (std::size_t i = 0; i < rows(); ++i) status_[columns() + i] = opposite(known(basis.rows[i]));
  factorised_ = duals_exact_ = false;
}

void DualSimplexSolver::set_bounds(std::size_t j, double lower, double upper) {
  if (lower_[j] == lower && upper_[j] == upper) return;
  lower_[j] = lower;
  upper_[j] = upper;
  if (factorised_) changed_.push_back(j);
}

void DualSimplexSolver::set_row_bounds(std::span<const int> rows, const double* lower, const double* upper) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    set_bounds(columns() + static_cast<std::size_t>(rows[i]), -upper[i], -lower[i]);
}

void DualSimplexSolver::set_column_bounds(std::span<const int> columns, const double* lower,
                                          const double* upper) {
  for (std::size_t i = 0; i < columns.size(); ++i)
    set_bounds(static_cast<std::size_t>(columns[i]), lower[i], upper[i]);
}

void DualSimplexSolver::set_costs(std::span<const int> columns, const double* costs) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    double& cost = cost_[at(columns[i])];
    costs_changed_ |= cost != costs[i];
    cost = costs[i];
  }
}

void DualSimplexSolver::set_coefficient(int row, int column, double value) {
  if (matrix_.set(static_cast<std::size_t>(row), static_cast<std::size_t>(column), value))
    factorised_ = false;
}

void DualSimplexSolver::add_rows(std::span<const double> lower, std::span<const int> starts,
                                 std::span<const int> columns, std::span<const double> values) {
  if (factorised_ && !factor_->has_space(lower.size())) factorised_ = false;
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const auto begin = static_cast<std::size_t>(starts[i]);
    const std::size_t end = i + 1 < starts.size() ? static_cast<std::size_t>(starts[i + 1]) : values.size();
    matrix_.add_row(columns.subspan(begin, end - begin), values.subspan(begin, end - begin));
    lower_.push_back(-infinity);
    upper_.push_back(-lower[i]);
    cost_.push_back(0.0);
    if (!status_.empty()) status_.push_back(BasisStatus::basic);  // the row's own variable
    if (factorised_) extend_basis();
  }
}

/// The last row's own variable becomes basic in a position of its own.
void DualSimplexSolver::extend_basis() {
  const std::size_t position = rows() - 1, variable = columns() + position;
  change_.clear();
  double value = 0;
  for (const auto& [j, coefficient] : matrix_.row(position)) {
    value -= coefficient * x_[j];
    if (position_[j] != nowhere) add(change_, position_[j], coefficient);
  }
  factor_->add_row(change_);
  weight_.push_back(1.0);
  head_.push_back(variable);
  infeasibility_.push_back(0.0);
  position_.push_back(position);
  way_.push_back(Way::none);
  x_.push_back(value);
  d_.push_back(0.0);
  work_cost_.push_back(0.0);
  reference_.push_back(1.0);
  y_.push_back(0.0);
  alpha_.push_back(0.0);
  reached_.push_back(0);
  candidates_.emplace_back();
  note_infeasibility(position);
}

void DualSimplexSolver::drop_rows_from(int first) {
  const auto kept = static_cast<std::size_t>(first);
  if (kept >= rows()) return;
  matrix_.drop_rows_from(kept);
  lower_.resize(variables());
  upper_.resize(variables());
  cost_.resize(variables());
  clear();
}

/// The slack basis: all rows' own variables are basic, and columns at the bound that their cost asks for.
void DualSimplexSolver::start_from_slack_basis() {
  weight_.clear();
  status_.assign(variables(), BasisStatus::basic);
  for (std::size_t j = 0; j < columns(); ++j) {
    const bool up = std::isfinite(upper_[j]) && (cost_[j] < 0 || !std::isfinite(lower_[j]));
    status_[j] = up ? BasisStatus::upper : std::isfinite(lower_[j]) ? BasisStatus::lower : BasisStatus::zero;
  }
}

Status DualSimplexSolver::solve() {
  iterations_ = highs_answers_ = 0;
  used_fallback_ = has_basis_ = false;
  if (status_.empty()) start_from_slack_basis();
  if (factorised_) {
    apply_changes();
  } else if (!prepare()) {
    start_from_slack_basis();  // other coefficients can make a basis singular, but not this one
    if (!prepare()) return solve_by_highs();
  }
  if (!reach_optimum()) return solve_by_highs();
  objective_ = 0;
  for (std::size_t j = 0; j < columns(); ++j) objective_ += cost_[j] * x_[j];
  has_basis_ = true;
  return Status::optimal;
}

/// Pivot until the basis is optimal; false if that fails.
bool DualSimplexSolver::reach_optimum() {
  if (!iterate()) return false;
  if (!shifted_) return true;
  work_cost_ = cost_;
  shifted_ = false;
  compute_dual();
  // The dual method has the last word: it finds nothing left to do, or corrects what rounding has left.
  return iterate_primal() && iterate() && !shifted_;
}

Status DualSimplexSolver::solve_by_fallback() {
  iterations_ = 0;
  return solve_by_highs();
}

/// Solve the programme as it is now by HiGHS from scratch; later solves go on from its basis.
Status DualSimplexSolver::solve_by_highs() {
  ++highs_solves_;
  const Program now = current_program();
  HighsSolver highs(now);
  Status status = highs.solve();
  const int refused = highs_answers_;
  for (int i = 0; i < refused && status == Status::optimal; ++i) status = highs.solve_by_fallback();
  iterations_ += highs.iterations();
  used_fallback_ = highs.used_fallback();
  message_ = highs.message();
  clear();
  highs_answers_ = refused + 1;
  if (status != Status::optimal) return status;
  x_.assign(highs.values().begin(), highs.values().end());
  d_.assign(highs.reduced_costs().begin(), highs.reduced_costs().end());
  y_.assign(highs.row_duals().begin(), highs.row_duals().end());
  objective_ = highs.objective();
  const Basis found = highs.basis();
  if (!used_fallback_ && !found.columns.empty()) {
    start_from(found);
    has_basis_ = true;
  }
  return status;
}

/// The programme with the bounds, costs and rows that it has now.
Program DualSimplexSolver::current_program() const {
  Program now;
  now.columns = static_cast<int>(columns());
  now.rows = static_cast<int>(rows());
  const auto n = static_cast<std::ptrdiff_t>(columns());
  now.cost.assign(cost_.begin(), cost_.begin() + n);
  now.column_lower.assign(lower_.begin(), lower_.begin() + n);
  now.column_upper.assign(upper_.begin(), upper_.begin() + n);
  for (std::size_t i = columns(); i < variables(); ++i) {
    now.row_lower.push_back(-upper_[i]);
    now.row_upper.push_back(-lower_[i]);
  }
  now.starts.push_back(0);
  for (std::size_t j = 0; j < columns(); ++j) {
    for (const auto& [row, value] : matrix_.column(j)) {
      now.indices.push_back(static_cast<int>(row));
      now.values.push_back(value);
    }
    now.starts.push_back(static_cast<int>(now.indices.size()));
  }
  return now;
}

Basis DualSimplexSolver::basis() const {
  if (!has_basis_) return {};
  Basis basis;
  for (std::size_t j = 0; j < columns(); ++j) basis.columns.push_back(static_cast<std::uint8_t>(status_[j]));
  for (std::size_t i = 0; i < rows(); ++i)
    basis.rows.push_back(static_cast<std::uint8_t>(opposite(status_[columns() + i])));
  return basis;
}

}  // namespace cobre::lp
