#include "core/lp/thread_pool.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/float_environment.hpp"
#include "core/thread.hpp"

namespace cobre::lp {

namespace {

using Clock = std::chrono::steady_clock;

/// Asking takes Python's lock, so it is done rarely, but often enough for a person at a keyboard.
constexpr auto ask_every = std::chrono::milliseconds(50);
/// The last tasks of other threads most often end within this time: sooner than a sleeping thread wakes up.
constexpr auto spin_for = std::chrono::microseconds(20);

bool never() { return false; }

}  // namespace

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

bool ThreadPool::run(int tasks, Workers workers, const std::function<void(int, int)>& work,
                     const std::function<bool()>& interrupted, std::int64_t* next) {
  const bool caller_works = workers == Workers::caller_and_threads;
  const int threads = caller_works && tasks < 2 ? 0 : size() - static_cast<int>(caller_works);
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    tasks_ = tasks;
    first_ = size() - threads;
    own_next_ = 0;
    next_ = next == nullptr ? &own_next_ : next;
    stop_ = false;
    busy_ = threads;
    ++job_;
  }
  if (threads > 0) begun_.notify_all();
  bool stopped = false;
  if (caller_works) {
    const DefaultFloatEnvironment same_everywhere;
    auto asked = Clock::now();
    take_tasks(0, [&] {
      if (stopped || Clock::now() < asked + ask_every) return stopped;
      asked = Clock::now();
      return stopped = interrupted();
    });
  }
  if (stopped) stop_ = true;
  if (threads > 0 && !wait_for_threads(stopped ? never : interrupted)) stopped = true;
  work_ = nullptr;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return !stopped;
}

/// False if the caller was interrupted meanwhile.
bool ThreadPool::wait_for_threads(const std::function<bool()>& interrupted) {
  for (const auto until = Clock::now() + spin_for; busy_ > 0 && Clock::now() < until;) {
  }
  bool stopped = false;
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, ask_every, [this] { return busy_ == 0; })) {
    if (stopped) continue;
    lock.unlock();  // asking may take Python's lock, which a thread's end must not wait for
    stopped = interrupted();
    if (stopped) stop_ = true;
    lock.lock();
  }
  return !stopped;
}

void ThreadPool::take_tasks(int thread, const std::function<bool()>& stopped) {
  try {
    while (!stop_ && !stopped()) {
      const std::int64_t task = next_task();
      if (task >= tasks_) break;
      (*work_)(thread, static_cast<int>(task));
    }
  } catch (...) {
    stop_ = true;
    const std::lock_guard guard(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

void ThreadPool::serve(int thread) {
  const DefaultFloatEnvironment same_everywhere;  // not that of the thread that made the pool
  long seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    begun_.wait(lock, [&] { return closing_ || job_ != seen; });
    if (closing_) return;
    seen = job_;
    if (thread < first_) continue;
    lock.unlock();
    take_tasks(thread, never);
    lock.lock();
    if (--busy_ == 0) ended_.notify_all();
  }
}

}  // namespace cobre::lp
