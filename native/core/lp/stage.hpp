// The linear programme of a node, solved for many incoming states and realisations.
//
// A task is one incoming state with the realisations to be solved for it. It begins from a stored warm start
// (a basis and the cuts that were tight) or from scratch, and its instance first drops all traces of earlier
// tasks: so its bits do not depend on who computes it, when, or after what.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/lp/cuts.hpp"
#include "core/lp/known_part.hpp"
#include "core/lp/proof.hpp"
#include "core/lp/reduction.hpp"
#include "core/lp/solver.hpp"
#include "core/lp/warm_start.hpp"

namespace cobre::lp {

/// The stage around a programme: states, random numbers, scales, and the value of what follows. All numbers
/// from outside are in the user's units; scales are powers of two, so that scaling changes no bit.
struct StageSpec {
  int states = 0;
  std::vector<int> in_states, in_columns;  // columns ascend
  std::vector<int> out_states, out_columns;
  std::vector<Place> places;                    // of each number of a realisation
  Realisations openings;                        // those that `trial` solves for
  std::vector<int> tour;                        // their order there, a cycle in which neighbours are similar
  std::vector<double> column_scale, row_scale;  // x = scale * x'; row' = scale * row
  double cost_scale = 1;                        // cost' = scale * cost
  double discount = 1, offset = 0;
  double value_bound = 0;
  /// Values of what follows: one, or several whose mixtures bound the first from below (multi cut).
  int families = 1;
  /// Whether programmes whose costs and coefficients do not change have our dual simplex; else HiGHS solves
  /// all.
  bool dual_simplex = true;
  /// Whether what is known before the solve leaves the programme; else only a solver sees that it is known.
  bool reduce = true;
  /// Overrides the choice of a solver, where given: for tests.
  std::function<std::unique_ptr<Solver>(const Program&)> make_solver;
};

/// Counts and times of solving, summed over threads.
struct Statistics {
  std::int64_t solves = 0, rounds = 0, iterations = 0;
  std::int64_t retries = 0;
  std::int64_t solver_ns = 0, solving_ns = 0;  // in the solver; in tasks, the solver included

  Statistics& operator+=(const Statistics& other);
  [[nodiscard]] double solver_s() const noexcept { return static_cast<double>(solver_ns) * 1e-9; }
  [[nodiscard]] double solving_s() const noexcept { return static_cast<double>(solving_ns) * 1e-9; }
};

/// A task without a solution.
struct Failure {
  int task;
  int row;  // of the table of realisations
  Status status;
  std::string message;
};

class Stage;

/// The purpose of a solve, on which its proof depends: a cut rests on duals, a decision on values too. A
/// second opinion is a cut from scratch, by the general solver.
enum class Purpose : std::uint8_t { decision, cut, second_opinion };

/// The programme of a stage in a solver that belongs to one thread.
class Instance {
 public:
  explicit Instance(Stage& stage);

  void begin(const double* state, const WarmStart& start);
  /// Solve one realisation, adding cuts to the programme as long as some are violated. An answer is accepted
  /// when it is proved optimal; otherwise fallback methods are tried.
  Status solve(const double* noise, std::int32_t iteration, Purpose purpose);

  [[nodiscard]] double objective() const;
  [[nodiscard]] double stage_cost() const;
  /// The slope of the objective in each incoming state; 0 for states that do not enter this stage.
  void slopes(double* out);
  void outgoing(double* out) const;
  [[nodiscard]] double column_value(int column) const;
  [[nodiscard]] double row_dual(int row);
  [[nodiscard]] WarmStart start() const;
  [[nodiscard]] std::string message() const { return solver_->message(); }

  Statistics statistics;

 private:
  void apply(const double* noise);
  void set_incoming();
  void set_row_bounds(const std::vector<int>& rows);
  void set_cut_bounds();
  void restore();
  void add_anew(std::span<const std::int32_t> cuts);
  [[nodiscard]] double cut_bound(std::int32_t cut) const;
  [[nodiscard]] std::span<const double> prices();
  void add_cuts(std::span<const std::int32_t> cuts);
  [[nodiscard]] bool add_violated_cuts();
  void mark_tight(std::int32_t iteration, Purpose purpose) const;

  Stage& stage_;
  ProvedSolver solver_;
  KnownPart known_;
  std::vector<double> held_values_;            // of incoming states that are columns
  std::vector<double> lower_, upper_, cost_;   // of the solver's columns, as they are now
  std::vector<double> row_lower_, row_upper_;  // without the shifts by known columns
  std::vector<double> buffer_lower_, buffer_upper_;
  std::vector<std::int32_t> working_;            // cuts in the programme, in the order of their rows
  std::vector<char> carries_, carries_mixture_;  // whether it is there, by cut
  std::vector<double> x_;                        // the outgoing state, laid out like a cut
  std::vector<double> values_, violations_;
  std::span<const double> prices_;  // of known columns; empty until asked for
};

class Stage {
  StageSpec spec_;
  Reduction reduction_;  // what follows is made of it

 public:
  /// Takes a scaled programme. To what is left of it, it appends the columns of the values that follow.
  Stage(const Program& program, StageSpec spec, int threads);
  Stage(const Stage&) = delete;  // instances refer to it
  Stage& operator=(const Stage&) = delete;

  /// One realisation per task: a step of trajectories forward.
  struct StepBatch {
    const double* states;                          // tasks x states
    const double* table;                           // realisations x places
    const std::int32_t* rows;                      // per task, of the table
    const std::int32_t* saves;                     // per task, the slot to store its end in, or -1
    std::int32_t* ends;                            // these slots, see `start_slots`
    std::size_t end_stride;                        // from one of them to the next
    std::int32_t iteration;                        // recorded for tight cuts; below 0: not recorded
    std::span<const std::int32_t> columns, duals;  // whose values, and rows whose duals, to return
    double* costs;                                 // out: tasks
    double* objectives;                            // out: tasks
    double* outgoing;                              // out: tasks x states
    double* column_values;                         // out: tasks x columns
    double* row_duals;                             // out: tasks x duals
  };
  std::optional<Failure> step(int thread, int task, const StepBatch& step);

  /// All openings for each task: the value of a trial state.
  struct TrialBatch {
    const double* states;
    const std::int32_t* firsts;  // per task, the opening to begin with, or -1 for any
    const std::int32_t* starts;  // per task, the slot to begin from, or -1 for the stage's own warm start
    const std::int32_t* ends;    // these slots
    std::size_t end_stride;
    std::int32_t iteration;
    std::size_t stride;           // from one task's values to the next one's
    double* values;               // out: tasks x stride
    double* slopes;               // out: tasks x stride x states
    bool second_opinion = false;  // each opening from scratch, by the general solver
  };
  /// A task's openings come in so many blocks, which are units: each begins from the task's start, whoever
  /// solves the others.
  [[nodiscard]] int blocks() const noexcept { return blocks_; }
  std::optional<Failure> trial(int thread, int task, int block, const TrialBatch& trial);

  /// The size of the programme that is left for the solver, without cuts.
  [[nodiscard]] int columns() const noexcept { return program_.columns; }
  [[nodiscard]] int rows() const noexcept { return program_.rows; }
  /// Whether HiGHS solves all, and not only what our solver leaves to it.
  [[nodiscard]] bool is_for_highs() const noexcept { return for_highs_; }
  [[nodiscard]] Statistics take_statistics();

  // The rest is for one thread at a time, while nothing is being solved.

  /// Set the warm start that comes from outside, as `encoded`. Throws std::invalid_argument if it does not
  /// fit.
  void set_start(std::span<const std::int32_t> numbers);
  [[nodiscard]] const WarmStart& start() const noexcept { return start_; }
  [[nodiscard]] StartSlots start_slots() const;
  void extend_cuts(std::span<const std::int32_t> families);
  Cuts cuts;
  std::vector<std::vector<double>> mixtures;  // weights of the families from 1 on
  /// The last iteration in which each cut was tight; 0 for never.
  std::vector<std::int32_t> last_tight;
  /// In how many solves of trial states each cut was tight, since somebody last took the counts.
  std::vector<std::int32_t> uses;
  /// A cut is tight where its dual is above this: its share of the value that follows, from 0 to 1.
  double activity_tolerance = 0;

 private:
  friend class Instance;
  Instance& instance(int thread);

  /// A number that a realisation changes, in the programme that is left.
  struct Change {
    std::size_t place;
    Target target;
    int row, column;  // below 0: of a known column, see `Reduction`
    double factor;
  };
  /// An outgoing state that the solver decides, or an incoming one that it has as a column.
  struct State {
    int state, column;
    double scale;  // of the column
  };
  void note_changes();
  void append_values();

  Program program_;  // what is left, and the values that follow
  std::vector<double> known_costs_;
  KnownStates known_states_;
  std::vector<Change> changes_;
  std::vector<State> held_, decided_;
  std::vector<int> held_columns_;
  WarmStart start_;  // where solves begin that are given no other
  // What realisations change, ascending.
  std::vector<int> noisy_rows_, noisy_columns_, noisy_costs_;
  bool changes_matrix_ = false;
  std::vector<std::unique_ptr<Instance>> instances_;  // by thread; made on first use, by that thread
  std::vector<std::size_t> positions_;                // by opening, in the tour
  int blocks_ = 1;
  bool for_highs_ = false;
};

}  // namespace cobre::lp
