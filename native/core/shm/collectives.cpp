// The collectives as rows of steps. How ranks meet, and what happens when one does not, is in group.cpp.
#include <algorithm>
#include <cstring>

#include <sched.h>

#include "copy.hpp"
#include "group.hpp"

namespace cobre::shm {
namespace {

// Up to this many bytes, everybody reducing everything after one meeting beats sharing the work out,
// which needs two. Between two ranks it always does: sharing saves them no bytes.
constexpr std::size_t kReduceAloneBytes = 8 * 1024;
// From here on a result is more than the caches keep, so it is written past them.
constexpr std::size_t kPastCacheBytes = 16 * 1024 * 1024;
// From here on one copy by the kernel beats two of our own, which are faster as long as the caches hold what
// they touch. Bytes of the longest part of a gather, of a rank's share of a reduction, and of a broadcast.
constexpr std::size_t kGatherByReadingBytes = 4 * 1024 * 1024;
constexpr std::size_t kReduceByReadingBytes = 1024 * 1024;
constexpr std::size_t kBroadcastByReadingBytes = 32 * 1024;

// How much of a peer's operand is reduced at a time, while it is in the cache.
constexpr std::size_t kScratchBytes = 128 * 1024;

void copy_out(std::byte* to, const std::byte* from, std::size_t bytes, std::size_t total) noexcept {
  if (total >= kPastCacheBytes) {
    copy_past_cache(to, from, bytes);
  } else if (bytes > 0) {
    std::memcpy(to, from, bytes);
  }
}

}  // namespace

void Group::barrier(const Call& call) {
  begin_step();
  meet_and_compare(call);
}

void Group::allgatherv(const Call& call, const std::byte* send, std::byte* recv,
                       std::span<const Part> parts) {
  std::size_t longest = 0, total = 0;
  for (const auto& part : parts) {
    longest = std::max(longest, part.bytes);
    total += part.bytes;
  }
  if (longest > kInlineBytes) {
    if (reads_peers_memory_ && longest >= kGatherByReadingBytes)
      return gather_by_reading(call, send, recv, parts);
    return gather_by_chunks(call, send, recv, parts, longest, total);
  }
  begin_step();
  const auto& own = parts[rank_];
  if (own.bytes > 0) {
    std::memcpy(post_of(rank_).payload, send, own.bytes);
    if (recv + own.at != send) std::memcpy(recv + own.at, send, own.bytes);
  }
  meet_and_compare(call);
  for (std::uint32_t rank = 0; rank < layout_.size; ++rank) {
    if (rank != rank_ && parts[rank].bytes > 0) {
      std::memcpy(recv + parts[rank].at, post_of(rank).payload, parts[rank].bytes);
    }
  }
}

void Group::gather_by_reading(const Call& call, const std::byte* send, std::byte* recv,
                              std::span<const Part> parts) {
  begin_step();
  show({send, recv});
  meet_and_compare(call);
  const auto shown = shown_by_all();
  for (std::uint32_t i = 1; i < layout_.size; ++i) {
    const auto rank = (rank_ + i) % layout_.size;  // each begins with another, so that not all read one
    read(rank, shown[rank].send, recv + parts[rank].at, parts[rank].bytes);
  }
  const auto& own = parts[rank_];
  if (recv + own.at != send) copy_out(recv + own.at, send, own.bytes, own.bytes);
  begin_step();  // nobody changes its send buffer before all have read it
  meet(call);
}

void Group::show(const Addresses& addresses) noexcept {
  std::memcpy(post_of(rank_).payload, &addresses, sizeof(addresses));
}

std::vector<Group::Addresses> Group::shown_by_all() const {
  std::vector<Addresses> shown(layout_.size);
  for (std::uint32_t rank = 0; rank < layout_.size; ++rank) {
    std::memcpy(&shown[rank], post_of(rank).payload, sizeof(Addresses));
  }
  return shown;
}

void Group::read(std::uint32_t rank, const std::byte* from, std::byte* to, std::size_t bytes) {
  if (!read_memory(pid_of(rank), from, to, bytes)) fail_transfer(rank);
}

void Group::write(std::uint32_t rank, const std::byte* from, std::byte* to, std::size_t bytes) {
  if (!write_memory(pid_of(rank), from, to, bytes)) fail_transfer(rank);
}

void Group::fail_transfer(std::uint32_t rank) {
  // It worked when the group started, so the peer is most likely ending: a process loses its memory
  // a moment before it is seen to have died.
  const auto until = Clock::now() + std::chrono::milliseconds(500);
  while (!watches_[rank].died() && Clock::now() < until) sched_yield();
  fail(watches_[rank].died() ? Trouble::died : Trouble::refused, rank);
}

void Group::gather_by_chunks(const Call& call, const std::byte* send, std::byte* recv,
                             std::span<const Part> parts, std::size_t longest, std::size_t total) {
  const auto chunk = layout_.slot_bytes;
  const auto& own = parts[rank_];
  const bool in_place = recv + own.at == send;
  for (std::size_t from = 0; from < longest; from += chunk) {
    const auto step = begin_step();
    const auto length = [&](const Part& part) {
      return std::min(chunk, part.bytes - std::min(part.bytes, from));
    };
    if (const auto bytes = length(own); bytes > 0) {
      std::memcpy(slot(rank_, step), send + from, bytes);
      if (!in_place) copy_out(recv + own.at + from, send + from, bytes, total);
    }
    from == 0 ? meet_and_compare(call) : meet(call);
    for (std::uint32_t i = 1; i < layout_.size; ++i) {
      const auto rank = (rank_ + i) % layout_.size;
      copy_out(recv + parts[rank].at + from, slot(rank, step), length(parts[rank]), total);
    }
  }
}

void Group::allreduce(const Call& call, comm::Element element, std::size_t itemsize, const std::byte* send,
                      std::byte* recv, std::size_t count) {
  const std::size_t bytes = count * itemsize;
  if (reads_peers_memory_ && bytes / layout_.size >= kReduceByReadingBytes)
    return reduce_by_reading(call, element, itemsize, send, recv, count);
  if (layout_.size > 2 && bytes > std::min(kReduceAloneBytes, layout_.slot_bytes))
    return reduce_by_shares(call, element, itemsize, send, recv, count);
  const bool fits_post = bytes <= kInlineBytes;
  const std::size_t chunk = fits_post ? count : layout_.slot_bytes / itemsize;
  for (std::size_t from = 0; from < count; from += chunk) {
    const auto step = begin_step();
    const auto length = std::min(chunk, count - from);
    const auto place = [&](std::uint32_t rank) {
      return fits_post ? post_of(rank).payload : slot(rank, step);
    };
    std::memcpy(place(rank_), send + from * itemsize, length * itemsize);
    from == 0 ? meet_and_compare(call) : meet(call);
    // The own operand from `send`: two slots lie at equal offsets of their pages, and to read both takes
    // twice as long.
    for (std::uint32_t rank = 0; rank < layout_.size; ++rank) {
      addresses_[rank] = rank == rank_ ? send + from * itemsize : place(rank);
    }
    comm::reduce(static_cast<comm::ReduceOp>(call.reduce_op), element, addresses_.data(), layout_.size,
                 recv + from * itemsize, length);
  }
}

// Each rank reads its share of everybody's operand, reduces it, and then reads the others' results. In
// place too: a rank writes only its own share before all have read, and nobody reads that one.
void Group::reduce_by_reading(const Call& call, comm::Element element, std::size_t itemsize,
                              const std::byte* send, std::byte* recv, std::size_t count) {
  const auto share_begin = [&](std::size_t rank) { return count * rank / layout_.size; };
  const std::size_t chunk = kScratchBytes / itemsize;
  begin_step();
  show({send, recv});
  meet_and_compare(call);
  const auto shown = shown_by_all();
  scratch_.resize(layout_.size * kScratchBytes);
  for (std::size_t from = share_begin(rank_); from < share_begin(rank_ + 1); from += chunk) {
    const std::size_t length = std::min(chunk, share_begin(rank_ + 1) - from);
    for (std::uint32_t rank = 0; rank < layout_.size; ++rank) {
      auto* copy = scratch_.data() + rank * kScratchBytes;
      addresses_[rank] = rank == rank_ ? send + from * itemsize : copy;
      if (rank != rank_) read(rank, shown[rank].send + from * itemsize, copy, length * itemsize);
    }
    comm::reduce(static_cast<comm::ReduceOp>(call.reduce_op), element, addresses_.data(), layout_.size,
                 recv + from * itemsize, length);
  }
  begin_step();
  meet(call);
  for (std::uint32_t i = 1; i < layout_.size; ++i) {
    const auto rank = (rank_ + i) % layout_.size;
    const auto at = share_begin(rank) * itemsize;
    read(rank, shown[rank].recv + at, recv + at, share_begin(rank + 1) * itemsize - at);
  }
  begin_step();  // nobody changes its result before all have read it
  meet(call);
}

// Each rank reduces its share of every chunk and shows the result with the next step, in which the
// next chunk arrives too: one meeting per chunk, and one more for the last results.
void Group::reduce_by_shares(const Call& call, comm::Element element, std::size_t itemsize,
                             const std::byte* send, std::byte* recv, std::size_t count) {
  const std::size_t ranks = layout_.size;
  const std::size_t chunk = layout_.slot_bytes / itemsize;
  const std::size_t total = count * itemsize;
  const auto length_from = [&](std::size_t from) { return std::min(chunk, count - from); };
  const auto share_begin = [&](std::size_t length, std::size_t rank) { return length * rank / ranks; };
  for (std::size_t from = 0; from < count + chunk; from += chunk) {
    const auto step = begin_step();
    const bool arriving = from < count;
    const std::size_t length = arriving ? length_from(from) : 0;
    const std::size_t begin = share_begin(length, rank_), end = share_begin(length, rank_ + 1);
    if (arriving) {  // its own share a rank reads from `send`, where it is
      const auto* source = send + from * itemsize;
      std::memcpy(slot(rank_, step), source, begin * itemsize);
      std::memcpy(slot(rank_, step) + end * itemsize, source + end * itemsize, (length - end) * itemsize);
    }
    from == 0 ? meet_and_compare(call) : meet(call);
    if (from > 0) {
      const std::size_t before = from - chunk, results = length_from(before);
      for (std::size_t i = 1; i < ranks; ++i) {
        const auto rank = (rank_ + i) % ranks;
        const auto first = share_begin(results, rank), last = share_begin(results, rank + 1);
        copy_out(recv + (before + first) * itemsize, reduced(static_cast<std::uint32_t>(rank), step),
                 (last - first) * itemsize, total);
      }
    }
    if (end > begin) {
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        addresses_[rank] = (rank == rank_ ? send + from * itemsize : slot(rank, step)) + begin * itemsize;
      }
      auto* result = reduced(rank_, step + 1);
      comm::reduce(static_cast<comm::ReduceOp>(call.reduce_op), element, addresses_.data(), ranks, result,
                   end - begin);
      copy_out(recv + (from + begin) * itemsize, result, (end - begin) * itemsize, total);
    }
  }
}

void Group::broadcast(const Call& call, std::byte* buf, std::size_t bytes) {
  const bool is_root = rank_ == call.root;
  if (bytes <= kInlineBytes) {
    begin_step();
    if (is_root && bytes > 0) std::memcpy(post_of(rank_).payload, buf, bytes);
    meet_and_compare(call);
    if (!is_root && bytes > 0) std::memcpy(buf, post_of(call.root).payload, bytes);
    return;
  }
  if (reads_peers_memory_ && bytes >= kBroadcastByReadingBytes) {
    begin_step();
    show({buf, buf});
    meet_and_compare(call);
    // The root also copies: it writes to each of the others what they leave of the reading.
    const auto shown = shown_by_all();
    const std::size_t left = bytes / layout_.size, own_reading = bytes - left;
    if (!is_root) read(call.root, shown[call.root].send, buf, own_reading);
    for (std::uint32_t rank = 0; is_root && rank < layout_.size; ++rank) {
      if (rank != rank_) write(rank, buf + own_reading, shown[rank].recv + own_reading, left);
    }
    begin_step();  // nobody touches its buffer before all have read and written
    return meet(call);
  }
  // While the others copy a chunk out, the root copies the next one in.
  for (std::size_t from = 0; from < bytes; from += layout_.slot_bytes) {
    const auto step = begin_step();
    const auto length = std::min(layout_.slot_bytes, bytes - from);
    if (is_root) std::memcpy(slot(rank_, step), buf + from, length);
    from == 0 ? meet_and_compare(call) : meet(call);
    if (!is_root) copy_out(buf + from, slot(call.root, step), length, bytes);
  }
}

}  // namespace cobre::shm
