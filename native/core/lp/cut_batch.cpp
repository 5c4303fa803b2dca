#include "core/lp/cut_batch.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/float_environment.hpp"
#include "core/lp/cuts.hpp"

namespace cobre::lp {

void aggregate(const TrialOutcomes& given, double* cuts) {
  const DefaultFloatEnvironment same_everywhere;
  const std::size_t states = given.states;
  for (std::size_t t = 0; t < given.trials; ++t) {
    double* const cut = cuts + t * (states + 1);
    std::fill(cut, cut + states + 1, 0.0);
    for (std::size_t o = t * given.outcomes; o < (t + 1) * given.outcomes; ++o) {
      const double weight = given.weights[o];
      if (weight == 0) continue;  // under a risk measure, most of them
      const double* const slope = given.slopes + o * states;
      cut[0] += weight * given.values[o];
      for (std::size_t j = 0; j < states; ++j) cut[1 + j] += weight * slope[j];
    }
    double at_point = 0;
    for (std::size_t j = 0; j < states; ++j) at_point += cut[1 + j] * given.points[t * states + j];
    cut[0] -= at_point;
  }
}

namespace {

/// How far a cut is above a value at a point, relative to the numbers that this is computed from.
double excess_at(const double* cut, const double* point, std::size_t states, double value, double cost_unit) {
  double height = cut[0], size = cost_unit + std::fabs(cut[0]) + std::fabs(value);
  for (std::size_t j = 0; j < states; ++j) {
    height += cut[1 + j] * point[j];
    size += std::fabs(cut[1 + j] * point[j]);
  }
  return (height - value) / size;
}

}  // namespace

void largest_excess(const CutBatch& batch, double cost_unit, std::size_t reach, double* excess,
                    std::int32_t* where) {
  const DefaultFloatEnvironment same_everywhere;
  const std::size_t each = batch.cuts_per_trial, states = batch.states;
  for (std::size_t c = 0; c < batch.trials * each; ++c) {
    double largest = -HUGE_VAL;
    for (std::size_t n = 0; n < std::min(batch.trials, reach + 1); ++n) {
      const std::size_t t = (c / each + n) % batch.trials;
      const double found = excess_at(batch.cuts + c * (states + 1), batch.points + t * states, states,
                                     batch.values[t * each + c % each], cost_unit);
      if (found <= largest) continue;  // false for NaN, which nothing may hide
      largest = found;
      where[c] = static_cast<std::int32_t>(t);
      if (std::isnan(found)) break;
    }
    excess[c] = largest;
  }
}

void evaluate(const double* cuts, std::size_t count, const double* points, std::size_t point_count,
              std::size_t states, double* values) {
  const DefaultFloatEnvironment same_everywhere;
  Cuts pool{CutLayout(std::vector<StateKind>(states, StateKind::decided))};
  pool.add_block(cuts, count);
  pool.extend(std::vector<std::int32_t>(count, 0));
  std::vector<double> x(pool.layout().width(), 0.0);
  x[0] = 1.0;
  for (std::size_t p = 0; p < point_count; ++p) {
    std::copy(points + p * states, points + (p + 1) * states, x.begin() + 1);
    pool.heights(StateKind::decided, pool.active(), x.data(), values + p * count);
  }
}

}  // namespace cobre::lp
