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
  forget();
}

/// Room for so many rows in all that is as long as the basis.
void DenseSolver::reserve_rows(std::size_t rows) {
  inverse_.reserve(rows);
  work_.assign(inverse_.stride(), 0.0);
  alpha_column_.resize(inverse_.stride());
}

void DenseSolver::forget() {
  has_inverse_ = has_duals_ = has_basis_ = false;
  where_.clear();
  asked_ = 0;
}

void DenseSolver::start_from(const Basis& basis) {
  if (basis.columns.empty()) return;
  if (basis.columns.size() != columns_ || basis.rows.size() != rows_) {
    throw std::runtime_error("a basis of another programme");
  }
  where_.resize(variables());
  const auto known = [](std::uint8_t code) {
    return code <= static_cast<std::uint8_t>(Where::zero) ? static_cast<Where>(code) : Where::lower;
  };
  for (std::size_t j = 0; j < columns_; ++j) where_[j] = known(basis.columns[j]);
  for (std::size_t i = 0; i < rows_; ++i) where_[columns_ + i] = known(basis.rows[i]);
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
    if (!where_.empty()) where_.push_back(Where::basic);  // the row's own variable
    if (!has_inverse_) continue;
    // Then the inverse grows by a row, and nothing else changes.
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
  forget();
}

/// All rows' own variables are basic, and columns at the bound that their cost asks for.
void DenseSolver::begin_from_rows() {
  where_.assign(variables(), Where::basic);
  for (std::size_t j = 0; j < columns_; ++j) {
    const bool up = std::isfinite(upper_[j]) && (cost_[j] < 0 || !std::isfinite(lower_[j]));
    where_[j] = up ? Where::upper : std::isfinite(lower_[j]) ? Where::lower : Where::zero;
  }
}

Status DenseSolver::solve() {
  iterations_ = asked_ = 0;
  needed_more_ = has_basis_ = false;
  if (where_.empty()) begin_from_rows();
  x_.resize(variables());
  bool ready = has_inverse_ || invert();
  if (ready) {
    if (!has_duals_) compute_dual();
    ready = place_nonbasic();
  }
  if (ready) compute_primal();
  if (!ready || !iterate()) return ask_highs();
  objective_ = 0;
  for (std::size_t j = 0; j < columns_; ++j) objective_ += cost_[j] * x_[j];
  has_basis_ = true;
  return Status::optimal;
}

Status DenseSolver::solve_otherwise() {
  iterations_ = 0;
  return ask_highs();
}

/// The programme as it is now, to the general solver, from scratch; then on from its basis.
Status DenseSolver::ask_highs() {
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
  const int refused = asked_;  // of its answers so far
  for (int i = 0; i < refused && status == Status::optimal; ++i) status = highs.solve_otherwise();
  iterations_ += highs.iterations();
  needed_more_ = highs.needed_more();
  words_ = highs.words();
  forget();
  asked_ = refused + 1;
  if (status != Status::optimal) return status;
  x_.assign(highs.values().begin(), highs.values().end());
  d_.assign(highs.reduced_costs().begin(), highs.reduced_costs().end());
  y_.assign(highs.row_duals().begin(), highs.row_duals().end());
  x_.resize(variables());
  d_.resize(variables());
  objective_ = highs.objective();
  const Basis found = highs.basis();
  if (!needed_more_ && !found.columns.empty()) {
    start_from(found);
    has_basis_ = true;
  }
  return status;
}

Basis DenseSolver::basis() const {
  if (!has_basis_) return {};
  Basis basis;
  for (std::size_t j = 0; j < columns_; ++j) basis.columns.push_back(static_cast<std::uint8_t>(where_[j]));
  for (std::size_t i = 0; i < rows_; ++i) {
    basis.rows.push_back(static_cast<std::uint8_t>(where_[columns_ + i]));
  }
  return basis;
}

}  // namespace cobre::lp
