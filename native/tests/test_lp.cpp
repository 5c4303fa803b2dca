// Many solves of one programme: the same bits whoever solves, and the right ones.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include "check.hpp"
#include "core/lp/cuts.hpp"
#include "core/lp/dense.hpp"
#include "core/lp/highs.hpp"
#include "core/lp/stage.hpp"
#include "core/lp/thread_pool.hpp"

using namespace cobre::lp;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool never() { return false; }

/// A reservoir: arriving and leaving volume, release, spill, thermal. Two rows: water balance, demand.
Program reservoir() {
  Program program;
  program.columns = 5;
  program.rows = 2;
  program.cost = {0, 0, 0, 0, 50};
  program.column_lower = {0, 0, 0, 0, 0};
  program.column_upper = {infinity, 200, 150, infinity, infinity};
  program.row_lower = {0, 150};
  program.row_upper = {0, 150};
  program.starts = {0, 1, 2, 4, 5, 6};
  program.indices = {0, 0, 0, 1, 0, 1};
  program.values = {-1, 1, 1, 1, 1, 1};
  return program;
}

StageSpec spec() {
  StageSpec spec;
  spec.states = 1;
  spec.in_states = {0};
  spec.in_columns = {0};
  spec.out_states = {0};
  spec.out_columns = {1};
  spec.places = {{Target::rhs, 0, -1}};
  spec.column_scale.assign(5, 1.0);
  spec.row_scale.assign(2, 1.0);
  return spec;
}

/// Cuts of a convex function of the leaving volume, tangent at many points.
struct Tangents {
  explicit Tangents(int count) {
    for (int i = 0; i < count; ++i) {
      const double x = 200.0 * i / count;  // of (x - 200)^2 / 10
      const double slope = (x - 200) / 5;
      numbers.push_back((x - 200) * (x - 200) / 10 - slope * x);
      numbers.push_back(slope);
      numbers.resize(numbers.size() + width - 2);
    }
  }
  static constexpr std::size_t width = cut_width(1);
  [[nodiscard]] std::size_t count() const { return numbers.size() / width; }
  void give(Stage& stage) const {
    stage.cuts.add_block(numbers.data(), count());
    stage.extend_cuts(std::vector<std::int32_t>(count(), 0));
  }
  std::vector<double> numbers;
};

struct Results {
  std::vector<double> values, slopes;
};

/// All inflows for many volumes, on so many threads, in the order given.
Results worth(const Tangents& cuts, const std::vector<int>& order, int threads) {
  ThreadPool pool(threads);
  Stage stage(reservoir(), spec(), threads);
  cuts.give(stage);
  const std::vector<double> table{0, 20, 40, 60, 100};
  const std::vector<std::int32_t> tour{0, 1, 2, 3, 4};
  const auto tasks = static_cast<int>(order.size());
  std::vector<double> states(order.size());
  for (const int task : order) states[static_cast<std::size_t>(task)] = 3.0 * task;
  const std::vector<std::int32_t> firsts(order.size(), 0), starts(order.size(), -1);
  Results results{std::vector<double>(order.size() * 5), std::vector<double>(order.size() * 5)};
  const Stage::TrialBatch trial{states.data(),         table.data(),         tour,
                                firsts.data(),         starts.data(),        1,
                                results.values.data(), results.slopes.data()};
  const bool finished = pool.run(
      tasks, [&](int thread, int i) { stage.trial(thread, order[static_cast<std::size_t>(i)], trial); },
      never);
  CHECK(finished);
  CHECK(stage.take_failure().task < 0);
  return results;
}

}  // namespace

TEST(a_unit_has_the_same_bits_in_any_order_on_any_thread) {
  const Tangents cuts(300);
  std::vector<int> order(40);
  std::iota(order.begin(), order.end(), 0);
  const Results expected = worth(cuts, order, 1);
  std::mt19937 random(1);
  for (const int threads : {1, 2, 4}) {
    std::shuffle(order.begin(), order.end(), random);
    const Results results = worth(cuts, order, threads);
    CHECK(std::memcmp(results.values.data(), expected.values.data(), expected.values.size() * 8) == 0);
    CHECK(std::memcmp(results.slopes.data(), expected.slopes.data(), expected.slopes.size() * 8) == 0);
  }
}

TEST(cuts_outside_the_programme_count_as_if_inside) {
  const Tangents cuts(300);
  const Results results = worth(cuts, {0, 1, 2, 3, 4, 5}, 1);
  // With inflow w and volume v the best release minimises 50 (150 - r) + max of tangents at v + w - r.
  const std::vector<double> inflows{0, 20, 40, 60, 100};
  for (int task = 0; task < 6; ++task) {
    for (std::size_t k = 0; k < 5; ++k) {
      const double water = 3.0 * task + inflows[k];
      double least = infinity;
      // The function is linear between the points where tangents meet, so one of those is best, or an end.
      std::vector<double> leaving{0.0, std::min(200.0, water)};
      for (std::size_t i = 0; i + 1 < cuts.count(); ++i) {
        const double* a = &cuts.numbers[cuts.width * i];
        const double* b = a + cuts.width;
        leaving.push_back((b[0] - a[0]) / (a[1] - b[1]));
      }
      for (const double left : leaving) {
        if (left < 0 || left > std::min(200.0, water)) continue;
        double after = 0;
        for (std::size_t i = 0; i < cuts.count(); ++i) {
          const double* cut = &cuts.numbers[cuts.width * i];
          after = std::max(after, cut[0] + cut[1] * left);
        }
        least = std::min(least, 50 * (150 - std::min(150.0, water - left)) + after);
      }
      CHECK(std::fabs(results.values[static_cast<std::size_t>(task) * 5 + k] - least) < 1e-6 * least);
    }
  }
}

TEST(a_failure_names_the_first_unit_and_the_others_are_solved) {
  ThreadPool pool(2);
  Program program = reservoir();
  program.column_upper[4] = 100;  // no more than 100 thermal: with little water demand cannot be met
  Stage stage(program, spec(), 2);
  const std::vector<double> states{100, 10, 100, 20}, table{0};
  const std::vector<std::int32_t> none{-1, -1, -1, -1}, rows{0, 0, 0, 0};
  std::vector<double> costs(4), objectives(4), outgoing(4);
  const Stage::StepBatch step{
      states.data(), table.data(),      rows.data(),     none.data(), none.data(), -1, {}, {},
      costs.data(),  objectives.data(), outgoing.data(), nullptr,     nullptr};
  CHECK(pool.run(4, [&](int thread, int task) { stage.step(thread, task, step); }, never));
  const Failure failure = stage.take_failure();
  CHECK(failure.task == 1);
  CHECK(failure.status == Status::infeasible);
  CHECK(costs[0] == 2500 && costs[2] == 2500);
  CHECK(stage.take_failure().task == -1);
}

TEST(violations_are_those_of_the_active_cuts) {
  const std::vector<double> numbers{1, 2, 0, 0, 0, 0, 0, 0, 5, 0, 1, 0, 0, 0, 0, 0, 7, 1, 1, 0, 0, 0, 0, 0};
  Cuts cuts(2);
  cuts.add_block(numbers.data(), 1);
  cuts.add_block(numbers.data() + 8, 2);
  cuts.extend(std::vector<std::int32_t>{0, 1, 0});
  cuts.activate({0, 2});
  const double state[]{10, 100}, values[]{3, 4};
  double violations[2];
  cuts.violations(state, values, violations);
  CHECK(violations[0] == 1 + 20 - 3);
  CHECK(violations[1] == 7 + 110 - 3);
  bool refused = false;
  try {
    cuts.extend(std::vector<std::int32_t>{0});
  } catch (const std::length_error&) {
    refused = true;
  }
  CHECK(refused);
}

TEST(workers_do_every_unit_once_and_pass_on_what_is_thrown) {
  ThreadPool pool(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::atomic<int>> done(50);
    CHECK(pool.run(50, [&](int, int task) { ++done[static_cast<std::size_t>(task)]; }, never));
    CHECK(std::all_of(done.begin(), done.end(), [](const auto& count) { return count == 1; }));
  }
  bool thrown = false;
  try {
    pool.run(
        10,
        [](int, int task) {
          if (task == 3) throw std::runtime_error("task 3");
        },
        never);
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  CHECK(thrown);
  CHECK(pool.run(0, [](int, int) {}, never));
}

TEST(an_interruption_lets_no_further_unit_begin) {
  ThreadPool pool(1);
  std::atomic<bool> go{false};
  std::atomic<int> done{0};
  const bool finished = pool.run(
      3,
      [&](int, int) {
        while (!go) std::this_thread::yield();
        ++done;
      },
      [&] {
        go = true;
        return true;
      });
  CHECK(!finished);
  CHECK(done <= 3);
  CHECK(pool.run(1, [&](int, int) { ++done; }, never));
}

namespace {

/// A programme with a solution, of columns with one, two or no bounds, and of rows of all kinds.
Program drawn(std::mt19937& random, int columns, int rows) {
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution(low, high)(random);
  };
  const auto kind = [&](int kinds) { return std::uniform_int_distribution(0, kinds - 1)(random); };
  Program program;
  program.columns = columns;
  program.rows = rows;
  std::vector<double> point, activity(static_cast<std::size_t>(rows), 0.0);
  program.starts.push_back(0);
  for (int j = 0; j < columns; ++j) {
    const int bounds = kind(6);
    const double low = bounds == 5 ? -infinity : std::round(uniform(-3, 1));
    const double high = bounds < 3    ? infinity
                        : bounds == 3 ? low
                        : bounds == 5 ? infinity
                                      : low + uniform(0, 5);
    point.push_back(std::isinf(low)    ? uniform(-1, 1)
                    : std::isinf(high) ? low + uniform(0, 2)
                                       : uniform(low, high));
    program.column_lower.push_back(low);
    program.column_upper.push_back(high);
    // Of a column without an upper bound a positive cost; else the solution might be nowhere.
    program.cost.push_back(bounds == 5 ? 0.0 : std::isinf(high) ? std::round(uniform(0, 4)) : uniform(-4, 4));
    for (int i = 0; i < rows; ++i) {
      if (kind(4) != 0) continue;
      const double value = std::round(uniform(-3, 3));
      if (value == 0) continue;
      program.indices.push_back(i);
      program.values.push_back(value);
      activity[static_cast<std::size_t>(i)] += value * point.back();
    }
    program.starts.push_back(static_cast<int>(program.indices.size()));
  }
  for (const double value : activity) {
    const int sense = kind(3);
    program.row_lower.push_back(sense == 1 ? -infinity : value);
    program.row_upper.push_back(sense == 2 ? infinity : value);
  }
  return program;
}

/// What both solvers are made to do: bounds of a row change, a row comes.
template <class Change>
void change_both(Solver& dense, Solver& highs, Change change) {
  change(dense);
  change(highs);
}

void check_equal(Solver& dense, Solver& highs) {
  const Status expected = highs.solve();
  CHECK(dense.solve() == expected);
  if (expected != Status::optimal) return;
  CHECK(std::fabs(dense.objective() - highs.objective()) <= 1e-7 * (1 + std::fabs(highs.objective())));
}

/// Whether values and duals prove each other optimal.
void check_proof(const Program& program, const Solver& solver) {
  std::vector<double> activity(static_cast<std::size_t>(program.rows), 0.0);
  double bound = 0;
  for (std::size_t j = 0; j < static_cast<std::size_t>(program.columns); ++j) {
    const double x = solver.values()[j];
    CHECK(x >= program.column_lower[j] - 1e-8 && x <= program.column_upper[j] + 1e-8);
    double reduced = program.cost[j];
    for (int at = program.starts[j]; at < program.starts[j + 1]; ++at) {
      const auto entry = static_cast<std::size_t>(at);
      const auto row = static_cast<std::size_t>(program.indices[entry]);
      activity[row] += program.values[entry] * x;
      reduced -= program.values[entry] * solver.row_duals()[row];
    }
    CHECK(std::fabs(reduced - solver.reduced_costs()[j]) < 1e-8);
    if (std::fabs(reduced) > 1e-8)
      bound += reduced * (reduced > 0 ? program.column_lower[j] : program.column_upper[j]);
  }
  for (std::size_t i = 0; i < activity.size(); ++i) {
    CHECK(activity[i] >= program.row_lower[i] - 1e-7 && activity[i] <= program.row_upper[i] + 1e-7);
    const double dual = solver.row_duals()[i];
    if (std::fabs(dual) > 1e-8) bound += dual * (dual > 0 ? program.row_lower[i] : program.row_upper[i]);
  }
  CHECK(std::fabs(bound - solver.objective()) <= 1e-6 * (1 + std::fabs(solver.objective())));
}

}  // namespace

TEST(the_dense_solver_agrees_with_highs_and_proves_it) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    const int rows = 1 + trial % 30;
    const Program program = drawn(random, rows + 5 + trial % 40, rows);
    DenseSolver dense(program);
    HighsSolver highs(program);
    check_equal(dense, highs);
    if (highs.solve() == Status::optimal) check_proof(program, dense);
    for (int change = 0; change < 5; ++change) {
      const int row = std::uniform_int_distribution(0, rows - 1)(random);
      const double shift = std::uniform_real_distribution(-2.0, 2.0)(random);
      const double lower = program.row_lower[static_cast<std::size_t>(row)] + shift;
      const double upper = program.row_upper[static_cast<std::size_t>(row)] + shift;
      change_both(dense, highs, [&](Solver& solver) { solver.set_row_bounds({&row, 1}, &lower, &upper); });
      check_equal(dense, highs);
    }
    const std::vector<double> least{-1.0};
    const std::vector<int> starts{0}, columns{0, 2, 4};
    const std::vector<double> values{1.0, -2.0, 1.0};
    change_both(dense, highs, [&](Solver& solver) { solver.add_rows(least, starts, columns, values); });
    check_equal(dense, highs);
    change_both(dense, highs, [&](Solver& solver) { solver.drop_rows_from(rows); });
    check_equal(dense, highs);
  }
}

TEST(the_dense_solver_goes_on_from_a_basis_with_the_same_bits) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 50; ++trial) {
    const Program program = drawn(random, 60, 20);
    DenseSolver first(program), second(program);
    if (first.solve() != Status::optimal) continue;
    const Basis basis = first.basis();
    const int row = 3;
    const double lower = program.row_lower[3] - 1, upper = program.row_upper[3] + 1;
    for (DenseSolver* solver : {&first, &second}) {
      solver->set_row_bounds({&row, 1}, &lower, &upper);
      solver->clear();
      solver->start_from(basis);
    }
    CHECK(first.solve() == second.solve());
    CHECK(std::equal(first.values().begin(), first.values().end(), second.values().begin()));
    CHECK(std::equal(first.row_duals().begin(), first.row_duals().end(), second.row_duals().begin()));
  }
}

namespace {

/// A solver whose answers are wrong in some way, though it calls them optimal; those of the other means are
/// right from the so many-th on.
class Liar final : public Solver {
 public:
  struct Lie {
    double objective = 0, dual = 0, value = 0;
    int honest_after = 0;
  };
  Liar(const Program& program, Lie lie) : honest_(program), lie_(lie) {}

  void load() override { honest_.load(); }
  void clear() override { honest_.clear(); }
  void start_from(const Basis& basis) override { honest_.start_from(basis); }
  void set_row_bounds(std::span<const int> rows, const double* lower, const double* upper) override {
    honest_.set_row_bounds(rows, lower, upper);
  }
  void set_column_bounds(std::span<const int> columns, const double* lower, const double* upper) override {
    honest_.set_column_bounds(columns, lower, upper);
  }
  void set_costs(std::span<const int> columns, const double* costs) override {
    honest_.set_costs(columns, costs);
  }
  void set_coefficient(int, int, double) override {}
  void add_rows(std::span<const double> lower, std::span<const int> starts, std::span<const int> columns,
                std::span<const double> values) override {
    honest_.add_rows(lower, starts, columns, values);
  }
  void drop_rows_from(int first) override { honest_.drop_rows_from(first); }
  Status solve() override {
    highs_answers_ = 0;
    return lie(honest_.solve());
  }
  Status solve_by_fallback() override {
    if (++highs_answers_ > 3) return Status::inaccurate;
    return lie(honest_.solve());
  }
  bool used_fallback() const override { return false; }
  bool must_reload() const override { return false; }
  std::span<const double> values() const override { return values_; }
  std::span<const double> reduced_costs() const override { return honest_.reduced_costs(); }
  std::span<const double> row_duals() const override { return duals_; }
  double objective() const override { return objective_; }
  Basis basis() const override { return honest_.basis(); }
  int iterations() const override { return 0; }
  std::string message() const override { return ""; }

 private:
  Status lie(Status status) {
    const bool lies = highs_answers_ < lie_.honest_after;
    values_.assign(honest_.values().begin(), honest_.values().end());
    duals_.assign(honest_.row_duals().begin(), honest_.row_duals().end());
    objective_ = honest_.objective() * (lies ? 1 + lie_.objective : 1);
    if (lies) {
      for (double& value : values_) value += lie_.value;
      for (double& dual : duals_) dual *= 1 + lie_.dual;
    }
    return status;
  }
  DenseSolver honest_;
  Lie lie_;
  int highs_answers_ = 0;
  std::vector<double> values_, duals_;
  double objective_ = 0;
};

struct Told {
  Status status;
  double cost;
  std::int64_t retries;
};

Told ask(const Liar::Lie& lie, Purpose purpose) {
  StageSpec lying = spec();
  lying.make_solver = [&](const Program& program) { return std::make_unique<Liar>(program, lie); };
  Stage stage(reservoir(), lying, 1);
  const Tangents cuts(30);
  cuts.give(stage);
  Instance instance(stage);
  const double state = 60, inflow = 20;
  instance.begin(&state, nullptr);
  const Status status = instance.solve(&inflow, 1, purpose);
  return {status, instance.objective(), instance.statistics.retries};
}

}  // namespace

TEST(an_answer_that_does_not_prove_itself_is_not_believed) {
  const double right = ask({}, Purpose::decision).cost;
  CHECK(ask({}, Purpose::decision).retries == 0);
  const double nothing = std::nan("");
  for (const Liar::Lie lie :
       {Liar::Lie{0.12, 0, 0, 2}, Liar::Lie{-0.12, 0, 0, 2}, Liar::Lie{0, 1e-3, 0, 2},
        Liar::Lie{1e-4, 0, 0, 2}, Liar::Lie{nothing, 0, 0, 2}, Liar::Lie{0, nothing, 0, 2}}) {
    for (const Purpose purpose : {Purpose::decision, Purpose::cut}) {
      const Told told = ask(lie, purpose);
      CHECK(told.status == Status::optimal);
      CHECK(told.cost == right);
      CHECK(told.retries == 2);
    }
  }
}

TEST(wrong_values_matter_where_they_decide) {
  const Liar::Lie lie{0, 0, 1e-2, 1};
  CHECK(ask(lie, Purpose::decision).retries == 1);
  CHECK(ask(lie, Purpose::cut).retries == 0);
}

TEST(what_no_means_can_prove_is_inaccurate) {
  CHECK(ask({0.12, 0, 0, 99}, Purpose::cut).status == Status::inaccurate);
  CHECK(ask({0, 0, 1e-2, 99}, Purpose::decision).status == Status::inaccurate);
}

TEST(a_second_opinion_is_the_general_solvers) {
  for (const bool dense : {true, false}) {
    StageSpec given = spec();
    given.dense = dense;
    Stage stage(reservoir(), given, 1);
    const Tangents cuts(30);
    cuts.give(stage);
    Instance instance(stage);
    const double state = 60;
    for (const double inflow : {20.0, 40.0, 0.0}) {
      instance.begin(&state, nullptr);
      CHECK(instance.solve(&inflow, -1, Purpose::cut) == Status::optimal);
      const double first = instance.objective();
      instance.begin(&state, nullptr);
      CHECK(instance.solve(&inflow, -1, Purpose::second_opinion) == Status::optimal);
      CHECK(instance.statistics.retries > 0);
      CHECK(std::fabs(instance.objective() - first) <= 1e-9 * first);
    }
  }
}
