// The inverse of a small basis, kept whole.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace cobre::lp {

/// By rows, which are padded with zeros, so that vectors as long as `stride` can be used with them.
class Inverse {
 public:
  /// Reserve space for this many rows; the content stays.
  void reserve(std::size_t rows);
  /// The inverse of the slack basis, whose columns are those of -I.
  void reset(std::size_t rows);

  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }
  [[nodiscard]] const double* row(std::size_t r) const { return numbers_.data() + r * stride_; }

  /// Another column takes the place of the one in row r; `column` is it, times the inverse.
  void exchange(std::size_t r, const std::vector<double>& column);
  /// One more row, with its own variable in the basis; its coefficients in the basic columns, by their rows.
  void grow(std::span<const double> coefficients);

  /// out += value * a column of the inverse
  void add_column(std::size_t column, double value, std::vector<double>& out) const;
  /// out += value * row r
  void add_row(std::size_t r, double value, std::vector<double>& out) const;
  /// Row r times a vector, summed in one order on any processor.
  [[nodiscard]] double times(std::size_t r, const std::vector<double>& vector) const;

 private:
  double* numbers_of(std::size_t r) { return numbers_.data() + r * stride_; }

  std::size_t rows_ = 0, stride_ = 0;
  std::vector<double> numbers_;
};

}  // namespace cobre::lp
