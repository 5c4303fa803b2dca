// One connection to a peer during a collective: what is still to be sent and to be received, in order.
//
// Both directions are rows of pieces, laid out as the collective goes on. Bytes go straight from and to
// where they belong, and one system call moves a header together with its payload.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "frame.hpp"
#include "socket.hpp"

namespace cobre::tcp {

/// Bytes to be sent.
struct Outgoing {
  const std::byte* data;
  std::size_t bytes;
  const std::size_t* ready = nullptr;  // how many of them exist by now, if they come into being meanwhile
  std::size_t* sent = nullptr;         // counts them
};

/// Where received bytes go. With a ring, byte i goes to data[i % ring], and only `ring` bytes beyond
/// `*used` are taken from the connection: a slow reduction makes the peer wait, not the memory grow.
struct Incoming {
  std::byte* data;
  std::size_t bytes;
  std::size_t* received = nullptr;  // counts them
  std::size_t ring = 0;
  const std::size_t* used = nullptr;
};

class Link {
 public:
  Link() = default;
  /// At most `size` + 1 headers are sent in a collective of `size` ranks.
  Link(std::uint32_t peer, Descriptor&& connection, std::uint32_t size);

  std::uint32_t peer() const noexcept { return peer_; }
  int fd() const noexcept { return connection_.get(); }
  bool open() const noexcept { return connection_.open(); }
  void close() noexcept { connection_.close(); }

  /// Forget the last collective.
  void clear() noexcept;
  void send(const Header& header);  // copied
  void send(const Outgoing& piece) {
    if (piece.bytes > 0) outgoing_.push_back(piece);
  }
  /// The next header must be this one; see `mismatch`.
  void expect(const Header& header);
  /// The next header is looked at by the collective itself, as `last_header`.
  void expect_header();
  void expect(const Incoming& piece) {
    if (piece.bytes > 0) incoming_.push_back({piece, kNoHeader});
  }

  bool sent_all() const noexcept { return sending_ == outgoing_.size(); }
  bool received_all() const noexcept { return receiving_ == incoming_.size(); }
  bool done() const noexcept { return sent_all() && received_all(); }
  /// Whether bytes would move now if the connection were willing.
  bool can_send() const noexcept { return !sent_all() && sendable(outgoing_[sending_], sent_) > 0; }
  bool can_receive() const noexcept { return !received_all() && room(incoming_[receiving_], received_) > 0; }

  /// Move what can be moved without waiting.
  Transfer send_some() noexcept;
  Transfer receive_some() noexcept;

  /// The peer takes no more: what was still to be sent is given up.
  void stop_sending() noexcept { sending_ = outgoing_.size(); }

  /// A header that came and is not the one expected; nullptr if there is none.
  const Header* mismatch() const noexcept { return mismatched_ ? &received_header_ : nullptr; }
  const Header& last_header() const noexcept { return received_header_; }

 private:
  enum Expectation : std::uint8_t { kNoHeader, kAnyHeader, kThisHeader };
  struct Expected : Incoming {
    Expectation header;
  };

  static std::size_t sendable(const Outgoing& piece, std::size_t from) noexcept {
    return (piece.ready != nullptr ? *piece.ready : piece.bytes) - from;
  }
  static std::size_t room(const Incoming& piece, std::size_t from) noexcept {
    const auto left = piece.bytes - from;
    return piece.ring == 0 ? left : std::min(left, *piece.used + piece.ring - from);
  }

  std::uint32_t peer_ = 0;
  Descriptor connection_;
  std::vector<Outgoing> outgoing_;
  std::vector<Expected> incoming_;
  std::size_t sending_ = 0, sent_ = 0;        // which piece, and how much of it
  std::size_t receiving_ = 0, received_ = 0;  // likewise
  std::vector<Header> headers_, expected_;
  std::size_t expecting_ = 0;
  Header received_header_;
  bool mismatched_ = false;
};

}  // namespace cobre::tcp
