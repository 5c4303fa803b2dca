#include "core/lp/stage.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

#include "core/clock.hpp"

namespace cobre::lp {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
std::size_t at(int index) { return static_cast<std::size_t>(index); }

bool is_row_target(Target target) {
  return target == Target::rhs || target == Target::row_lower || target == Target::row_upper;
}

bool is_column_target(Target target) {
  return target == Target::fix || target == Target::column_lower || target == Target::column_upper;
}

/// Blocks of about ten openings: smaller ones would occupy more cores, but each begins further from its first
/// solution than from one opening to the next.
constexpr std::size_t block_size = 10;

Reduction reduction_of(const Program& program, const StageSpec& spec) {
  std::vector<int> state_of(at(program.columns), -1);
  for (std::size_t i = 0; i < spec.in_columns.size(); ++i)
    state_of[at(spec.in_columns[i])] = spec.in_states[i];
  return {program, {spec.places, state_of, spec.column_scale, spec.row_scale, spec.reduce}};
}

CutLayout layout_of(const Reduction& reduction, const StageSpec& spec) {
  std::vector<StateKind> kinds(at(spec.states), StateKind::absent);
  for (std::size_t i = 0; i < spec.out_columns.size(); ++i) {
    const int place = reduction.column(spec.out_columns[i]);
    kinds[at(spec.out_states[i])] = place >= 0                                ? StateKind::decided
                                    : reduction.known()[at(-1 - place)].drawn ? StateKind::drawn
                                                                              : StateKind::given;
  }
  return CutLayout(kinds);
}

std::vector<KnownState> known_states_of(const Reduction& reduction, const StageSpec& spec,
                                        const CutLayout& layout) {
  std::vector<KnownState> states;
  for (std::size_t i = 0; i < spec.out_columns.size(); ++i) {
    const int column = spec.out_columns[i], place = reduction.column(column);
    if (place >= 0) continue;
    states.push_back({at(-1 - place), layout.slopes[at(spec.out_states[i])], spec.column_scale[at(column)]});
  }
  return states;
}

std::vector<double> known_costs_of(const Reduction& reduction, const Program& program) {
  std::vector<double> costs;
  for (const Known& known : reduction.known()) costs.push_back(program.cost[at(known.column)]);
  return costs;
}

}  // namespace

Stage::Stage(const Program& program, StageSpec spec, int threads)
    : spec_(std::move(spec)),
      reduction_(reduction_of(program, spec_)),
      cuts(layout_of(reduction_, spec_)),
      program_(reduction_.program()),
      known_costs_(known_costs_of(reduction_, program)),
      known_states_(reduction_, cuts, known_states_of(reduction_, spec_, cuts.layout()), spec_.openings),
      instances_(at(threads)),
      positions_(spec_.tour.size()),
      blocks_(static_cast<int>(std::max<std::size_t>(1, (spec_.tour.size() + block_size / 2) / block_size))),
      for_highs_(!spec_.dual_simplex) {
  for (std::size_t i = 0; i < spec_.tour.size(); ++i) positions_.at(at(spec_.tour[i])) = i;
  for (std::size_t i = 0; i < spec_.in_columns.size(); ++i) {
    const int whole = spec_.in_columns[i], column = reduction_.column(whole);
    if (column >= 0) held_.push_back({spec_.in_states[i], column, spec_.column_scale[at(whole)]});
  }
  for (const State& state : held_) held_columns_.push_back(state.column);
  for (std::size_t i = 0; i < spec_.out_columns.size(); ++i) {
    const int whole = spec_.out_columns[i], column = reduction_.column(whole);
    if (column >= 0) decided_.push_back({spec_.out_states[i], column, spec_.column_scale[at(whole)]});
  }
  note_changes();
  append_values();
}

void Stage::note_changes() {
  std::set<int> rows(reduction_.drawn_rows().begin(), reduction_.drawn_rows().end()), columns, costs;
  for (std::size_t w = 0; w < spec_.places.size(); ++w) {
    const Place& place = spec_.places[w];
    Change change{w, place.target, place.row, place.column, 1.0};
    if (place.row >= 0) {
      change.row = reduction_.row(place.row);
      change.factor *= spec_.row_scale[at(place.row)];
    }
    if (place.column >= 0) {
      const double scale = spec_.column_scale[at(place.column)];
      change.column = reduction_.column(place.column);
      change.factor *= is_column_target(place.target) ? 1.0 / scale : scale;
    }
    if (place.target == Target::cost) change.factor *= spec_.cost_scale;
    const bool is_row = is_row_target(place.target);
    // What defines a known column is the reduction's. Costs count, whosever they are.
    if (is_row ? change.row < 0 : change.column < 0 && place.target != Target::cost) continue;
    changes_.push_back(change);
    if (is_row) rows.insert(change.row);
    if (is_column_target(place.target)) columns.insert(change.column);
    if (place.target == Target::cost && change.column >= 0) costs.insert(change.column);
    if (place.target == Target::coefficient) changes_matrix_ = true;
  }
  noisy_rows_.assign(rows.begin(), rows.end());
  noisy_columns_.assign(columns.begin(), columns.end());
  noisy_costs_.assign(costs.begin(), costs.end());
}

void Stage::append_values() {
  // A value that follows is in units of the scaled cost, so its column's scale is 1 / cost_scale.
  for (int family = 0; family < spec_.families; ++family) {
    program_.cost.push_back(family == 0 ? spec_.discount : 0.0);
    // The first value has a bound and a cost. The other families count only through mixtures, which bound it.
    program_.column_lower.push_back(family == 0 ? scaled(spec_.value_bound, spec_.cost_scale) : -infinity);
    program_.column_upper.push_back(infinity);
    program_.starts.push_back(program_.starts.back());
  }
  program_.columns += spec_.families;
}

void Stage::set_start(std::span<const std::int32_t> numbers) {
  start_ = decoded(numbers, {at(program_.columns), at(program_.rows), cuts.count(), mixtures.size()});
}

StartSlots Stage::start_slots() const {
  // Cuts that are not slack do not depend on each other, and their entries are in these columns alone.
  return {at(program_.columns), at(program_.rows), decided_.size() + at(spec_.families)};
}

void Stage::extend_cuts(std::span<const std::int32_t> families) {
  for (const std::int32_t family : families) {
    if (family < 0 || family >= spec_.families)
      throw std::invalid_argument("a cut is of a family that exists");
  }
  cuts.extend(families);
  known_states_.extend();
  last_tight.resize(cuts.count(), 0);
  uses.resize(cuts.count(), 0);
}

Instance& Stage::instance(int thread) {
  std::unique_ptr<Instance>& mine = instances_[at(thread)];
  if (!mine) mine = std::make_unique<Instance>(*this);
  return *mine;
}

std::optional<Failure> Stage::step(int thread, int task, const StepBatch& step) {
  const std::int64_t begun = now_ns();
  Instance& instance = this->instance(thread);
  const std::size_t u = at(task);
  const auto states = at(spec_.states);
  const int row = step.rows[u];
  instance.begin(step.states + u * states, start_);
  const Status status =
      instance.solve(step.table + at(row) * spec_.places.size(), step.iteration, Purpose::decision);
  if (status != Status::optimal) return Failure{task, row, status, instance.message()};
  step.costs[u] = instance.stage_cost();
  step.objectives[u] = instance.objective();
  instance.outgoing(step.outgoing + u * states);
  for (std::size_t i = 0; i < step.columns.size(); ++i) {
    step.column_values[u * step.columns.size() + i] = instance.column_value(step.columns[i]);
  }
  for (std::size_t i = 0; i < step.duals.size(); ++i) {
    step.row_duals[u * step.duals.size() + i] = instance.row_dual(step.duals[i]);
  }
  if (step.saves[u] >= 0)
    start_slots().write(instance.start(), step.ends + at(step.saves[u]) * step.end_stride);
  instance.statistics.solving_ns += now_ns() - begun;
  return std::nullopt;
}

std::optional<Failure> Stage::trial(int thread, int task, int block, const TrialBatch& trial) {
  const std::int64_t begun = now_ns();
  Instance& instance = this->instance(thread);
  const std::size_t u = at(task);
  const auto states = at(spec_.states);
  const auto border = [&](int b) { return spec_.tour.size() * at(b) / at(blocks_); };
  const std::size_t low = border(block), size = border(block + 1) - low;
  std::size_t first = trial.firsts[u] < 0 ? low : positions_[at(trial.firsts[u])];
  if (first < low || first >= low + size) first = low;  // it is in another block
  instance.begin(
      trial.states + u * states,
      trial.starts[u] < 0 ? start_ : start_slots().read(trial.ends + at(trial.starts[u]) * trial.end_stride));
  for (std::size_t i = 0; i < size; ++i) {
    const int row = spec_.tour[low + (first - low + i) % size];
    if (trial.second_opinion) instance.begin(trial.states + u * states, WarmStart{});
    const Status status =
        instance.solve(spec_.openings.numbers + at(row) * spec_.places.size(), trial.iteration,
                       trial.second_opinion ? Purpose::second_opinion : Purpose::cut);
    if (status != Status::optimal) return Failure{task, row, status, instance.message()};
    const std::size_t place = u * trial.stride + at(row);
    trial.values[place] = instance.objective();
    instance.slopes(trial.slopes + place * states);
  }
  instance.statistics.solving_ns += now_ns() - begun;
  return std::nullopt;
}

Statistics& Statistics::operator+=(const Statistics& other) {
  solves += other.solves;
  rounds += other.rounds;
  iterations += other.iterations;
  retries += other.retries;
  solver_ns += other.solver_ns;
  solving_ns += other.solving_ns;
  return *this;
}

Statistics Stage::take_statistics() {
  Statistics sum;
  for (const std::unique_ptr<Instance>& instance : instances_) {
    if (!instance) continue;
    sum += std::exchange(instance->statistics, {});
  }
  return sum;
}

}  // namespace cobre::lp
