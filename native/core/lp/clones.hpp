// Loops compiled once for any processor and once for AVX2, chosen when loaded.
//
// What is inside must give the same bits either way: elementwise, or sums in lanes that are written out.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define COBRE_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define COBRE_CLONES
#endif
