#include "core/lp/lu_factor.hpp"

#include <cmath>

namespace cobre::lp {

namespace {

int index(std::size_t i) { return static_cast<int>(i); }

void learn(double& density, const SparseVector& result) {
  density = 0.95 * density + 0.05 * static_cast<double>(result.count) / static_cast<double>(result.size);
}

}  // namespace

/// Earlier, building takes more time than updates cost; later, the other way round.
bool LuFactor::is_worn() const { return exchanges() >= 20 + index(rows_) / 16; }

bool LuFactor::factorise(const SparseMatrix& matrix, std::vector<std::size_t>& variables) {
  first_added_ = rows_;
  added_starts_.assign(1, 0);
  added_.clear();
  density_ = transposed_density_ = 0;
  copy_basic_columns(matrix, variables);
  factor_.setup(index(matrix.columns()), index(capacity_), starts_.data(), indices_.data(), values_.data(),
                variables_.data());
  if (factor_.build() != 0) return false;
  for (std::size_t p = 0; p < rows_; ++p) variables[p] = static_cast<std::size_t>(variables_[p]);
  return true;
}

/// Of other columns all that is read is that they are there.
void LuFactor::copy_basic_columns(const SparseMatrix& matrix, const std::vector<std::size_t>& variables) {
  std::vector<char> basic(matrix.columns(), 0);
  variables_.clear();
  for (const std::size_t variable : variables) {
    variables_.push_back(index(variable));
    if (variable < matrix.columns()) basic[variable] = 1;
  }
  for (std::size_t row = rows_; row < capacity_; ++row) variables_.push_back(index(matrix.columns() + row));
  starts_.assign(1, 0);
  indices_.clear();
  values_.clear();
  for (std::size_t j = 0; j < matrix.columns(); ++j) {
    if (basic[j] != 0) {
      for (const auto& [row, value] : matrix.column(j)) {
        if (value == 0) continue;
        indices_.push_back(index(row));
        values_.push_back(value);
      }
    }
    starts_.push_back(index(indices_.size()));
  }
}

void LuFactor::solve(SparseVector& vector) {
  for (std::size_t added = added_starts_.size() - 1; added-- > 0;) {
    double step = 0;
    for (std::size_t k = added_starts_[added]; k < added_starts_[added + 1]; ++k)
      step += added_[k].value * vector.array[added_[k].index];
    if (step != 0) add(vector, first_added_ + added, -step);
  }
  factor_.ftranCall(vector, density_);
  learn(density_, vector);
}

void LuFactor::solve_transposed(SparseVector& vector) {
  factor_.btranCall(vector, transposed_density_);
  for (std::size_t added = 0; added + 1 < added_starts_.size(); ++added) {
    const double factor = vector.array[first_added_ + added];
    if (factor == 0) continue;
    for (std::size_t k = added_starts_[added]; k < added_starts_[added + 1]; ++k)
      add(vector, added_[k].index, -factor * added_[k].value);
  }
  learn(transposed_density_, vector);
}

void LuFactor::replace(SparseVector& column, SparseVector& row, std::size_t position) {
  int pivot_row = index(position), hint = 0;
  factor_.update(&column, &row, &pivot_row, &hint);
}

void LuFactor::append(const SparseVector& solved) {
  for (int k = 0; k < solved.count; ++k) {
    const auto row = static_cast<std::size_t>(solved.index[static_cast<std::size_t>(k)]);
    if (std::fabs(solved.array[row]) >= negligible) added_.push_back({row, solved.array[row]});
  }
  added_starts_.push_back(added_.size());
}

}  // namespace cobre::lp
