// The connection that carries what goes wrong: frames in and out, none of them large, none of them late.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frame.hpp"
#include "judge.hpp"
#include "socket.hpp"

namespace cobre::tcp {

struct ControlFrame {
  Header header;
  std::string payload;
};

/// One end of a control connection, rank 0's or another's.
class Control {
 public:
  explicit Control(Descriptor&& connection);

  int fd() const noexcept { return connection_.get(); }
  bool open() const noexcept { return connection_.open(); }
  void close() noexcept { connection_.close(); }

  enum class State { open, ended };

  /// Take in what has come, without waiting. Frames are then to be had by `next`.
  State listen();
  std::optional<ControlFrame> next();
  /// Whether bytes came that are no frame; nothing can be had after them.
  bool nonsense() const noexcept { return nonsense_; }

  /// Best effort: whoever does not take a few hundred bytes is not listening.
  void send(const Header& header, std::string_view payload = {}) noexcept;
  void send(Tag tag, const Said& said) noexcept;

 private:
  Descriptor connection_;
  std::string unread_;
  bool nonsense_ = false;
};

/// Nothing if the payload of a report or an answer is malformed.
std::optional<Said> parse_statement(const ControlFrame& frame, std::uint32_t size);

}  // namespace cobre::tcp
