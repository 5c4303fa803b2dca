// The inverse of a small basis, kept whole: with some dozen rows it is in the cache, and faster than factors.
#pragma once

#include "core/lp/basis_factor.hpp"

namespace cobre::lp {

class Inverse final : public BasisFactor {
 public:
  [[nodiscard]] bool is_worn() const override;
  void solve(SparseVector& vector) override;
  void solve_transposed(SparseVector& vector) override;

 private:
  bool factorise(const SparseMatrix& matrix, std::vector<std::size_t>& variables) override;
  void replace(SparseVector& column, SparseVector& row, std::size_t position) override;
  void append(const SparseVector& solved) override;

  double* row(std::size_t position) { return numbers_.data() + position * capacity_; }
  void exchange_column(const std::vector<double>& column, std::size_t position);

  std::vector<double> numbers_;  // by rows, as long as the capacity, so that loops over them have no rest
  std::vector<double> result_;
};

}  // namespace cobre::lp
