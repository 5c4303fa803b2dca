#include "core/lp/inverse.hpp"

#include <algorithm>
#include <cmath>

#include "core/processor.hpp"

namespace cobre::lp {

namespace {

/// Inverting anew costs about as much as fifty updates.
constexpr int most_updates = 100;
/// A column whose largest pivot is smaller is taken for a combination of those before it.
constexpr double least_pivot = 1e-7;

/// into += factor * from
[[gnu::always_inline]] inline void accumulate_body(double* into, const double* from, double factor,
                                                   std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) into[i] += factor * from[i];
}

void accumulate(double* into, const double* from, double factor, std::size_t count) {
  vectorised<accumulate_body>(into, from, factor, count);
}

/// Take over a result, and list its entries.
void store(SparseVector& vector, const std::vector<double>& result, std::size_t count) {
  vector.count = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool counts = std::fabs(result[i]) >= negligible;
    vector.array[i] = counts ? result[i] : 0.0;
    if (counts) vector.index[static_cast<std::size_t>(vector.count++)] = static_cast<int>(i);
  }
}

}  // namespace

bool Inverse::is_worn() const { return exchanges() >= most_updates; }

/// By elimination: first those rows whose own variable is basic, which need none, then columns, each in the
/// row where it is largest.
bool Inverse::factorise(const SparseMatrix& matrix, std::vector<std::size_t>& variables) {
  const std::size_t none = matrix.columns() + rows_;
  std::vector<std::size_t> head(rows_, none), structural;
  for (const std::size_t j : variables) {
    if (j < matrix.columns()) {
      structural.push_back(j);
    } else {
      head[j - matrix.columns()] = j;
    }
  }
  // Sparse columns first: they fill in little.
  std::stable_sort(structural.begin(), structural.end(), [&](std::size_t a, std::size_t b) {
    return matrix.column(a).size() < matrix.column(b).size();
  });
  numbers_.assign(capacity_ * capacity_, 0.0);
  for (std::size_t p = 0; p < capacity_; ++p) row(p)[p] = 1.0;
  for (const std::size_t j : structural) {
    result_.assign(capacity_, 0.0);
    for (std::size_t p = 0; p < rows_; ++p) {
      for (const auto& [i, value] : matrix.column(j)) result_[p] += row(p)[i] * value;
    }
    std::size_t best = rows_;
    for (std::size_t p = 0; p < rows_; ++p) {
      if (head[p] == none && (best == rows_ || std::fabs(result_[p]) > std::fabs(result_[best]))) best = p;
    }
    if (best == rows_ || std::fabs(result_[best]) < least_pivot) return false;
    head[best] = j;
    exchange_column(result_, best);
  }
  variables = std::move(head);
  return true;
}

void Inverse::exchange_column(const std::vector<double>& column, std::size_t position) {
  double* const pivot_row = row(position);
  const double scale = 1.0 / column[position];
  for (std::size_t i = 0; i < capacity_; ++i) pivot_row[i] *= scale;
  for (std::size_t p = 0; p < rows_; ++p) {
    if (p != position && column[p] != 0) accumulate(row(p), pivot_row, -column[p], capacity_);
  }
}

void Inverse::solve(SparseVector& vector) {
  result_.assign(capacity_, 0.0);
  for (std::size_t p = 0; p < rows_; ++p) {
    const double* const numbers = row(p);
    double sum = 0;
    for (int k = 0; k < vector.count; ++k) {
      const auto i = static_cast<std::size_t>(vector.index[static_cast<std::size_t>(k)]);
      sum += numbers[i] * vector.array[i];
    }
    result_[p] = sum;
  }
  for (int k = 0; k < vector.count; ++k)
    vector.array[static_cast<std::size_t>(vector.index[static_cast<std::size_t>(k)])] = 0.0;
  store(vector, result_, rows_);
}

void Inverse::solve_transposed(SparseVector& vector) {
  result_.assign(capacity_, 0.0);
  for (int k = 0; k < vector.count; ++k) {
    const auto p = static_cast<std::size_t>(vector.index[static_cast<std::size_t>(k)]);
    accumulate(result_.data(), row(p), vector.array[p], capacity_);
    vector.array[p] = 0.0;
  }
  store(vector, result_, rows_);
}

void Inverse::replace(SparseVector& column, SparseVector&, std::size_t position) {
  exchange_column(column.array, position);
}

void Inverse::append(const SparseVector& solved) {
  double* const added = row(rows_);
  for (std::size_t i = 0; i < rows_; ++i) added[i] = -solved.array[i];
}

}  // namespace cobre::lp
