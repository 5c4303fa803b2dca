// Threads of our own, which Python knows nothing of.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace cobre {

/// Whether this thread is one of our own.
inline thread_local bool in_own_thread = false;

/// Start a thread that gets no signals: those are for the threads that Python knows.
template <class Body>
std::thread start_quiet_thread(Body&& body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread([body = std::forward<Body>(body)]() mutable {
    in_own_thread = true;
    body();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace cobre
