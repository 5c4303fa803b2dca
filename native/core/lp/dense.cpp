#include "core/lp/dense.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/lp/highs.hpp"

namespace cobre::lp {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

DenseSolver::DenseSolver(const Program& program) : program_(program) { load(); }

void DenseSolver::load() {
  columns_ = static_cast<std::size_t>(program_.columns);
  rows_ = static_cast<std::size_t>(program_.rows);
  lower_ = program_.column_lower;
  upper_ = program_.column_upper;
  cost_ = program_.cost;
  lower_.insert(lower_.end(), program_.row_lower.begin(), program_.row_lower.end());
  upper_.insert(upper_.end(), program_.row_upper.begin(), program_.row_upper.end());
  cost_.resize(variables(), 0.0);
  by_row_.assign(rows_, {});
  by_column_.assign(columns_, {});
  for (std::size_t j = 0; j < columns_; ++j) {
    for (int at = program_.starts[j]; at < program_.starts[j + 1]; ++at) {
      const int row = program_.indices[static_cast<std::size_t>(at)];
      const double value = program_.values[static_cast<std::size_t>(at)];
      by_row_[static_cast<std::size_t>(row)].push_back({static_cast<int>(j), value});
      by_column_[j].push_back({row, value});
    }
  }
  reserve_rows(rows_);
  clear();
}

/// Reserve space for this many rows in everything that is as long as the basis.
void DenseSolver::reserve_rows(std::size_t rows) {
  inverse_.reserve(rows);
  work_.assign(inverse_.stride(), 0.0);
  alpha_column_.resize(inverse_.stride());
}

void DenseSolver::clear() {
  has_inverse_ = has_duals_ = has_basis_ = false;
  status_.clear();
  highs_answers_ = 0;
}

void DenseSolver::start_from(const Basis& basis) {
  if (basis.columns.empty()) return;
  if (basis.columns.size() != columns_ || basis.rows.size() != rows_) {
    throw std::runtime_error("the basis belongs to another programme");
  }
  status_.resize(variables());
  // A basis of HiGHS can have a status of its own, for variables that are nonbasic without saying where.
  const auto known = [](std::uint8_t code) {
    return code <= static_cast<std::uint8_t>(BasisStatus::zero) ? static_cast<BasisStatus>(code)
                                                                : BasisStatus::lower;
  };
  for (std::size_t j = 0; j < columns_; ++j) status_[j] = known(basis.columns[j]);
  for (std::size_t i = 0; i < rows_; ++i) status_[columns_ + i] = known(basis.rows[i]);
  has_inverse_ = has_duals_ = false;
}

void DenseSolver::set_row_bounds(std::span<const int> rows, const double* lower, const double* upper) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t variable = columns_ + static_cast<std::size_t>(rows[i]);
    lower_[variable] = lower[i];
    upper_[variable] = upper[i];
  }
}

void DenseSolver::set_column_bounds(std::span<const int> columns, const double* lower, const double* upper) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    lower_[static_cast<std::size_t>(columns[i])] = lower[i];
    upper_[static_cast<std::size_t>(columns[i])] = upper[i];
  }
}

void DenseSolver::set_costs(std::span<const int> columns, const double* costs) {
  for (std::size_t i = 0; i < columns.size(); ++i) cost_[static_cast<std::size_t>(columns[i])] = costs[i];
  if (!columns.empty()) has_duals_ = false;
}

void DenseSolver::set_coefficient(int, int, double) {
  throw std::logic_error("the dense solver is for programmes whose matrix does not change");
}

void DenseSolver::add_rows(std::span<const double> lower, std::span<const int> starts,
                           std::span<const int> columns, std::span<const double> values) {
  reserve_rows(rows_ + lower.size());
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const std::size_t row = rows_++;
    by_row_.emplace_back();
    const auto begin = static_cast<std::size_t>(starts[i]);
    const std::size_t end = i + 1 < starts.size() ? static_cast<std::size_t>(starts[i + 1]) : values.size();
    for (std::size_t at = begin; at < end; ++at) {
      by_row_[row].push_back({columns[at], values[at]});
      by_column_[static_cast<std::size_t>(columns[at])].push_back({static_cast<int>(row), values[at]});
    }
    lower_.push_back(lower[i]);
    upper_.push_back(infinity);
    cost_.push_back(0.0);
    if (!status_.empty()) status_.push_back(BasisStatus::basic);  // the row's own variable
    if (!has_inverse_) continue;
    // The row's own variable is basic, so the inverse grows by a row and nothing else in it changes.
    head_.push_back(columns_ + row);
    weight_.push_back(1.0);
    x_.push_back(0.0);
    d_.push_back(0.0);
    y_.push_back(0.0);
    std::vector<double> coefficient(columns_, 0.0), basic(row, 0.0);
    for (const Entry& entry : by_row_[row]) coefficient[static_cast<std::size_t>(entry.column)] = entry.value;
    for (std::size_t r = 0; r < row; ++r) {
      if (head_[r] < columns_) basic[r] = coefficient[head_[r]];
    }
    inverse_.grow(basic);
  }
}

void DenseSolver::drop_rows_from(int first) {
  const auto kept = static_cast<std::size_t>(first);
  if (kept >= rows_) return;
  for (std::size_t row = kept; row < rows_; ++row) {
    for (const Entry& entry : by_row_[row]) {
      auto& column = by_column_[static_cast<std::size_t>(entry.column)];
      while (!column.empty() && column.back().column >= first) column.pop_back();
    }
  }
  by_row_.resize(kept);
  rows_ = kept;
  lower_.resize(variables());
  upper_.resize(variables());
  cost_.resize(variables());
  clear();
}

/// The slack basis: all rows' own variables are basic, and columns at the bound that their cost asks for.
void DenseSolver::start_from_slack_basis() {
  status_.assign(variables(), BasisStatus::basic);
  for (std::size_t j = 0; j < columns_; ++j) {
    const bool up = std::isfinite(upper_[j]) && (cost_[j] < 0 || !std::isfinite(lower_[j]));
    status_[j] = up ? BasisStatus::upper : std::isfinite(lower_[j]) ? BasisStatus::lower : BasisStatus::zero;
  }
}

Status DenseSolver::solve() {
  iterations_ = highs_answers_ = 0;
  used_fallback_ = has_basis_ = false;
  if (status_.empty()) start_from_slack_basis();
  x_.resize(variables());
  bool ready = has_inverse_ || invert();
  if (ready) {
    if (!has_duals_) compute_dual();
    ready = place_nonbasic();
  }
  if (ready) compute_primal();
  if (!ready || !iterate()) return solve_by_highs();
  objective_ = 0;
  for (std::size_t j = 0; j < columns_; ++j) objective_ += cost_[j] * x_[j];
  has_basis_ = true;
  return Status::optimal;
}

Status DenseSolver::solve_by_fallback() {
  iterations_ = 0;
  return solve_by_highs();
}

/// Solve the programme as it is now by HiGHS from scratch; later solves go on from its basis.
Status DenseSolver::solve_by_highs() {
  Program now;
  now.columns = static_cast<int>(columns_);
  now.rows = static_cast<int>(rows_);
  const auto columns = static_cast<std::ptrdiff_t>(columns_);
  now.cost.assign(cost_.begin(), cost_.begin() + columns);
  now.column_lower.assign(lower_.begin(), lower_.begin() + columns);
  now.column_upper.assign(upper_.begin(), upper_.begin() + columns);
  now.row_lower.assign(lower_.begin() + columns, lower_.end());
  now.row_upper.assign(upper_.begin() + columns, upper_.end());
  now.starts.push_back(0);
  for (const std::vector<Entry>& column : by_column_) {
    for (const Entry& entry : column) {
      now.indices.push_back(entry.column);
      now.values.push_back(entry.value);
    }
    now.starts.push_back(static_cast<int>(now.indices.size()));
  }
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
  x_.resize(variables());
  d_.resize(variables());
  objective_ = highs.objective();
  const Basis found = highs.basis();
  if (!used_fallback_ && !found.columns.empty()) {
    start_from(found);
    has_basis_ = true;
  }
  return status;
}

Basis DenseSolver::basis() const {
  if (!has_basis_) return {};
  Basis basis;
  for (std::size_t j = 0; j < columns_; ++j) basis.columns.push_back(static_cast<std::uint8_t>(status_[j]));
  for (std::size_t i = 0; i < rows_; ++i) {
    basis.rows.push_back(static_cast<std::uint8_t>(status_[columns_ + i]));
  }
  return basis;
}

}  // namespace cobre::lp
