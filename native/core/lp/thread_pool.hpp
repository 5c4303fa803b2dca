// Threads that work on one job at a time together.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cobre::lp {

class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int size() const noexcept { return static_cast<int>(threads_.size()); }

  /// Who works on a job. With the caller in the place of the first thread no job waits for a thread to wake
  /// up, which takes longer than a small one. HiGHS is for threads of the pool alone: see `HighsSolver::run`.
  enum class Workers : std::uint8_t { caller_and_threads, threads };

  /// Call `work(thread, task)` for each task from 0 to tasks - 1, on whatever thread is free.
  ///
  /// Now and then the calling thread asks `interrupted`; once that says yes, no further task is begun, and
  /// the result is false. The first exception of a task is rethrown here. Pools of several processes that
  /// count by the same `next`, which is 0 at first, share the tasks out among them.
  bool run(int tasks, Workers workers, const std::function<void(int, int)>& work,
           const std::function<bool()>& interrupted, std::int64_t* next = nullptr);

 private:
  void serve(int thread);
  [[nodiscard]] std::int64_t next_task() const noexcept {
    return std::atomic_ref(*next_).fetch_add(1, std::memory_order_relaxed);
  }
  void take_tasks(int thread, const std::function<bool()>& stopped);
  bool wait_for_threads(const std::function<bool()>& interrupted);

  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  const std::function<void(int, int)>* work_ = nullptr;
  int tasks_ = 0;
  int first_ = 0;  // of the threads that work on the job; the caller is in the place of those before
  std::int64_t own_next_ = 0;
  std::int64_t* next_ = &own_next_;  // the number of the next task, which threads and processes count up
  std::atomic<bool> stop_{false};
  std::atomic<int> busy_{0};
  long job_ = 0;  // only grows; a thread that has not seen it yet has a job
  bool closing_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace cobre::lp
