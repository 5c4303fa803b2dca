#include "core/lp/inverse.hpp"

#include <algorithm>
#include <utility>

#include "core/lp/clones.hpp"

namespace cobre::lp {

namespace {

constexpr std::size_t lanes = 8;

/// into -= factor * from
COBRE_CLONES void subtract(double* into, const double* from, double factor, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) into[i] -= factor * from[i];
}

/// In lanes that are added in one order, so that any processor gives the same bits.
COBRE_CLONES double dot(const double* a, const double* b, std::size_t count) {
  double sums[lanes] = {};
  for (std::size_t i = 0; i < count; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

std::size_t padded(std::size_t count) { return (count + lanes - 1) / lanes * lanes; }

}  // namespace

void Inverse::reserve(std::size_t rows) {
  if (padded(rows) <= stride_) return;
  const std::size_t wide = padded(rows + 2 * lanes);
  std::vector<double> wider(wide * wide, 0.0);
  for (std::size_t r = 0; r < rows_; ++r) std::copy_n(row(r), stride_, wider.data() + r * wide);
  numbers_ = std::move(wider);
  stride_ = wide;
}

void Inverse::reset(std::size_t rows) {
  rows_ = rows;
  std::fill(numbers_.begin(), numbers_.end(), 0.0);
  for (std::size_t r = 0; r < rows_; ++r) numbers_of(r)[r] = -1.0;
}

void Inverse::exchange(std::size_t r, const std::vector<double>& column) {
  double* const pivot_row = numbers_of(r);
  const double scale = 1.0 / column[r];
  for (std::size_t i = 0; i < stride_; ++i) pivot_row[i] *= scale;
  for (std::size_t i = 0; i < rows_; ++i) {
    if (i != r && column[i] != 0) subtract(numbers_of(i), pivot_row, column[i], stride_);
  }
}

void Inverse::grow(std::span<const double> coefficients) {
  double* const added = numbers_of(rows_);
  std::fill(added, added + stride_, 0.0);
  for (std::size_t r = 0; r < rows_; ++r) {
    if (coefficients[r] != 0) subtract(added, row(r), -coefficients[r], stride_);
  }
  added[rows_] = -1.0;
  ++rows_;
}

void Inverse::add_column(std::size_t column, double value, std::vector<double>& out) const {
  const double* at = numbers_.data() + column;
  for (std::size_t r = 0; r < rows_; ++r, at += stride_) out[r] += value * *at;
}

void Inverse::add_row(std::size_t r, double value, std::vector<double>& out) const {
  subtract(out.data(), row(r), -value, stride_);
}

double Inverse::times(std::size_t r, const std::vector<double>& vector) const {
  return dot(row(r), vector.data(), stride_);
}

}  // namespace cobre::lp
