// Which vectors the kernels use: those of every processor of the architecture, or AVX2's where there is AVX2.
//
// What is compiled for both gives the same bits either way: it is elementwise, or sums in lanes that are
// written out, and nothing is fused.
#pragma once

#include <cstdlib>
#include <string_view>

namespace cobre {

/// Found when loaded. `COBRE_CPU_BASELINE=1` makes an AVX2 processor behave like an older one, for
/// comparisons.
inline const bool uses_avx2 = [] {
#if defined(__x86_64__)
  const char* const baseline = std::getenv("COBRE_CPU_BASELINE");
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && (baseline == nullptr || std::string_view(baseline) != "1");
#else
  return false;
#endif
}();

#if defined(__x86_64__)
template <auto body, class... Arguments>
[[gnu::target("avx2")]] auto with_avx2(Arguments... arguments) {
  return body(arguments...);
}
#endif

/// Call `body`, which must be always_inline, as compiled for this processor.
template <auto body, class... Arguments>
auto vectorised(Arguments... arguments) {
#if defined(__x86_64__)
  if (uses_avx2) return with_avx2<body>(arguments...);
#endif
  return body(arguments...);
}

}  // namespace cobre
