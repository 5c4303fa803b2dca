#include "watch.hpp"

#include <poll.h>

#include "core/thread.hpp"

namespace cobre::tcp {

Watch::Watch(std::vector<Control>&& connections, Names names, double timeout_s)
    : connections_(std::move(connections)), judge_(std::move(names), timeout_s) {
  thread_ = start_quiet_thread([this] { run(); });
}

Watch::~Watch() {
  stop_.first.close();
  thread_.join();
}

void Watch::run() {
  std::vector<pollfd> polled;
  std::vector<std::uint32_t> ranks;
  while (true) {
    polled.assign(1, {stop_.second.get(), POLLIN, 0});
    ranks.clear();
    for (std::uint32_t rank = 0; rank < connections_.size(); ++rank) {
      if (!connections_[rank].open()) continue;
      polled.push_back({connections_[rank].fd(), POLLIN, 0});
      ranks.push_back(rank);
    }
    int wait_ms = -1;
    if (const auto deadline = judge_.deadline()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
      wait_ms = static_cast<int>(std::max<std::int64_t>(left, 0));
    }
    poll(polled.data(), static_cast<nfds_t>(polled.size()), wait_ms);
    const bool stopping = polled[0].revents != 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (polled[i + 1].revents != 0) hear(ranks[i]);
    }
    judge_.look_at_clock(Clock::now());
    if (judge_.wants_to_ask()) tell_all({.tag = Tag::question});
    if (judge_.verdict() && !std::exchange(told_, true)) {
      // Whatever is left out of a very long one: a frame that is too long would be taken for nonsense.
      tell_all({.tag = Tag::abort}, std::string_view(*judge_.verdict()).substr(0, kMostControlBytes));
    }
    if (stopping) break;  // not before: the last word may be one that others need
  }
  tell_all({.tag = Tag::goodbye});
}

void Watch::hear(std::uint32_t rank) {
  auto& connection = connections_[rank];
  auto state = connection.listen();
  while (connection.open()) {
    const auto frame = connection.next();
    if (!frame) break;
    hear(rank, *frame);
  }
  if (!connection.open()) return;
  if (connection.nonsense()) {
    judge_.sent_nonsense(rank);
    connection.close();
  } else if (state == Control::State::ended) {
    judge_.ended(rank);
    connection.close();
  }
}

void Watch::hear(std::uint32_t rank, const ControlFrame& frame) {
  const auto tag = frame.header.tag;
  if (tag == Tag::goodbye) {
    judge_.goodbye(rank);
    return connections_[rank].close();
  }
  auto said = tag == Tag::report || tag == Tag::answer
                  ? parse_statement(frame, static_cast<std::uint32_t>(connections_.size()))
                  : std::nullopt;
  if (!said) {
    judge_.sent_nonsense(rank);
    return connections_[rank].close();
  }
  if (tag == Tag::report) {
    judge_.reported(rank, std::move(*said), Clock::now());
  } else {
    judge_.answered(rank, std::move(*said));
  }
}

void Watch::tell_all(const Header& header, std::string_view payload) {
  for (auto& connection : connections_) connection.send(header, payload);
}

}  // namespace cobre::tcp
