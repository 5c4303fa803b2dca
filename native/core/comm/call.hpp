// What a rank has called, and what a group of ranks says when its calls do not fit together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

namespace cobre::comm {

enum class Operation : std::uint8_t {
  none,
  join,
  barrier,
  allgatherv,
  allreduce,
  broadcast,
  fence,
  create_shared_region,
  split_local,
};

/// In `Call::element`, for elements whose bytes are in another order than this machine's.
constexpr std::uint32_t kForeignByteOrder = 1u << 23;

/// Compared whole: all ranks must have called the same. Travels between ranks as it lies in memory.
struct Call {
  Operation operation = Operation::none;
  std::uint8_t reduce_op = 0;
  std::uint16_t root = 0;
  std::uint32_t element = 0;  // NumPy's kind letter in the high byte, the byte order, the size
  std::uint64_t count = 0;    // elements in all
  std::uint64_t parts = 0;    // a digest of the counts of an allgatherv

  friend bool operator==(const Call&, const Call&) = default;
};
static_assert(sizeof(Call) == 24);

/// A call in words, for people: "allreduce(SUM) of 4 elements of type f8".
std::string describe(const Call& call);

using RankAndCall = std::pair<std::uint32_t, Call>;

/// Ranks with the same call together: "ranks 0, 2 called barrier; rank 1 called allreduce(SUM) of …".
std::string who_called_what(std::span<const RankAndCall> calls);

/// "1, 3, 4"
std::string listed(std::span<const std::uint32_t> ranks);

/// Seconds without needless digits: "60", "0.5".
std::string seconds_in_words(double seconds);

/// Where a rank's part of an allgatherv lies in the receive buffer.
struct Part {
  std::size_t bytes;
  std::size_t at;  // in bytes from the beginning of the receive buffer
};

/// A collective could not finish. `what` is for people; the group is finished.
struct GroupFailure {
  std::string what;
  int mpi_error_class = 0;
};

/// A waiting rank was asked to stop by its own process, by Ctrl-C for instance.
struct Interrupted {};

/// How a rank's own process takes part in its waiting.
struct WaitHooks {
  /// Called once when a wait becomes long, before this thread gives way to others.
  std::function<void()> before_long_wait;
  /// Called now and then while waiting long; true ends the wait with `Interrupted`.
  std::function<bool()> interrupted;
};

/// How many CPUs this process may use: with one for every rank, looking often beats sleeping.
int usable_cores() noexcept;

}  // namespace cobre::comm
