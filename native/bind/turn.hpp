// One collective at a time, and none after a failure.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <string>

#include "raise.hpp"

namespace cobre::bind {

/// The state of a communicator that every collective passes, native or not.
class Turn {
 public:
  /// Begin `operation`, whose name must live on. Raises CollectiveFailed if another thread is inside a
  /// collective, InvalidCommunicator if the communicator is finished; then nothing has begun.
  void enter(const char* operation) {
    if (busy_.exchange(true, std::memory_order_acquire)) raise_busy(operation);
    if (finished_) {
      leave();
      raise_cobre_error("InvalidCommunicator", reason_);
    }
    inside_ = operation;
  }

  void leave() noexcept { busy_.store(false, std::memory_order_release); }

  /// No collective can follow; the first reason stands. Only inside a turn.
  void finish(std::string reason) {
    if (finished_) return;
    reason_ = std::move(reason);
    finished_ = true;
  }

  bool finished() const noexcept { return finished_; }
  const std::string& reason() const noexcept { return reason_; }
  bool busy() const noexcept { return busy_.load(std::memory_order_relaxed); }

  [[noreturn]] void raise_busy(const char* operation) const {
    const std::string words = std::string("another thread is inside ") + inside_ +
                              " on this communicator; call one collective at a time, or give each thread a "
                              "communicator of its own";
    raise_cobre_error("CollectiveFailed", operation, words.c_str());
  }

  /// Take the turn even though the communicator is finished: to close it.
  void enter_to_close() {
    if (busy_.exchange(true, std::memory_order_acquire)) raise_busy("close");
    inside_ = "close";
  }

 private:
  std::atomic<bool> busy_{false};
  bool finished_ = false;  // this and the rest are read and written inside a turn, or for show
  const char* inside_ = "";
  std::string reason_;
};

}  // namespace cobre::bind
