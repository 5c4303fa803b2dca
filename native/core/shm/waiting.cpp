#include "waiting.hpp"

#include <bit>
#include <climits>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cobre::shm {
namespace {

// A futex is 32 bits wide. The low half of a step changes with every step, which is all that matters.
std::uint32_t* low_half(std::atomic<std::uint64_t>& word) noexcept {
  static_assert(sizeof(word) == 8);
  auto* halves = reinterpret_cast<std::uint32_t*>(&word);
  return halves + (std::endian::native == std::endian::little ? 0 : 1);
}

}  // namespace

void sleep_on(std::atomic<std::uint64_t>& word, std::uint64_t seen, int slice_ms) noexcept {
  const timespec slice{slice_ms / 1000, (slice_ms % 1000) * 1'000'000L};
  // Not FUTEX_WAIT_PRIVATE: the waker is another process. Every reason to return is the same to the
  // caller, who looks again: woken, changed before, time over, interrupted by a signal.
  syscall(SYS_futex, low_half(word), FUTEX_WAIT, static_cast<std::uint32_t>(seen), &slice, nullptr, 0);
}

void wake(std::atomic<std::uint64_t>& word) noexcept {
  syscall(SYS_futex, low_half(word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace cobre::shm
