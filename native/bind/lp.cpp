// cobre._lp: many solves of one linear programme, on several threads.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "core/lp/cut_batch.hpp"
#include "core/lp/highs.hpp"
#include "core/lp/stage.hpp"
#include "core/lp/workers.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace cobre::lp;

namespace {

template <class T, std::size_t dimensions>
using In = nb::ndarray<const T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu, nb::numpy>;
template <class T, std::size_t dimensions>
using Out = nb::ndarray<T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu, nb::numpy>;

template <class T>
std::span<const T> view(const In<T, 1>& array) {
  return {array.data(), array.size()};
}

template <class T>
std::vector<T> copy(const In<T, 1>& array) {
  return {array.data(), array.data() + array.size()};
}

std::vector<int> indices(const In<std::int32_t, 1>& array) { return copy<std::int32_t>(array); }

using Numbers = nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>;

Numbers to_numpy(std::vector<std::int32_t> values) {
  auto* kept = new std::vector<std::int32_t>(std::move(values));
  nb::capsule owner(kept, [](void* data) noexcept { delete static_cast<std::vector<std::int32_t>*>(data); });
  return {kept->data(), {kept->size()}, owner};
}

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

template <class Array>
bool has_shape(const Array& array, std::size_t rows, std::size_t columns) {
  return array.shape(0) == rows && array.shape(1) == columns;
}

/// Whether Ctrl-C or another signal has raised; asked without the GIL.
bool python_interrupts() {
  const nb::gil_scoped_acquire acquired;
  return PyErr_CheckSignals() != 0;
}

const char* name_of(Status status) {
  switch (status) {
    case Status::optimal:
      return "optimal";
    case Status::infeasible:
      return "infeasible";
    case Status::unbounded:
      return "unbounded";
    case Status::inaccurate:
      return "inaccurate";
    default:
      return "failed";
  }
}

class StageBinding {
 public:
  StageBinding(const StageBinding&) = delete;
  StageBinding& operator=(const StageBinding&) = delete;
  using Named = nb::typed<nb::dict, nb::str, nb::any>;
  StageBinding(std::shared_ptr<Workers> workers, Named program, Named shape)
      : workers_(std::move(workers)),
        states_(nb::cast<int>(shape["states"])),
        places_(nb::len(nb::object(shape["targets"]))),
        stage_(program_of(program), shape_of(shape), workers_->threads()) {}

  void step(In<double, 2> states, In<double, 2> table, In<std::int32_t, 1> rows, In<std::int32_t, 1> starts,
            In<std::int32_t, 1> saves, std::int32_t iteration, In<std::int32_t, 1> columns,
            In<std::int32_t, 1> duals, Out<double, 1> costs, Out<double, 1> objectives,
            Out<double, 2> outgoing, Out<double, 2> column_values, Out<double, 2> row_duals) {
    const std::size_t units = states.shape(0);
    check_units(states, table, starts);
    require(rows.size() == units && saves.size() == units && costs.size() == units &&
                objectives.size() == units && outgoing.shape(0) == units && column_values.shape(0) == units &&
                row_duals.shape(0) == units,
            "every array has one element per unit");
    require(outgoing.shape(1) == states.shape(1) && column_values.shape(1) == columns.size() &&
                row_duals.shape(1) == duals.size(),
            "results have one column per number");
    for (const std::int32_t row : view<std::int32_t>(rows)) {
      require(row >= 0 && static_cast<std::size_t>(row) < table.shape(0), "a row is in the table");
    }
    for (const std::int32_t slot : view<std::int32_t>(saves)) require(slot < slots(), "a slot exists");
    const Stage::Step job{states.data(),
                          table.data(),
                          rows.data(),
                          starts.data(),
                          saves.data(),
                          iteration,
                          view<std::int32_t>(columns),
                          view<std::int32_t>(duals),
                          costs.data(),
                          objectives.data(),
                          outgoing.data(),
                          column_values.data(),
                          row_duals.data()};
    run(units, [&](int worker, int unit) { stage_.step(worker, unit, job); });
  }

  void trial(In<double, 2> states, In<double, 2> table, In<std::int32_t, 1> tour, In<std::int32_t, 1> firsts,
             In<std::int32_t, 1> starts, std::int32_t iteration, Out<double, 2> values, Out<double, 3> slopes,
             bool careful) {
    const std::size_t units = states.shape(0);
    check_units(states, table, starts);
    require(firsts.size() == units && values.shape(0) == units && slopes.shape(0) == units &&
                values.shape(1) == tour.size() && slopes.shape(1) == tour.size() &&
                slopes.shape(2) == states.shape(1) && tour.size() == table.shape(0),
            "every array has one element per unit");
    const Stage::Trial job{states.data(), table.data(),  view<std::int32_t>(tour),
                           firsts.data(), starts.data(), iteration,
                           values.data(), slopes.data(), careful};
    run(units, [&](int worker, int unit) { stage_.trial(worker, unit, job); });
  }

  void add_block(nb::object array) {
    const auto block = nb::cast<In<double, 2>>(array);
    require(block.shape(1) == cut_width(states_), "a cut has an intercept, all slopes, and zeros");
    stage_.cuts.add_block(block.data(), block.shape(0));
    blocks_.push_back(std::move(array));
  }

  void extend_cuts(In<std::int32_t, 1> families) { stage_.extend_cuts(view<std::int32_t>(families)); }
  void activate(In<std::int32_t, 1> active) {
    for (const std::int32_t cut : view<std::int32_t>(active)) {
      require(cut >= 0 && static_cast<std::size_t>(cut) < stage_.cuts.count(), "a cut exists");
    }
    stage_.cuts.activate(copy<std::int32_t>(active));
  }
  void add_mixture(In<double, 1> weights) { stage_.mixtures.push_back(copy<double>(weights)); }
  Numbers active() { return to_numpy(stage_.cuts.active()); }
  Numbers tight_in() { return to_numpy(stage_.tight_in); }
  void set_tight_in(In<std::int32_t, 1> marks) {
    require(marks.size() == stage_.tight_in.size(), "one mark per cut");
    stage_.tight_in = copy<std::int32_t>(marks);
  }

  void resize_slots(std::size_t count) { stage_.slots.resize(count); }
  /// A start as numbers: how many cuts, the cuts, then the basis.
  Numbers get_slot(std::size_t slot) {
    const Start& start = stage_.slots.at(slot);
    std::vector<std::int32_t> numbers{static_cast<std::int32_t>(start.cuts.size())};
    numbers.insert(numbers.end(), start.cuts.begin(), start.cuts.end());
    numbers.insert(numbers.end(), start.basis.columns.begin(), start.basis.columns.end());
    numbers.insert(numbers.end(), start.basis.rows.begin(), start.basis.rows.end());
    return to_numpy(std::move(numbers));
  }
  void set_slot(std::size_t slot, In<std::int32_t, 1> numbers) {
    require(numbers.size() >= 1, "a start has at least its number of cuts");
    const std::int32_t* next = numbers.data();
    const std::int32_t* const end = next + numbers.size();
    const std::int32_t cuts = *next++;
    Start start;
    if (cuts < 0 || end - next < cuts) throw std::invalid_argument("a start has as many cuts as it says");
    start.cuts.assign(next, next + cuts);
    next += cuts;
    if (next != end) {
      const std::ptrdiff_t basic = end - next;
      require(basic == stage_.columns() + stage_.rows() + cuts, "a basis has one element per column and row");
      start.basis.columns.assign(next, next + stage_.columns());
      start.basis.rows.assign(next + stage_.columns(), end);
    }
    for (const std::int32_t cut : start.cuts) {
      require(cut < static_cast<std::int32_t>(stage_.cuts.count()) &&
                  -1 - cut < static_cast<std::int32_t>(stage_.mixtures.size()),
              "a start's cuts exist");
    }
    stage_.slots.at(slot) = std::move(start);
  }

  nb::typed<nb::dict, nb::str, double> take_statistics() {
    const Statistics sum = stage_.take_statistics();
    nb::dict named;
    named["solves"] = sum.solves;
    named["rounds"] = sum.rounds;
    named["iterations"] = sum.iterations;
    named["retries"] = sum.retries;
    named["solver_s"] = sum.solver_s();
    named["unit_s"] = sum.unit_s();
    return nb::borrow<nb::typed<nb::dict, nb::str, double>>(named);
  }

  /// (unit, row, status, words) of the first unit that failed in the last batch, or None.
  std::optional<std::tuple<int, int, std::string, std::string>> take_failure() {
    const Failure failure = stage_.take_failure();
    if (failure.unit < 0) return std::nullopt;
    return std::tuple{failure.unit, failure.row, std::string(name_of(failure.status)), failure.words};
  }

 private:
  static Program program_of(const nb::dict& from) {
    const auto numbers = [&](const char* name) { return copy<double>(nb::cast<In<double, 1>>(from[name])); };
    const auto whole = [&](const char* name) { return indices(nb::cast<In<std::int32_t, 1>>(from[name])); };
    Program program;
    program.cost = numbers("costs");
    program.column_lower = numbers("column_lower");
    program.column_upper = numbers("column_upper");
    program.row_lower = numbers("row_lower");
    program.row_upper = numbers("row_upper");
    program.starts = whole("starts");
    program.indices = whole("rows");
    program.values = numbers("values");
    program.columns = static_cast<int>(program.cost.size());
    program.rows = static_cast<int>(program.row_lower.size());
    return program;
  }

  static Shape shape_of(const nb::dict& from) {
    const auto numbers = [&](const char* name) { return copy<double>(nb::cast<In<double, 1>>(from[name])); };
    const auto whole = [&](const char* name) { return indices(nb::cast<In<std::int32_t, 1>>(from[name])); };
    Shape shape;
    shape.states = nb::cast<int>(from["states"]);
    shape.in_states = whole("in_states");
    shape.in_columns = whole("in_columns");
    shape.out_states = whole("out_states");
    shape.out_columns = whole("out_columns");
    const std::vector<int> targets = whole("targets"), rows = whole("target_rows"),
                           columns = whole("target_columns");
    for (std::size_t i = 0; i < targets.size(); ++i) {
      shape.places.push_back({static_cast<Target>(targets[i]), rows[i], columns[i]});
    }
    shape.column_scale = numbers("column_scale");
    shape.row_scale = numbers("row_scale");
    shape.cost_scale = nb::cast<double>(from["cost_scale"]);
    shape.discount = nb::cast<double>(from["discount"]);
    shape.offset = nb::cast<double>(from["offset"]);
    shape.value_bound = nb::cast<double>(from["value_bound"]);
    shape.families = nb::cast<int>(from["families"]);
    shape.dense = nb::cast<bool>(from["dense"]);
    return shape;
  }

  [[nodiscard]] std::int32_t slots() const { return static_cast<std::int32_t>(stage_.slots.size()); }

  void check_units(const In<double, 2>& states, const In<double, 2>& table,
                   const In<std::int32_t, 1>& starts) {
    require(states.shape(1) == static_cast<std::size_t>(states_), "a state has one number per state");
    require(table.shape(1) == places_, "a realisation has one number per place");
    require(starts.size() == states.shape(0), "every array has one element per unit");
    for (const std::int32_t slot : view<std::int32_t>(starts)) require(slot < slots(), "a slot exists");
  }

  void run(std::size_t units, const std::function<void(int, int)>& work) {
    bool finished = true;
    {
      const nb::gil_scoped_release released;
      finished = workers_->run(static_cast<int>(units), work, python_interrupts);
    }
    if (!finished) throw nb::python_error();
  }

  std::shared_ptr<Workers> workers_;
  int states_;
  std::size_t places_;
  Stage stage_;
  std::vector<nb::object> blocks_;  // keeps the memory of the cuts
};

void aggregate(In<double, 2> weights, In<double, 2> values, In<double, 3> slopes, In<double, 2> states,
               Out<double, 2> cuts) {
  const TrialOutcomes given{.trials = values.shape(0),
                            .outcomes = values.shape(1),
                            .states = slopes.shape(2),
                            .weights = weights.data(),
                            .values = values.data(),
                            .slopes = slopes.data(),
                            .points = states.data()};
  require(has_shape(weights, given.trials, given.outcomes) && states.shape(0) == given.trials &&
              slopes.shape(0) == given.trials && slopes.shape(1) == given.outcomes &&
              states.shape(1) == given.states && has_shape(cuts, given.trials, given.states + 1),
          "arrays of one shape");
  cobre::lp::aggregate(given, cuts.data());
}

void largest_excess(In<double, 3> cuts, In<double, 2> values, In<double, 2> states, double cost_unit,
                    std::size_t reach, Out<double, 2> excess, Out<std::int32_t, 2> where) {
  const CutBatch batch{.trials = cuts.shape(0),
                       .cuts_per_trial = cuts.shape(1),
                       .states = states.shape(1),
                       .cuts = cuts.data(),
                       .values = values.data(),
                       .points = states.data()};
  require(states.shape(0) == batch.trials && cuts.shape(2) == batch.states + 1 &&
              has_shape(values, batch.trials, batch.cuts_per_trial) &&
              has_shape(excess, batch.trials, batch.cuts_per_trial) &&
              has_shape(where, batch.trials, batch.cuts_per_trial),
          "arrays of one shape");
  cobre::lp::largest_excess(batch, cost_unit, reach, excess.data(), where.data());
}

void evaluate(In<double, 2> cuts, In<double, 2> states, Out<double, 2> values) {
  const std::size_t count = cuts.shape(0), points = states.shape(0), width = states.shape(1);
  require(cuts.shape(1) == cut_width(static_cast<int>(width)) && has_shape(values, points, count),
          "arrays of one shape");
  const nb::gil_scoped_release released;
  cobre::lp::evaluate(cuts.data(), count, states.data(), points, width, values.data());
}

}  // namespace

NB_MODULE(_lp, m) {
  m.attr("HIGHS_LIBRARY") = library_version();
  m.attr("HIGHS_HEADERS") = header_version();
  nb::class_<Workers>(m, "Workers", "Threads that solve.")
      .def(nb::init<int>(), "threads"_a)
      .def_prop_ro("threads", &Workers::threads);
  nb::class_<StageBinding>(m, "Stage", "One programme, its cuts, and an instance of it per thread.")
      .def(nb::init<std::shared_ptr<Workers>, StageBinding::Named, StageBinding::Named>(), "workers"_a,
           "program"_a, "shape"_a)
      .def("step", &StageBinding::step, "states"_a, "table"_a, "rows"_a, "starts"_a, "saves"_a, "iteration"_a,
           "columns"_a, "duals"_a, "costs"_a, "objectives"_a, "outgoing"_a, "column_values"_a, "row_duals"_a)
      .def("trial", &StageBinding::trial, "states"_a, "table"_a, "tour"_a, "firsts"_a, "starts"_a,
           "iteration"_a, "values"_a, "slopes"_a, "careful"_a = false)
      .def("add_block", &StageBinding::add_block, "block"_a)
      .def("extend_cuts", &StageBinding::extend_cuts, "families"_a)
      .def("activate", &StageBinding::activate, "active"_a)
      .def("add_mixture", &StageBinding::add_mixture, "weights"_a)
      .def("active", &StageBinding::active)
      .def("tight_in", &StageBinding::tight_in)
      .def("set_tight_in", &StageBinding::set_tight_in, "marks"_a)
      .def("resize_slots", &StageBinding::resize_slots, "count"_a)
      .def("get_slot", &StageBinding::get_slot, "slot"_a)
      .def("set_slot", &StageBinding::set_slot, "slot"_a, "numbers"_a)
      .def("take_statistics", &StageBinding::take_statistics)
      .def("take_failure", &StageBinding::take_failure);
  m.def("aggregate", &aggregate, "weights"_a, "values"_a, "slopes"_a, "states"_a, "cuts"_a);
  m.def("largest_excess", &largest_excess, "cuts"_a, "values"_a, "states"_a, "cost_unit"_a, "reach"_a,
        "excess"_a, "where"_a);
  m.def("cut_width", &cut_width, "states"_a);
  m.def("evaluate", &evaluate, "cuts"_a, "states"_a, "values"_a);
}
