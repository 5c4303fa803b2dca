// What lies in the segment that the ranks of one group share.
//
// It holds no pointers, because each process maps it at its own address, and nothing that needs a
// constructor: fresh shared memory is all zero, and zero is the right beginning of every field.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/comm/call.hpp"

namespace cobre::shm {

constexpr std::uint64_t kMagic = 0x6d68732d6572626f;  // reads "obre-shm" in a dump
constexpr std::uint32_t kLayoutVersion = 2;
constexpr std::size_t kLine = 64;
// Processors fetch lines in pairs, so what two ranks write lies two lines apart.
constexpr std::size_t kPair = 2 * kLine;
constexpr std::size_t kInlineBytes = 32;

static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "a lock would be per process");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "a lock would be per process");

using comm::Call;
using comm::Operation;

/// One step of one rank: that it came, what it called and, if it is small, what it brings. The
/// step's number is written last. One line in all, so a peer learns everything by one transfer.
struct alignas(kPair) Post {
  std::atomic<std::uint64_t> step;  // its low half is what waiting peers sleep on
  Call call;
  std::byte payload[kInlineBytes];
};
static_assert(sizeof(Post) == kPair && offsetof(Post, payload) + kInlineBytes == kLine);

/// One rank's own lines. Steps alternate between two posts: while a slow peer still reads the last
/// one, the next is written beside it. A third cannot begin before all have left the first.
struct RankBlock {
  Post posts[2];
  alignas(kPair) std::atomic<std::uint32_t> sleepers;  // peers asleep on this rank's posts
  std::atomic<std::int32_t> pid;                       // zero until the rank has come
  std::atomic<std::uint32_t> left;                     // whether it has gone again
};

enum class Trouble : std::uint32_t { none, died, silent, absent, left, interrupted, disagreement, refused };

struct ControlBlock {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t size;
  std::uint64_t slot_bytes;
  std::uint64_t token;   // tells this group's segment from any other
  std::int32_t creator;  // pid of rank 0, which others watch before it has joined
  /// The first failure of the group: trouble in the high half, the rank in the low half. Zero: none.
  alignas(kPair) std::atomic<std::uint64_t> failure;
};

constexpr std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Where everything is: control block, one block per rank, then four slots per rank (what it brings
/// and what it has reduced, two of each), page by page so that a rank touches its own first.
struct Layout {
  std::uint32_t size;
  std::size_t slot_bytes;

  static constexpr std::size_t kPage = 4096;
  constexpr std::size_t ranks_at() const { return round_up(sizeof(ControlBlock), kPair); }
  constexpr std::size_t slots_at() const { return round_up(ranks_at() + size * sizeof(RankBlock), kPage); }
  constexpr std::size_t slots_per_rank() const { return 4 * round_up(slot_bytes, kPage); }
  constexpr std::size_t total() const { return slots_at() + size * slots_per_rank(); }
};

}  // namespace cobre::shm
