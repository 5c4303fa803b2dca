#include "core/lp/stage.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <utility>

#include "core/lp/dense.hpp"
#include "core/lp/highs.hpp"

namespace cobre::lp {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// How far a cut may be above the value that follows, relative to that value.
constexpr double cut_tolerance = 1e-9;
/// How many violated cuts enter at once. More make the programme larger, fewer take more rounds.
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

/// Whose own inverse of the basis is small enough to be kept whole, and where a dual simplex always finds a
/// dual feasible basis to begin with, because no cost and no coefficient changes.
std::unique_ptr<Solver> make_solver(const Program& program, const Shape& shape) {
  if (shape.make_solver) return shape.make_solver(program);
  const bool steady = std::none_of(shape.places.begin(), shape.places.end(), [](const Place& place) {
    return place.target == Target::cost || place.target == Target::coefficient;
  });
  if (shape.dense && steady && program.rows <= DenseSolver::most_rows)
    return std::make_unique<DenseSolver>(program);
  return std::make_unique<HighsSolver>(program);
}

/// Scaled like a row's or column's other bounds; infinity stays what it is.
double scaled(double value, double factor) { return std::isinf(value) ? value : value * factor; }

}  // namespace

Stage::Stage(Program program, Shape shape, int threads)
    : cuts(shape.states),
      program_(std::move(program)),
      shape_(std::move(shape)),
      instances_(at(threads)),
      failures_(at(threads)) {
  std::set<int> rows, columns, costs;
  for (const Place& place : shape_.places) {
    if (is_row_target(place.target)) rows.insert(place.row);
    if (is_column_target(place.target)) columns.insert(place.column);
    if (place.target == Target::cost) costs.insert(place.column);
    if (place.target == Target::coefficient) changes_matrix_ = true;
  }
  noisy_rows_.assign(rows.begin(), rows.end());
  noisy_columns_.assign(columns.begin(), columns.end());
  noisy_costs_.assign(costs.begin(), costs.end());
  // A value that follows is in units of the scaled cost, so its column's scale is 1 / cost_scale.
  for (int family = 0; family < shape_.families; ++family) {
    program_.cost.push_back(family == 0 ? shape_.discount : 0.0);
    // What a mixture of families is worth has a bound, and costs; each of them has and does neither.
    program_.column_lower.push_back(family == 0 ? scaled(shape_.value_bound, shape_.cost_scale) : -infinity);
    program_.column_upper.push_back(infinity);
    program_.starts.push_back(program_.starts.back());
    shape_.column_scale.push_back(1.0 / shape_.cost_scale);
  }
  program_.columns += shape_.families;
}

void Stage::extend_cuts(std::span<const std::int32_t> families) {
  cuts.extend(families);
  tight_in.resize(cuts.count(), 0);
}

Instance& Stage::instance(int worker) {
  std::unique_ptr<Instance>& mine = instances_[at(worker)];
  if (!mine) mine = std::make_unique<Instance>(*this);
  return *mine;
}

Instance::Instance(Stage& stage)
    : stage_(stage),
      solver_(stage.program_, make_solver(stage.program_, stage.shape_)),
      in_values_(stage.shape_.in_columns.size()),
      lower_(stage.program_.column_lower),
      upper_(stage.program_.column_upper),
      cost_(stage.program_.cost),
      row_lower_(stage.program_.row_lower),
      row_upper_(stage.program_.row_upper),
      outgoing_(at(stage.shape_.states)),
      values_(at(stage.shape_.families)) {}

void Instance::begin(const double* state, const Start* start) {
  if (solver_->must_load() || stage_.changes_matrix_) {
    solver_.load();  // an entry that was 0 comes back at another place in its column: other bits
  } else {
    solver_.drop_rows_from(stage_.program_.rows);
  }
  working_.clear();
  carries_.assign(stage_.cuts.count(), 0);
  carries_mixture_.assign(stage_.mixtures.size(), 0);
  const Shape& shape = stage_.shape_;
  for (std::size_t i = 0; i < in_values_.size(); ++i) {
    in_values_[i] = state[shape.in_states[i]] / shape.column_scale[at(shape.in_columns[i])];
  }
  solver_.set_column_bounds(shape.in_columns, in_values_.data(), in_values_.data());
  if (start != nullptr) add(start->cuts);
  solver_->forget();
  if (start != nullptr) solver_->start_from(start->basis);
}

/// The programme as it was before the solver took to other means.
void Instance::restore() {
  const std::vector<std::int32_t> working = std::move(working_);
  working_.clear();
  std::fill(carries_.begin(), carries_.end(), 0);
  std::fill(carries_mixture_.begin(), carries_mixture_.end(), 0);
  solver_.load();
  solver_.set_column_bounds(stage_.shape_.in_columns, in_values_.data(), in_values_.data());
  add(working);
}

void Instance::apply(const double* noise) {
  const Shape& shape = stage_.shape_;
  for (std::size_t w = 0; w < shape.places.size(); ++w) {
    const auto [target, row, column] = shape.places[w];
    const double r = row >= 0 ? shape.row_scale[at(row)] : 1.0;
    const double c = column >= 0 ? shape.column_scale[at(column)] : 1.0;
    switch (target) {
      case Target::rhs:
        row_lower_[at(row)] = row_upper_[at(row)] = noise[w] * r;
        break;
      case Target::row_lower:
        row_lower_[at(row)] = scaled(noise[w], r);
        break;
      case Target::row_upper:
        row_upper_[at(row)] = scaled(noise[w], r);
        break;
      case Target::fix:
        lower_[at(column)] = upper_[at(column)] = noise[w] / c;
        break;
      case Target::column_lower:
        lower_[at(column)] = scaled(noise[w], 1.0 / c);
        break;
      case Target::column_upper:
        upper_[at(column)] = scaled(noise[w], 1.0 / c);
        break;
      case Target::cost:
        cost_[at(column)] = noise[w] * c * shape.cost_scale;
        break;
      case Target::coefficient:
        solver_.set_coefficient(row, column, noise[w] * r * c);
        break;
    }
  }
  const auto gather = [](const std::vector<int>& which, const std::vector<double>& from,
                         std::vector<double>& into) {
    into.clear();
    for (const int i : which) into.push_back(from[at(i)]);
  };
  gather(stage_.noisy_rows_, row_lower_, buffer_lower_);
  gather(stage_.noisy_rows_, row_upper_, buffer_upper_);
  solver_.set_row_bounds(stage_.noisy_rows_, buffer_lower_.data(), buffer_upper_.data());
  gather(stage_.noisy_columns_, lower_, buffer_lower_);
  gather(stage_.noisy_columns_, upper_, buffer_upper_);
  solver_.set_column_bounds(stage_.noisy_columns_, buffer_lower_.data(), buffer_upper_.data());
  gather(stage_.noisy_costs_, cost_, buffer_lower_);
  solver_.set_costs(stage_.noisy_costs_, buffer_lower_.data());
}

void Instance::add(std::span<const std::int32_t> cuts) {
  if (cuts.empty()) return;
  const Shape& shape = stage_.shape_;
  const int first_value = stage_.program_.columns - shape.families;
  std::vector<double> lower, numbers;
  std::vector<int> starts, columns;
  for (const std::int32_t cut : cuts) {
    starts.push_back(static_cast<int>(numbers.size()));
    const auto entry = [&](int column, double value) {
      if (value == 0) return;
      columns.push_back(column);
      numbers.push_back(value);
    };
    if (cut < 0) {
      const std::vector<double>& weights = stage_.mixtures[at(-1 - cut)];
      lower.push_back(0.0);
      entry(first_value, 1.0);
      for (std::size_t f = 0; f < weights.size(); ++f)
        entry(first_value + 1 + static_cast<int>(f), -weights[f]);
      carries_mixture_[at(-1 - cut)] = 1;
    } else {
      const auto [given, family] = stage_.cuts[at(cut)];
      lower.push_back(given[0] * shape.cost_scale);
      for (std::size_t i = 0; i < shape.out_columns.size(); ++i) {
        const int column = shape.out_columns[i];
        entry(column, -given[1 + shape.out_states[i]] * shape.column_scale[at(column)] * shape.cost_scale);
      }
      entry(first_value + family, 1.0);
      carries_[at(cut)] = 1;
    }
    working_.push_back(cut);
  }
  solver_.add_rows(lower, starts, columns, numbers);
}

bool Instance::add_violated() {
  if (stage_.cuts.count() == 0 && stage_.mixtures.empty()) return false;
  const Shape& shape = stage_.shape_;
  const std::span<const double> solution = solver_->values();
  const std::size_t first_value = at(stage_.program_.columns - shape.families);
  for (std::size_t i = 0; i < shape.out_columns.size(); ++i) {
    outgoing_[at(shape.out_states[i])] =
        solution[at(shape.out_columns[i])] * shape.column_scale[at(shape.out_columns[i])];
  }
  for (std::size_t f = 0; f < values_.size(); ++f) values_[f] = solution[first_value + f] / shape.cost_scale;

  struct Candidate {
    double violation;
    std::int32_t cut;
  };
  std::vector<Candidate> candidates;
  const auto consider = [&](double violation, double value, std::int32_t cut) {
    if (violation > cut_tolerance * (1.0 / shape.cost_scale + std::fabs(value))) {
      candidates.push_back({violation, cut});
    }
  };
  const std::vector<std::int32_t>& active = stage_.cuts.active();
  violations_.resize(active.size());
  stage_.cuts.violations(outgoing_.data(), values_.data(), violations_.data());
  for (std::size_t i = 0; i < active.size(); ++i) {
    if (violations_[i] <= 0) continue;  // most of them
    const std::int32_t cut = active[i];
    if (carries_[at(cut)] == 0) consider(violations_[i], values_[at(stage_.cuts[at(cut)].family)], cut);
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
  add(chosen);
  return true;
}

Status Instance::solve(const double* noise, std::int32_t iteration, Purpose purpose) {
  const bool careful = purpose == Purpose::second_opinion;
  if (solver_->must_load()) restore();
  apply(noise);
  ++statistics.solves;
  bool otherwise = careful;
  while (true) {
    const std::int64_t begun = now_ns();
    const Status status = otherwise ? solver_->solve_otherwise() : solver_->solve();
    statistics.run_ns += now_ns() - begun;
    ++statistics.rounds;
    statistics.iterations += solver_->iterations();
    if (solver_->needed_more() || otherwise) ++statistics.retries;
    if (status != Status::optimal) return status;
    const bool spoiled = solver_->must_load();
    if (add_violated()) {
      otherwise = careful;
      if (spoiled) {
        restore();
        apply(noise);
      }
      if (careful) solver_->forget();
    } else if (solver_.duals_prove() && (purpose != Purpose::decision || solver_.values_prove())) {
      break;
    } else {
      otherwise = true;  // a cut that rests on this could be too high, and no later one would mend that
    }
  }
  if (iteration >= 0) mark_tight(iteration);
  return Status::optimal;
}

void Instance::mark_tight(std::int32_t iteration) const {
  const std::span<const double> duals = solver_->row_duals();
  for (std::size_t i = 0; i < working_.size(); ++i) {
    if (working_[i] < 0 || duals[at(stage_.program_.rows) + i] == 0.0) continue;
    // Several threads may say the same of the same cut.
    std::atomic_ref(stage_.tight_in[at(working_[i])]).store(iteration, std::memory_order_relaxed);
  }
}

double Instance::objective() const {
  return solver_->objective() / stage_.shape_.cost_scale + stage_.shape_.offset;
}

double Instance::stage_cost() const {
  const std::span<const double> solution = solver_->values();
  const std::size_t columns = at(stage_.program_.columns - stage_.shape_.families);
  double cost = 0;
  for (std::size_t j = 0; j < columns; ++j) cost += cost_[j] * solution[j];
  return cost / stage_.shape_.cost_scale + stage_.shape_.offset;
}

void Instance::slopes(double* out) const {
  const Shape& shape = stage_.shape_;
  std::fill(out, out + shape.states, 0.0);
  const std::span<const double> reduced = solver_->reduced_costs();
  for (std::size_t i = 0; i < shape.in_columns.size(); ++i) {
    const std::size_t column = at(shape.in_columns[i]);
    out[shape.in_states[i]] = reduced[column] / (shape.cost_scale * shape.column_scale[column]);
  }
}

void Instance::outgoing(double* out) const {
  const Shape& shape = stage_.shape_;
  std::fill(out, out + shape.states, 0.0);
  const std::span<const double> solution = solver_->values();
  for (std::size_t i = 0; i < shape.out_columns.size(); ++i) {
    const std::size_t column = at(shape.out_columns[i]);
    // Not beyond its bounds, where the next stage might find no solution; and + 0.0 makes -0 a 0.
    const double value = std::clamp(solution[column], lower_[column], upper_[column]);
    out[shape.out_states[i]] = value * shape.column_scale[column] + 0.0;
  }
}

double Instance::column_value(int column) const {
  return solver_->values()[at(column)] * stage_.shape_.column_scale[at(column)] + 0.0;
}

double Instance::row_dual(int row) const {
  return solver_->row_duals()[at(row)] * stage_.shape_.row_scale[at(row)] / stage_.shape_.cost_scale + 0.0;
}

Start Instance::start() const {
  Start start;
  Basis found = solver_->basis();
  if (solver_->must_load() || found.columns.empty()) return start;
  start.basis.columns = std::move(found.columns);
  const auto rows = at(stage_.program_.rows);
  start.basis.rows.assign(found.rows.begin(), found.rows.begin() + static_cast<std::ptrdiff_t>(rows));
  // A cut whose own variable is basic is slack: without its row the rest is a basis still.
  for (std::size_t i = 0; i < working_.size(); ++i) {
    if (found.rows[rows + i] == static_cast<std::uint8_t>(Place_in_basis::basic)) continue;
    start.cuts.push_back(working_[i]);
    start.basis.rows.push_back(found.rows[rows + i]);
  }
  return start;
}

void Stage::step(int worker, int unit, const Step& step) {
  const std::int64_t begun = now_ns();
  Instance& instance = this->instance(worker);
  const std::size_t u = at(unit);
  const auto states = at(shape_.states);
  const int row = step.rows[u];
  instance.begin(step.states + u * states, step.starts[u] < 0 ? nullptr : &slots[at(step.starts[u])]);
  const Status status =
      instance.solve(step.table + at(row) * shape_.places.size(), step.iteration, Purpose::decision);
  if (status != Status::optimal) {
    Failure& failure = failures_[at(worker)];
    if (failure.unit < 0 || unit < failure.unit) failure = {unit, row, status, instance.words()};
    return;
  }
  step.costs[u] = instance.stage_cost();
  step.objectives[u] = instance.objective();
  instance.outgoing(step.outgoing + u * states);
  for (std::size_t i = 0; i < step.columns.size(); ++i) {
    step.column_values[u * step.columns.size() + i] = instance.column_value(step.columns[i]);
  }
  for (std::size_t i = 0; i < step.duals.size(); ++i) {
    step.row_duals[u * step.duals.size() + i] = instance.row_dual(step.duals[i]);
  }
  if (step.saves[u] >= 0) slots[at(step.saves[u])] = instance.start();
  instance.statistics.unit_ns += now_ns() - begun;
}

void Stage::trial(int worker, int unit, const Trial& trial) {
  const std::int64_t begun = now_ns();
  Instance& instance = this->instance(worker);
  const std::size_t u = at(unit);
  const auto states = at(shape_.states);
  const std::size_t count = trial.tour.size();
  instance.begin(trial.states + u * states, trial.starts[u] < 0 ? nullptr : &slots[at(trial.starts[u])]);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t row = trial.tour[(at(trial.firsts[u]) + i) % count];
    if (trial.careful) instance.begin(trial.states + u * states, nullptr);
    const Status status = instance.solve(trial.table + at(row) * shape_.places.size(), trial.iteration,
                                         trial.careful ? Purpose::second_opinion : Purpose::cut);
    if (status != Status::optimal) {
      Failure& failure = failures_[at(worker)];
      if (failure.unit < 0 || unit < failure.unit) failure = {unit, row, status, instance.words()};
      return;
    }
    trial.values[u * count + at(row)] = instance.objective();
    instance.slopes(trial.slopes + (u * count + at(row)) * states);
  }
  instance.statistics.unit_ns += now_ns() - begun;
}

Statistics Stage::take_statistics() {
  Statistics sum;
  for (const std::unique_ptr<Instance>& instance : instances_) {
    if (!instance) continue;
    const Statistics part = std::exchange(instance->statistics, {});
    sum.solves += part.solves;
    sum.rounds += part.rounds;
    sum.iterations += part.iterations;
    sum.retries += part.retries;
    sum.run_ns += part.run_ns;
    sum.unit_ns += part.unit_ns;
  }
  return sum;
}

Failure Stage::take_failure() {
  Failure first;
  for (Failure& failure : failures_) {
    if (failure.unit >= 0 && (first.unit < 0 || failure.unit < first.unit)) first = failure;
    failure = {};
  }
  return first;
}

}  // namespace cobre::lp
