// One linear programme in the solver's memory: the only door to HiGHS.
//
// What is solved depends on nothing but the programme, the changes since `forget`, and the basis given to
// `start_from`: the same calls give the same bits in any instance, on any thread. That needs scaling and
// cost perturbation off, one thread per instance, and `forget` before a basis is set, because HiGHS draws
// random numbers from a generator that only this re-seeds.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

class Highs;

namespace cobre::lp {

/// Minimise cost'x over row_lower <= Ax <= row_upper and column_lower <= x <= column_upper; A by columns.
struct Program {
  int columns = 0, rows = 0;
  std::vector<double> cost, column_lower, column_upper, row_lower, row_upper;
  std::vector<int> starts, indices;
  std::vector<double> values;
};

/// Which columns and rows are basic, in the solver's own codes. Empty: from scratch.
struct Basis {
  std::vector<std::uint8_t> columns, rows;
};

enum class Status : std::uint8_t { optimal, infeasible, unbounded, failed };

class Simplex {
 public:
  explicit Simplex(const Program& program);
  ~Simplex();
  Simplex(const Simplex&) = delete;
  Simplex& operator=(const Simplex&) = delete;

  /// The programme as it was given, without a past.
  void load();
  /// No basis, no factors, and the random numbers from their beginning.
  void forget();
  void start_from(const Basis& basis);

  /// Places must ascend in each of these.
  void set_row_bounds(std::span<const int> rows, const double* lower, const double* upper);
  void set_column_bounds(std::span<const int> columns, const double* lower, const double* upper);
  void set_costs(std::span<const int> columns, const double* costs);
  void set_coefficient(int row, int column, double value);
  /// Rows with a lower bound only, after all others; entries by rows.
  void add_rows(std::span<const double> lower, std::span<const int> starts, std::span<const int> columns,
                std::span<const double> values);
  void drop_rows_from(int first);

  /// Solve, by other means if the usual ones fail. Afterwards `spoiled` says whether other means were needed;
  /// the programme must then be loaded again before anything else is solved.
  Status solve();
  [[nodiscard]] bool spoiled() const noexcept { return spoiled_; }

  [[nodiscard]] std::span<const double> values() const;
  [[nodiscard]] std::span<const double> reduced_costs() const;
  [[nodiscard]] std::span<const double> row_duals() const;
  [[nodiscard]] double objective() const;
  [[nodiscard]] Basis basis() const;
  /// Whether a row's own variable is basic, so that the row could be left out.
  [[nodiscard]] bool row_is_basic(int row) const;
  [[nodiscard]] int iterations() const noexcept { return iterations_; }
  [[nodiscard]] std::string words() const { return words_; }

 private:
  Status run();

  const Program& program_;
  std::unique_ptr<Highs> highs_;
  int iterations_ = 0;  // of the last solve
  bool spoiled_ = false;
  std::string words_;
};

/// The version of the library that solves, and of the headers that this was compiled with.
std::string library_version();
std::string header_version();

}  // namespace cobre::lp
