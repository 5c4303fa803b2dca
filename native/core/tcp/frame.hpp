// What travels between ranks once they have proved themselves; docs/reference/tcp-wire-format.md has it
// field by field. Ranks of another byte order were refused before, so a frame is a struct as it lies in
// memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/comm/call.hpp"

namespace cobre::tcp {

using comm::Call;
using comm::Operation;

enum class Tag : std::uint8_t {
  bring = 1,
  result = 2,
  goodbye = 3,
  begin = 16,
  report = 17,
  question = 18,
  answer = 19,
  abort = 20,
};

constexpr std::array<char, 4> kMagic{'c', 'b', 'r', 'f'};

struct Header {
  std::array<char, 4> magic = kMagic;
  Tag tag = Tag::bring;
  std::array<std::uint8_t, 3> zero{};
  std::uint64_t length = 0;
  std::uint64_t sequence = 0;
  Call call;
  std::uint32_t part = 0;
  std::uint32_t zeros = 0;

  friend bool operator==(const Header&, const Header&) = default;
};
static_assert(sizeof(Header) == 56 && offsetof(Header, length) == 8 && offsetof(Header, call) == 24);

/// Why a rank turns to rank 0, or, with `waiting`, its reply to a question.
enum class Kind : std::uint32_t { waiting, silence, lost, disagreement, malformed, interrupted, left };

constexpr std::size_t kMostWaits = 64;
constexpr std::size_t kMostText = 400;

/// The fixed part of a report or an answer; the ranks that the sender waits for and a text follow.
struct Statement {
  Kind kind = Kind::waiting;
  std::uint32_t peer = 0;           // whom it is about
  std::uint64_t peer_sequence = 0;  // of the frame that does not fit, with its call
  Call peer_call;
  std::uint32_t waits = 0;  // how many ranks follow
  std::uint32_t unused = 0;
};
constexpr std::size_t kStatementBytes = offsetof(Statement, unused);
static_assert(kStatementBytes == 44);

/// A control frame longer than this is malformed. Begin frames are read before this code takes over.
constexpr std::size_t kMostControlBytes = kStatementBytes + 4 * kMostWaits + 4 * kMostText;

}  // namespace cobre::tcp
