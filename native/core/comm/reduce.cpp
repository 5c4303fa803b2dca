#include "reduce.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/float_environment.hpp"
#include "core/processor.hpp"
#include "lanes.hpp"

namespace cobre::comm {
namespace {

// Operands read in one pass. More would save passes over the accumulator and cost copies of the loop.
constexpr std::size_t kFan = 4;
// Large enough to pay for the loop over ranks, small enough for accumulator and slots to stay in L1.
constexpr std::size_t kBlockBytes = 4096;

// Out of line, because the loops that need it are many and need it once.
[[gnu::noinline]] void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
}

// Through memcpy, because a caller's buffer may start at any address.
template <class Values>
[[gnu::always_inline]] inline Values load(const std::byte* from) noexcept {
  Values values;
  std::memcpy(&values, from, sizeof(values));
  return values;
}

template <class Values>
[[gnu::always_inline]] inline void store(std::byte* to, const Values& values) noexcept {
  constexpr bool kPadded =
      std::is_same_v<Values, long double> && std::numeric_limits<long double>::digits == 64;
  constexpr std::size_t kMeaningful = kPadded ? 10 : sizeof(values);
  std::memcpy(to, &values, kMeaningful);
  if constexpr (kPadded) {  // x87 extended precision: the rest of its 16 bytes would be chance
    std::memset(to + kMeaningful, 0, sizeof(values) - kMeaningful);
  }
}

template <ReduceOp op, class Lane, std::size_t operands, bool last>
[[gnu::always_inline]] inline void step(const std::byte* const (&slots)[operands], std::size_t at,
                                        std::byte* out) noexcept {
  using Values = typename Lane::Values;
  Values values = load<Values>(slots[0] + at);
#pragma GCC unroll 4
  for (std::size_t i = 1; i < operands; ++i) {
    const Values next = load<Values>(slots[i] + at);
    if constexpr (op == ReduceOp::sum) {
      values = Lane::add(values, next);
    } else {
      values = Lane::template extreme<op>(values, next);
    }
  }
  store(out, last ? Lane::canonical(values) : values);
}

/// Combine some operands into `out`, which may be one of them: each element is read before it is written.
template <ReduceOp op, class Lane, std::size_t operands, bool last>
[[gnu::always_inline]] inline void pass(const std::byte* const* from, std::byte* out,
                                        std::size_t bytes) noexcept {
  constexpr std::size_t kWidth = sizeof(typename Lane::Values);
  const std::byte* slots[operands];  // copies, which writing to `out` cannot change
#pragma GCC unroll 4
  for (std::size_t i = 0; i < operands; ++i) slots[i] = from[i];
  std::size_t at = 0;
  for (; at + kWidth <= bytes; at += kWidth) step<op, Lane, operands, last>(slots, at, out + at);
  if (at == bytes) return;
  alignas(kWidth) std::byte rest[operands][kWidth] = {};  // what is left, filled up with zeros
#pragma GCC unroll 1
  for (std::size_t i = 0; i < operands; ++i) {
    copy_bytes(rest[i], slots[i] + at, bytes - at);
    slots[i] = rest[i];
  }
  step<op, Lane, operands, last>(slots, 0, rest[0]);
  copy_bytes(out + at, rest[0], bytes - at);
}

template <ReduceOp op, class Lane>
[[gnu::always_inline]] inline void last_pass(const std::byte* const* from, std::size_t operands,
                                             std::byte* out, std::size_t bytes) noexcept {
  static_assert(kFan == 4);
  switch (operands) {
    case 1:
      return pass<op, Lane, 1, true>(from, out, bytes);
    case 2:
      return pass<op, Lane, 2, true>(from, out, bytes);
    case 3:
      return pass<op, Lane, 3, true>(from, out, bytes);
    default:
      return pass<op, Lane, 4, true>(from, out, bytes);
  }
}

template <ReduceOp op, class Lane>
[[gnu::always_inline]] inline void reduce_bytes(const void* const* slots, std::size_t ranks, void* out,
                                                std::size_t bytes) noexcept {
  // Not accumulated in `out` itself, which may be a slot that is still to be read.
  alignas(64) std::byte accumulator[kBlockBytes];
  const std::size_t block = ranks <= kFan ? bytes : kBlockBytes;  // one pass needs no accumulator
  for (std::size_t begin = 0; begin < bytes; begin += block) {
    const std::size_t length = std::min(block, bytes - begin);
    const auto slot = [&](std::size_t rank) { return static_cast<const std::byte*>(slots[rank]) + begin; };
    const std::byte* from[kFan] = {slot(0)};
    std::size_t done = 1;
    for (; ranks - done >= kFan; done += kFan - 1) {
      for (std::size_t i = 1; i < kFan; ++i) from[i] = slot(done + i - 1);
      pass<op, Lane, kFan, false>(from, accumulator, length);
      from[0] = accumulator;
    }
    const std::size_t left = ranks - done;
    if (left > 0) from[1] = slot(done);
    if (left > 1) from[2] = slot(done + 1);
    if (left > 2) from[3] = slot(done + 2);
    last_pass<op, Lane>(from, left + 1, static_cast<std::byte*>(out) + begin, length);
  }
}

using Kernel = void (*)(const void* const*, std::size_t, void*, std::size_t) noexcept;

// The same loops for what every processor of the architecture has, and for what most have. Wider vectors
// hold more elements and treat each in the same way, so the bits are the same.
struct Baseline {
  template <ReduceOp op, class T>
  static void run(const void* const* slots, std::size_t ranks, void* out, std::size_t bytes) noexcept {
    reduce_bytes<op, Lanes<T, 16>>(slots, ranks, out, bytes);
  }
};

#if defined(__x86_64__)
struct Avx2 {
  template <ReduceOp op, class T>
  [[gnu::target("avx2")]] static void run(const void* const* slots, std::size_t ranks, void* out,
                                          std::size_t bytes) noexcept {
    reduce_bytes<op, Lanes<T, 32>>(slots, ranks, out, bytes);
  }
};
#endif

template <class Target, class T>
constexpr Kernel kernel(ReduceOp op) noexcept {
  switch (op) {
    case ReduceOp::sum:
      if constexpr (std::is_integral_v<T>) {  // signed overflow would be undefined
        return Target::template run<ReduceOp::sum, std::make_unsigned_t<T>>;
      } else {
        return Target::template run<ReduceOp::sum, T>;
      }
    case ReduceOp::min:
      return Target::template run<ReduceOp::min, T>;
    case ReduceOp::max:
      return Target::template run<ReduceOp::max, T>;
  }
  return nullptr;
}

template <class Target>
constexpr Kernel kernel(ReduceOp op, Element element) noexcept {
  switch (element) {
    case Element::int8:
      return kernel<Target, std::int8_t>(op);
    case Element::int16:
      return kernel<Target, std::int16_t>(op);
    case Element::int32:
      return kernel<Target, std::int32_t>(op);
    case Element::int64:
      return kernel<Target, std::int64_t>(op);
    case Element::uint8:
      return kernel<Target, std::uint8_t>(op);
    case Element::uint16:
      return kernel<Target, std::uint16_t>(op);
    case Element::uint32:
      return kernel<Target, std::uint32_t>(op);
    case Element::uint64:
      return kernel<Target, std::uint64_t>(op);
    case Element::float16:
      return kernel<Target, Half>(op);
    case Element::float32:
      return kernel<Target, float>(op);
    case Element::float64:
      return kernel<Target, double>(op);
    case Element::longdouble:
      return kernel<Target, long double>(op);
  }
  return nullptr;
}

constexpr std::size_t size_of(Element element) noexcept {
  switch (element) {
    case Element::int8:
    case Element::uint8:
      return 1;
    case Element::int16:
    case Element::uint16:
    case Element::float16:
      return 2;
    case Element::int32:
    case Element::uint32:
    case Element::float32:
      return 4;
    case Element::int64:
    case Element::uint64:
    case Element::float64:
      return 8;
    case Element::longdouble:
      return sizeof(long double);
  }
  return 0;
}

Kernel best_kernel(ReduceOp op, Element element) noexcept {
#if defined(__x86_64__)
  if (uses_avx2) return kernel<Avx2>(op, element);
#endif
  return kernel<Baseline>(op, element);
}

}  // namespace

void reduce(ReduceOp op, Element element, const void* const* slots, std::size_t ranks, void* out,
            std::size_t count) noexcept {
  const DefaultFloatEnvironment same_everywhere;
  best_kernel(op, element)(slots, ranks, out, count * size_of(element));
}

void reduce_baseline(ReduceOp op, Element element, const void* const* slots, std::size_t ranks, void* out,
                     std::size_t count) noexcept {
  const DefaultFloatEnvironment same_everywhere;
  kernel<Baseline>(op, element)(slots, ranks, out, count * size_of(element));
}

}  // namespace cobre::comm
