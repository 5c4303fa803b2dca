// A dual simplex method for small programmes, which keeps the whole inverse of the basis.
//
// A stage of a multistage problem is solved again and again with other bounds, from a dual feasible basis.
// General solvers spend most of such a solve on what they do once per call; with some hundred rows an
// explicit inverse is small enough to stay in the cache, and a pivot takes a few microseconds.
//
// The method is the textbook's (Koberstein 2005, chapters 3 and 6): bounded variables, Devex weights in the
// dual, a long-step ratio test. Rows are variables too: (A, -I)(x, r) = 0, and the right-hand side is always
// zero. Where it does not reach a proven optimum, HiGHS solves.
#pragma once

#include "core/lp/inverse.hpp"
#include "core/lp/solver.hpp"

namespace cobre::lp {

class DenseSolver final : public Solver {
 public:
  /// With more rows, updating the inverse costs more than HiGHS's sparse factors.
  static constexpr int max_rows = 200;

  explicit DenseSolver(const Program& program);

  void load() override;
  void clear() override;
  void start_from(const Basis& basis) override;
  void set_row_bounds(std::span<const int> rows, const double* lower, const double* upper) override;
  void set_column_bounds(std::span<const int> columns, const double* lower, const double* upper) override;
  void set_costs(std::span<const int> columns, const double* costs) override;
  void set_coefficient(int row, int column, double value) override;
  void add_rows(std::span<const double> lower, std::span<const int> starts, std::span<const int> columns,
                std::span<const double> values) override;
  void drop_rows_from(int first) override;

  Status solve() override;
  Status solve_by_fallback() override;
  [[nodiscard]] bool used_fallback() const override { return used_fallback_; }
  [[nodiscard]] bool must_reload() const override { return false; }

  [[nodiscard]] std::span<const double> values() const override { return {x_.data(), columns_}; }
  [[nodiscard]] std::span<const double> reduced_costs() const override { return {d_.data(), columns_}; }
  [[nodiscard]] std::span<const double> row_duals() const override { return y_; }
  [[nodiscard]] double objective() const override { return objective_; }
  [[nodiscard]] Basis basis() const override;
  [[nodiscard]] int iterations() const override { return iterations_; }
  [[nodiscard]] std::string message() const override { return message_; }

 private:
  struct Entry {
    int column;
    double value;
  };
  /// A variable that may enter the basis: the size of its pivot, and the step at which its reduced cost is
  /// zero.
  struct Candidate {
    std::size_t variable;
    double size, ratio, latest;
  };

  [[nodiscard]] std::size_t variables() const { return columns_ + rows_; }
  [[nodiscard]] bool fixed(std::size_t j) const { return lower_[j] == upper_[j]; }

  void reserve_rows(std::size_t rows);
  void start_from_slack_basis();
  [[nodiscard]] bool invert();
  [[nodiscard]] bool place_nonbasic();
  void compute_primal();
  void compute_dual();
  [[nodiscard]] bool dual_feasible() const;
  [[nodiscard]] bool accurate() const;
  [[nodiscard]] int leaving() const;
  void price_row(std::size_t r);
  [[nodiscard]] int entering(double infeasibility);
  void flip();
  void column_of_inverse(std::size_t j, std::vector<double>& out) const;
  [[nodiscard]] double feasible_cost(std::size_t j) const;
  void pivot(std::size_t r, std::size_t q, double target);
  [[nodiscard]] bool refactor();
  [[nodiscard]] bool iterate();
  Status solve_by_highs();

  const Program& program_;
  std::size_t columns_ = 0, rows_ = 0;
  // By variable: columns, then rows.
  std::vector<double> lower_, upper_, cost_, x_, d_;
  std::vector<BasisStatus> status_;
  std::vector<std::vector<Entry>> by_row_;     // of A
  std::vector<std::vector<Entry>> by_column_;  // of A; `column` is the row
  std::vector<std::size_t> head_;              // which variable is basic in each row
  Inverse inverse_;                            // of the basis
  std::vector<double> weight_, y_;
  std::vector<double> alpha_row_, alpha_column_, work_;
  std::vector<std::size_t> movable_;  // neither basic nor fixed
  std::vector<Candidate> candidates_;
  std::vector<std::size_t> flips_;
  bool has_inverse_ = false, has_duals_ = false;
  int updates_ = 0, iterations_ = 0;
  int highs_answers_ = 0;  // answers of HiGHS to the current programme; each but the last failed its proof
  double objective_ = 0;
  bool used_fallback_ = false, has_basis_ = false;
  std::string message_;
};

}  // namespace cobre::lp
