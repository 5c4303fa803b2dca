// cobre._lp: many solves of one linear programme, on several threads; and arithmetic on cuts.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/float_environment.hpp"
#include "core/lp/cut_batch.hpp"
#include "core/lp/cuts.hpp"
#include "core/lp/highs.hpp"
#include "core/lp/stage.hpp"
#include "core/lp/warm_start.hpp"
#include "core/lp/thread_pool.hpp"
#include "core/processor.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace lp = cobre::lp;

namespace {

template <class T, std::size_t dimensions>
using In = nb::ndarray<const T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu, nb::numpy>;
using Floats = In<double, 1>;
using Ints = In<std::int32_t, 1>;
template <class T, std::size_t dimensions>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<dimensions>>;

template <class T>
std::span<const T> view(const In<T, 1>& array) {
  return {array.data(), array.size()};
}

template <class T>
std::vector<T> copy(const In<T, 1>& array) {
  return {array.data(), array.data() + array.size()};
}

template <class Array, class... Sizes>
bool has_shape(const Array& array, Sizes... sizes) {
  std::size_t axis = 0;
  return ((array.shape(axis++) == static_cast<std::size_t>(sizes)) && ...);
}

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

/// An array that is filled here and then belongs to Python.
template <class T, std::size_t dimensions>
class Result {
 public:
  template <class... Sizes>
  explicit Result(Sizes... sizes)
      : shape_{static_cast<std::size_t>(sizes)...},
        numbers_(new T[std::accumulate(shape_.begin(), shape_.end(), std::size_t{1}, std::multiplies<>())]) {}
  T* data() { return numbers_.get(); }
  Out<T, dimensions> release() {
    T* const numbers = numbers_.release();
    nb::capsule owner(numbers, [](void* data) noexcept { delete[] static_cast<T*>(data); });
    return {numbers, dimensions, shape_.data(), owner};
  }

 private:
  std::array<std::size_t, dimensions> shape_;
  std::unique_ptr<T[]> numbers_;  // not initialised
};

Out<std::int32_t, 1> to_numpy(const std::vector<std::int32_t>& values) {
  Result<std::int32_t, 1> result(values.size());
  std::copy(values.begin(), values.end(), result.data());
  return result.release();
}

/// The default floating-point environment for the body of a `with` statement.
class FloatEnvironment {
 public:
  void enter() { inside_.emplace(); }
  void exit(const nb::args&) { inside_.reset(); }

 private:
  std::optional<cobre::DefaultFloatEnvironment> inside_;
};

/// Whether Ctrl-C or another signal has raised; asked without the GIL.
bool python_interrupts() {
  const nb::gil_scoped_acquire acquired;
  return PyErr_CheckSignals() != 0;
}

const char* name_of(lp::Status status) {
  switch (status) {
    case lp::Status::optimal:
      return "optimal";
    case lp::Status::infeasible:
      return "infeasible";
    case lp::Status::unbounded:
      return "unbounded";
    case lp::Status::inaccurate:
      return "inaccurate";
    default:
      return "failed";
  }
}

lp::Program program(Floats costs, Floats column_lower, Floats column_upper, Floats row_lower,
                    Floats row_upper, Ints starts, Ints rows, Floats values) {
  require(column_lower.size() == costs.size() && column_upper.size() == costs.size() &&
              row_upper.size() == row_lower.size() && starts.size() == costs.size() + 1 &&
              rows.size() == values.size(),
          "a programme has a cost, bounds and a start per column, and bounds per row");
  return {.columns = static_cast<int>(costs.size()),
          .rows = static_cast<int>(row_lower.size()),
          .cost = copy(costs),
          .column_lower = copy(column_lower),
          .column_upper = copy(column_upper),
          .row_lower = copy(row_lower),
          .row_upper = copy(row_upper),
          .starts = copy(starts),
          .indices = copy(rows),
          .values = copy(values)};
}

lp::StageSpec stage_spec(int states, Ints in_states, Ints in_columns, Ints out_states, Ints out_columns,
                         Ints targets, Ints target_rows, Ints target_columns, Floats column_scale,
                         Floats row_scale, double cost_scale, double discount, double offset,
                         double value_bound, int families, bool dual_simplex, bool reduce) {
  require(in_columns.size() == in_states.size() && out_columns.size() == out_states.size() &&
              target_rows.size() == targets.size() && target_columns.size() == targets.size(),
          "a state has a column, and a target a row and a column");
  lp::StageSpec spec{.states = states,
                     .in_states = copy(in_states),
                     .in_columns = copy(in_columns),
                     .out_states = copy(out_states),
                     .out_columns = copy(out_columns),
                     .places = {},
                     .openings = {},
                     .column_scale = copy(column_scale),
                     .row_scale = copy(row_scale),
                     .cost_scale = cost_scale,
                     .discount = discount,
                     .offset = offset,
                     .value_bound = value_bound,
                     .families = families,
                     .dual_simplex = dual_simplex,
                     .reduce = reduce,
                     .make_solver = {}};
  for (std::size_t i = 0; i < targets.size(); ++i) {
    spec.places.push_back({static_cast<lp::Target>(targets(i)), target_rows(i), target_columns(i)});
  }
  return spec;
}

/// A stage with the arrays that it refers to.
class Stage {
 public:
  Stage(std::shared_ptr<lp::ThreadPool> threads, const lp::Program& program, const lp::StageSpec& spec,
        nb::object openings)
      : threads_(std::move(threads)),
        states_(static_cast<std::size_t>(spec.states)),
        places_(spec.places.size()),
        families_(static_cast<std::size_t>(spec.families)),
        openings_(std::move(openings)),
        stage_(program, with_openings(spec, openings_), threads_->size()) {}
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  using Steps = std::tuple<Out<double, 1>, Out<double, 1>, Out<double, 2>, Out<double, 2>, Out<double, 2>>;
  Steps step(In<double, 2> states, In<double, 2> table, Ints rows, Ints starts, Ints saves,
             std::int32_t iteration, Ints columns, Ints duals) {
    const std::size_t tasks = states.shape(0);
    check_tasks(states, table, starts);
    require(rows.size() == tasks && saves.size() == tasks, "every array has one element per task");
    for (const std::int32_t row : view(rows)) {
      require(row >= 0 && static_cast<std::size_t>(row) < table.shape(0), "a row is in the table");
    }
    for (const std::int32_t slot : view(saves)) require(slot < slots(), "a slot exists");
    Result<double, 1> costs(tasks), objectives(tasks);
    Result<double, 2> outgoing(tasks, states_), values(tasks, columns.size()), prices(tasks, duals.size());
    const lp::Stage::StepBatch batch{.states = states.data(),
                                     .table = table.data(),
                                     .rows = rows.data(),
                                     .starts = starts.data(),
                                     .saves = saves.data(),
                                     .iteration = iteration,
                                     .columns = view(columns),
                                     .duals = view(duals),
                                     .costs = costs.data(),
                                     .objectives = objectives.data(),
                                     .outgoing = outgoing.data(),
                                     .column_values = values.data(),
                                     .row_duals = prices.data()};
    run(tasks, [&](int thread, int task) { stage_.step(thread, task, batch); });
    return {costs.release(), objectives.release(), outgoing.release(), values.release(), prices.release()};
  }

  std::pair<Out<double, 2>, Out<double, 3>> trial(In<double, 2> states, In<double, 2> table, Ints tour,
                                                  Ints firsts, Ints starts, std::int32_t iteration,
                                                  bool second_opinion) {
    const std::size_t tasks = states.shape(0), outcomes = tour.size();
    check_tasks(states, table, starts);
    require(firsts.size() == tasks && outcomes == table.shape(0), "every array has one element per task");
    Result<double, 2> values(tasks, outcomes);
    Result<double, 3> slopes(tasks, outcomes, states_);
    const lp::Stage::TrialBatch batch{.states = states.data(),
                                      .table = table.data(),
                                      .tour = view(tour),
                                      .firsts = firsts.data(),
                                      .starts = starts.data(),
                                      .iteration = iteration,
                                      .values = values.data(),
                                      .slopes = slopes.data(),
                                      .second_opinion = second_opinion};
    run(tasks, [&](int thread, int task) { stage_.trial(thread, task, batch); });
    return {values.release(), slopes.release()};
  }

  void add_block(nb::object array) {
    const auto block = nb::cast<Floats>(array);
    const std::size_t width = stage_.cuts.layout().width();
    require(block.size() % width == 0, "a cut has an intercept, all slopes, and zeros");
    stage_.cuts.add_block(block.data(), block.size() / width);
    blocks_.push_back(std::move(array));
  }
  void extend_cuts(Ints families) { stage_.extend_cuts(view(families)); }
  void add_mixture(Floats weights) {
    require(weights.size() + 1 == families_, "a mixture has one weight per outcome");
    stage_.mixtures.push_back(copy(weights));
  }
  void activate(Ints active) {
    for (const std::int32_t cut : view(active)) {
      require(cut >= 0 && static_cast<std::size_t>(cut) < stage_.cuts.count(), "a cut exists");
    }
    stage_.cuts.activate(copy(active));
  }
  Out<std::int32_t, 1> active() { return to_numpy(stage_.cuts.active()); }
  Out<std::int32_t, 1> last_tight() { return to_numpy(stage_.last_tight); }
  void set_last_tight(Ints iterations) {
    require(iterations.size() == stage_.last_tight.size(), "one iteration per cut");
    stage_.last_tight = copy(iterations);
  }
  Out<std::int32_t, 1> take_uses() {
    return to_numpy(std::exchange(stage_.uses, std::vector<std::int32_t>(stage_.uses.size(), 0)));
  }
  void set_activity_tolerance(double tolerance) { stage_.activity_tolerance = tolerance; }

  void resize_slots(std::size_t count) { stage_.warm_starts.resize(count); }
  Out<std::int32_t, 1> get_slot(std::size_t slot) { return to_numpy(encoded(stage_.warm_starts.at(slot))); }
  void set_slot(std::size_t slot, Ints numbers) { stage_.store(slot, view(numbers)); }

  Out<std::int32_t, 1> cut_places() {
    std::vector<std::int32_t> places{0};
    for (const std::size_t place : stage_.cuts.layout().slopes)
      places.push_back(static_cast<std::int32_t>(place));
    return to_numpy(places);
  }
  Out<std::int32_t, 1> cut_sections() {
    return to_numpy({stage_.cuts.layout().begins.begin(), stage_.cuts.layout().begins.end()});
  }
  std::pair<int, int> solver_size() { return {stage_.rows(), stage_.columns()}; }

  lp::Statistics take_statistics() { return stage_.take_statistics(); }
  /// The lowest task that failed in the last batch, if one did.
  std::optional<lp::Failure> take_failure() {
    lp::Failure failure = stage_.take_failure();
    return failure.task < 0 ? std::nullopt : std::optional(std::move(failure));
  }

 private:
  [[nodiscard]] std::int32_t slots() const { return static_cast<std::int32_t>(stage_.warm_starts.size()); }

  void check_tasks(const In<double, 2>& states, const In<double, 2>& table, const Ints& starts) {
    require(states.shape(1) == states_, "a state has one number per state variable");
    require(table.shape(1) == places_, "a realisation has one number per place");
    require(starts.size() == states.shape(0), "every array has one element per task");
    for (const std::int32_t slot : view(starts)) require(slot < slots(), "a slot exists");
  }

  void run(std::size_t tasks, const std::function<void(int, int)>& work) {
    bool finished = true;
    {
      const nb::gil_scoped_release released;
      finished = threads_->run(static_cast<int>(tasks), work, python_interrupts);
    }
    if (!finished) throw nb::python_error();
  }

  static lp::StageSpec with_openings(lp::StageSpec spec, const nb::object& openings) {
    const auto table = nb::cast<In<double, 2>>(openings);
    require(table.shape(1) == spec.places.size(), "a realisation has one number per place");
    spec.openings = {table.data(), table.shape(0), table.shape(1)};
    return spec;
  }

  std::shared_ptr<lp::ThreadPool> threads_;
  std::size_t states_, places_, families_;
  nb::object openings_;  // keeps their memory
  lp::Stage stage_;
  std::vector<nb::object> blocks_;  // keeps the memory of the cuts
};

Out<double, 2> aggregate(In<double, 2> weights, In<double, 2> values, In<double, 3> slopes,
                         In<double, 2> states) {
  const lp::TrialOutcomes given{.trials = values.shape(0),
                                .outcomes = values.shape(1),
                                .states = slopes.shape(2),
                                .weights = weights.data(),
                                .values = values.data(),
                                .slopes = slopes.data(),
                                .points = states.data()};
  require(has_shape(weights, given.trials, given.outcomes) &&
              has_shape(slopes, given.trials, given.outcomes, given.states) &&
              has_shape(states, given.trials, given.states),
          "the arrays are of different numbers of trial states, outcomes or states");
  Result<double, 2> cuts(given.trials, given.states + 1);
  lp::aggregate(given, cuts.data());
  return cuts.release();
}

std::pair<Out<double, 2>, Out<std::int32_t, 2>> largest_excess(In<double, 3> cuts, In<double, 2> values,
                                                               In<double, 2> states, double cost_unit,
                                                               std::size_t reach) {
  const lp::CutBatch batch{.trials = cuts.shape(0),
                           .cuts_per_trial = cuts.shape(1),
                           .states = states.shape(1),
                           .cuts = cuts.data(),
                           .values = values.data(),
                           .points = states.data()};
  require(has_shape(cuts, batch.trials, batch.cuts_per_trial, batch.states + 1) &&
              has_shape(values, batch.trials, batch.cuts_per_trial) &&
              has_shape(states, batch.trials, batch.states),
          "the arrays are of different numbers of trial states, cuts or states");
  Result<double, 2> excess(batch.trials, batch.cuts_per_trial);
  Result<std::int32_t, 2> where(batch.trials, batch.cuts_per_trial);
  lp::largest_excess(batch, cost_unit, reach, excess.data(), where.data());
  return {excess.release(), where.release()};
}

Out<double, 2> evaluate(In<double, 2> cuts, In<double, 2> states) {
  const std::size_t count = cuts.shape(0), points = states.shape(0), width = states.shape(1);
  require(cuts.shape(1) == lp::cut_width(static_cast<int>(width)),
          "a cut has an intercept, all slopes, and zeros");
  Result<double, 2> values(points, count);
  {
    const nb::gil_scoped_release released;
    lp::evaluate(cuts.data(), count, states.data(), points, width, values.data());
  }
  return values.release();
}

}  // namespace

NB_MODULE(_lp, m) {
  m.attr("HIGHS_LIBRARY") = lp::library_version();
  m.def("uses_avx2", [] { return cobre::uses_avx2; }, "Whether these kernels use AVX2.");
  m.attr("HIGHS_HEADERS") = lp::header_version();
  nb::class_<FloatEnvironment>(m, "DefaultFloatEnvironment",
                               "A context in which this thread rounds to nearest and keeps subnormals.")
      .def(nb::init<>())
      .def("__enter__", &FloatEnvironment::enter)
      .def("__exit__", &FloatEnvironment::exit, nb::sig("def __exit__(self, *_: object) -> None"));
  nb::class_<lp::ThreadPool>(m, "ThreadPool", "Threads that solve, shared by the programmes of a run.")
      .def(nb::init<int>(), "threads"_a)
      .def("__len__", &lp::ThreadPool::size);
  nb::class_<lp::Program>(m, "Program", "A linear programme in scaled units, its matrix by columns.")
      .def(nb::new_(&program), nb::kw_only(), "costs"_a, "column_lower"_a, "column_upper"_a, "row_lower"_a,
           "row_upper"_a, "starts"_a, "rows"_a, "values"_a);
  nb::class_<lp::StageSpec>(m, "StageSpec", "The stage around a programme: states, random numbers, scales.")
      .def(nb::new_(&stage_spec), nb::kw_only(), "states"_a, "in_states"_a, "in_columns"_a, "out_states"_a,
           "out_columns"_a, "targets"_a, "target_rows"_a, "target_columns"_a, "column_scale"_a, "row_scale"_a,
           "cost_scale"_a, "discount"_a, "offset"_a, "value_bound"_a, "families"_a, "dual_simplex"_a,
           "reduce"_a);
  nb::class_<lp::Statistics>(m, "Statistics", "Counts and times of solving, summed over threads.")
      .def_ro("solves", &lp::Statistics::solves)
      .def_ro("rounds", &lp::Statistics::rounds)
      .def_ro("iterations", &lp::Statistics::iterations)
      .def_ro("retries", &lp::Statistics::retries)
      .def_prop_ro("solver_s", &lp::Statistics::solver_s)
      .def_prop_ro("solving_s", &lp::Statistics::solving_s);
  nb::class_<lp::Failure>(m, "Failure", "A task without a solution.")
      .def_ro("task", &lp::Failure::task)
      .def_ro("row", &lp::Failure::row)
      .def_prop_ro("status", [](const lp::Failure& failure) { return name_of(failure.status); })
      .def_ro("message", &lp::Failure::message);
  nb::class_<Stage>(m, "NativeStage", "One programme, its cuts, and an instance of it per thread.")
      .def(nb::init<std::shared_ptr<lp::ThreadPool>, const lp::Program&, const lp::StageSpec&, nb::object>(),
           "threads"_a, "program"_a, "spec"_a, "openings"_a)
      .def("step", &Stage::step, nb::kw_only(), "states"_a, "table"_a, "rows"_a, "starts"_a, "saves"_a,
           "iteration"_a, "columns"_a, "duals"_a,
           "Return costs, objectives, outgoing states, values of columns and duals of rows, by task.")
      .def("trial", &Stage::trial, nb::kw_only(), "states"_a, "table"_a, "tour"_a, "firsts"_a, "starts"_a,
           "iteration"_a, "second_opinion"_a, "Return the values and slopes of all realisations, by task.")
      .def_prop_ro("solver_size", &Stage::solver_size,
                   "The rows and columns that are left for the solver, without cuts.")
      .def("cut_places", &Stage::cut_places,
           "Return which of a cut's numbers are the intercept and the slopes.")
      .def("cut_sections", &Stage::cut_sections,
           "Return where the matrices of a block begin, per cut, and where they end.")
      .def("add_block", &Stage::add_block, "block"_a)
      .def("extend_cuts", &Stage::extend_cuts, "families"_a)
      .def("activate", &Stage::activate, "active"_a)
      .def("add_mixture", &Stage::add_mixture, "weights"_a)
      .def("active", &Stage::active)
      .def("last_tight", &Stage::last_tight)
      .def("set_last_tight", &Stage::set_last_tight, "iterations"_a)
      .def("take_uses", &Stage::take_uses)
      .def("set_activity_tolerance", &Stage::set_activity_tolerance, "tolerance"_a)
      .def("resize_slots", &Stage::resize_slots, "count"_a)
      .def("get_slot", &Stage::get_slot, "slot"_a)
      .def("set_slot", &Stage::set_slot, "slot"_a, "numbers"_a)
      .def("take_statistics", &Stage::take_statistics)
      .def("take_failure", &Stage::take_failure);
  m.def("aggregate", &aggregate, nb::kw_only(), "weights"_a, "values"_a, "slopes"_a, "states"_a,
        "Return one cut per trial state: the weighted sum of its outcomes' tangents.");
  m.def("largest_excess", &largest_excess, nb::kw_only(), "cuts"_a, "values"_a, "states"_a, "cost_unit"_a,
        "reach"_a, "Return how far each cut is above the values around it, relative, and where most.");
  m.def("cut_width", &lp::cut_width, "states"_a);
  m.def("evaluate", &evaluate, "cuts"_a, "states"_a, "Return the values of cuts at states: states by cuts.");
}
