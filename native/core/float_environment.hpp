// The same rounding whatever the host process did to its floating-point unit.
//
// A program may set another rounding mode, and a library built with -ffast-math may switch the thread that
// loads it to flush subnormals to zero. A rank on which that has happened would compute other bits than one
// on which it has not. New threads inherit the environment of the thread that starts them.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace cobre {

/// While alive, this thread computes in the default environment of IEEE 754: rounding to nearest, subnormals
/// kept, no traps, and on x86-64 full precision of the x87 unit. Puts the caller's environment back
/// afterwards.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() noexcept { enter(); }
  ~DefaultFloatEnvironment() {
    if (differs_) leave();
  }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr std::uint32_t kVectorDefault = 0x1f80, kVectorFlags = 0x3f;
  static constexpr std::uint16_t kX87Default = 0x037f, kX87Meaning = 0x0f3f;  // rounding, precision, masks

  // Reading takes two nanoseconds, writing many more; so what is as it should be is left alone. The clobbers
  // keep the compiler from moving loads and stores, and with them the arithmetic between, across.
  void enter() noexcept {
    std::uint16_t control;
    __asm__ volatile("fnstcw %0" : "=m"(control));
    vector_ = _mm_getcsr();
    differs_ = (vector_ & ~kVectorFlags) != kVectorDefault || ((control ^ kX87Default) & kX87Meaning) != 0;
    if (!differs_) return;
    _mm_setcsr(kVectorDefault);
    __asm__ volatile("fnstenv %0" : "=m"(x87_) : : "memory");
    __asm__ volatile("fldcw %0" : : "m"(kX87Default) : "memory");
  }
  void leave() noexcept {
    // The whole of it, flags included: one raised in between must not trap now.
    __asm__ volatile("fldenv %0" : : "m"(x87_) : "memory");
    _mm_setcsr(vector_);
  }

  struct X87 {
    std::uint32_t words[7];
  } x87_;
  std::uint32_t vector_;
  bool differs_;
#elif defined(__aarch64__)
  void enter() noexcept {
    __asm__ volatile("mrs %0, fpcr" : "=r"(control_));
    differs_ = control_ != 0;
    if (differs_) write(0);
  }
  void leave() noexcept { write(control_); }
  static void write(std::uint64_t control) noexcept {
    __asm__ volatile("msr fpcr, %0" : : "r"(control) : "memory");
  }

  std::uint64_t control_;
  bool differs_;
#else
  void enter() noexcept {}
  void leave() noexcept {}

  static constexpr bool differs_ = false;
#endif
};

}  // namespace cobre
