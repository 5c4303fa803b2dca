#include "control.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace cobre::tcp {
namespace {

bool well_formed(const Header& header) noexcept {
  return header.magic == kMagic && header.zero == decltype(header.zero){} && header.zeros == 0 &&
         header.length <= kMostControlBytes;
}

iovec piece(const void* data, std::size_t bytes) noexcept { return {const_cast<void*>(data), bytes}; }

}  // namespace

Control::Control(Descriptor&& connection) : connection_(std::move(connection)) {
  if (open()) never_block(fd());
}

Control::State Control::listen() {
  std::array<char, 4096> fresh;
  while (true) {
    const std::array row{piece(fresh.data(), fresh.size())};
    const auto [outcome, bytes] = receive_into(fd(), row);
    if (outcome == Transfer::blocked) return State::open;
    if (outcome == Transfer::ended) return State::ended;
    unread_.append(fresh.data(), bytes);
    // Whoever sends faster than it is heard has nothing to say: frames are few, and taken out by the caller.
    if (unread_.size() > 16 * kMostControlBytes) return State::open;
  }
}

std::optional<ControlFrame> Control::next() {
  if (nonsense_ || unread_.size() < sizeof(Header)) return std::nullopt;
  ControlFrame frame;
  std::memcpy(&frame.header, unread_.data(), sizeof(Header));
  if (!well_formed(frame.header)) {
    nonsense_ = true;
    unread_.clear();
    return std::nullopt;
  }
  const auto whole = sizeof(Header) + static_cast<std::size_t>(frame.header.length);
  if (unread_.size() < whole) return std::nullopt;
  frame.payload = unread_.substr(sizeof(Header), whole - sizeof(Header));
  unread_.erase(0, whole);
  return frame;
}

void Control::send(const Header& header, std::string_view payload) noexcept {
  if (!open()) return;
  Header sized = header;
  sized.length = payload.size();
  const std::array row{piece(&sized, sizeof(sized)), piece(payload.data(), payload.size())};
  const auto [outcome, bytes] = send_from(fd(), row);
  if (outcome == Transfer::moved && bytes < sizeof(sized) + payload.size()) close();  // half a frame is none
}

void Control::send(Tag tag, const Said& said) noexcept {
  Statement statement = said.statement;
  statement.waits = static_cast<std::uint32_t>(std::min(said.waits_for.size(), kMostWaits));
  std::string payload(reinterpret_cast<const char*>(&statement), kStatementBytes);
  payload.append(reinterpret_cast<const char*>(said.waits_for.data()), 4 * statement.waits);
  payload.append(said.text, 0, kMostText);
  send(Header{.tag = tag, .sequence = said.sequence, .call = said.call}, payload);
}

std::optional<Said> parse_statement(const ControlFrame& frame, std::uint32_t size) {
  const auto& payload = frame.payload;
  Said said{.sequence = frame.header.sequence, .call = frame.header.call};
  if (payload.size() < kStatementBytes) return std::nullopt;
  std::memcpy(static_cast<void*>(&said.statement), payload.data(), kStatementBytes);
  const std::size_t waits = said.statement.waits;
  if (waits > kMostWaits || payload.size() < kStatementBytes + 4 * waits) return std::nullopt;
  if (said.statement.kind > Kind::left || said.statement.peer >= size) return std::nullopt;
  said.waits_for.resize(waits);
  if (waits > 0) std::memcpy(said.waits_for.data(), payload.data() + kStatementBytes, 4 * waits);
  said.text = payload.substr(kStatementBytes + 4 * waits, kMostText);
  return said;
}

}  // namespace cobre::tcp
