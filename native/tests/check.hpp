// The few lines of a test framework that the core needs: register, check, count.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

struct Test {
  const char* name;
  void (*body)();
};

inline std::vector<Test>& all_tests() {
  static std::vector<Test> tests;
  return tests;
}

inline int failed_checks = 0;

#define TEST(name)                                                                    \
  static void name();                                                                 \
  static const bool name##_registered = (all_tests().push_back({#name, name}), true); \
  static void name()

#define CHECK(condition)                                                             \
  do {                                                                               \
    if (!(condition)) {                                                              \
      ++failed_checks;                                                               \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                                \
  } while (false)
