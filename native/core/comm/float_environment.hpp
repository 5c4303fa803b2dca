// The same rounding whatever the host process did to its floating-point unit.
//
// A library built with -ffast-math may switch a whole thread to flush subnormals to zero when it is
// loaded. A rank that has loaded one would then sum differently from a rank that has not.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace cobre::comm {

/// While alive: round to nearest, keep subnormals. Puts the caller's setting back afterwards.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() noexcept : saved_(read()) {
    if ((saved_ & kDeviations) != 0) write(saved_ & ~kDeviations);
  }
  ~DefaultFloatEnvironment() {
    if ((saved_ & kDeviations) != 0) write(saved_);
  }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
#if defined(__SSE2__)
  using Control = std::uint32_t;
  static constexpr Control kDeviations = 0xe040u;  // flush to zero, rounding mode, denormals are zero
  static Control read() noexcept { return _mm_getcsr(); }
  static void write(Control control) noexcept { _mm_setcsr(control); }
#elif defined(__aarch64__)
  using Control = std::uint64_t;
  static constexpr Control kDeviations = 0x01c80000u;  // flush to zero, also for halves; rounding mode
  static Control read() noexcept {
    Control control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
  }
  static void write(Control control) noexcept { __asm__ volatile("msr fpcr, %0" : : "r"(control)); }
#else
  using Control = std::uint32_t;
  static constexpr Control kDeviations = 0;
  static Control read() noexcept { return 0; }
  static void write(Control) noexcept {}
#endif
  const Control saved_;
};

}  // namespace cobre::comm
