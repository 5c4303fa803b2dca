// One linear programme in a solver's memory: the one door to all of them.
//
// What is solved depends on nothing but the programme, the changes since `forget`, and the basis given to
// `start_from`: the same calls give the same bits in any instance, on any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cobre::lp {

/// Minimise cost'x over row_lower <= Ax <= row_upper and column_lower <= x <= column_upper; A by columns.
struct Program {
  int columns = 0, rows = 0;
  std::vector<double> cost, column_lower, column_upper, row_lower, row_upper;
  std::vector<int> starts, indices;
  std::vector<double> values;
};

/// Where a variable is when a basis is given; a row's variable is the row's value. The numbers are HiGHS's.
enum class Place_in_basis : std::uint8_t { lower = 0, basic = 1, upper = 2, zero = 3 };

/// Which columns and rows are basic, as `Place_in_basis`. Empty: from scratch.
struct Basis {
  std::vector<std::uint8_t> columns, rows;
};

/// `inaccurate`: called optimal by all means, and believed of none.
enum class Status : std::uint8_t { optimal, infeasible, unbounded, failed, inaccurate };

class Solver {
 public:
  Solver() = default;
  virtual ~Solver() = default;
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// The programme as it was given, without a past.
  virtual void load() = 0;
  /// No basis, no factors, nothing random that has begun.
  virtual void forget() = 0;
  virtual void start_from(const Basis& basis) = 0;

  /// Places must ascend in each of these.
  virtual void set_row_bounds(std::span<const int> rows, const double* lower, const double* upper) = 0;
  virtual void set_column_bounds(std::span<const int> columns, const double* lower, const double* upper) = 0;
  virtual void set_costs(std::span<const int> columns, const double* costs) = 0;
  virtual void set_coefficient(int row, int column, double value) = 0;
  /// Rows with a lower bound only, after all others; entries by rows.
  virtual void add_rows(std::span<const double> lower, std::span<const int> starts,
                        std::span<const int> columns, std::span<const double> values) = 0;
  virtual void drop_rows_from(int first) = 0;

  virtual Status solve() = 0;
  /// Once more by the next of other means, the first of them from scratch, because what the last one called
  /// optimal is not. `inaccurate` when none is left. `solve` and `forget` begin with the first again.
  virtual Status solve_otherwise() = 0;
  /// Whether the last solve needed more than the usual way. If `must_load`, the programme must be loaded
  /// again before anything else is solved.
  [[nodiscard]] virtual bool needed_more() const = 0;
  [[nodiscard]] virtual bool must_load() const = 0;

  [[nodiscard]] virtual std::span<const double> values() const = 0;
  [[nodiscard]] virtual std::span<const double> reduced_costs() const = 0;
  [[nodiscard]] virtual std::span<const double> row_duals() const = 0;
  [[nodiscard]] virtual double objective() const = 0;
  /// The basis at the end of the last solve; empty if there is none.
  [[nodiscard]] virtual Basis basis() const = 0;
  [[nodiscard]] virtual int iterations() const = 0;
  [[nodiscard]] virtual std::string words() const = 0;
};

}  // namespace cobre::lp
