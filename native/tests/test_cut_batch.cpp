// Batches of cuts: the sums that they are, without fused operations.
#include <array>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "core/lp/cut_batch.hpp"
#include "core/lp/cuts.hpp"

using namespace cobre::lp;

namespace {

/// Its square is 1 + 2^-26 + 2^-54, of which a product keeps all but the last term and a fused one keeps all.
const double a = 1 + std::ldexp(1.0, -27);
const double rounded_square = 1 + std::ldexp(1.0, -26);

}  // namespace

TEST(a_cut_is_the_weighted_sum_of_the_tangents_of_its_outcomes) {
  const std::vector<double> weights{0.25, 0.75, 1, 0}, values{8, 16, 5, HUGE_VAL};
  const std::vector<double> slopes{4, -8, 0, 8, 1, 2, HUGE_VAL, 0}, points{2, 3, 10, 20};
  std::array<double, 6> cuts{};
  aggregate({.trials = 2,
             .outcomes = 2,
             .states = 2,
             .weights = weights.data(),
             .values = values.data(),
             .slopes = slopes.data(),
             .points = points.data()},
            cuts.data());
  // Mean value 14 and slopes (1, 4) at (2, 3); then 5 and (1, 2) at (10, 20): weight 0 counts for nothing.
  CHECK((cuts == std::array<double, 6>{0, 1, 4, -45, 1, 2}));
}

TEST(products_in_a_cut_are_rounded_before_they_are_added) {
  const std::vector<double> weights{1, a}, values{-rounded_square, a}, slopes{-rounded_square, a};
  const double point = 0;
  std::array<double, 2> cut{};
  aggregate({.trials = 1,
             .outcomes = 2,
             .states = 1,
             .weights = weights.data(),
             .values = values.data(),
             .slopes = slopes.data(),
             .points = &point},
            cut.data());
  CHECK(cut[0] == 0 && cut[1] == 0);

  const std::array<double, cut_width(1)> padded{-rounded_square, a};
  double height = 1;
  evaluate(padded.data(), 1, &a, 1, 1, &height);
  CHECK(height == 0);

  double excess = 1;
  const double zero = 0;
  std::int32_t where = -1;
  largest_excess(
      {.trials = 1, .cuts_per_trial = 1, .states = 1, .cuts = padded.data(), .values = &zero, .points = &a},
      1, 0, &excess, &where);
  CHECK(excess == 0 && where == 0);
}

TEST(an_excess_is_the_largest_within_reach_in_a_circle) {
  // Three trial states, two cuts each. The second cut of the third state is too high at the first.
  const std::vector<double> cuts{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, -1}, points{1, 2, 3},
      values{9, 1, 9, 3, 9, 2};
  const CutBatch batch{.trials = 3,
                       .cuts_per_trial = 2,
                       .states = 1,
                       .cuts = cuts.data(),
                       .values = values.data(),
                       .points = points.data()};
  std::array<double, 6> excess{};
  std::array<std::int32_t, 6> where{};
  largest_excess(batch, 2, 0, excess.data(), where.data());
  CHECK(excess[5] == 0 && where[5] == 2);  // 5 - 3 is the value there
  CHECK(excess[0] == -9.0 / 11 && where[0] == 0);
  largest_excess(batch, 2, 1, excess.data(), where.data());
  CHECK(excess[5] == 3.0 / 9 && where[5] == 0);  // 4 above 1; 2 + 5 + 1 + 1 went into it
  CHECK(excess[1] == -1.0 / 3 && where[1] == 0);
}

TEST(an_excess_that_is_no_number_is_not_hidden_by_others) {
  const std::vector<double> cuts{0, 0, 0, 0}, points{1, 2}, values{-5, std::nan("")};
  std::array<double, 2> excess{};
  std::array<std::int32_t, 2> where{};
  largest_excess({.trials = 2,
                  .cuts_per_trial = 1,
                  .states = 1,
                  .cuts = cuts.data(),
                  .values = values.data(),
                  .points = points.data()},
                 1, 1, excess.data(), where.data());
  CHECK(std::isnan(excess[0]) && where[0] == 1);
  CHECK(std::isnan(excess[1]) && where[1] == 1);
}
