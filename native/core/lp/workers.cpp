#include "core/lp/workers.hpp"

#include <chrono>
#include <utility>

#include "core/thread.hpp"

namespace cobre::lp {

Workers::Workers(int threads) {
  for (int worker = 0; worker < threads; ++worker) {
    threads_.push_back(start_quiet_thread([this, worker] { serve(worker); }));
  }
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Workers::run(int units, const std::function<void(int, int)>& work,
                  const std::function<bool()>& interrupted) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  units_ = units;
  next_ = 0;
  stop_ = false;
  busy_ = threads();
  ++job_;
  begun_.notify_all();
  bool stopped = false;
  while (!ended_.wait_for(lock, std::chrono::milliseconds(50), [this] { return busy_ == 0; })) {
    if (stopped) continue;
    lock.unlock();  // asking may take Python's lock, which a worker's end must not wait for
    stopped = interrupted();
    if (stopped) stop_ = true;
    lock.lock();
  }
  work_ = nullptr;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return !stopped;
}

void Workers::serve(int worker) {
  long seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    begun_.wait(lock, [&] { return closing_ || job_ != seen; });
    if (closing_) return;
    seen = job_;
    lock.unlock();
    try {
      for (int unit = next_++; unit < units_ && !stop_; unit = next_++) (*work_)(worker, unit);
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
