#include "core/lp/proof.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/processor.hpp"

namespace cobre::lp {

namespace {

constexpr double tolerance = ProvedSolver::tolerance;
constexpr double infinity = HUGE_VAL;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// Columns at their bounds, all of them in one go.
struct Columns {
  const double *reduced, *given;  // reduced costs: from the row duals, and as the solver says
  const double *lower, *upper, *x;
};

struct Found {
  double bound;  // what the columns contribute to the bound on the objective
  bool doubtful;
};

/// A price stands for one of two bounds. Where that is infinite it should be zero, and hardly counts.
[[gnu::always_inline]] inline Found weigh(const Columns& columns, std::size_t count) {
  constexpr std::size_t lanes = 4;
  double sums[lanes] = {};
  int doubts[lanes] = {};
  const auto add = [&](std::size_t lane, std::size_t j) {
    const double price = columns.reduced[j], bound = price > 0 ? columns.lower[j] : columns.upper[j];
    const bool infinite = std::fabs(bound) == infinity;
    const double right = infinite ? 0.0 : price;
    sums[lane] += price * (infinite ? columns.x[j] : bound);
    doubts[lane] |=
        !(std::fabs(price - columns.given[j]) <= tolerance) | !(std::fabs(price - right) <= tolerance);
  };
  std::size_t j = 0;
  for (; j + lanes <= count; j += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) add(lane, j + lane);
  }
  for (; j < count; ++j) add(0, j);
  return {(sums[0] + sums[2]) + (sums[1] + sums[3]), (doubts[0] | doubts[1] | doubts[2] | doubts[3]) != 0};
}

}  // namespace

ProvedSolver::ProvedSolver(const Program& program, std::unique_ptr<Solver> solver)
    : program_(program), solver_(std::move(solver)) {
  copy_bounds_and_costs();
  std::vector<std::vector<std::pair<std::size_t, double>>> rows(at(program.rows));
  for (std::size_t j = 0; j < cost_.size(); ++j) {
    for (int k = program.starts[j]; k < program.starts[j + 1]; ++k) {
      rows[at(program.indices[at(k)])].emplace_back(j, program.values[at(k)]);
    }
  }
  starts_.push_back(0);
  for (const auto& row : rows) {
    for (const auto& [column, value] : row) {
      columns_.push_back(column);
      values_.push_back(value);
    }
    starts_.push_back(columns_.size());
  }
}

/// Entries that have changed are not restored: whoever changes them sets them all before each solve.
void ProvedSolver::load() {
  solver_->load();
  copy_bounds_and_costs();
  starts_.resize(row_lower_.size() + 1);
  columns_.resize(starts_.back());
  values_.resize(starts_.back());
}

void ProvedSolver::copy_bounds_and_costs() {
  lower_ = program_.column_lower;
  upper_ = program_.column_upper;
  cost_ = program_.cost;
  row_lower_ = program_.row_lower;
  row_upper_ = program_.row_upper;
}

void ProvedSolver::set_row_bounds(std::span<const int> rows, const double* lower, const double* upper) {
  solver_->set_row_bounds(rows, lower, upper);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    row_lower_[at(rows[i])] = lower[i];
    row_upper_[at(rows[i])] = upper[i];
  }
}

void ProvedSolver::set_column_bounds(std::span<const int> columns, const double* lower, const double* upper) {
  solver_->set_column_bounds(columns, lower, upper);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    lower_[at(columns[i])] = lower[i];
    upper_[at(columns[i])] = upper[i];
  }
}

void ProvedSolver::set_costs(std::span<const int> columns, const double* costs) {
  solver_->set_costs(columns, costs);
  for (std::size_t i = 0; i < columns.size(); ++i) cost_[at(columns[i])] = costs[i];
}

void ProvedSolver::set_coefficient(int row, int column, double value) {
  solver_->set_coefficient(row, column, value);
  const std::size_t end = starts_[at(row) + 1];
  for (std::size_t k = starts_[at(row)]; k < end; ++k) {
    if (columns_[k] != at(column)) continue;
    values_[k] = value;
    return;
  }
  columns_.insert(columns_.begin() + static_cast<std::ptrdiff_t>(end), at(column));
  values_.insert(values_.begin() + static_cast<std::ptrdiff_t>(end), value);
  for (std::size_t i = at(row) + 1; i < starts_.size(); ++i) ++starts_[i];
}

void ProvedSolver::add_rows(std::span<const double> lower, std::span<const int> starts,
                            std::span<const int> columns, std::span<const double> values) {
  solver_->add_rows(lower, starts, columns, values);
  const std::size_t before = starts_.back();
  for (std::size_t i = 1; i < starts.size(); ++i) starts_.push_back(before + at(starts[i]));
  starts_.push_back(before + columns.size());
  columns_.insert(columns_.end(), columns.begin(), columns.end());
  values_.insert(values_.end(), values.begin(), values.end());
  row_lower_.insert(row_lower_.end(), lower.begin(), lower.end());
  row_upper_.resize(row_lower_.size(), infinity);
}

void ProvedSolver::drop_rows_from(int first) {
  solver_->drop_rows_from(first);
  starts_.resize(at(first) + 1);
  columns_.resize(starts_.back());
  values_.resize(starts_.back());
  row_lower_.resize(at(first));
  row_upper_.resize(at(first));
}

bool ProvedSolver::duals_prove() {
  const std::span<const double> y = solver_->row_duals();
  double bound = 0;
  bool justified = true;
  reduced_ = cost_;
  for (std::size_t i = 0; i < row_lower_.size(); ++i) {
    if (y[i] == 0) continue;
    const double at_bound = y[i] > 0 ? row_lower_[i] : row_upper_[i];
    if (std::isinf(at_bound)) {
      justified &= std::fabs(y[i]) <= tolerance;
    } else {
      bound += y[i] * at_bound;
    }
    for (std::size_t k = starts_[i]; k < starts_[i + 1]; ++k) reduced_[columns_[k]] -= values_[k] * y[i];
  }
  const Columns columns{reduced_.data(), solver_->reduced_costs().data(), lower_.data(), upper_.data(),
                        solver_->values().data()};
  const Found found = vectorised<weigh>(columns, cost_.size());
  const double objective = solver_->objective();
  return justified && (!found.doubtful || rounded(y)) &&
         std::fabs(bound + found.bound - objective) <= tolerance * (1 + std::fabs(objective));
}

/// Whether reduced costs that are not quite right are so relative to what they were computed from.
bool ProvedSolver::rounded(std::span<const double> y) const {
  std::vector<double> size(cost_.size(), 1.0);
  for (std::size_t i = 0; i < row_lower_.size(); ++i) {
    for (std::size_t k = starts_[i]; k < starts_[i + 1]; ++k)
      size[columns_[k]] += std::fabs(values_[k] * y[i]);
  }
  for (std::size_t j = 0; j < cost_.size(); ++j) {
    const double price = reduced_[j], near = tolerance * size[j];
    const bool infinite = std::isinf(price > 0 ? lower_[j] : upper_[j]);
    if (!(std::fabs(price - solver_->reduced_costs()[j]) <= near) || (infinite && std::fabs(price) > near))
      return false;
  }
  return true;
}

bool ProvedSolver::values_prove() const {
  const std::span<const double> x = solver_->values();
  double cost = 0, size = 1;
  for (std::size_t j = 0; j < cost_.size(); ++j) {
    if (!(std::max(lower_[j] - x[j], x[j] - upper_[j]) <= tolerance * (1 + std::fabs(x[j])))) return false;
    cost += cost_[j] * x[j];
    size += std::fabs(cost_[j] * x[j]);
  }
  for (std::size_t i = 0; i < row_lower_.size(); ++i) {
    double sum = 0, parts = 1;
    for (std::size_t k = starts_[i]; k < starts_[i + 1]; ++k) {
      sum += values_[k] * x[columns_[k]];
      parts += std::fabs(values_[k] * x[columns_[k]]);
    }
    if (!(std::max(row_lower_[i] - sum, sum - row_upper_[i]) <= tolerance * parts)) return false;
  }
  return std::fabs(cost - solver_->objective()) <= tolerance * size;
}

}  // namespace cobre::lp
