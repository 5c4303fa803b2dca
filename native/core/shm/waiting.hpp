// Waiting for a word in shared memory: first by looking often, then asleep.
#pragma once

#include <atomic>
#include <cstdint>

namespace cobre::shm {

/// Tell the processor that this is a loop that waits.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Sleep until somebody wakes the word, unless its low half is no longer that of `seen`; at most `slice_ms`.
void sleep_on(std::atomic<std::uint64_t>& word, std::uint64_t seen, int slice_ms) noexcept;

/// Wake everybody who sleeps on the word.
void wake(std::atomic<std::uint64_t>& word) noexcept;

}  // namespace cobre::shm
