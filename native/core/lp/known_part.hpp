// What known columns contribute to the rows and cuts of a stage: see `Reduction`.
//
// In a cut, outgoing states that are known are a number that shifts its right-hand side. One part of it
// belongs to the incoming state; the other, to the realisation, is computed once per cut for the node's own
// realisations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/lp/cuts.hpp"
#include "core/lp/reduction.hpp"

namespace cobre::lp {

/// An outgoing state variable that is a known column.
struct KnownState {
  std::size_t known;   // which of the known columns
  std::size_t number;  // of its slope among the numbers of a cut
  double scale;        // from the unit of the column to the user's
};

/// Realisations one after the other in memory, which must outlive their users.
struct Realisations {
  const double* numbers = nullptr;
  std::size_t count = 0, places = 0;
};

/// The known states of a node's cuts, for all its threads.
class KnownStates {
 public:
  KnownStates(const Reduction& columns, const Cuts& cuts, std::vector<KnownState> states,
              const Realisations& openings);

  /// Compute what the openings contribute to cuts that have come since the last call.
  void extend();
  /// What a realisation contributes, by cut; null for nothing. The buffer is used unless it is an opening.
  [[nodiscard]] const double* drawn_heights(const double* realisation, std::vector<double>& buffer) const;
  [[nodiscard]] bool depend_on_draw() const { return cuts.layout().width(StateKind::drawn) > 0; }
  /// Write known states into an `x` that is laid out like a cut.
  void lay_out(const double* values, double* x) const;

  const Reduction& columns;
  const Cuts& cuts;
  const std::vector<KnownState> states;

 private:
  void append_heights(const double* realisation, std::vector<double>& heights) const;

  Realisations openings_;
  std::vector<std::vector<double>> drawn_heights_;  // by opening
};

/// The known columns of one instance at its incoming state and realisation.
class KnownPart {
 public:
  KnownPart(const KnownStates& states, std::vector<double> costs);

  void begin(const double* state);
  /// False if some column is beyond its bounds, so that the programme has no solution.
  [[nodiscard]] bool draw(const double* realisation);
  void set_cost(std::size_t known, double cost) { costs_[known] = cost; }

  [[nodiscard]] double value(std::size_t known) const { return values_[known]; }
  [[nodiscard]] double bounded_value(std::size_t known) const;
  [[nodiscard]] double cost() const;
  /// What known columns contribute to a row, known states to the value of a cut, and to those of all active
  /// cuts.
  [[nodiscard]] double shift(int row) const { return states_.columns.shift(row, values_.data()); }
  [[nodiscard]] double height(std::int32_t cut) const;
  [[nodiscard]] const double* active_heights() const { return heights_.data(); }

  /// Reduced costs and duals of the known columns, see `Reduction::price`. `cuts` are those in the programme,
  /// whose duals come after those of the rows; `unit` is that of a slope in the programme.
  [[nodiscard]] std::span<const double> prices(std::span<const double> duals,
                                               std::span<const std::int32_t> cuts, double unit);

 private:
  /// What the incoming state contributes to the values of some cuts.
  void given_heights(std::span<const std::int32_t> which, double* out) const;

  const KnownStates& states_;
  std::vector<double> costs_, values_, prices_;  // by known column
  std::vector<double> given_, drawn_;            // the parts of values
  std::vector<double> x_, weights_;              // laid out like a cut
  std::vector<double> given_heights_, heights_;  // by active cut: the incoming state's part, and the whole
  const double* drawn_heights_ = nullptr;        // by cut: the realisation's part
  std::vector<double> buffer_;
};

}  // namespace cobre::lp
