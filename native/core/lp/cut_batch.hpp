// Arithmetic on batches of cuts: making them, comparing them with known values, evaluating them.
//
// Every sum runs in one written order, so the bits are the same whoever computes and on any processor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cobre::lp {

/// Trial states of one node, and what may follow each of them. All arrays are dense and by trial state.
struct TrialOutcomes {
  std::size_t trials, outcomes, states;
  const double* weights;  // trials x outcomes
  const double* values;   // trials x outcomes
  const double* slopes;   // trials x outcomes x states
  const double* points;   // trials x states: the trial states themselves
};

/// One cut per trial state, an intercept and slopes: the weighted sum of the tangents of its outcomes.
void aggregate(const TrialOutcomes& given, double* cuts);

/// Cuts made at trial states, and the values that they bound there.
struct CutBatch {
  std::size_t trials, cuts_per_trial, states;
  const double* cuts;    // trials x cuts_per_trial x (1 + states)
  const double* values;  // trials x cuts_per_trial
  const double* points;  // trials x states
};

/// How far each cut is above the values at trial states of its batch, relative to the numbers that went into
/// the comparison: the largest excess, and the trial state at which it occurs.
///
/// A cut is compared at its own trial state and at the next `reach` ones, in a circle: all pairs would be too
/// many in a large batch. `cost_unit` is a cost below which differences are rounding.
void largest_excess(const CutBatch& batch, double cost_unit, std::size_t reach, double* excess,
                    std::int32_t* where);

/// The values of cuts, each `cut_width(states)` numbers, at points: points x cuts.
void evaluate(const double* cuts, std::size_t count, const double* points, std::size_t point_count,
              std::size_t states, double* values);

}  // namespace cobre::lp
