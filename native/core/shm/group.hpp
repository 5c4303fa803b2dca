// The ranks of one machine meeting in shared memory: write, meet, read.
//
// Every collective is a row of steps. In a step each rank writes what it brings into its own slot,
// posts the step's number, waits until all have posted it, and reads the others' slots. Slots come
// in pairs, used in turn, and that is enough: a rank that writes in step s + 2 has seen everybody's
// post of step s + 1, and nobody posts that before it has done with reading step s.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/comm/reduce.hpp"
#include "layout.hpp"
#include "process.hpp"

namespace cobre::shm {

using comm::GroupFailure;
using comm::Interrupted;
using comm::Part;

class Group {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    std::chrono::duration<double> timeout{60.0};
    /// Whether large parts may be read straight from a peer's memory, if the kernel allows it.
    bool one_copy = true;
    comm::WaitHooks hooks;
  };

  /// Make fresh, zero-filled memory of `Layout::total()` bytes a segment. By rank 0, before it is shown.
  static void initialise(void* memory, const Layout& layout, std::uint64_t token) noexcept;

  /// Whether the memory is the segment of that group, in this layout.
  static bool is_segment(const void* memory, const Layout& layout, std::uint64_t token) noexcept;

  /// Take rank `rank` in a segment. The memory must outlive the group.
  Group(void* memory, const Layout& layout, std::uint32_t rank, Options options);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Wait for all ranks to come. Throws a GroupFailure that names those who did not.
  void join();
  /// Be a rank of a group of the same ranks as `parent`, instead of `join`. They all do this and then meet in
  /// `parent`, whose watches hold for this group too: a rank that dies on the way is named there.
  void adopt(const Group& parent);
  /// Say goodbye: peers that still wait for this rank fail at once instead of waiting.
  void leave() noexcept;

  // The collectives. `call` is what the ranks compare; the buffers have been checked.
  void barrier(const Call& call);
  void allgatherv(const Call& call, const std::byte* send, std::byte* recv, std::span<const Part> parts);
  void allreduce(const Call& call, comm::Element element, std::size_t itemsize, const std::byte* send,
                 std::byte* recv, std::size_t count);
  void broadcast(const Call& call, std::byte* buf, std::size_t bytes);

  /// Zero if the rank has not come.
  std::int32_t pid_of(std::uint32_t rank) const noexcept;
  bool reads_peers_memory() const noexcept { return reads_peers_memory_; }

 private:
  RankBlock& block(std::uint32_t rank) const noexcept;
  Post& post_of(std::uint32_t rank) const noexcept;                           // of the current step
  std::byte* slot(std::uint32_t rank, std::uint64_t step) const noexcept;     // what the rank brings
  std::byte* reduced(std::uint32_t rank, std::uint64_t step) const noexcept;  // its share of a result

  void take_rank();
  std::uint64_t begin_step() noexcept { return ++step_; }
  void meet(const Call& call);
  void meet_and_compare(const Call& call);
  void wait_for(std::uint32_t peer, const Call& call);
  void wait_asleep_for(std::uint32_t peer, const Call& call);
  void look_for_trouble(std::uint32_t peer, const Call& call);
  void probe_peers_memory(const Call& call);

  /// Buffers in the memory of the rank that shows them.
  struct Addresses {
    const std::byte* send;
    std::byte* recv;
  };
  void show(const Addresses& addresses) noexcept;  // with the next post
  std::vector<Addresses> shown_by_all() const;
  void read(std::uint32_t rank, const std::byte* from, std::byte* to, std::size_t bytes);
  void write(std::uint32_t rank, const std::byte* from, std::byte* to, std::size_t bytes);

  void reduce_by_reading(const Call& call, comm::Element element, std::size_t itemsize, const std::byte* send,
                         std::byte* recv, std::size_t count);
  void gather_by_reading(const Call& call, const std::byte* send, std::byte* recv,
                         std::span<const Part> parts);
  void gather_by_chunks(const Call& call, const std::byte* send, std::byte* recv, std::span<const Part> parts,
                        std::size_t longest, std::size_t total);
  void reduce_by_shares(const Call& call, comm::Element element, std::size_t itemsize, const std::byte* send,
                        std::byte* recv, std::size_t count);

  void record(Trouble trouble, std::uint32_t rank) noexcept;
  [[noreturn]] void fail(Trouble trouble, std::uint32_t rank);
  [[noreturn]] void fail_transfer(std::uint32_t rank);
  [[noreturn]] void raise_recorded();
  std::vector<std::uint32_t> absent() const;
  std::string words(Trouble trouble, std::uint32_t rank) const;

  std::byte* const memory_;
  ControlBlock& control_;
  const Layout layout_;
  const std::uint32_t rank_;
  const Options options_;
  std::vector<ProcessWatch> watches_;
  std::vector<const void*> addresses_;  // of all ranks' slots, for a reduction
  std::vector<std::byte> scratch_;      // of all ranks' operands, when they are read
  std::uint64_t step_ = 0;
  std::optional<Clock::time_point> deadline_;  // of the current meeting, once it takes long
  int spins_;                                  // looks before the first yield
  bool joined_ = false;
  bool reads_peers_memory_ = false;
};

}  // namespace cobre::shm
