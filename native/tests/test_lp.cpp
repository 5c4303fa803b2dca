// Many solves of one programme: the same bits whoever solves, and the right ones.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.hpp"
#include "core/lp/cuts.hpp"
#include "core/lp/highs.hpp"
#include "core/lp/dual_simplex.hpp"
#include "core/lp/cut_index.hpp"
#include "core/lp/job.hpp"
#include "core/lp/stage.hpp"
#include "core/lp/thread_pool.hpp"
#include "core/thread.hpp"

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
  const std::vector<double> table{0, 20, 40, 60, 100};
  StageSpec given = spec();
  given.openings = {table.data(), table.size(), 1};
  given.tour = {0, 1, 2, 3, 4};
  Stage stage(reservoir(), given, threads);
  cuts.give(stage);
  const auto tasks = static_cast<int>(order.size());
  std::vector<double> states(order.size());
  for (const int task : order) states[static_cast<std::size_t>(task)] = 3.0 * task;
  const std::vector<std::int32_t> firsts(order.size(), 0), starts(order.size(), -1);
  Results results{std::vector<double>(order.size() * 5), std::vector<double>(order.size() * 5)};
  const Stage::TrialBatch trial{.states = states.data(),
                                .firsts = firsts.data(),
                                .starts = starts.data(),
                                .ends = nullptr,
                                .end_stride = 0,
                                .iteration = 1,
                                .stride = 5,
                                .values = results.values.data(),
                                .slopes = results.slopes.data()};
  Job job;
  job.add(stage, 0, 0, tasks, [&](int thread, int i) {
    return stage.trial(thread, order[static_cast<std::size_t>(i)], 0, trial);
  });
  CHECK(job.run(pool, never));
  CHECK(!job.failure());
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

TEST(inflows_that_depend_on_the_last_one_leave_the_programme_and_change_nothing) {
  // The reservoir, with columns for the last inflow and this one, and this = last / 2 + noise as a third row.
  Program program = reservoir();
  program.columns = 7;
  program.rows = 3;
  for (std::vector<double>* numbers : {&program.cost, &program.column_lower, &program.column_upper})
    numbers->resize(7, 0.0);
  program.column_lower[5] = program.column_lower[6] = -infinity;
  program.column_upper[5] = program.column_upper[6] = infinity;
  program.row_lower.push_back(0);
  program.row_upper.push_back(0);
  program.starts.insert(program.starts.end(), {7, 9});
  program.indices.insert(program.indices.end(), {2, 0, 2});
  program.values.insert(program.values.end(), {-0.5, -1, 1});
  const std::vector<double> table{0, 20, 40, 60, 100};
  StageSpec given = spec();
  given.states = 2;
  given.in_states = given.out_states = {0, 1};
  given.in_columns = {0, 5};
  given.out_columns = {1, 6};
  given.places = {{Target::rhs, 2, -1}};
  given.openings = {table.data(), table.size(), 1};
  given.tour = {0, 1, 2, 3, 4};
  given.column_scale.assign(7, 1.0);
  given.row_scale.assign(3, 1.0);
  constexpr int tasks = 12;
  const std::vector<std::int32_t> firsts(tasks, 0), starts(tasks, -1);
  std::vector<double> states;
  for (int task = 0; task < tasks; ++task) states.insert(states.end(), {11.0 * task, 31.0 + task});
  std::vector<Results> found;
  for (const bool reduce : {true, false}) {
    given.reduce = reduce;
    ThreadPool pool(3);
    Stage stage(program, given, 3);
    CHECK(stage.rows() == (reduce ? 2 : 3));
    CHECK(stage.columns() == (reduce ? 5 : 8));
    const CutLayout& layout = stage.cuts.layout();
    const Tangents cuts(40);
    std::vector<double> block(cuts.count() * layout.width());
    for (std::size_t i = 0; i < cuts.count(); ++i) {
      const auto place = [&](std::size_t number, StateKind kind) -> double& {
        const std::size_t in_row = number - layout.begin(kind);
        return block[layout.begin(kind) * cuts.count() + i * layout.width(kind) + in_row];
      };
      place(0, StateKind::decided) = cuts.numbers[cuts.width * i];
      place(layout.slopes[0], StateKind::decided) = cuts.numbers[cuts.width * i + 1];
      place(layout.slopes[1], reduce ? StateKind::drawn : StateKind::decided) = i % 2 == 0 ? -3.0 : 2.0;
    }
    stage.cuts.add_block(block.data(), cuts.count());
    stage.extend_cuts(std::vector<std::int32_t>(cuts.count(), 0));
    Results results{std::vector<double>(tasks * 5), std::vector<double>(tasks * 10)};
    Stage::TrialBatch trial{};
    trial.states = states.data();
    trial.firsts = firsts.data();
    trial.starts = starts.data();
    trial.iteration = 1;
    trial.stride = 5;
    trial.values = results.values.data();
    trial.slopes = results.slopes.data();
    Job job;
    job.add(stage, 0, 0, tasks, [&](int thread, int task) { return stage.trial(thread, task, 0, trial); });
    CHECK(job.run(pool, never));
    CHECK(!job.failure());
    found.push_back(std::move(results));
  }
  for (std::size_t i = 0; i < found[0].values.size(); ++i)
    CHECK(std::fabs(found[0].values[i] - found[1].values[i]) <= 1e-9 * (1 + std::fabs(found[1].values[i])));
  for (std::size_t i = 0; i < found[0].slopes.size(); ++i)
    CHECK(std::fabs(found[0].slopes[i] - found[1].slopes[i]) <= 1e-9 * (1 + std::fabs(found[1].slopes[i])));
}

TEST(a_failure_names_the_first_unit_and_the_others_are_solved) {
  ThreadPool pool(2);
  Program program = reservoir();
  program.column_upper[4] = 100;  // no more than 100 thermal: with little water demand cannot be met
  Stage stage(program, spec(), 2);
  const std::vector<double> states{100, 10, 100, 20}, table{0};
  const std::vector<std::int32_t> none{-1, -1, -1, -1}, rows{0, 0, 0, 0};
  std::vector<double> costs(4), objectives(4), outgoing(4);
  const Stage::StepBatch step{.states = states.data(),
                              .table = table.data(),
                              .rows = rows.data(),
                              .saves = none.data(),
                              .ends = nullptr,
                              .end_stride = 0,
                              .iteration = -1,
                              .columns = {},
                              .duals = {},
                              .costs = costs.data(),
                              .objectives = objectives.data(),
                              .outgoing = outgoing.data(),
                              .column_values = nullptr,
                              .row_duals = nullptr};
  Job job;
  job.add(stage, 3, 1, 1, [](int, int) { return std::nullopt; });
  job.add(stage, 5, 2, 4, [&](int thread, int task) { return stage.step(thread, task, step); });
  CHECK(job.run(pool, never));
  const std::optional<BatchFailure> found = job.failure();
  CHECK(found && found->batch == 5 && found->stage == 2);
  CHECK(found->failure.task == 1);
  CHECK(found->failure.status == Status::infeasible);
  CHECK(costs[0] == 2500 && costs[2] == 2500);
}

TEST(cuts_are_found_by_their_bits) {
  Cuts cuts{CutLayout(std::vector<StateKind>{StateKind::given, StateKind::decided})};
  CutIndex index(cuts);
  const std::size_t width = cuts.layout().width();
  const std::vector<double> batch{1, 2, 3, /**/ 4, 5, 6, /**/ 1, 2, 3, /**/ -0.0, 5, 6};
  CutIndex::Found found = index.find(batch.data(), std::vector<std::int32_t>{0, 0, 0, 0});
  CHECK((found.added == std::vector<std::int32_t>{0, 1, 3}));
  CHECK(found.known.empty());
  // The first two, as they lie in memory: intercept and decided slope side by side, the given one elsewhere.
  std::vector<double> block(2 * width);
  const auto place = [&](std::size_t cut, StateKind kind, std::size_t in_row) -> double& {
    return block[cuts.layout().begin(kind) * 2 + cut * cuts.layout().width(kind) + in_row];
  };
  for (std::size_t cut = 0; cut < 2; ++cut) {
    place(cut, StateKind::decided, 0) = batch[3 * cut];
    place(cut, StateKind::given, 0) = batch[3 * cut + 1];
    place(cut, StateKind::decided, 1) = batch[3 * cut + 2];
  }
  cuts.add_block(block.data(), 2);
  cuts.extend(std::vector<std::int32_t>{0, 1});
  found = index.find(batch.data(), std::vector<std::int32_t>{0, 0, 0, 0});
  CHECK((found.added == std::vector<std::int32_t>{1, 3}));  // the second is there, but of another family
  CHECK((found.known == std::vector<std::int32_t>{0}));
}

TEST(violations_are_those_of_the_active_cuts) {
  const std::vector<double> numbers{1, 2, 0, 0, 0, 0, 0, 0, 5, 0, 1, 0, 0, 0, 0, 0, 7, 1, 1, 0, 0, 0, 0, 0};
  Cuts cuts{CutLayout(std::vector<StateKind>(2, StateKind::decided))};
  cuts.add_block(numbers.data(), 1);
  cuts.add_block(numbers.data() + 8, 2);
  cuts.extend(std::vector<std::int32_t>{0, 1, 0});
  cuts.activate({0, 2});
  const double x[]{1, 10, 100, 0, 0, 0, 0, 0}, values[]{3, 4}, known[]{0, 0};
  double violations[2];
  cuts.violations(x, known, values, violations);
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

namespace {

void check_that_every_unit_is_done_once(ThreadPool& pool, ThreadPool::Workers workers) {
  for (int round = 0; round < 200; ++round) {
    std::vector<std::atomic<int>> done(50);
    CHECK(pool.run(50, workers, [&](int, int task) { ++done[static_cast<std::size_t>(task)]; }, never));
    CHECK(std::all_of(done.begin(), done.end(), [](const auto& count) { return count == 1; }));
  }
  bool thrown = false;
  try {
    pool.run(
        10, workers,
        [](int, int task) {
          if (task == 3) throw std::runtime_error("task 3");
        },
        never);
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  CHECK(thrown);
  CHECK(pool.run(0, workers, [](int, int) {}, never));
}

}  // namespace

TEST(workers_do_every_unit_once_and_pass_on_what_is_thrown) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    check_that_every_unit_is_done_once(pool, ThreadPool::Workers::threads);
    check_that_every_unit_is_done_once(pool, ThreadPool::Workers::caller_and_threads);
  }
}

TEST(pools_that_count_together_share_the_tasks_out) {
  ThreadPool one(2), other(1);
  std::vector<std::atomic<int>> done(400);
  std::int64_t next = 0;
  std::atomic<int> begun{0};
  const auto work = [&](int, int task) {
    ++done[static_cast<std::size_t>(task)];
    ++begun;
    while (begun < 4) std::this_thread::yield();  // three threads are at work
  };
  const auto run = [&](ThreadPool& pool) {
    CHECK(pool.run(400, ThreadPool::Workers::caller_and_threads, work, never, &next));
  };
  begun = 1;
  std::thread beside([&] { run(other); });
  run(one);
  beside.join();
  CHECK(std::all_of(done.begin(), done.end(), [](const auto& count) { return count == 1; }));
  CHECK(next == 400 + 3);  // each thread has learnt that there is no more
}

TEST(slots_hold_warm_starts) {
  const StartSlots slots{.columns = 3, .rows = 2, .cuts = 2};
  std::vector<std::int32_t> memory(slots.size() + 1, 77);
  const WarmStart start{.cuts = {5, -1}, .basis = {{0, 1, 2}, {1, 1, 0, 0}}};
  slots.write(start, memory.data());
  const WarmStart found = slots.read(memory.data());
  CHECK(found.cuts == start.cuts);
  CHECK(found.basis.columns == start.basis.columns && found.basis.rows == start.basis.rows);
  CHECK(memory.back() == 77);
  slots.write({}, memory.data());
  CHECK(slots.read(memory.data()).basis.columns.empty());
  slots.write({.cuts = {1, 2, 3}, .basis = {{0, 1, 2}, {1, 1, 0, 0, 0}}}, memory.data());
  CHECK(slots.read(memory.data()).basis.columns.empty());  // no room: as good as none
}

TEST(highs_runs_in_threads_of_our_own_only) {
  ThreadPool pool(2);
  std::atomic<int> foreign{0};
  const auto count = [&](int, int) { foreign += !cobre::in_own_thread; };
  CHECK(pool.run(50, ThreadPool::Workers::threads, count, never));
  CHECK(foreign == 0);
  const std::thread::id here = std::this_thread::get_id();
  std::atomic<int> by_caller{0};
  const auto count_caller = [&](int thread, int) {
    const bool caller = std::this_thread::get_id() == here;
    CHECK(caller == (thread == 0));
    by_caller += caller;
    while (by_caller == 0) std::this_thread::yield();  // else the other might do all
  };
  CHECK(pool.run(50, ThreadPool::Workers::caller_and_threads, count_caller, never));
}

TEST(an_interruption_lets_no_further_unit_begin) {
  ThreadPool pool(1);
  std::atomic<bool> go{false};
  std::atomic<int> done{0};
  const bool finished = pool.run(
      3, ThreadPool::Workers::threads,
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
  CHECK(pool.run(1, ThreadPool::Workers::threads, [&](int, int) { ++done; }, never));
  // The caller asks between two units.
  int begun = 0;
  const auto slow = [&](int, int) {
    ++begun;
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  };
  CHECK(!pool.run(100, ThreadPool::Workers::caller_and_threads, slow, [] { return true; }));
  CHECK(begun == 1);
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
  DualSimplexSolver honest_;
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
  instance.begin(&state, WarmStart{});
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
  for (const bool ours : {true, false}) {
    StageSpec given = spec();
    given.dual_simplex = ours;
    Stage stage(reservoir(), given, 1);
    const Tangents cuts(30);
    cuts.give(stage);
    Instance instance(stage);
    const double state = 60;
    for (const double inflow : {20.0, 40.0, 0.0}) {
      instance.begin(&state, WarmStart{});
      CHECK(instance.solve(&inflow, -1, Purpose::cut) == Status::optimal);
      const double first = instance.objective();
      instance.begin(&state, WarmStart{});
      CHECK(instance.solve(&inflow, -1, Purpose::second_opinion) == Status::optimal);
      CHECK(instance.statistics.retries > 0);
      CHECK(std::fabs(instance.objective() - first) <= 1e-9 * first);
    }
  }
}
