// The factors of a basis: HiGHS's LU factors with updates by Forrest and Tomlin, and rows added to them.
//
// The factors have spare rows, in each of which the unit column is basic. A row that is added takes one of
// them: with coefficients a in the basic columns the basis becomes R B, where R is the identity and, in the
// new row, w = a / B. The factors of B are updated as before, and R is applied before or after them.
#pragma once

#include <util/HFactor.h>

#include "core/lp/basis_factor.hpp"

namespace cobre::lp {

class LuFactor final : public BasisFactor {
 public:
  [[nodiscard]] bool is_worn() const override;
  void solve(SparseVector& vector) override;
  void solve_transposed(SparseVector& vector) override;

 private:
  bool factorise(const SparseMatrix& matrix, std::vector<std::size_t>& variables) override;
  void replace(SparseVector& column, SparseVector& row, std::size_t position) override;
  void append(const SparseVector& solved) override;

  void copy_basic_columns(const SparseMatrix& matrix, const std::vector<std::size_t>& variables);

  HFactor factor_;
  /// Shares of nonzeros in results so far, which say how to solve for the next.
  double density_ = 0, transposed_density_ = 0;
  std::vector<int> variables_, starts_, indices_;
  std::vector<double> values_;
  // The rows w of those added since the factors were built.
  std::size_t first_added_ = 0;
  std::vector<std::size_t> added_starts_;
  std::vector<SparseMatrix::Entry> added_;
};

}  // namespace cobre::lp
