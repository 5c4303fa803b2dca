// cobre._lp: many solves of one linear programme, on several threads; and arithmetic on cuts.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>
#include <vector>

#include "bind/lp_arrays.hpp"
#include "bind/lp_stage.hpp"
#include "core/float_environment.hpp"
#include "core/lp/cut_batch.hpp"
#include "core/lp/cuts.hpp"
#include "core/lp/highs.hpp"
#include "core/processor.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace lp = cobre::lp;

namespace {

using namespace cobre::bind;

/// Whether Ctrl-C or another signal has raised; asked without the GIL.
bool python_interrupts() {
  const nb::gil_scoped_acquire acquired;
  return PyErr_CheckSignals() != 0;
}

lp::Statistics take_statistics(const std::vector<Stage*>& stages) {
  lp::Statistics sum;
  for (Stage* const stage : stages) sum += stage->take_statistics();
  return sum;
}

/// Solve batches as one job; the failure of the first unit that failed.
std::optional<lp::BatchFailure> solve(lp::ThreadPool& threads, const std::vector<Batch*>& batches,
                                      std::optional<InOut<std::int64_t, 1>> next,
                                      std::optional<InOut<double, 1>> seconds) {
  if (next) require(next->size() == 1, "the counter of tasks is one number");
  lp::Job job;
  for (std::size_t i = 0; i < batches.size(); ++i) batches[i]->add_to(job, static_cast<int>(i));
  if (seconds) {
    require(seconds->size() >= static_cast<std::size_t>(job.units()), "there is a place for each unit");
    job.record(seconds->data());
  }
  bool finished = true;
  {
    const nb::gil_scoped_release released;
    finished = job.run(threads, python_interrupts, next ? next->data() : nullptr);
  }
  if (!finished) throw nb::python_error();
  return job.failure();
}

/// The default floating-point environment for the body of a `with` statement.
class FloatEnvironment {
 public:
  void enter() { inside_.emplace(); }
  void exit(const nb::args&) { inside_.reset(); }

 private:
  std::optional<cobre::DefaultFloatEnvironment> inside_;
};

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
                         double value_bound, int families, bool dual_simplex, bool reduce, Ints tour) {
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
                     .tour = copy(tour),
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
  const auto cuts = new_array<double, 2>(given.trials, given.states + 1);
  lp::aggregate(given, cuts.data());
  return cuts;
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
  const auto excess = new_array<double, 2>(batch.trials, batch.cuts_per_trial);
  const auto where = new_array<std::int32_t, 2>(batch.trials, batch.cuts_per_trial);
  lp::largest_excess(batch, cost_unit, reach, excess.data(), where.data());
  return {excess, where};
}

Out<double, 2> evaluate(In<double, 2> cuts, In<double, 2> states) {
  const std::size_t count = cuts.shape(0), points = states.shape(0), width = states.shape(1);
  require(cuts.shape(1) == lp::cut_width(static_cast<int>(width)),
          "a cut has an intercept, all slopes, and zeros");
  const auto values = new_array<double, 2>(points, count);
  {
    const nb::gil_scoped_release released;
    lp::evaluate(cuts.data(), count, states.data(), points, width, values.data());
  }
  return values;
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
      .def("__len__", &lp::ThreadPool::size)
      .def("solve", &solve, "batches"_a, "next"_a = nb::none(), "seconds"_a = nb::none(),
           "Solve batches as one job, shared by all that have this counter in their memory, and write the "
           "seconds of each unit; return the first task that has no solution, if there is one.");
  nb::class_<lp::Program>(m, "Program", "A linear programme in scaled units, its matrix by columns.")
      .def(nb::new_(&program), nb::kw_only(), "costs"_a, "column_lower"_a, "column_upper"_a, "row_lower"_a,
           "row_upper"_a, "starts"_a, "rows"_a, "values"_a);
  nb::class_<lp::StageSpec>(m, "StageSpec", "The stage around a programme: states, random numbers, scales.")
      .def(nb::new_(&stage_spec), nb::kw_only(), "states"_a, "in_states"_a, "in_columns"_a, "out_states"_a,
           "out_columns"_a, "targets"_a, "target_rows"_a, "target_columns"_a, "column_scale"_a, "row_scale"_a,
           "cost_scale"_a, "discount"_a, "offset"_a, "value_bound"_a, "families"_a, "dual_simplex"_a,
           "reduce"_a, "tour"_a);
  nb::class_<lp::Statistics>(m, "Statistics", "Counts and times of solving, summed over threads.")
      .def_ro("solves", &lp::Statistics::solves)
      .def_ro("rounds", &lp::Statistics::rounds)
      .def_ro("iterations", &lp::Statistics::iterations)
      .def_ro("retries", &lp::Statistics::retries)
      .def_prop_ro("solver_s", &lp::Statistics::solver_s)
      .def_prop_ro("solving_s", &lp::Statistics::solving_s);
  nb::class_<lp::BatchFailure>(m, "Failure", "A task without a solution.")
      .def_ro("batch", &lp::BatchFailure::batch)
      .def_prop_ro("task", [](const lp::BatchFailure& found) { return found.failure.task; })
      .def_prop_ro("row", [](const lp::BatchFailure& found) { return found.failure.row; })
      .def_ro("stage", &lp::BatchFailure::stage)
      .def_prop_ro("status", [](const lp::BatchFailure& found) { return name_of(found.failure.status); })
      .def_prop_ro("message", [](const lp::BatchFailure& found) { return found.failure.message; });
  nb::class_<Stage>(m, "NativeStage", "One programme, its cuts, and an instance of it per thread.")
      .def(nb::init<std::shared_ptr<lp::ThreadPool>, const lp::Program&, const lp::StageSpec&, nb::object>(),
           "threads"_a, "program"_a, "spec"_a, "openings"_a)
      .def_prop_ro("solver_size", &Stage::solver_size,
                   "The rows and columns that are left for the solver, without cuts.")
      .def("cut_places", &Stage::cut_places,
           "Return which of a cut's numbers are the intercept and the slopes.")
      .def("cut_sections", &Stage::cut_sections,
           "Return where the matrices of a block begin, per cut, and where they end.")
      .def("add_block", &Stage::add_block, "block"_a)
      .def("extend_cuts", &Stage::extend_cuts, "families"_a)
      .def("find_cuts", &Stage::find_cuts, "cuts"_a, "families"_a,
           "Return which cuts are new, and the places of the others.")
      .def("activate", &Stage::activate, "active"_a)
      .def_prop_ro("active_count", &Stage::active_count)
      .def("add_mixture", &Stage::add_mixture, "weights"_a)
      .def("active", &Stage::active)
      .def("last_tight", &Stage::last_tight)
      .def("set_last_tight", &Stage::set_last_tight, "iterations"_a)
      .def("take_uses", &Stage::take_uses)
      .def("set_activity_tolerance", &Stage::set_activity_tolerance, "tolerance"_a)
      .def("start", &Stage::start, "Return the warm start from which solves begin that are given no other.")
      .def("set_start", &Stage::set_start, "numbers"_a)
      .def_prop_ro("slot_size", &Stage::slot_size, "The length of a slot for the end of a solve.")
      .def("start_in", &Stage::start_in, "slot"_a, "Return the warm start that a slot holds.")
      .def("take_statistics", &Stage::take_statistics);
  m.def("take_statistics", &take_statistics, "stages"_a, "Return what solving took since the last call.");
  constexpr auto owned = nb::rv_policy::automatic;  // arrays own their numbers, also when the batch is gone
  nb::class_<Batch>(m, "Batch", "Solves of one kind, with their results once a pool has solved them.");
  nb::class_<StepBatch, Batch>(m, "StepBatch", "One realisation per task.")
      .def(nb::init<Stage&, In<double, 2>, In<double, 2>, Ints, Ints, InOut<std::int32_t, 2>, std::int32_t,
                    Ints, Ints>(),
           nb::keep_alive<1, 2>(), "stage"_a, nb::kw_only(), "states"_a, "table"_a, "rows"_a, "saves"_a,
           "ends"_a, "iteration"_a, "columns"_a, "duals"_a)
      .def_prop_ro(
          "costs", [](const StepBatch& batch) { return batch.costs; }, owned)
      .def_prop_ro(
          "objectives", [](const StepBatch& batch) { return batch.objectives; }, owned)
      .def_prop_ro(
          "outgoing", [](const StepBatch& batch) { return batch.outgoing; }, owned)
      .def_prop_ro(
          "columns", [](const StepBatch& batch) { return batch.column_values; }, owned)
      .def_prop_ro("duals", [](const StepBatch& batch) { return batch.row_duals; }, owned);
  nb::class_<TrialBatch, Batch>(m, "TrialBatch", "All openings of some stages for each task.")
      .def(nb::init<std::vector<Stage*>, In<double, 2>, Ints, Ints, Ints, In<std::int32_t, 2>,
                    InOut<double, 2>, InOut<double, 3>, std::int32_t, bool>(),
           nb::keep_alive<1, 2>(), "stages"_a, nb::kw_only(), "states"_a, "next"_a, "firsts"_a, "starts"_a,
           "ends"_a, "values"_a, "slopes"_a, "iteration"_a, "second_opinion"_a)
      .def_prop_ro(
          "values", [](const TrialBatch& batch) { return batch.values; }, owned)
      .def_prop_ro("slopes", [](const TrialBatch& batch) { return batch.slopes; }, owned);
  m.def("aggregate", &aggregate, nb::kw_only(), "weights"_a, "values"_a, "slopes"_a, "states"_a,
        "Return one cut per trial state: the weighted sum of its outcomes' tangents.");
  m.def("largest_excess", &largest_excess, nb::kw_only(), "cuts"_a, "values"_a, "states"_a, "cost_unit"_a,
        "reach"_a, "Return how far each cut is above the values around it, relative, and where most.");
  m.def("cut_width", &lp::cut_width, "states"_a);
  m.def("evaluate", &evaluate, "cuts"_a, "states"_a, "Return the values of cuts at states: states by cuts.");
}
