// The collectives: which frames go where. How they get there, and what happens when they do not, is in
// group.cpp.
#include <algorithm>
#include <cstring>

#include "group.hpp"

namespace cobre::tcp {
namespace {

// Up to this many bytes, everybody reducing everything beats sharing the work out, which takes two rounds.
constexpr std::size_t kReduceWholeBytes = 16 * 1024;
// From here on a broadcast goes to each rank in part, and from there to the others.
constexpr std::size_t kBroadcastWholeBytes = 64 * 1024;
// How much is reduced at a time, while it is in the cache, and how much of an operand may wait for that.
constexpr std::size_t kChunkBytes = 64 * 1024;
constexpr std::size_t kRingBytes = 8 * kChunkBytes;

/// `total` things in `shares` shares of almost equal size: where share i begins; share `shares` is the end.
constexpr std::size_t share_begin(std::size_t total, std::size_t i, std::size_t shares) {
  return total / shares * i + std::min(i, total % shares);
}

void copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}

constexpr auto kNothingToDo = [] {};

}  // namespace

void Group::begin(const Call& call) {
  ++sequence_;
  call_ = call;
  idle_ = 0;
  idle_since_.reset();
  for (auto* link : active_) link->clear();
}

Header Group::header(Tag tag, std::size_t bytes, std::uint32_t part) const noexcept {
  return {.tag = tag, .length = bytes, .sequence = sequence_, .call = call_, .part = part};
}

void Group::bring(Link& link, const std::byte* data, std::size_t bytes) {
  link.send(header(Tag::bring, bytes, rank_));
  link.send(Outgoing{data, bytes});
}

void Group::expect_from(Link& link, Tag tag, const Incoming& piece) {
  link.expect(header(tag, piece.bytes, tag == Tag::bring ? link.peer() : 0));
  link.expect(piece);
}

template <class Progress>
void Group::run(Progress&& progress) {
  progress();
  while (true) {
    bool moved = false, done = true;
    for (auto* link : active_) moved |= move(*link);
    if (moved) {
      idle_ = 0;
      idle_since_.reset();
      progress();
    }
    for (const auto* link : active_) done &= link->done();
    if (done) return;
    if (!moved) wait();
  }
}

void Group::barrier(const Call& call) {
  begin(call);
  const Incoming nothing{nullptr, 0};
  if (direct_ || rank_ != 0) {
    for (auto* link : active_) {
      bring(*link, nullptr, 0);
      expect_from(*link, direct_ ? Tag::bring : Tag::result, nothing);
    }
    return run(kNothingToDo);
  }
  for (auto* link : active_) expect_from(*link, Tag::bring, nothing);
  run(kNothingToDo);
  for (auto* link : active_) link->send(header(Tag::result, 0, 0));
  run(kNothingToDo);
}

void Group::allgatherv(const Call& call, const std::byte* send, std::byte* recv,
                       std::span<const Part> parts) {
  begin(call);
  const auto& own = parts[rank_];
  copy(recv + own.at, send, own.bytes);
  if (!direct_ && rank_ == 0) return gather_at_hub(recv, parts);
  if (!direct_) return gather_from_hub(send, recv, parts);
  for (auto* link : active_) {
    const auto& part = parts[link->peer()];
    bring(*link, send, own.bytes);
    expect_from(*link, Tag::bring, {recv + part.at, part.bytes});
  }
  run(kNothingToDo);
}

void Group::gather_at_hub(std::byte* recv, std::span<const Part> parts) {
  std::vector<std::size_t> came(size_);
  std::vector<bool> handed_on(size_);
  const auto hand_on = [&](std::uint32_t rank) {
    handed_on[rank] = true;
    for (auto* link : active_) {
      if (link->peer() == rank) continue;
      link->send(header(Tag::result, parts[rank].bytes, rank));
      link->send(Outgoing{recv + parts[rank].at, parts[rank].bytes, &came[rank]});
    }
  };
  for (auto* link : active_) {
    const auto& part = parts[link->peer()];
    expect_from(*link, Tag::bring, {recv + part.at, part.bytes, &came[link->peer()]});
  }
  came[0] = parts[0].bytes;
  hand_on(0);
  // A part goes out as soon as it begins to come in, so that nobody waits for whoever is late.
  run([&] {
    for (auto* link : active_) {
      const auto rank = link->peer();
      if (!handed_on[rank] && (came[rank] > 0 || link->received_all())) hand_on(rank);
    }
  });
}

void Group::gather_from_hub(const std::byte* send, std::byte* recv, std::span<const Part> parts) {
  auto& hub = links_[0];
  std::vector<bool> came(size_);
  came[rank_] = true;
  bring(hub, send, parts[rank_].bytes);
  hub.expect_header();
  bool header_is_due = true;
  run([&] {
    if (!header_is_due || !hub.received_all()) return;
    const auto& next = hub.last_header();
    if (next.part >= size_ || came[next.part] ||
        next != header(Tag::result, parts[next.part].bytes, next.part)) {
      complain(hub, next);
    }
    came[next.part] = true;
    hub.expect(Incoming{recv + parts[next.part].at, parts[next.part].bytes});
    header_is_due = std::find(came.begin(), came.end(), false) != came.end();
    if (header_is_due) hub.expect_header();
  });
}

/// A reduction of operands that arrive bit by bit: what has come from all is reduced, in rank order.
struct Group::Reduction {
  comm::ReduceOp op;
  comm::Element element;
  std::size_t itemsize;
  std::size_t bytes;     // of an operand
  const std::byte* own;  // this rank's operand
  std::byte* out;
  std::uint32_t rank, size;
  std::size_t reduced = 0;
  std::size_t ring;
  std::vector<std::size_t> came, sent;
  std::vector<const void*> slots;
  std::byte* rings;

  Incoming operand_of(std::uint32_t peer) {
    return {rings + peer * ring, bytes, &came[peer], ring, &reduced};
  }

  /// Reduce what is there. What has not been sent yet must not be overwritten, if it is in the same place.
  void go_on() {
    std::size_t there = bytes;
    for (std::uint32_t peer = 0; peer < size; ++peer) {
      if (peer != rank) there = std::min({there, came[peer], out == own ? sent[peer] : bytes});
    }
    while (reduced < there) {
      const auto part = std::min(kChunkBytes, there - reduced);
      if (part < kChunkBytes && there < bytes) return;  // more will come
      for (std::uint32_t peer = 0; peer < size; ++peer) {
        slots[peer] = peer == rank ? own + reduced : rings + peer * ring + reduced % ring;
      }
      comm::reduce(op, element, slots.data(), size, out + reduced, part / itemsize);
      reduced += part;
    }
  }
};

void Group::allreduce(const Call& call, comm::Element element, std::size_t itemsize, const std::byte* send,
                      std::byte* recv, std::size_t count) {
  begin(call);
  const auto bytes = count * itemsize;
  if (!direct_ && rank_ != 0) {
    bring(links_[0], send, bytes);
    expect_from(links_[0], Tag::result, {recv, bytes});
    return run(kNothingToDo);
  }
  const bool by_shares = direct_ && size_ > 2 && bytes > kReduceWholeBytes;
  const auto share_at = [&](std::size_t rank) {
    return by_shares ? share_begin(count, rank, size_) * itemsize : 0;
  };
  const auto share = by_shares ? share_at(rank_ + 1) - share_at(rank_) : bytes;
  Reduction work{.op = static_cast<comm::ReduceOp>(call.reduce_op),
                 .element = element,
                 .itemsize = itemsize,
                 .bytes = share,
                 .own = send + share_at(rank_),
                 .out = recv + share_at(rank_),
                 .rank = rank_,
                 .size = size_,
                 .ring = std::min(share, kRingBytes),
                 .came = std::vector<std::size_t>(size_),
                 .sent = std::vector<std::size_t>(size_),
                 .slots = std::vector<const void*>(size_),
                 .rings = nullptr};
  if (scratch_.size() < size_ * work.ring) scratch_.resize(size_ * work.ring);
  work.rings = scratch_.data();
  for (auto* link : active_) {
    const auto peer = link->peer();
    if (by_shares) {
      const auto at = share_at(peer), length = share_at(peer + 1) - at;
      link->send(header(Tag::bring, length, peer));
      link->send(Outgoing{send + at, length});
      link->send(header(Tag::result, share, rank_));
      link->send(Outgoing{work.out, share, &work.reduced});
      link->expect(header(Tag::bring, share, rank_));
      link->expect(work.operand_of(peer));
      link->expect(header(Tag::result, length, peer));
      link->expect(Incoming{recv + at, length});
      work.sent[peer] = share;  // the own share is sent to nobody before it is reduced
      continue;
    }
    if (direct_) {
      link->send(header(Tag::bring, bytes, rank_));
      link->send(Outgoing{send, bytes, nullptr, &work.sent[peer]});
    } else {
      link->send(header(Tag::result, bytes, 0));
      link->send(Outgoing{recv, bytes, &work.reduced});
      work.sent[peer] = bytes;
    }
    link->expect(header(Tag::bring, bytes, peer));
    link->expect(work.operand_of(peer));
  }
  run([&] { work.go_on(); });
}

void Group::broadcast_by_shares(std::byte* buf, std::size_t bytes) {
  // Share p goes from the root to rank p alone, and from there to the others: nobody sends it all to all.
  const std::uint32_t root = call_.root;
  const auto share_at = [&](std::uint32_t rank) {
    return share_begin(bytes, rank - (rank > root ? 1 : 0), size_ - 1);  // the root has none
  };
  const auto share_bytes = [&](std::uint32_t rank) {
    const std::size_t place = rank - (rank > root ? 1 : 0);
    return share_begin(bytes, place + 1, size_ - 1) - share_begin(bytes, place, size_ - 1);
  };
  std::size_t came = 0;
  for (auto* link : active_) {
    const auto peer = link->peer();
    if (rank_ == root) {
      link->send(header(Tag::bring, share_bytes(peer), peer));
      link->send(Outgoing{buf + share_at(peer), share_bytes(peer)});
      link->expect(header(Tag::bring, 0, peer));
    } else if (peer == root) {
      bring(*link, nullptr, 0);
      link->expect(header(Tag::bring, share_bytes(rank_), rank_));
      link->expect(Incoming{buf + share_at(rank_), share_bytes(rank_), &came});
    } else {
      link->send(header(Tag::result, share_bytes(rank_), rank_));
      link->send(Outgoing{buf + share_at(rank_), share_bytes(rank_), &came});
      link->expect(header(Tag::result, share_bytes(peer), peer));
      link->expect(Incoming{buf + share_at(peer), share_bytes(peer)});
    }
  }
  run(kNothingToDo);
}

void Group::broadcast(const Call& call, std::byte* buf, std::size_t bytes) {
  begin(call);
  const std::uint32_t root = call.root;
  const Incoming nothing{nullptr, 0};
  if (direct_ && size_ > 2 && bytes > kBroadcastWholeBytes) return broadcast_by_shares(buf, bytes);
  if (direct_) {
    // Beside the data: root and rank 0 hear from everybody, so that no disagreement goes unnoticed.
    for (auto* link : active_) {
      const auto peer = link->peer();
      if (rank_ == root) {
        bring(*link, buf, bytes);
      } else if (peer == root || peer == 0) {
        bring(*link, nullptr, 0);
      }
      if (peer == root) {
        expect_from(*link, Tag::bring, {buf, bytes});
      } else if (rank_ == root || rank_ == 0) {
        expect_from(*link, Tag::bring, nothing);
      }
    }
    return run(kNothingToDo);
  }
  if (rank_ != 0) {
    const bool is_root = rank_ == root;
    bring(links_[0], buf, is_root ? bytes : 0);
    expect_from(links_[0], Tag::result, is_root ? nothing : Incoming{buf, bytes});
    return run(kNothingToDo);
  }
  std::size_t came = root == 0 ? bytes : 0;
  for (auto* link : active_) {
    if (link->peer() == root) {
      expect_from(*link, Tag::bring, {buf, bytes, &came});
    } else {
      expect_from(*link, Tag::bring, nothing);
      link->send(header(Tag::result, bytes, 0));
      link->send(Outgoing{buf, bytes, &came});
    }
  }
  run(kNothingToDo);
  if (root == 0) return;
  links_[root].send(header(Tag::result, 0, 0));  // all have come, and all agree
  run(kNothingToDo);
}

}  // namespace cobre::tcp
