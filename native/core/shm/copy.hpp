// Copies that know where the data goes next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace cobre::shm {

/// Copy to memory that nobody reads soon, past the cache: saves fetching lines only to overwrite them.
inline void copy_past_cache(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
#if defined(__SSE2__)
  const std::size_t before = (16 - reinterpret_cast<std::uintptr_t>(to) % 16) % 16;
  if (bytes < 256) {
    std::memcpy(to, from, bytes);
    return;
  }
  std::memcpy(to, from, before);
  to += before, from += before, bytes -= before;
  for (; bytes >= 64; to += 64, from += 64, bytes -= 64) {
    const auto* source = reinterpret_cast<const __m128i*>(from);
    auto* target = reinterpret_cast<__m128i*>(to);
    _mm_prefetch(reinterpret_cast<const char*>(from + 512), _MM_HINT_NTA);
    const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  _mm_sfence();  // streaming stores are not ordered with the release that may follow
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace cobre::shm
