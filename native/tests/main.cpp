#include "check.hpp"

int main() {
  int failed = 0;
  for (const Test& test : all_tests()) {
    const int before = failed_checks;
    test.body();
    const bool passed = failed_checks == before;
    std::printf("%s %s\n", passed ? "ok    " : "FAILED", test.name);
    failed += passed ? 0 : 1;
  }
  std::printf("%d of %zu native tests failed\n", failed, all_tests().size());
  return failed == 0 ? 0 : 1;
}
