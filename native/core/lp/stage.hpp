// The linear programme of a node, solved for many incoming states and realisations.
//
// A unit of work is one incoming state with the realisations to be solved for it. It begins from a stored
// start (a basis and the cuts that were tight) or from scratch, with nothing left of what its instance did
// before, so its bits do not depend on who computes it, when, or after what.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/lp/cuts.hpp"
#include "core/lp/proof.hpp"
#include "core/lp/solver.hpp"

namespace cobre::lp {

/// The numbers that a realisation can change. The same order as `cobre.lp._noise.TARGETS`.
enum class Target : std::uint8_t {
  rhs,
  row_lower,
  row_upper,
  fix,
  column_lower,
  column_upper,
  cost,
  coefficient
};

struct Place {
  Target target;
  int row;
  int column;
};

/// What surrounds a programme. All numbers from outside are in the user's units; scales are powers of two.
struct Shape {
  int states = 0;
  std::vector<int> in_states, in_columns;  // columns ascend
  std::vector<int> out_states, out_columns;
  std::vector<Place> places;                    // one per number of a realisation
  std::vector<double> column_scale, row_scale;  // x = scale * x'; row' = scale * row
  double cost_scale = 1;                        // cost' = scale * cost
  double discount = 1, offset = 0;
  double value_bound = 0;
  /// How many values follow: one, or several whose mixtures bound the first from below (multi cut).
  int families = 1;
  /// Whether small programmes may have a solver of their own; else HiGHS solves all.
  bool dense = true;
  /// Makes another solver than these, where given: for tests.
  std::function<std::unique_ptr<Solver>(const Program&)> make_solver;
};

/// Where a solve begins: the cuts in the programme and the basis. Cuts below 0 are mixtures: -1 is the first.
struct Start {
  std::vector<std::int32_t> cuts;
  Basis basis;
};

/// How a batch went; summed over threads.
struct Statistics {
  std::int64_t solves = 0, rounds = 0, iterations = 0;
  std::int64_t retries = 0;
  std::int64_t run_ns = 0, unit_ns = 0;  // in the solver; in units altogether

  [[nodiscard]] double solver_s() const noexcept { return static_cast<double>(run_ns) * 1e-9; }
  [[nodiscard]] double unit_s() const noexcept { return static_cast<double>(unit_ns) * 1e-9; }
};

struct Failure {
  int unit = -1;
  int row = -1;  // of the table of realisations
  Status status = Status::optimal;
  std::string words;
};

class Stage;

/// What a solve is for: a cut rests on its duals, a decision on its values too. A second opinion is a cut
/// from scratch, by the general solver.
enum class Purpose : std::uint8_t { decision, cut, second_opinion };

/// One programme in one thread's hands.
class Instance {
 public:
  explicit Instance(Stage& stage);

  void begin(const double* state, const Start* start);
  /// Cuts that were not in the programme and are violated come into it. What the solver calls optimal counts
  /// if it proves to be; if not, other means are tried.
  Status solve(const double* noise, std::int32_t iteration, Purpose purpose);

  [[nodiscard]] double objective() const;
  [[nodiscard]] double stage_cost() const;
  /// The slope of the objective in each incoming state; 0 for states that do not come in.
  void slopes(double* out) const;
  void outgoing(double* out) const;
  [[nodiscard]] double column_value(int column) const;
  [[nodiscard]] double row_dual(int row) const;
  [[nodiscard]] Start start() const;
  [[nodiscard]] std::string words() const { return solver_->words(); }

  Statistics statistics;

 private:
  void apply(const double* noise);
  void restore();
  void add(std::span<const std::int32_t> cuts);
  [[nodiscard]] bool add_violated();
  void mark_tight(std::int32_t iteration) const;

  Stage& stage_;
  ProvedSolver solver_;
  std::vector<double> in_values_;             // scaled
  std::vector<double> lower_, upper_, cost_;  // of all columns, as they are now
  std::vector<double> row_lower_, row_upper_;
  std::vector<double> buffer_lower_, buffer_upper_;
  std::vector<std::int32_t> working_;
  std::vector<char> carries_, carries_mixture_;  // by cut
  std::vector<double> outgoing_, values_, violations_;
};

class Stage {
 public:
  /// The programme is scaled already; the columns of the values that follow are appended here.
  Stage(Program program, Shape shape, int threads);
  Stage(const Stage&) = delete;  // instances refer to it
  Stage& operator=(const Stage&) = delete;

  /// One realisation per unit: a step of trajectories.
  struct Step {
    const double* states;                          // units x states
    const double* table;                           // realisations x places
    const std::int32_t* rows;                      // per unit, of the table
    const std::int32_t* starts;                    // per unit, a slot, or -1 for none
    const std::int32_t* saves;                     // likewise
    std::int32_t iteration;                        // for cuts that are tight; below 0: do not mark
    std::span<const std::int32_t> columns, duals;  // what else to read
    double* costs;                                 // out: units
    double* objectives;                            // out: units
    double* outgoing;                              // out: units x states
    double* column_values;                         // out: units x columns
    double* row_duals;                             // out: units x duals
  };
  void step(int worker, int unit, const Step& step);

  /// All realisations for each unit: a trial state and what it is worth.
  struct Trial {
    const double* states;
    const double* table;
    std::span<const std::int32_t> tour;  // the order of the realisations, a cycle
    const std::int32_t* firsts;          // per unit, the position in the tour to begin with
    const std::int32_t* starts;
    std::int32_t iteration;
    double* values;        // out: units x realisations
    double* slopes;        // out: units x realisations x states
    bool careful = false;  // each realisation from scratch, by the general solver
  };
  void trial(int worker, int unit, const Trial& trial);

  [[nodiscard]] int columns() const noexcept { return program_.columns; }
  [[nodiscard]] int rows() const noexcept { return program_.rows; }
  [[nodiscard]] Statistics take_statistics();
  /// The failure of the first unit that failed since the last call, in the order of units.
  [[nodiscard]] Failure take_failure();

  // The rest is for one thread at a time, while nothing is being solved.
  void extend_cuts(std::span<const std::int32_t> families);
  Cuts cuts;
  std::vector<std::vector<double>> mixtures;  // weights of the families from 1 on
  std::vector<Start> slots;
  /// The last iteration in which each cut was tight; 0 for never.
  std::vector<std::int32_t> tight_in;

 private:
  friend class Instance;
  Instance& instance(int worker);

  Program program_;
  Shape shape_;
  // What realisations change, ascending, and where each place goes.
  std::vector<int> noisy_rows_, noisy_columns_, noisy_costs_;
  bool changes_matrix_ = false;
  std::vector<std::unique_ptr<Instance>> instances_;  // by worker; made on first use, by that worker
  std::vector<Failure> failures_;                     // by worker
};

}  // namespace cobre::lp
