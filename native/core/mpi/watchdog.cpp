#include "watchdog.hpp"

#include <algorithm>

#include "core/thread.hpp"

namespace cobre::mpi {

using namespace std::chrono_literals;

Watchdog::Watchdog(std::chrono::duration<double> timeout, std::function<void(comm::Operation)> bark)
    : timeout_(timeout), bark_(std::move(bark)) {
  thread_ = start_quiet_thread([this] { run(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_one();
  thread_.join();
}

void Watchdog::run() {
  const auto pause = std::min<std::chrono::duration<double>>(1s, timeout_ / 4);
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, pause, [this] { return stop_; })) {
    const auto since = since_.load(std::memory_order_acquire);
    if (since == kIdle) continue;
    const auto lasted = Clock::now() - Clock::time_point(Clock::duration(since));
    if (lasted < timeout_) continue;
    return bark_(operation_.load(std::memory_order_relaxed));
  }
}

}  // namespace cobre::mpi
