// What solves with a basis, and follows it from pivot to pivot.
//
// The columns of a basis are those of (A, I): a row's own variable has the unit column. Vectors are by rows
// of the programme, or by positions in the basis.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <lp_data/HConst.h>
#include <util/HVector.h>

#include "core/lp/sparse_matrix.hpp"

namespace cobre::lp {

/// A vector with a list of its entries that may differ from 0.
using SparseVector = HVector;

/// Smaller numbers are rounding errors of larger ones, and taken for 0, as HiGHS does.
constexpr double negligible = 1e-14;

/// Add to an entry, which may be the first number there.
inline void add(SparseVector& vector, std::size_t i, double value) {
  double& entry = vector.array[i];
  if (entry == 0) vector.index[static_cast<std::size_t>(vector.count++)] = static_cast<int>(i);
  entry += value;
  if (entry == 0) entry = kHighsZero;  // it is in the list
}

class BasisFactor {
 public:
  BasisFactor() = default;
  virtual ~BasisFactor() = default;
  BasisFactor(const BasisFactor&) = delete;
  BasisFactor& operator=(const BasisFactor&) = delete;

  /// Begin with the basis of these variables, columns and then rows of the matrix, which are put in the order
  /// of their positions. False if it is singular. What follows depends on nothing that was before.
  [[nodiscard]] bool build(const SparseMatrix& matrix, std::vector<std::size_t>& variables);

  /// The length of vectors, which leaves space for rows to come.
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] bool has_space(std::size_t rows) const { return rows_ + rows <= capacity_; }
  /// The exchanges since it was built. With their number grow errors, and the time of a solve.
  [[nodiscard]] int exchanges() const { return exchanges_; }
  [[nodiscard]] virtual bool is_worn() const = 0;

  /// Solve B x = v, from rows to positions.
  virtual void solve(SparseVector& vector) = 0;
  /// Solve y B = v, from positions to rows.
  virtual void solve_transposed(SparseVector& vector) = 0;

  /// Another variable becomes basic at a position: `column` is its column and `row` the position's unit
  /// vector, both solved with `packFlag` set.
  void exchange(SparseVector& column, SparseVector& row, std::size_t position);
  /// A row is added, with its own variable in the basis. `coefficients` are its numbers in the basic columns,
  /// by positions; they are overwritten.
  void add_row(SparseVector& coefficients);

 protected:
  std::size_t rows_ = 0, capacity_ = 0;

 private:
  virtual bool factorise(const SparseMatrix& matrix, std::vector<std::size_t>& variables) = 0;
  virtual void replace(SparseVector& column, SparseVector& row, std::size_t position) = 0;
  /// A row `solved` is the coefficients of the new row divided by the basis.
  virtual void append(const SparseVector& solved) = 0;

  int exchanges_ = 0;
};

/// What is fastest for a basis of so many rows.
std::unique_ptr<BasisFactor> make_basis_factor(std::size_t rows);

}  // namespace cobre::lp
