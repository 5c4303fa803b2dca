// What ends a silent hang: MPI's blocking calls know no deadline, so a thread looks at the clock for them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "core/comm/call.hpp"

namespace cobre::mpi {

/// Looks after one communicator. Costs a collective two stores and a look at the clock.
class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;

  /// `bark` is called, once, with the operation that has lasted for longer than `timeout`.
  Watchdog(std::chrono::duration<double> timeout, std::function<void(comm::Operation)> bark);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void begin(comm::Operation operation) noexcept {
    operation_.store(operation, std::memory_order_relaxed);
    since_.store(Clock::now().time_since_epoch().count(), std::memory_order_release);
  }
  void end() noexcept { since_.store(kIdle, std::memory_order_release); }

 private:
  static constexpr Clock::rep kIdle = 0;
  void run();

  const std::chrono::duration<double> timeout_;
  const std::function<void(comm::Operation)> bark_;
  std::atomic<Clock::rep> since_{kIdle};
  std::atomic<comm::Operation> operation_{comm::Operation::none};
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace cobre::mpi
