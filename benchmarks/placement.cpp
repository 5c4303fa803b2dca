// Are two CPUs two cores, or two threads of one core?
//
// Prints two numbers: the nanoseconds of a spin barrier between them, best of many batches; and the rate
// of independent multiply-adds on the first CPU while the second does the same, over the rate when it
// is alone. Two cores give about 1, two threads of one core about a half. Windows are shorter than a time
// slice and the upper ones count, because a busy neighbour takes whole slices of either phase.
// Linux. Build: c++ -O2 -pthread. Use: placement CPU CPU
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
typedef double Pair __attribute__((vector_size(16)));

struct alignas(128) Line {
  std::atomic<std::uint64_t> value{0};
};
Line lines[2];
std::atomic<bool> stop{false};
volatile double sink;

void stay_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

void meet(int me, std::uint64_t phase) {
  lines[me].value.store(phase, std::memory_order_release);
  while (lines[1 - me].value.load(std::memory_order_acquire) < phase) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Enough independent chains to keep the arithmetic units of one core busy from one thread.
double rate(double seconds) {
  Pair a0{0}, a1{1}, a2{2}, a3{3}, a4{4}, a5{5}, a6{6}, a7{7}, a8{8}, a9{9}, b{1.0000001, 1.0000001},
      c{1e-9, 1e-9};
  double rounds = 0;
  const auto begin = Clock::now();
  do {
    for (int i = 0; i < 100; ++i) {
      a0 = a0 * b + c, a1 = a1 * b + c, a2 = a2 * b + c, a3 = a3 * b + c, a4 = a4 * b + c;
      a5 = a5 * b + c, a6 = a6 * b + c, a7 = a7 * b + c, a8 = a8 * b + c, a9 = a9 * b + c;
    }
    rounds += 100;
  } while (seconds_since(begin) < seconds);
  const double result = rounds / seconds_since(begin);
  const Pair all = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9;
  sink = all[0];
  return result;
}

double undisturbed_rate() {
  std::vector<double> rates;
  for (int i = 0; i < 200; ++i) rates.push_back(rate(0.0005));
  std::nth_element(rates.begin(), rates.begin() + 160, rates.end());
  return rates[160];
}

constexpr int kBatches = 50, kMeetings = 2000;

void other(int cpu) {
  stay_on(cpu);
  for (std::uint64_t phase = 1; phase <= kBatches * kMeetings; ++phase) meet(1, phase);
  while (lines[0].value.load() != ~std::uint64_t{0}) {  // leave the first alone, a yielding loop would not
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  while (!stop.load()) rate(0.002);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  std::thread second(other, std::atoi(arguments[2]));
  stay_on(std::atoi(arguments[1]));
  std::uint64_t phase = 0;
  double barrier = 1;
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto begin = Clock::now();
    for (int i = 0; i < kMeetings; ++i) meet(0, ++phase);
    barrier = std::min(barrier, seconds_since(begin) / kMeetings);
  }
  const double alone = undisturbed_rate();
  lines[0].value.store(~std::uint64_t{0});
  rate(0.005);
  const double both = undisturbed_rate();
  stop.store(true);
  second.join();
  std::printf("%.1f %.3f\n", barrier * 1e9, both / alone);
}
