// A stage for Python, and batches of its solves.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind/lp_arrays.hpp"
#include "core/lp/cut_index.hpp"
#include "core/lp/job.hpp"
#include "core/lp/stage.hpp"
#include "core/lp/thread_pool.hpp"
#include "core/lp/warm_start.hpp"

namespace cobre::bind {

/// A stage with the arrays that it refers to.
class Stage {
 public:
  Stage(std::shared_ptr<lp::ThreadPool> threads, const lp::Program& program, const lp::StageSpec& spec,
        nb::object openings)
      : threads_(std::move(threads)),
        states_(static_cast<std::size_t>(spec.states)),
        places_(spec.places.size()),
        families_(static_cast<std::size_t>(spec.families)),
        openings_count_(spec.tour.size()),
        openings_(std::move(openings)),
        stage_(program, with_openings(spec, openings_), threads_->size()) {}
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  void add_block(nb::object array) {
    const auto block = nb::cast<Floats>(array);
    const std::size_t width = stage_.cuts.layout().width();
    require(block.size() % width == 0, "a cut has an intercept, all slopes, and zeros");
    stage_.cuts.add_block(block.data(), block.size() / width);
    blocks_.push_back(std::move(array));
  }
  void extend_cuts(Ints families) { stage_.extend_cuts(view(families)); }
  std::pair<Out<std::int32_t, 1>, Out<std::int32_t, 1>> find_cuts(In<double, 2> cuts, Ints families) {
    require(has_shape(cuts, families.size(), states_ + 1), "a cut has an intercept, all slopes and a family");
    const lp::CutIndex::Found found = index_.find(cuts.data(), view(families));
    return {to_numpy(found.added), to_numpy(found.known)};
  }
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
  std::size_t active_count() { return stage_.cuts.active().size(); }
  Out<std::int32_t, 1> last_tight() { return to_numpy(stage_.last_tight); }
  void set_last_tight(Ints iterations) {
    require(iterations.size() == stage_.last_tight.size(), "one iteration per cut");
    stage_.last_tight = copy(iterations);
  }
  Out<std::int32_t, 1> take_uses() {
    return to_numpy(std::exchange(stage_.uses, std::vector<std::int32_t>(stage_.uses.size(), 0)));
  }
  void set_activity_tolerance(double tolerance) { stage_.activity_tolerance = tolerance; }

  void set_start(Ints numbers) { stage_.set_start(view(numbers)); }
  Out<std::int32_t, 1> start() { return to_numpy(encoded(stage_.start())); }
  std::size_t slot_size() { return stage_.start_slots().size(); }
  Out<std::int32_t, 1> start_in(Ints slot) {
    require(slot.size() >= slot_size(), "a slot holds a warm start");
    return to_numpy(encoded(stage_.start_slots().read(slot.data())));
  }

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

  lp::Stage& core() { return stage_; }
  [[nodiscard]] std::size_t states() const { return states_; }
  [[nodiscard]] std::size_t outcomes() const { return openings_count_; }
  void check_states(const In<double, 2>& states) const {
    require(states.shape(1) == states_, "a state has one number per state variable");
  }
  void check_table(const In<double, 2>& table) const {
    require(table.shape(1) == places_, "a realisation has one number per place");
  }
  /// Whether these slots, or -1 for none, are rows of a table of slots of this stage.
  template <class Slots>
  void check_slots(std::span<const std::int32_t> slots, const Slots& table) const {
    const auto end = static_cast<std::int32_t>(table.shape(0));
    for (const std::int32_t slot : slots) {
      require(slot < end, "a slot exists");
      require(slot < 0 || table.shape(1) >= stage_.start_slots().size(), "a slot holds a warm start");
    }
  }

 private:
  static lp::StageSpec with_openings(lp::StageSpec spec, const nb::object& openings) {
    const auto table = nb::cast<In<double, 2>>(openings);
    require(table.shape(1) == spec.places.size(), "a realisation has one number per place");
    require(table.shape(0) == spec.tour.size(), "the tour visits each opening once");
    spec.openings = {table.data(), table.shape(0), table.shape(1)};
    return spec;
  }

  std::shared_ptr<lp::ThreadPool> threads_;
  std::size_t states_, places_, families_, openings_count_;
  nb::object openings_;  // keeps their memory
  lp::Stage stage_;
  lp::CutIndex index_{stage_.cuts};
  std::vector<nb::object> blocks_;  // keeps the memory of the cuts
};

/// Solves of one kind, with their results. The order of tasks is that of all arrays.
class Batch {
 public:
  Batch() = default;
  virtual ~Batch() = default;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  /// Add its units to a job, in which it has this number.
  virtual void add_to(lp::Job& job, int number) = 0;
};

/// One realisation per task: a step of trajectories forward.
class StepBatch final : public Batch {
 public:
  StepBatch(Stage& stage, In<double, 2> states, In<double, 2> table, Ints rows, Ints saves,
            InOut<std::int32_t, 2> ends, std::int32_t iteration, Ints columns, Ints duals)
      : stage_(stage),
        states_(states),
        table_(table),
        rows_(rows),
        saves_(saves),
        columns_(columns),
        duals_(duals),
        ends_(ends),
        iteration_(iteration),
        tasks_(states.shape(0)),
        costs(new_array<double, 1>(tasks_)),
        objectives(new_array<double, 1>(tasks_)),
        outgoing(new_array<double, 2>(tasks_, stage.states())),
        column_values(new_array<double, 2>(tasks_, columns.size())),
        row_duals(new_array<double, 2>(tasks_, duals.size())) {
    stage.check_states(states);
    stage.check_table(table);
    stage.check_slots(view(saves), ends);
    require(rows.size() == tasks_ && saves.size() == tasks_, "every array has one element per task");
    for (const std::int32_t row : view(rows))
      require(row >= 0 && static_cast<std::size_t>(row) < table.shape(0), "a row is in the table");
  }

  void add_to(lp::Job& job, int number) override {
    const lp::Stage::StepBatch batch{.states = states_.data(),
                                     .table = table_.data(),
                                     .rows = rows_.data(),
                                     .saves = saves_.data(),
                                     .ends = ends_.data(),
                                     .end_stride = ends_.shape(1),
                                     .iteration = iteration_,
                                     .columns = view(columns_),
                                     .duals = view(duals_),
                                     .costs = costs.data(),
                                     .objectives = objectives.data(),
                                     .outgoing = outgoing.data(),
                                     .column_values = column_values.data(),
                                     .row_duals = row_duals.data()};
    lp::Stage& stage = stage_.core();
    job.add(stage, number, 0, static_cast<int>(tasks_),
            [&stage, batch](int thread, int task) { return stage.step(thread, task, batch); });
  }

 private:
  Stage& stage_;
  In<double, 2> states_, table_;
  Ints rows_, saves_, columns_, duals_;
  InOut<std::int32_t, 2> ends_;
  std::int32_t iteration_;
  std::size_t tasks_;

 public:
  Out<double, 1> costs, objectives;
  Out<double, 2> outgoing, column_values, row_duals;
};

/// All openings of some stages for each task: the value of a trial state, after which these stages may come.
class TrialBatch final : public Batch {
 public:
  /// `next` is the stage, by number, to which the task's trajectory went on, or -1; only there, the solves
  /// begin with opening `firsts` from slot `starts` of `ends`. Elsewhere they begin from the stage's own
  /// start.
  TrialBatch(std::vector<Stage*> stages, In<double, 2> states, Ints next, Ints firsts, Ints starts,
             In<std::int32_t, 2> ends, InOut<double, 2> values_given, InOut<double, 3> slopes_given,
             std::int32_t iteration, bool second_opinion)
      : stages_(std::move(stages)),
        states_(states),
        ends_(ends),
        iteration_(iteration),
        second_opinion_(second_opinion),
        tasks_(states.shape(0)),
        values(values_given),
        slopes(slopes_given) {
    require(next.size() == tasks_ && firsts.size() == tasks_ && starts.size() == tasks_,
            "every array has one element per task");
    std::size_t total = 0;
    for (const Stage* stage : stages_) {
      stage->check_states(states);
      total += stage->outcomes();
    }
    require(values.shape(1) >= total, "there is an outcome for each opening");
    require(has_shape(values, tasks_, values.shape(1)) &&
                has_shape(slopes, tasks_, values.shape(1), states.shape(1)),
            "there is a value for each task and outcome, and a slope for each state variable");
    firsts_.assign(stages_.size(), std::vector<std::int32_t>(tasks_, -1));
    starts_ = firsts_;
    for (std::size_t task = 0; task < tasks_; ++task) {
      if (next(task) < 0) continue;
      const auto stage = static_cast<std::size_t>(next(task));
      require(stage < stages_.size(), "the next stage is one of these");
      require(firsts(task) < static_cast<std::int32_t>(stages_[stage]->outcomes()), "an opening exists");
      firsts_[stage][task] = firsts(task);
      starts_[stage][task] = starts(task);
    }
    for (std::size_t i = 0; i < stages_.size(); ++i) stages_[i]->check_slots(starts_[i], ends);
  }

  void add_to(lp::Job& job, int number) override {
    const std::size_t stride = values.shape(1), width = slopes.shape(2);
    std::size_t done = 0;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      const lp::Stage::TrialBatch batch{.states = states_.data(),
                                        .firsts = firsts_[i].data(),
                                        .starts = starts_[i].data(),
                                        .ends = ends_.data(),
                                        .end_stride = ends_.shape(1),
                                        .iteration = iteration_,
                                        .stride = stride,
                                        .values = values.data() + done,
                                        .slopes = slopes.data() + done * width,
                                        .second_opinion = second_opinion_};
      lp::Stage& stage = stages_[i]->core();
      const int blocks = stage.blocks();
      job.add(stage, number, static_cast<int>(i), static_cast<int>(tasks_) * blocks,
              [&stage, batch, blocks](int thread, int unit) {
                return stage.trial(thread, unit / blocks, unit % blocks, batch);
              });
      done += stages_[i]->outcomes();
    }
  }

 private:
  std::vector<Stage*> stages_;
  In<double, 2> states_;
  In<std::int32_t, 2> ends_;
  std::int32_t iteration_;
  bool second_opinion_;
  std::size_t tasks_;
  std::vector<std::vector<std::int32_t>> firsts_, starts_;  // by stage and task

 public:
  InOut<double, 2> values;
  InOut<double, 3> slopes;
};

}  // namespace cobre::bind
