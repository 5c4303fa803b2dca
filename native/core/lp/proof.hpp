// Proofs that a solver's values and duals are what it says they are.
//
// Any duals bound a programme from below (weak duality), and a cut is such a bound: it is valid if the duals
// are feasible and bound as much as it says. Values that are feasible and cost no more make it as high as it
// can be. Both are checked against a copy of the programme that the solver does not share.
#pragma once

#include <memory>

#include "core/lp/solver.hpp"

namespace cobre::lp {

/// A solver, and beside it a copy of the programme that it was given.
class ProvedSolver {
 public:
  /// Answers with larger relative errors are refused. Solvers aim at 1e-9, some of their fallbacks at 1e-7,
  /// and have been seen to be off by 4e-6 in programmes with hundreds of rows.
  static constexpr double tolerance = 1e-5;

  ProvedSolver(const Program& program, std::unique_ptr<Solver> solver);

  /// Changes go to both; see `Solver`.
  void load();
  void set_row_bounds(std::span<const int> rows, const double* lower, const double* upper);
  void set_column_bounds(std::span<const int> columns, const double* lower, const double* upper);
  void set_costs(std::span<const int> columns, const double* costs);
  void set_coefficient(int row, int column, double value);
  void add_rows(std::span<const double> lower, std::span<const int> starts, std::span<const int> columns,
                std::span<const double> values);
  void drop_rows_from(int first);

  /// Whether the duals of the last solve prove its objective: all that a cut rests on.
  [[nodiscard]] bool duals_prove();
  /// Whether the values of the last solve are feasible and cost as much as it says.
  [[nodiscard]] bool values_prove() const;

  /// The solver itself, for calls that leave the programme as it is.
  Solver* operator->() { return solver_.get(); }
  const Solver* operator->() const { return solver_.get(); }

 private:
  void copy_bounds_and_costs();
  [[nodiscard]] bool rounded(std::span<const double> y) const;

  const Program& program_;
  std::unique_ptr<Solver> solver_;
  std::vector<double> lower_, upper_, cost_, row_lower_, row_upper_;
  std::vector<std::size_t> starts_, columns_;  // of the matrix, by rows
  std::vector<double> values_;
  std::vector<double> reduced_;  // costs, by column
};

}  // namespace cobre::lp
