#include "link.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cobre::tcp {
namespace {

// So many bytes by one system call at most: while it copies, nothing goes the other way.
constexpr std::size_t kMostAtOnce = 512 * 1024;
constexpr std::size_t kMostPieces = 6;

/// Pieces of one system call.
class Row {
 public:
  /// Whether all of it found a place, and there is one for more.
  bool add(const void* data, std::size_t bytes) noexcept {
    if (bytes == 0) return true;
    const auto part = std::min(bytes, kMostAtOnce - total_);
    if (part == 0) return false;
    row_[used_++] = {const_cast<void*>(data), part};
    total_ += part;
    return part == bytes && used_ < kMostPieces;
  }
  std::span<const iovec> pieces() const noexcept { return {row_.data(), used_}; }

 private:
  std::array<iovec, kMostPieces> row_;
  std::size_t used_ = 0, total_ = 0;
};

}  // namespace

Link::Link(std::uint32_t peer, Descriptor&& connection, std::uint32_t size)
    : peer_(peer), connection_(std::move(connection)) {
  never_block(fd());
  headers_.reserve(size + 1);  // pieces point into it
}

void Link::clear() noexcept {
  outgoing_.clear();
  incoming_.clear();
  headers_.clear();
  expected_.clear();
  sending_ = sent_ = receiving_ = received_ = expecting_ = 0;
}

void Link::send(const Header& header) {
  headers_.push_back(header);
  outgoing_.push_back({reinterpret_cast<const std::byte*>(&headers_.back()), sizeof(Header)});
}

void Link::expect(const Header& header) {
  expected_.push_back(header);
  incoming_.push_back({{reinterpret_cast<std::byte*>(&received_header_), sizeof(Header)}, kThisHeader});
}

void Link::expect_header() {
  incoming_.push_back({{reinterpret_cast<std::byte*>(&received_header_), sizeof(Header)}, kAnyHeader});
}

Transfer Link::send_some() noexcept {
  Row row;
  std::size_t from = sent_;
  for (auto i = sending_; i < outgoing_.size(); ++i, from = 0) {
    const auto& piece = outgoing_[i];
    const auto bytes = sendable(piece, from);
    if (bytes == 0 || !row.add(piece.data + from, bytes) || from + bytes < piece.bytes) break;
  }
  if (row.pieces().empty()) return Transfer::blocked;
  auto [outcome, bytes] = send_from(fd(), row.pieces());
  while (bytes > 0) {
    const auto& piece = outgoing_[sending_];
    const auto part = std::min(bytes, piece.bytes - sent_);
    if (piece.sent != nullptr) *piece.sent += part;
    sent_ += part;
    bytes -= part;
    if (sent_ == piece.bytes) ++sending_, sent_ = 0;
  }
  return outcome;
}

Transfer Link::receive_some() noexcept {
  Row row;
  // At most one header per call, because all go to one place.
  bool more = true, header = false;
  std::size_t from = received_;
  for (auto i = receiving_; more && i < incoming_.size(); ++i, from = 0) {
    const auto& piece = incoming_[i];
    if (piece.header != kNoHeader && std::exchange(header, true)) break;
    const auto bytes = room(piece, from);
    const auto at = piece.ring == 0 ? from : from % piece.ring;
    const auto before_end = piece.ring == 0 ? bytes : std::min(bytes, piece.ring - at);
    more = row.add(piece.data + at, before_end) && row.add(piece.data, bytes - before_end) &&
           from + bytes == piece.bytes;
  }
  if (row.pieces().empty()) return Transfer::blocked;
  auto [outcome, bytes] = receive_into(fd(), row.pieces());
  while (bytes > 0) {
    const auto& piece = incoming_[receiving_];
    const auto part = std::min(bytes, piece.bytes - received_);
    if (piece.received != nullptr) *piece.received += part;
    received_ += part;
    bytes -= part;
    if (received_ == piece.bytes) {
      ++receiving_, received_ = 0;
      if (piece.header == kThisHeader) {
        mismatched_ = received_header_ != expected_[expecting_];
        if (mismatched_) return outcome;
        ++expecting_;
      }
    }
  }
  return outcome;
}

}  // namespace cobre::tcp
