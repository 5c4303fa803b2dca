// What of a programme is known before it is solved, and the smaller programme that is left for a solver.
//
// An incoming state is known, so is a column that data or a realisation fix, and so is a column that is alone
// with known ones in an equation: the inflow of an autoregressive model, for instance, and the past inflows
// that it hands on. Such columns and the equations that define them leave. What they contribute to other rows
// shifts the bounds of these; their reduced costs, and the duals of the equations, follow from the duals of
// what is left.
//
// A known value is the sum of two parts: one of the incoming state and of data, one of the realisation.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/lp/solver.hpp"

namespace cobre::lp {

/// The numbers that a realisation can change. The same order as `cobre.lp._noise.TARGETS`.
enum class Target : std::uint8_t {
  rhs,
  row_lower,
  row_upper,
  fix,
  column_lower,
  column_upper,
  cost,
  coefficient
};

struct Place {
  Target target;
  int row;
  int column;
};

/// A column whose value is known: given, or defined by an equation.
struct Known {
  int column;
  int state = -1;          // the incoming state variable that it is
  int place = -1;          // of the realisation: its value, or the right-hand side of its equation
  double factor = 1;       // from the unit of that state or place to the programme's
  double constant = 0;     // its value, or the right-hand side, where that is data
  int row = -1;            // its equation
  double coefficient = 1;  // in that
  double lower = -HUGE_VAL, upper = HUGE_VAL;  // what a defined one must lie between
  bool drawn = false;                          // whether it depends on the realisation
};

struct ReductionSpec {
  std::span<const Place> places;
  std::span<const int> state_of;  // by column: the incoming state variable that it is, or -1
  std::span<const double> column_scale, row_scale;
  bool enabled = true;  // else nothing is known
};

/// Which columns of a programme are known, and the programme without them. All numbers are scaled, except
/// that those of states and realisations are the user's.
class Reduction {
 public:
  Reduction(const Program& whole, const ReductionSpec& spec);

  /// What is left.
  [[nodiscard]] const Program& program() const noexcept { return program_; }
  /// The number of a column or row in what is left; of one that has left `-1 - k`, where k is the number of
  /// the known column that it is, or that it defines.
  [[nodiscard]] int column(int whole) const { return columns_[static_cast<std::size_t>(whole)]; }
  [[nodiscard]] int row(int whole) const { return rows_[static_cast<std::size_t>(whole)]; }
  /// The known columns, each after those that define it.
  [[nodiscard]] const std::vector<Known>& known() const noexcept { return known_; }

  /// The part of each known value that does not depend on the realisation.
  void given_values(const double* state, double* out) const;
  /// The part that does; written where a value depends on the realisation.
  void drawn_values(const double* realisation, double* out) const;
  /// Whether known values keep the bounds of their columns.
  [[nodiscard]] bool within_bounds(const double* values) const;

  /// The rows of what is left whose bounds known values shift: those where the realisation changes the
  /// shift, and the others.
  [[nodiscard]] const std::vector<int>& drawn_rows() const noexcept { return drawn_rows_; }
  [[nodiscard]] const std::vector<int>& given_rows() const noexcept { return given_rows_; }
  /// What known values contribute to a row of what is left.
  [[nodiscard]] double shift(int row, const double* values) const;

  /// Turn the prices of known columns, costs less what they are worth in cuts, into the reduced cost of each
  /// that is given and the dual of the equation of each that is defined. `duals` are those of what is left.
  void price(const double* duals, double* prices) const;

 private:
  struct Term {
    std::size_t known;
    double value;
  };
  /// Sums of multiples of known values.
  struct Sums {
    std::vector<std::size_t> starts{0};
    std::vector<Term> terms;
    void add(std::span<const Term> sum);
    [[nodiscard]] std::span<const Term> operator[](std::size_t i) const {
      return {terms.data() + starts[i], starts[i + 1] - starts[i]};
    }
  };
  class Search;

  void number_the_rest(const Program& whole);
  [[nodiscard]] bool depends_on_draw(std::span<const Term> terms) const;
  /// The value of a known column, of whose equation this is the right-hand side.
  [[nodiscard]] double solved(std::size_t k, double right_hand_side, const double* values) const;

  Program program_;
  std::vector<int> columns_, rows_;
  std::vector<Known> known_;
  std::vector<std::size_t> drawn_;  // which of the known depend on the realisation
  Sums definitions_;                // by known column: the other columns of its equation
  Sums shifts_;                     // by row of what is left
  std::vector<int> drawn_rows_, given_rows_;
};

}  // namespace cobre::lp
