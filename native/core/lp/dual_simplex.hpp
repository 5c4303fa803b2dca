// A dual simplex method for programmes that are solved again and again with other bounds.
//
// A stage of a multistage problem is solved for many states and realisations, each time from a nearly optimal
// basis. General solvers spend most of such a solve on what they do once per call. Here the factors of the
// basis, the weights and the values live on from one solve to the next, and over rows that are added: what
// has changed is all that is computed.
//
// The method is the textbook's (Koberstein 2005, chapters 3 to 6): bounded variables, Devex weights in the
// dual, a long-step ratio test, vectors with few entries. Rows are variables too: Ax + s = 0, so
// that s is minus the row's value, and the right-hand side is always zero. A reduced cost with the wrong
// sign, after costs or coefficients have changed, is shifted to zero; once the dual method ends, the shifts
// are taken back, and the primal method goes on. Where this does not reach a proven optimum, HiGHS solves.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/lp/basis_factor.hpp"
#include "core/lp/solver.hpp"
#include "core/lp/sparse_matrix.hpp"

namespace cobre::lp {

class DualSimplexSolver final : public Solver {
 public:
  explicit DualSimplexSolver(const Program& program);
  DualSimplexSolver(const Program& program, std::unique_ptr<BasisFactor> factor);

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

  [[nodiscard]] std::span<const double> values() const override { return {x_.data(), columns()}; }
  [[nodiscard]] std::span<const double> reduced_costs() const override { return {d_.data(), columns()}; }
  [[nodiscard]] std::span<const double> row_duals() const override { return y_; }
  [[nodiscard]] double objective() const override { return objective_; }
  [[nodiscard]] Basis basis() const override;
  [[nodiscard]] int iterations() const override { return iterations_; }
  [[nodiscard]] std::string message() const override { return message_; }
  /// How many solves HiGHS had to do since the programme was made.
  [[nodiscard]] int highs_solves() const { return highs_solves_; }

 private:
  /// A variable that may enter the basis, with the sizes of its pivot and of its reduced cost.
  struct Candidate {
    std::size_t variable;
    double size, reduced;
  };
  /// Which way a variable may move from where it is: the statuses of nonbasic variables that are not fixed.
  enum class Way : std::int8_t { none, up, down, both };

  [[nodiscard]] std::size_t columns() const { return matrix_.columns(); }
  [[nodiscard]] std::size_t rows() const { return matrix_.rows(); }
  [[nodiscard]] std::size_t variables() const { return columns() + rows(); }

  void set_bounds(std::size_t j, double lower, double upper);
  void extend_basis();
  void start_from_slack_basis();
  [[nodiscard]] Program current_program() const;

  // What is computed from the basis.
  [[nodiscard]] bool factorise();
  [[nodiscard]] bool prepare();
  void apply_changes();
  void take_over_costs();
  void place(std::size_t j);
  void compute_primal();
  void compute_dual();
  void move_nonbasic(std::size_t j, double step);
  void move_basics();
  void note_infeasibility(std::size_t position);
  /// By how much a reduced cost has the wrong sign.
  [[nodiscard]] double dual_infeasibility(std::size_t j) const {
    constexpr double wrong[] = {0.0, -1.0, 1.0, 0.0};  // by `Way`
    return way_[j] == Way::both ? std::fabs(d_[j]) : wrong[static_cast<std::size_t>(way_[j])] * d_[j];
  }
  [[nodiscard]] bool dual_feasible() const;
  [[nodiscard]] bool corrected();

  // Pivots.
  [[nodiscard]] bool iterate();
  [[nodiscard]] std::size_t leaving() const;
  void price_row(std::size_t position);
  void find_candidates(double sign);
  [[nodiscard]] std::size_t entering(double infeasibility);
  /// The size of a reduced cost; 0 where rounding has given it the wrong sign.
  [[nodiscard]] double feasible_cost(std::size_t j) const {
    return way_[j] == Way::up ? std::max(0.0, d_[j]) : way_[j] == Way::down ? std::max(0.0, -d_[j]) : 0.0;
  }
  void solve_column(std::size_t j);
  void flip();
  [[nodiscard]] bool must_refactorise(std::size_t position, std::size_t in) const;
  /// Exchange the variable at a position, which goes to its bound `target`, for one with this reduced cost.
  void pivot(std::size_t position, std::size_t in, double target, double reduced);
  void update_weights(std::size_t position, double pivot);
  void start_reference();

  // Pivots of the primal method, after costs that were shifted are true again.
  [[nodiscard]] bool iterate_primal();
  [[nodiscard]] std::size_t improving() const;
  [[nodiscard]] bool reaches_own_bound(std::size_t in, std::size_t position) const;
  [[nodiscard]] double distance(std::size_t j, double rate) const;
  [[nodiscard]] std::size_t blocking(double direction) const;

  [[nodiscard]] bool reach_optimum();
  Status solve_by_highs();

  static constexpr auto nowhere = static_cast<std::size_t>(-1);
  static constexpr double primal_tolerance = 1e-9, dual_tolerance = 1e-9;  // as for HiGHS, see highs.cpp
  /// Reduced costs may pass zero by this much in exchange for a larger pivot: far below `dual_tolerance`, so
  /// that the basis stays dual feasible. Likewise values their bounds in the primal method.
  static constexpr double harris_tolerance = 1e-10;
  /// Smaller pivots would amplify rounding errors of the factors beyond the other tolerances.
  static constexpr double pivot_tolerance = 1e-7;
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  const Program& program_;
  SparseMatrix matrix_;
  // By variable: columns, then rows.
  std::vector<double> lower_, upper_, cost_, x_, d_;
  std::vector<double> work_cost_;  // `cost_`, some of it shifted so that the basis is dual feasible
  std::vector<BasisStatus> status_;
  std::vector<Way> way_;
  std::vector<std::size_t> position_;  // in the basis, or none
  std::vector<std::size_t> changed_;   // variables whose bounds are others than `x_` knows
  std::vector<double> reference_;      // of the weights: 1 if it belongs to it, or 0
  std::vector<double> y_;              // by row
  // By position in the basis.
  std::vector<std::size_t> head_;
  std::vector<double> weight_, infeasibility_;  // the latter squared

  std::unique_ptr<BasisFactor> factor_;
  bool factorised_ = false;
  bool duals_exact_ = false;  // computed for this basis, not updated
  bool costs_changed_ = false, shifted_ = false;
  SparseVector row_, column_, change_;
  std::vector<double> alpha_;         // a row of the tableau, by variable
  std::vector<std::size_t> reached_;  // where it may differ from 0: as many as the count says
  std::size_t reached_count_ = 0;
  std::vector<Candidate> candidates_;  // as many as the count says
  std::size_t candidate_count_ = 0;
  std::vector<std::size_t> flips_;
  double norm_ = 0;  // of that row within the reference, squared
  int reference_pivots_ = 0;
  int iterations_ = 0, highs_solves_ = 0;
  int highs_answers_ = 0;  // answers of HiGHS to the current programme; each but the last failed its proof
  double objective_ = 0;
  bool used_fallback_ = false, has_basis_ = false;
  std::string message_;
};

}  // namespace cobre::lp
