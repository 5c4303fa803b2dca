#include "reduce.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "float_environment.hpp"
#include "half.hpp"

namespace cobre::comm {
namespace {

// Large enough to pay for the loop over ranks, small enough for accumulator and slot to stay in L1.
constexpr std::size_t kBlockBytes = 4096;

template <class T>
T add(T left, T right) noexcept {
  if constexpr (std::is_same_v<T, Half>) {
    // Rounding the float sum once more is harmless: 24 bits are at least twice 11 bits plus 2.
    return to_half(to_float(left) + to_float(right));
  } else if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;  // signed overflow would be undefined
    return static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(left) + static_cast<Unsigned>(right)));
  } else {
    return left + right;
  }
}

template <class T>
bool less(T left, T right) noexcept {
  if constexpr (std::is_same_v<T, Half>) {
    return to_float(left) < to_float(right);
  } else {
    return left < right;
  }
}

template <class T>
bool is_nan(T value) noexcept {
  if constexpr (std::is_same_v<T, Half>) {
    return (value.bits & 0x7fffu) > 0x7c00u;
  } else {
    return value != value;  // never, for integers
  }
}

template <class T>
T canonical(T value) noexcept {
  if constexpr (std::is_same_v<T, Half>) {
    return is_nan(value) ? Half{0x7e00u} : value;
  } else if constexpr (std::is_floating_point_v<T>) {
    return is_nan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
  } else {
    return value;
  }
}

// The bitwise | and the conditional expression let the compiler blend instead of branch.
template <ReduceOp op, class T>
T combine(T so_far, T next) noexcept {
  if constexpr (op == ReduceOp::sum) {
    return add(so_far, next);
  } else if constexpr (op == ReduceOp::min) {
    return (less(next, so_far) | is_nan(next)) ? next : so_far;
  } else {
    return (less(so_far, next) | is_nan(next)) ? next : so_far;
  }
}

// Through memcpy, because a caller's buffer may start at any address.
template <class T>
T load(const std::byte* from, std::size_t index) noexcept {
  T value;
  std::memcpy(&value, from + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void store(std::byte* to, std::size_t index, T value) noexcept {
  constexpr bool kPadded = std::is_same_v<T, long double> && std::numeric_limits<T>::digits == 64;
  constexpr std::size_t kMeaningful = kPadded ? 10 : sizeof(T);
  std::memcpy(to + index * sizeof(T), &value, kMeaningful);
  if constexpr (kPadded) {  // x87 extended precision: the rest of its 16 bytes would be chance
    std::memset(to + index * sizeof(T) + kMeaningful, 0, sizeof(T) - kMeaningful);
  }
}

template <ReduceOp op, class T>
void reduce_elements(const void* const* slots, std::size_t ranks, void* out, std::size_t count) noexcept {
  constexpr std::size_t kBlock = kBlockBytes / sizeof(T);
  // Not accumulated in `out` itself, which may be a slot that is still to be read.
  alignas(64) T accumulator[kBlock];
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t length = std::min(kBlock, count - begin);
    const std::size_t offset = begin * sizeof(T);
    std::memcpy(accumulator, static_cast<const std::byte*>(slots[0]) + offset, length * sizeof(T));
    for (std::size_t rank = 1; rank < ranks; ++rank) {
      const auto* slot = static_cast<const std::byte*>(slots[rank]) + offset;
      for (std::size_t i = 0; i < length; ++i) {
        accumulator[i] = combine<op>(accumulator[i], load<T>(slot, i));
      }
    }
    auto* result = static_cast<std::byte*>(out) + offset;
    for (std::size_t i = 0; i < length; ++i) store(result, i, canonical(accumulator[i]));
  }
}

using Kernel = void (*)(const void* const*, std::size_t, void*, std::size_t) noexcept;

template <class T>
constexpr Kernel kernel(ReduceOp op) noexcept {
  switch (op) {
    case ReduceOp::sum:
      return reduce_elements<ReduceOp::sum, T>;
    case ReduceOp::min:
      return reduce_elements<ReduceOp::min, T>;
    case ReduceOp::max:
      return reduce_elements<ReduceOp::max, T>;
  }
  return nullptr;
}

constexpr Kernel kernel(ReduceOp op, Element element) noexcept {
  switch (element) {
    case Element::int8:
      return kernel<std::int8_t>(op);
    case Element::int16:
      return kernel<std::int16_t>(op);
    case Element::int32:
      return kernel<std::int32_t>(op);
    case Element::int64:
      return kernel<std::int64_t>(op);
    case Element::uint8:
      return kernel<std::uint8_t>(op);
    case Element::uint16:
      return kernel<std::uint16_t>(op);
    case Element::uint32:
      return kernel<std::uint32_t>(op);
    case Element::uint64:
      return kernel<std::uint64_t>(op);
    case Element::float16:
      return kernel<Half>(op);
    case Element::float32:
      return kernel<float>(op);
    case Element::float64:
      return kernel<double>(op);
    case Element::longdouble:
      return kernel<long double>(op);
  }
  return nullptr;
}

}  // namespace

void reduce(ReduceOp op, Element element, const void* const* slots, std::size_t ranks, void* out,
            std::size_t count) noexcept {
  const DefaultFloatEnvironment same_everywhere;
  kernel(op, element)(slots, ranks, out, count);
}

}  // namespace cobre::comm
