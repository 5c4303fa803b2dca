// The programme of a stage in a solver: bounds, cuts and the answers of one thread.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "core/clock.hpp"
#include "core/lp/dual_simplex.hpp"
#include "core/lp/highs.hpp"
#include "core/lp/stage.hpp"

namespace cobre::lp {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// A cut that is above the value that follows by less than this, relative to that value, is not violated: as
/// exact as the solvers are, so that rounding does not bring in cuts round after round.
constexpr double cut_tolerance = 1e-9;
/// Violated cuts that enter at once. More make the programme larger, fewer take more rounds.
constexpr std::size_t cuts_at_once = 10;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

std::unique_ptr<Solver> make_solver(const Program& program, const StageSpec& spec) {
  if (spec.make_solver) return spec.make_solver(program);
  if (!spec.dual_simplex) return std::make_unique<HighsSolver>(program);
  return std::make_unique<DualSimplexSolver>(program);
}

}  // namespace

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

}  // namespace cobre::lp
