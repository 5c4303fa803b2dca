// A fixed number of threads that do one job at a time together.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cobre::lp {

class Workers {
 public:
  /// HiGHS keeps a scheduler per thread, made for the first instance that runs there, so these threads run
  /// nothing but ours; even one worker is a thread of its own.
  explicit Workers(int threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  [[nodiscard]] int threads() const noexcept { return static_cast<int>(threads_.size()); }

  /// Call `work(worker, unit)` for each unit from 0 to units - 1, on whatever worker is free.
  ///
  /// While it waits, the calling thread asks `interrupted` now and then; once that says yes, no further unit
  /// is begun, and the result is false. The first exception of a unit is rethrown here.
  bool run(int units, const std::function<void(int, int)>& work, const std::function<bool()>& interrupted);

 private:
  void serve(int worker);

  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  const std::function<void(int, int)>* work_ = nullptr;
  int units_ = 0;
  std::atomic<int> next_{0};
  std::atomic<bool> stop_{false};
  int busy_ = 0;
  long job_ = 0;  // only grows; a worker that has not seen it yet has a job
  bool closing_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace cobre::lp
