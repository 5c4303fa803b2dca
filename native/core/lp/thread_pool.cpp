#include "core/lp/thread_pool.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/float_environment.hpp"
#include "core/thread.hpp"

namespace cobre::lp {

ThreadPool::ThreadPool(int threads) {
  if (threads < 1) throw std::invalid_argument("at least one thread solves, not " + std::to_string(threads));
  for (int thread = 0; thread < threads; ++thread) {
    threads_.push_back(start_quiet_thread([this, thread] { serve(thread); }));
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool ThreadPool::run(int tasks, const std::function<void(int, int)>& work,
                     const std::function<bool()>& interrupted) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  tasks_ = tasks;
  next_ = 0;
  stop_ = false;
  busy_ = size();
  ++job_;
  begun_.notify_all();
  bool stopped = false;
  while (!ended_.wait_for(lock, std::chrono::milliseconds(50), [this] { return busy_ == 0; })) {
    if (stopped) continue;
    lock.unlock();  // asking may take Python's lock, which a thread's end must not wait for
    stopped = interrupted();
    if (stopped) stop_ = true;
    lock.lock();
  }
  work_ = nullptr;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return !stopped;
}

void ThreadPool::serve(int thread) {
  const DefaultFloatEnvironment same_everywhere;  // not that of the thread that made the pool
  long seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    begun_.wait(lock, [&] { return closing_ || job_ != seen; });
    if (closing_) return;
    seen = job_;
    lock.unlock();
    try {
      for (int task = next_++; task < tasks_ && !stop_; task = next_++) (*work_)(thread, task);
    } catch (...) {
      stop_ = true;
      const std::lock_guard guard(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    lock.lock();
    if (--busy_ == 0) ended_.notify_all();
  }
}

}  // namespace cobre::lp
