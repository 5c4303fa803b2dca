#include "core/lp/sparse_matrix.hpp"

#include <algorithm>

namespace cobre::lp {

void SparseMatrix::load(const Program& program) {
  const auto rows = static_cast<std::size_t>(program.rows);
  columns_.assign(static_cast<std::size_t>(program.columns), {});
  std::vector<std::vector<Entry>> by_row(rows);
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    for (auto at = static_cast<std::size_t>(program.starts[j]);
         at < static_cast<std::size_t>(program.starts[j + 1]); ++at) {
      const auto row = static_cast<std::size_t>(program.indices[at]);
      columns_[j].push_back({row, program.values[at]});
      by_row[row].push_back({j, program.values[at]});
    }
  }
  starts_.assign(1, 0);
  entries_.clear();
  for (const std::vector<Entry>& row : by_row) {
    entries_.insert(entries_.end(), row.begin(), row.end());
    starts_.push_back(entries_.size());
  }
}

void SparseMatrix::add_row(std::span<const int> columns, std::span<const double> values) {
  const std::size_t row = rows();
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const auto column = static_cast<std::size_t>(columns[k]);
    entries_.push_back({column, values[k]});
    columns_[column].push_back({row, values[k]});
  }
  starts_.push_back(entries_.size());
}

void SparseMatrix::drop_rows_from(std::size_t first) {
  for (std::size_t i = first; i < rows(); ++i) {
    for (const Entry& entry : row(i)) {
      std::vector<Entry>& column = columns_[entry.index];
      while (!column.empty() && column.back().index >= first) column.pop_back();
    }
  }
  starts_.resize(first + 1);
  entries_.resize(starts_.back());
}

bool SparseMatrix::set(std::size_t row, std::size_t column, double value) {
  const auto in_row = entries_.begin() + static_cast<std::ptrdiff_t>(starts_[row]),
             row_end = entries_.begin() + static_cast<std::ptrdiff_t>(starts_[row + 1]);
  const auto found = std::find_if(in_row, row_end, [=](const Entry& entry) { return entry.index == column; });
  if (found == row_end ? value == 0 : found->value == value) return false;
  std::vector<Entry>& numbers = columns_[column];
  const auto place =
      std::find_if(numbers.begin(), numbers.end(), [=](const Entry& entry) { return entry.index >= row; });
  if (found != row_end) {
    found->value = place->value = value;
    return true;
  }
  entries_.insert(row_end, {column, value});
  numbers.insert(place, {row, value});
  for (std::size_t i = row + 1; i < starts_.size(); ++i) ++starts_[i];
  return true;
}

}  // namespace cobre::lp
