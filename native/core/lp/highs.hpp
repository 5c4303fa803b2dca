// HiGHS as a solver.
//
// Equal bits in every instance need scaling and cost perturbation off, one thread per instance, and `clear`
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
  void clear() override;
  void start_from(const Basis& basis) override;
  void set_row_bounds(std::span<const int> rows, const double* lower, const double* upper) override;
  void set_column_bounds(std::span<const int> columns, const double* lower, const double* upper) override;
  void set_costs(std::span<const int> columns, const double* costs) override;
  void set_coefficient(int row, int column, double value) override;
  void add_rows(std::span<const double> lower, std::span<const int> starts, std::span<const int> columns,
                std::span<const double> values) override;
  void drop_rows_from(int first) override;

  /// Falls back, if the default options fail, to a clean basis, then scaling, presolve, an interior point.
  Status solve() override;
  Status solve_by_fallback() override;
  [[nodiscard]] bool used_fallback() const override { return reload_needed_; }
  [[nodiscard]] bool must_reload() const override { return reload_needed_; }

  [[nodiscard]] std::span<const double> values() const override;
  [[nodiscard]] std::span<const double> reduced_costs() const override;
  [[nodiscard]] std::span<const double> row_duals() const override;
  [[nodiscard]] double objective() const override;
  [[nodiscard]] Basis basis() const override;
  [[nodiscard]] int iterations() const override { return iterations_; }
  [[nodiscard]] std::string message() const override { return message_; }

 private:
  Status run();
  Status try_fallbacks(Status verdict);

  const Program& program_;
  std::unique_ptr<Highs> highs_;
  int iterations_ = 0;  // of the last solve
  int fallbacks_tried_ = 0;
  bool reload_needed_ = false;  // scaling and presolve leave traces in the programme
  std::string message_;
};

/// The version of the library that solves, and of the headers that this was compiled with.
std::string library_version();
std::string header_version();

}  // namespace cobre::lp
