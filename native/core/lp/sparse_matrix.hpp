// A matrix by rows and by columns at once, to which rows are added and from which the last ones are dropped.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/lp/solver.hpp"

namespace cobre::lp {

class SparseMatrix {
 public:
  /// A number, and its column in a row, or its row in a column.
  struct Entry {
    std::size_t index;
    double value;
  };

  void load(const Program& program);
  void add_row(std::span<const int> columns, std::span<const double> values);
  void drop_rows_from(std::size_t first);
  /// Set a number; whether that has changed it.
  bool set(std::size_t row, std::size_t column, double value);

  [[nodiscard]] std::size_t rows() const { return starts_.size() - 1; }
  [[nodiscard]] std::size_t columns() const { return columns_.size(); }
  [[nodiscard]] std::span<const Entry> row(std::size_t i) const {
    return {entries_.data() + starts_[i], starts_[i + 1] - starts_[i]};
  }
  [[nodiscard]] std::span<const Entry> column(std::size_t j) const { return columns_[j]; }

 private:
  std::vector<std::size_t> starts_{0};
  std::vector<Entry> entries_;  // by rows
  std::vector<std::vector<Entry>> columns_;
};

}  // namespace cobre::lp
