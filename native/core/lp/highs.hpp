// HiGHS as a solver.
//
// The same bits in any instance need scaling and cost perturbation off, one thread per instance, and `forget`
// before a basis is set, because HiGHS draws random numbers from a generator that only this re-seeds.
#pragma once

#include <memory>

#include "core/lp/solver.hpp"

class Highs;

namespace cobre::lp {

class HighsSolver final : public Solver {
 public:
  explicit HighsSolver(const Program& program);
  ~HighsSolver() override;

  void load() override;
  void forget() override;
  void start_from(const Basis& basis) override;
  void set_row_bounds(std::span<const int> rows, const double* lower, const double* upper) override;
  void set_column_bounds(std::span<const int> columns, const double* lower, const double* upper) override;
  void set_costs(std::span<const int> columns, const double* costs) override;
  void set_coefficient(int row, int column, double value) override;
  void add_rows(std::span<const double> lower, std::span<const int> starts, std::span<const int> columns,
                std::span<const double> values) override;
  void drop_rows_from(int first) override;

  /// By other means if the usual ones fail: a clean basis, scaling, presolve, an interior point.
  Status solve() override;
  Status solve_otherwise() override;
  [[nodiscard]] bool needed_more() const override { return spoiled_; }
  [[nodiscard]] bool must_load() const override { return spoiled_; }  // scaling and presolve leave traces

  [[nodiscard]] std::span<const double> values() const override;
  [[nodiscard]] std::span<const double> reduced_costs() const override;
  [[nodiscard]] std::span<const double> row_duals() const override;
  [[nodiscard]] double objective() const override;
  [[nodiscard]] Basis basis() const override;
  [[nodiscard]] int iterations() const override { return iterations_; }
  [[nodiscard]] std::string words() const override { return words_; }

 private:
  Status run();
  Status try_others(Status verdict);

  const Program& program_;
  std::unique_ptr<Highs> highs_;
  int iterations_ = 0;  // of the last solve
  int tried_ = 0;       // of the other means
  bool spoiled_ = false;
  std::string words_;
};

/// The version of the library that solves, and of the headers that this was compiled with.
std::string library_version();
std::string header_version();

}  // namespace cobre::lp
