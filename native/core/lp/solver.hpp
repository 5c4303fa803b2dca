// The interface of linear programming solvers; an instance holds one programme.
//
// A solution depends on nothing but the programme, the changes since `clear`, and the basis given to
// `start_from`: the same calls give the same bits in any instance, on any thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cobre::lp {

/// A bound in scaled units; infinity stays what it is.
inline double scaled(double value, double factor) { return std::isinf(value) ? value : value * factor; }

/// Minimise cost'x over row_lower <= Ax <= row_upper and column_lower <= x <= column_upper; A by columns.
struct Program {
  int columns = 0, rows = 0;
  std::vector<double> cost, column_lower, column_upper, row_lower, row_upper;
  std::vector<int> starts, indices;
  std::vector<double> values;
};

/// The status of a variable in a basis; a row's variable is the row's value. The numbers are those of HiGHS.
enum class BasisStatus : std::uint8_t { lower = 0, basic = 1, upper = 2, zero = 3 };

/// Which columns and rows are basic, as `BasisStatus`. Empty: from scratch.
struct Basis {
  std::vector<std::uint8_t> columns, rows;
};

/// `inaccurate`: each method called its answer optimal, and no answer passed the proof.
enum class Status : std::uint8_t { optimal, infeasible, unbounded, failed, inaccurate };

class Solver {
 public:
  Solver() = default;
  virtual ~Solver() = default;
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// Load the programme as it was given, without bases, factors or changes.
  virtual void load() = 0;
  /// Drop basis and factors, and restart random number generators: without that, the path to a solution, and
  /// so its last bits, would depend on what this instance solved before.
  virtual void clear() = 0;
  virtual void start_from(const Basis& basis) = 0;

  /// Indices must ascend in each of these.
  virtual void set_row_bounds(std::span<const int> rows, const double* lower, const double* upper) = 0;
  virtual void set_column_bounds(std::span<const int> columns, const double* lower, const double* upper) = 0;
  virtual void set_costs(std::span<const int> columns, const double* costs) = 0;
  virtual void set_coefficient(int row, int column, double value) = 0;
  /// Rows with a lower bound only, after all others; entries by rows.
  virtual void add_rows(std::span<const double> lower, std::span<const int> starts,
                        std::span<const int> columns, std::span<const double> values) = 0;
  virtual void drop_rows_from(int first) = 0;

  virtual Status solve() = 0;
  /// Solve again by the next fallback method, because the last answer failed its proof; `inaccurate` when no
  /// method is left. The first fallback starts from scratch. `solve` and `clear` return to the first.
  virtual Status solve_by_fallback() = 0;
  /// Whether the last solve needed a fallback method. If `must_reload`, the programme must be loaded again
  /// before anything else is solved.
  [[nodiscard]] virtual bool used_fallback() const = 0;
  [[nodiscard]] virtual bool must_reload() const = 0;

  [[nodiscard]] virtual std::span<const double> values() const = 0;
  [[nodiscard]] virtual std::span<const double> reduced_costs() const = 0;
  [[nodiscard]] virtual std::span<const double> row_duals() const = 0;
  [[nodiscard]] virtual double objective() const = 0;
  /// The basis at the end of the last solve; empty if there is none.
  [[nodiscard]] virtual Basis basis() const = 0;
  [[nodiscard]] virtual int iterations() const = 0;
  [[nodiscard]] virtual std::string message() const = 0;
};

}  // namespace cobre::lp
