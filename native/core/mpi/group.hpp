// The ranks of an MPI communicator: one rank's end of it.
//
// Gathers, broadcasts and barriers are MPI's own. Sums are not: MPI may add in any order, and libraries do
// add in pairs, so that the last bits depend on their number of ranks. Only where order cannot matter is
// the reduction left to MPI; elsewhere operands are gathered, or exchanged in shares, and reduced in rank
// order.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/comm/call.hpp"
#include "core/comm/reduce.hpp"
#include "library.hpp"
#include "watchdog.hpp"

namespace cobre::mpi {

using comm::Call;
using comm::Part;

class Group {
 public:
  struct Handles {
    Handle comm;
    Handle byte;                // MPI_BYTE
    std::vector<Handle> types;  // by comm::Element; 0 where MPI has none
    std::array<Handle, 3> ops;  // by comm::ReduceOp
  };
  struct Options {
    /// How long a collective may take before the job is aborted; zero: for ever.
    std::chrono::duration<double> timeout{0.0};
    /// Whether ranks compare their calls before each collective, which takes another one.
    bool checked = false;
    /// No single MPI call moves more bytes: MPI counts by int. Less in tests.
    std::size_t most_at_once = std::size_t{1} << 30;
  };

  Group(std::uint32_t rank, std::uint32_t size, const Library& library, Handles handles, Options options);

  void barrier(const Call& call);
  void allgatherv(const Call& call, const std::byte* send, std::byte* recv, std::span<const Part> parts);
  void allreduce(const Call& call, comm::Element element, std::size_t itemsize, const std::byte* send,
                 std::byte* recv, std::size_t count);
  void broadcast(const Call& call, std::byte* buf, std::size_t bytes);

  /// Whether MPI has been finalised, after which nothing works.
  bool finalized() const noexcept;

 private:
  void begin(const Call& call);
  void compare(const Call& call);
  void check(int code) const;
  void broadcast_bytes(std::byte* buf, std::size_t bytes, std::uint32_t root);
  bool order_is_irrelevant(comm::ReduceOp op, comm::Element element) const noexcept;
  void reduce_gathered(const Call& call, comm::Element element, const std::byte* send, std::byte* recv,
                       std::size_t count, std::size_t bytes);
  void reduce_by_shares(const Call& call, comm::Element element, std::size_t itemsize, const std::byte* send,
                        std::byte* recv, std::size_t count);
  [[noreturn]] void give_up(comm::Operation operation) const noexcept;

  const std::uint32_t rank_, size_;
  const Library library_;
  const Handles handles_;
  const Options options_;
  std::uint64_t sequence_ = 0;
  std::vector<std::byte> scratch_;
  std::vector<int> numbers_;  // counts and displacements, as MPI wants them
  std::vector<const void*> slots_;
  std::unique_ptr<Watchdog> watchdog_;
};

}  // namespace cobre::mpi
