// Many solves of one or several stages as one job of a pool of threads.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/lp/stage.hpp"
#include "core/lp/thread_pool.hpp"

namespace cobre::lp {

/// A failure, which of a job's batches it belongs to, and which of the batch's stages.
struct BatchFailure {
  int batch, stage;
  Failure failure;
};

/// Batches of units: a thread that finds no more of one goes on with the next, so that they wait together.
class Job {
 public:
  using Solve = std::function<std::optional<Failure>(int thread, int unit)>;

  /// Add units of one batch and one of its stages.
  void add(const Stage& stage, int batch, int number, int units, Solve solve);
  [[nodiscard]] int units() const noexcept { return units_; }
  /// Write the processor seconds of each unit there, from now on.
  void record(double* seconds) { seconds_ = seconds; }
  /// False if it was interrupted. Processes that run the same job with the same counter `next`, which is 0 at
  /// first, each solve some of its units.
  [[nodiscard]] bool run(ThreadPool& threads, const std::function<bool()>& interrupted,
                         std::int64_t* next = nullptr);
  /// The failure of the first unit that failed, in the order in which they were added: the same on any
  /// number of threads.
  [[nodiscard]] std::optional<BatchFailure> failure() const;

 private:
  struct Part {
    int batch, stage, first;  // the latter of its units among those of the job
    Solve solve;
  };
  struct UnitFailure {
    int unit;
    BatchFailure failure;
  };
  void solve(int thread, int unit);

  std::vector<Part> parts_;
  int units_ = 0;
  bool for_highs_ = false;
  double* seconds_ = nullptr;
  std::vector<std::optional<UnitFailure>> failures_;  // by thread, the first of each
};

}  // namespace cobre::lp
