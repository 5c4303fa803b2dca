#include "core/lp/job.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

namespace cobre::lp {

namespace {

/// Processor time of this thread: it does not count while others have the core.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

void Job::add(const Stage& stage, int batch, int number, int units, Solve solve) {
  if (units == 0) return;
  parts_.push_back({batch, number, units_, std::move(solve)});
  units_ += units;
  for_highs_ |= stage.is_for_highs();
}

bool Job::run(ThreadPool& threads, const std::function<bool()>& interrupted, std::int64_t* next) {
  using Workers = ThreadPool::Workers;
  failures_.assign(static_cast<std::size_t>(threads.size()), std::nullopt);
  return threads.run(
      units_, for_highs_ ? Workers::threads : Workers::caller_and_threads,
      [this](int thread, int unit) { solve(thread, unit); }, interrupted, next);
}

void Job::solve(int thread, int unit) {
  const auto after = std::upper_bound(parts_.begin(), parts_.end(), unit,
                                      [](int u, const Part& part) { return u < part.first; });
  const Part& part = *std::prev(after);
  const double begun = seconds_ == nullptr ? 0.0 : processor_seconds();
  std::optional<Failure> failure = part.solve(thread, unit - part.first);
  if (seconds_ != nullptr) seconds_[unit] = processor_seconds() - begun;
  std::optional<UnitFailure>& first = failures_[static_cast<std::size_t>(thread)];
  if (failure && (!first || unit < first->unit))
    first = UnitFailure{unit, {part.batch, part.stage, std::move(*failure)}};
}

std::optional<BatchFailure> Job::failure() const {
  const UnitFailure* first = nullptr;
  for (const std::optional<UnitFailure>& found : failures_) {
    if (found && (first == nullptr || found->unit < first->unit)) first = &*found;
  }
  if (first == nullptr) return std::nullopt;
  return first->failure;
}

}  // namespace cobre::lp
