// The same bits whatever the calling thread has done to its floating-point environment.
#include "check.hpp"

#if defined(__x86_64__)
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <xmmintrin.h>

#include "core/comm/reduce.hpp"
#include "core/lp/cut_batch.hpp"
#include "core/lp/thread_pool.hpp"

using namespace cobre;

namespace {

struct Environment {
  std::uint32_t vector;
  std::uint16_t x87;

  static Environment current() {
    Environment now{_mm_getcsr(), 0};
    __asm__ volatile("fnstcw %0" : "=m"(now.x87));
    now.vector &= ~0x3fu;  // flags of what has been computed
    return now;
  }
  void set() const {
    _mm_setcsr(vector);
    __asm__ volatile("fnclex\n\tfldcw %0" : : "m"(x87) : "memory");  // flags of before would trap
  }
  bool operator==(const Environment&) const = default;
};

constexpr Environment usual{0x1f80, 0x037f};
constexpr Environment unusual[] = {
    {0x9fc0, 0x037f},  // flushes subnormals to zero, and takes them for zero
    {0x5f80, 0x0b7f},  // rounds up, in both units
    {0x1f80, 0x0b7f},  // rounds up in the x87 unit alone
    {0x1f80, 0x027f},  // x87: 53 bits
    {0x1f80, 0x007f},  // x87: 24 bits
    {0x1d00, 0x0372},  // traps on what is invalid, subnormal or divided by zero
};

template <class Body>
std::string bits_in(const Environment& environment, Body&& body, bool* kept = nullptr) {
  environment.set();
  const std::string bits = body();
  const bool same = Environment::current() == environment;
  usual.set();
  if (kept != nullptr) *kept = same;
  return bits;
}

template <class T>
void append(std::string& bits, const T& value) {
  bits.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// A third, a subnormal, an infinity: sums of them depend on rounding, on flushing, and may trap.
template <class T>
std::string sums(comm::Element element) {
  const T infinity = std::numeric_limits<T>::infinity(), tiny = std::numeric_limits<T>::denorm_min();
  const std::vector<T> one{T(1) / 3, tiny, infinity, T(1)}, other{T(1) / 7, tiny, -infinity, T(1)};
  const void* slots[] = {one.data(), other.data(), one.data()};
  std::vector<T> out(one.size());
  comm::reduce(comm::ReduceOp::sum, element, slots, 3, out.data(), out.size());
  std::string bits;
  for (const T& value : out) append(bits, value);
  return bits;
}

std::string all_sums() {
  return sums<float>(comm::Element::float32) + sums<double>(comm::Element::float64) +
         sums<long double>(comm::Element::longdouble);
}

/// Everything that computes with cuts in the thread of the caller.
std::string all_of_cuts() {
  const std::array<double, 2> weights{1.0 / 3, 2.0 / 3}, values{0.1, 0.7}, slopes{0.3, 0.9};
  const double point = 1.1;
  std::array<double, 2> cut{};
  lp::aggregate({1, 2, 1, weights.data(), values.data(), slopes.data(), &point}, cut.data());
  double excess = 0, value = 0;
  std::int32_t where = 0;
  lp::largest_excess({1, 1, 1, cut.data(), values.data(), &point}, 1.0, 0, &excess, &where);
  const std::array<double, 8> padded{cut[0], cut[1]};
  lp::evaluate(padded.data(), 1, &point, 1, 1, &value);
  std::string bits;
  for (const double number : {cut[0], cut[1], excess, value}) append(bits, number);
  return bits;
}

/// What the threads of a pool, and the caller with them, make of a sum, if the pool is made now.
std::string in_a_pool() {
  lp::ThreadPool pool(1);
  std::string bits;
  const auto sum = [&](int, int) {
    const volatile double tiny = 3e-310, third = 1.0 / 3;
    const volatile long double seventh = 1.0L / 7;
    append(bits, tiny * 0.5);
    append(bits, third * third);
    const long double product = seventh * seventh;
    bits.append(reinterpret_cast<const char*>(&product), 10);
  };
  for (const auto workers : {lp::ThreadPool::Workers::threads, lp::ThreadPool::Workers::caller_and_threads})
    pool.run(1, workers, sum, [] { return false; });
  return bits;
}

}  // namespace

TEST(sums_have_the_same_bits_in_any_environment_which_is_put_back) {
  const std::string expected = all_sums();
  for (const Environment& environment : unusual) {
    bool kept = false;
    CHECK(bits_in(environment, all_sums, &kept) == expected);
    CHECK(kept);
  }
}

TEST(cuts_have_the_same_bits_in_any_environment) {
  const std::string expected = all_of_cuts();
  for (const Environment& environment : unusual) CHECK(bits_in(environment, all_of_cuts) == expected);
}

TEST(threads_that_solve_do_not_inherit_the_environment) {
  const std::string expected = in_a_pool();
  for (const Environment& environment : unusual) CHECK(bits_in(environment, in_a_pool) == expected);
}

TEST(a_flag_that_is_raised_inside_does_not_trap_outside) {
  const Environment trapping{0x1f80, 0x0372};
  trapping.set();
  sums<long double>(comm::Element::longdouble);
  const volatile long double one = 1;
  const volatile long double two = one + one;  // would trap now, had infinity - infinity left its flag
  usual.set();
  CHECK(two == 2);
}
#endif
