#include "core/lp/stage.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

#include "core/lp/dual_simplex.hpp"
#include "core/lp/highs.hpp"

namespace cobre::lp {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// A cut that is above the value that follows by less than this, relative to that value, is not violated: as
/// exact as the solvers are, so that rounding does not bring in cuts round after round.
constexpr double cut_tolerance = 1e-9;
/// Violated cuts that enter at once. More make the programme larger, fewer take more rounds.
constexpr std::size_t cuts_at_once = 10;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::size_t at(int index) { return static_cast<std::size_t>(index); }

bool is_row_target(Target target) {
  return target == Target::rhs || target == Target::row_lower || target == Target::row_upper;
}

bool is_column_target(Target target) {
  return target == Target::fix || target == Target::column_lower || target == Target::column_upper;
}

std::unique_ptr<Solver> make_solver(const Program& program, const StageSpec& spec) {
  if (spec.make_solver) return spec.make_solver(program);
  if (!spec.dual_simplex) return std::make_unique<HighsSolver>(program);
  return std::make_unique<DualSimplexSolver>(program);
}

/// Blocks of about ten openings: smaller ones would occupy more cores, but each begins further from its first
/// solution than from one opening to the next.
constexpr std::size_t block_size = 10;

/// A bound in scaled units; infinity stays what it is.
double scaled(double value, double factor) { return std::isinf(value) ? value : value * factor; }

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

Instance::Instance(Stage& stage)
    : stage_(stage),
      solver_(stage.program_, make_solver(stage.program_, stage.spec_)),
      known_(stage.known_states_, stage.known_costs_),
      held_values_(stage.held_.size()),
      lower_(stage.program_.column_lower),
      upper_(stage.program_.column_upper),
      cost_(stage.program_.cost),
      row_lower_(stage.program_.row_lower),
      row_upper_(stage.program_.row_upper),
      x_(stage.cuts.layout().width(), 0.0),
      values_(at(stage.spec_.families)) {
  x_[0] = 1.0;  // of the intercept
}

void Instance::begin(const double* state, const WarmStart& start) {
  if (solver_->must_reload() || stage_.changes_matrix_) {
    // Loading is slower than dropping cuts, but an entry that was 0 would come back at another place in its
    // column, and sums over the column would have other bits.
    solver_.load();
  } else {
    solver_.drop_rows_from(stage_.program_.rows);
  }
  known_.begin(state);
  for (std::size_t i = 0; i < held_values_.size(); ++i)
    held_values_[i] = state[stage_.held_[i].state] / stage_.held_[i].scale;
  set_incoming();
  add_anew(start.cuts);
  solver_->clear();
  solver_->start_from(start.basis);
}

/// Load the programme again, with its incoming state and cuts, after a fallback has left traces in it.
void Instance::restore() {
  solver_.load();
  set_incoming();
  add_anew(std::vector(working_));
}

void Instance::set_incoming() {
  solver_.set_column_bounds(stage_.held_columns_, held_values_.data(), held_values_.data());
  set_row_bounds(stage_.reduction_.given_rows());
}

void Instance::add_anew(std::span<const std::int32_t> cuts) {
  working_.clear();
  carries_.assign(stage_.cuts.count(), 0);
  carries_mixture_.assign(stage_.mixtures.size(), 0);
  add_cuts(cuts);
}

void Instance::apply(const double* noise) {
  for (const Stage::Change& change : stage_.changes_) {
    const double value = scaled(noise[change.place], change.factor);
    switch (change.target) {
      case Target::rhs:
        row_lower_[at(change.row)] = row_upper_[at(change.row)] = value;
        break;
      case Target::row_lower:
        row_lower_[at(change.row)] = value;
        break;
      case Target::row_upper:
        row_upper_[at(change.row)] = value;
        break;
      case Target::fix:
        lower_[at(change.column)] = upper_[at(change.column)] = value;
        break;
      case Target::column_lower:
        lower_[at(change.column)] = value;
        break;
      case Target::column_upper:
        upper_[at(change.column)] = value;
        break;
      case Target::cost:
        if (change.column < 0) known_.set_cost(at(-1 - change.column), value);
        if (change.column >= 0) cost_[at(change.column)] = value;
        break;
      case Target::coefficient:
        solver_.set_coefficient(change.row, change.column, value);
        break;
    }
  }
  const auto gather = [](const std::vector<int>& which, const std::vector<double>& from,
                         std::vector<double>& into) {
    into.clear();
    for (const int i : which) into.push_back(from[at(i)]);
  };
  set_row_bounds(stage_.noisy_rows_);
  if (stage_.known_states_.depend_on_draw()) set_cut_bounds();
  gather(stage_.noisy_columns_, lower_, buffer_lower_);
  gather(stage_.noisy_columns_, upper_, buffer_upper_);
  solver_.set_column_bounds(stage_.noisy_columns_, buffer_lower_.data(), buffer_upper_.data());
  gather(stage_.noisy_costs_, cost_, buffer_lower_);
  solver_.set_costs(stage_.noisy_costs_, buffer_lower_.data());
}

/// Set the bounds of some rows, less what known columns contribute to them.
void Instance::set_row_bounds(const std::vector<int>& rows) {
  buffer_lower_.clear();
  buffer_upper_.clear();
  for (const int row : rows) {
    const double shift = known_.shift(row);
    buffer_lower_.push_back(row_lower_[at(row)] - shift);
    buffer_upper_.push_back(row_upper_[at(row)] - shift);
  }
  solver_.set_row_bounds(rows, buffer_lower_.data(), buffer_upper_.data());
}

/// Set the bounds of the cuts in the programme, which known states shift.
void Instance::set_cut_bounds() {
  buffer_lower_.clear();
  for (const std::int32_t cut : working_) buffer_lower_.push_back(cut_bound(cut));
  buffer_upper_.assign(working_.size(), infinity);
  std::vector<int> rows(working_.size());
  std::iota(rows.begin(), rows.end(), stage_.program_.rows);
  solver_.set_row_bounds(rows, buffer_lower_.data(), buffer_upper_.data());
}

double Instance::cut_bound(std::int32_t cut) const {
  if (cut < 0) return 0.0;  // a mixture
  return (stage_.cuts.numbers(StateKind::decided, cut)[0] + known_.height(cut)) * stage_.spec_.cost_scale;
}

void Instance::add_cuts(std::span<const std::int32_t> cuts) {
  if (cuts.empty()) return;
  const StageSpec& spec = stage_.spec_;
  const int first_value = stage_.program_.columns - spec.families;
  std::vector<double> lower, numbers;
  std::vector<int> starts, columns;
  for (const std::int32_t cut : cuts) {
    starts.push_back(static_cast<int>(numbers.size()));
    const auto entry = [&](int column, double value) {
      if (value == 0) return;
      columns.push_back(column);
      numbers.push_back(value);
    };
    lower.push_back(cut_bound(cut));
    if (cut < 0) {
      const std::vector<double>& weights = stage_.mixtures[at(-1 - cut)];
      entry(first_value, 1.0);
      for (std::size_t f = 0; f < weights.size(); ++f)
        entry(first_value + 1 + static_cast<int>(f), -weights[f]);
      carries_mixture_[at(-1 - cut)] = 1;
    } else {
      const double* const given = stage_.cuts.numbers(StateKind::decided, cut);  // it begins at number 0
      for (const Stage::State& state : stage_.decided_)
        entry(state.column,
              -given[stage_.cuts.layout().slopes[at(state.state)]] * state.scale * spec.cost_scale);
      entry(first_value + stage_.cuts.family(cut), 1.0);
      carries_[at(cut)] = 1;
    }
    working_.push_back(cut);
  }
  solver_.add_rows(lower, starts, columns, numbers);
}

bool Instance::add_violated_cuts() {
  if (stage_.cuts.count() == 0 && stage_.mixtures.empty()) return false;
  const StageSpec& spec = stage_.spec_;
  const std::span<const double> solution = solver_->values();
  const std::size_t first_value = at(stage_.program_.columns - spec.families);
  for (const Stage::State& state : stage_.decided_)
    x_[stage_.cuts.layout().slopes[at(state.state)]] = solution[at(state.column)] * state.scale;
  for (std::size_t f = 0; f < values_.size(); ++f) values_[f] = solution[first_value + f] / spec.cost_scale;

  struct Candidate {
    double violation;
    std::int32_t cut;
  };
  std::vector<Candidate> candidates;
  const auto consider = [&](double violation, double value, std::int32_t cut) {
    if (violation > cut_tolerance * (1.0 / spec.cost_scale + std::fabs(value))) {
      candidates.push_back({violation, cut});
    }
  };
  const std::vector<std::int32_t>& active = stage_.cuts.active();
  violations_.resize(active.size());
  stage_.cuts.violations(x_.data(), known_.active_heights(), values_.data(), violations_.data());
  for (std::size_t i = 0; i < active.size(); ++i) {
    if (violations_[i] <= 0) continue;  // most are satisfied, and need no look at what the programme carries
    const std::int32_t cut = active[i];
    if (carries_[at(cut)] == 0) consider(violations_[i], values_[at(stage_.cuts.family(cut))], cut);
  }
  for (std::size_t m = 0; m < stage_.mixtures.size(); ++m) {
    if (carries_mixture_[m] != 0) continue;
    double mixed = 0;
    for (std::size_t f = 0; f < stage_.mixtures[m].size(); ++f)
      mixed += stage_.mixtures[m][f] * values_[1 + f];
    consider(mixed - values_[0], values_[0], -1 - static_cast<std::int32_t>(m));
  }
  if (candidates.empty()) return false;
  const std::size_t count = std::min(candidates.size(), cuts_at_once);
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(count),
                    candidates.end(), [](const Candidate& a, const Candidate& b) {
                      return a.violation != b.violation ? a.violation > b.violation : a.cut < b.cut;
                    });
  std::vector<std::int32_t> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(candidates[i].cut);
  add_cuts(chosen);
  return true;
}

Status Instance::solve(const double* noise, std::int32_t iteration, Purpose purpose) {
  const bool second_opinion = purpose == Purpose::second_opinion;
  prices_ = {};
  if (!known_.draw(noise)) return Status::infeasible;
  if (solver_->must_reload()) restore();
  apply(noise);
  ++statistics.solves;
  bool fallback = second_opinion;
  while (true) {
    const std::int64_t begun = now_ns();
    const Status status = fallback ? solver_->solve_by_fallback() : solver_->solve();
    statistics.solver_ns += now_ns() - begun;
    ++statistics.rounds;
    statistics.iterations += solver_->iterations();
    if (solver_->used_fallback() || fallback) ++statistics.retries;
    if (status != Status::optimal) return status;
    const bool spoiled = solver_->must_reload();
    if (add_violated_cuts()) {
      fallback = second_opinion;
      if (spoiled) {
        restore();
        apply(noise);
      }
      if (second_opinion) solver_->clear();
    } else if (solver_.duals_prove() && (purpose != Purpose::decision || solver_.values_prove())) {
      break;
    } else {
      fallback = true;  // a cut that rests on this could be too high, which no later cut would correct
    }
  }
  if (iteration >= 0) mark_tight(iteration, purpose);
  return Status::optimal;
}

/// Record the iteration for the cuts that decided the last solve, and count it; cut selection keeps these. Of
/// solves forward only the iteration: each rank solves those that are equal once, so their number depends on
/// the ranks.
void Instance::mark_tight(std::int32_t iteration, Purpose purpose) const {
  const std::span<const double> duals = solver_->row_duals();
  for (std::size_t i = 0; i < working_.size(); ++i) {
    const double dual = working_[i] < 0 ? 0.0 : duals[at(stage_.program_.rows) + i];
    if (std::fabs(dual) <= stage_.activity_tolerance) continue;
    // Threads may mark the same cut, all with the same iteration.
    std::atomic_ref(stage_.last_tight[at(working_[i])]).store(iteration, std::memory_order_relaxed);
    if (purpose == Purpose::cut)
      std::atomic_ref(stage_.uses[at(working_[i])]).fetch_add(1, std::memory_order_relaxed);
  }
}

double Instance::objective() const {
  return (solver_->objective() + known_.cost()) / stage_.spec_.cost_scale + stage_.spec_.offset;
}

double Instance::stage_cost() const {
  const std::span<const double> solution = solver_->values();
  const std::size_t columns = at(stage_.program_.columns - stage_.spec_.families);
  double cost = known_.cost();
  for (std::size_t j = 0; j < columns; ++j) cost += cost_[j] * solution[j];
  return cost / stage_.spec_.cost_scale + stage_.spec_.offset;
}

std::span<const double> Instance::prices() {
  if (prices_.empty()) prices_ = known_.prices(solver_->row_duals(), working_, stage_.spec_.cost_scale);
  return prices_;
}

void Instance::slopes(double* out) {
  const StageSpec& spec = stage_.spec_;
  std::fill(out, out + spec.states, 0.0);
  for (std::size_t i = 0; i < spec.in_columns.size(); ++i) {
    const int column = spec.in_columns[i], place = stage_.reduction_.column(column);
    const double reduced = place < 0 ? prices()[at(-1 - place)] : solver_->reduced_costs()[at(place)];
    out[spec.in_states[i]] = reduced / (spec.cost_scale * spec.column_scale[at(column)]);
  }
}

void Instance::outgoing(double* out) const {
  const StageSpec& spec = stage_.spec_;
  std::fill(out, out + spec.states, 0.0);
  const std::span<const double> solution = solver_->values();
  for (std::size_t i = 0; i < spec.out_columns.size(); ++i) {
    const int column = spec.out_columns[i], place = stage_.reduction_.column(column);
    // Solvers keep bounds only up to a tolerance, and beyond them the next stage may be infeasible. Adding
    // 0.0 turns -0 into 0, so that equal states have equal bits.
    const double value = place < 0 ? known_.bounded_value(at(-1 - place))
                                   : std::clamp(solution[at(place)], lower_[at(place)], upper_[at(place)]);
    out[spec.out_states[i]] = value * spec.column_scale[at(column)] + 0.0;
  }
}

double Instance::column_value(int column) const {
  const int place = stage_.reduction_.column(column);
  const double value = place < 0 ? known_.value(at(-1 - place)) : solver_->values()[at(place)];
  return value * stage_.spec_.column_scale[at(column)] + 0.0;
}

double Instance::row_dual(int row) {
  const int place = stage_.reduction_.row(row);
  const double dual = place < 0 ? prices()[at(-1 - place)] : solver_->row_duals()[at(place)];
  return dual * stage_.spec_.row_scale[at(row)] / stage_.spec_.cost_scale + 0.0;
}

WarmStart Instance::start() const {
  WarmStart start;
  Basis found = solver_->basis();
  if (solver_->must_reload() || found.columns.empty()) return start;
  start.basis.columns = std::move(found.columns);
  const auto rows = at(stage_.program_.rows);
  start.basis.rows.assign(found.rows.begin(), found.rows.begin() + static_cast<std::ptrdiff_t>(rows));
  // A cut whose own variable is basic is slack: the rest is a basis without its row, and a smaller one.
  for (std::size_t i = 0; i < working_.size(); ++i) {
    if (found.rows[rows + i] == static_cast<std::uint8_t>(BasisStatus::basic)) continue;
    start.cuts.push_back(working_[i]);
    start.basis.rows.push_back(found.rows[rows + i]);
  }
  return start;
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
