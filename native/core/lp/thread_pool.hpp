// A fixed pool of threads that work on one job at a time together.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cobre::lp {

class ThreadPool {
 public:
  /// HiGHS keeps a scheduler per thread, made for the first instance that runs there, so these threads run
  /// nothing but ours; even one thread is a thread of its own.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int size() const noexcept { return static_cast<int>(threads_.size()); }

  /// Call `work(thread, task)` for each task from 0 to tasks - 1, on whatever thread is free.
  ///
  /// While it waits, the calling thread asks `interrupted` now and then; once that says yes, no further task
  /// is begun, and the result is false. The first exception of a task is rethrown here.
  bool run(int tasks, const std::function<void(int, int)>& work, const std::function<bool()>& interrupted);

 private:
  void serve(int thread);

  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  const std::function<void(int, int)>* work_ = nullptr;
  int tasks_ = 0;
  std::atomic<int> next_{0};
  std::atomic<bool> stop_{false};
  int busy_ = 0;
  long job_ = 0;  // only grows; a thread that has not seen it yet has a job
  bool closing_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace cobre::lp
