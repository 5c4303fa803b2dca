#include "core/lp/basis_factor.hpp"

#include "core/lp/inverse.hpp"
#include "core/lp/lu_factor.hpp"

namespace cobre::lp {

namespace {

/// Enough for some rounds of cuts.
constexpr std::size_t spare_rows = 32;
/// With more rows, the inverse costs more than sparse factors: at 35 rows half as much, at 110 as much.
constexpr std::size_t most_rows_inverted = 100;

}  // namespace

bool BasisFactor::build(const SparseMatrix& matrix, std::vector<std::size_t>& variables) {
  rows_ = matrix.rows();
  capacity_ = (rows_ + 2 * spare_rows - 1) / spare_rows * spare_rows;
  exchanges_ = 0;
  return factorise(matrix, variables);
}

void BasisFactor::exchange(SparseVector& column, SparseVector& row, std::size_t position) {
  replace(column, row, position);
  ++exchanges_;
}

void BasisFactor::add_row(SparseVector& coefficients) {
  solve_transposed(coefficients);
  append(coefficients);
  ++rows_;
}

std::unique_ptr<BasisFactor> make_basis_factor(std::size_t rows) {
  if (rows <= most_rows_inverted) return std::make_unique<Inverse>();
  return std::make_unique<LuFactor>();
}

}  // namespace cobre::lp
