#include "group.hpp"

#include <algorithm>

#include <sched.h>

namespace cobre::tcp {
namespace {

using namespace std::chrono_literals;

// How long to give way to others without sleeping. Being woken takes about a tenth of it.
constexpr auto kYieldFor = 500us;
// How long rank 0 may take to ask around and decide, once the timeout is over.
constexpr auto kForVerdict = 750ms;
// How long a sleep lasts at most: Ctrl-C is looked for in between.
constexpr auto kSlice = 50ms;

}  // namespace

Group::Group(std::uint32_t rank, Names names, std::vector<Connection> control, std::vector<Connection> data,
             Options options)
    : rank_(rank),
      size_(static_cast<std::uint32_t>(names.size())),
      names_(std::move(names)),
      options_(std::move(options)),
      links_(size_) {
  if (rank == 0 && size_ > 1) {
    std::vector<Control> all;
    auto own = connected_pair();
    for (std::uint32_t one = 0; one < size_; ++one) all.emplace_back(Descriptor());
    all[0] = Control(std::move(own.first));
    for (auto& [peer, descriptor] : control) all[peer] = Control(std::move(descriptor));
    control_.emplace(std::move(own.second));
    watch_ = std::make_unique<Watch>(std::move(all), names_, options_.timeout.count());
  } else if (rank != 0) {
    control_.emplace(std::move(control.at(0).descriptor));
  }
  connect(std::move(data));
  direct_ = size_ == 2;
  // With a core for everybody, looking costs little and saves the time of being woken. Otherwise the one
  // we wait for may need this very core.
  const bool crowded = static_cast<int>(options_.ranks_here) > comm::usable_cores();
  spins_ = crowded || options_.relayed ? 1 : 100;
}

Group::~Group() { leave(); }

void Group::connect(std::vector<Connection> connections) {
  for (auto& [peer, descriptor] : connections) links_[peer] = Link(peer, std::move(descriptor), size_);
  active_.clear();
  for (std::uint32_t i = 1; i < size_; ++i) {
    auto& link = links_[(rank_ + i) % size_];
    if (link.open()) active_.push_back(&link);
  }
}

void Group::connect_directly(std::vector<Connection> connections) {
  connect(std::move(connections));
  direct_ = true;
}

void Group::leave() noexcept {
  const Header goodbye{.tag = Tag::goodbye};
  for (auto* link : active_) {
    if (!link->open()) continue;
    link->clear();
    link->send(goodbye);
    static_cast<void>(link->send_some());
    link->close();
  }
  active_.clear();
  if (control_ && rank_ != 0) control_->send(goodbye);
  watch_.reset();
  control_.reset();
}

bool Group::move(Link& link) {
  bool moved = false;
  if (link.can_send()) {
    const auto outcome = link.send_some();
    moved = outcome == Transfer::moved;
    // It may have said goodbye before it went, or sent what was needed; that is still to be read.
    if (outcome == Transfer::ended) {
      link.stop_sending();
      if (link.received_all()) appeal(status(Kind::lost, link.peer()));
    }
  }
  if (link.can_receive()) {
    const auto outcome = link.receive_some();
    moved = moved || outcome == Transfer::moved;
    if (outcome == Transfer::moved && link.mismatch() != nullptr) complain(link, *link.mismatch());
    if (outcome == Transfer::ended) appeal(status(Kind::lost, link.peer()));
  }
  return moved;
}

void Group::complain(const Link& link, const Header& came) {
  auto said = status(Kind::malformed, link.peer());
  const bool is_frame = came.magic == kMagic && came.zero == decltype(came.zero){} && came.zeros == 0;
  if (!is_frame) {
    said.text = "bytes that are no frame of this protocol";
  } else if (came.tag == Tag::goodbye) {
    said.statement.kind = Kind::left;
  } else if (came.tag != Tag::bring && came.tag != Tag::result) {
    said.text = "a frame with tag " + std::to_string(static_cast<int>(came.tag)) + " where data was due";
  } else if (came.sequence != sequence_ || came.call != call_) {
    said.statement.kind = Kind::disagreement;
    said.statement.peer_sequence = came.sequence;
    said.statement.peer_call = came.call;
  } else {
    said.text = "a frame of " + std::to_string(came.length) + " bytes, part " + std::to_string(came.part) +
                ", that does not fit its own call, " + comm::describe(call_);
  }
  appeal(std::move(said));
}

void Group::wait() {
  if (++idle_ <= spins_) return;
  const auto now = Clock::now();
  if (!idle_since_) {
    idle_since_ = now;
    if (options_.hooks.before_long_wait) options_.hooks.before_long_wait();
  }
  if (now - *idle_since_ < kYieldFor && !options_.relayed) {
    sched_yield();
    return;
  }
  const auto left = options_.timeout - (now - *idle_since_);
  if (left <= 0s) appeal(status(Kind::silence));
  poll_connections(
      std::chrono::ceil<std::chrono::milliseconds>(std::min<std::chrono::duration<double>>(left, kSlice)));
  if (options_.hooks.interrupted && options_.hooks.interrupted()) {
    control_->send(Tag::report, status(Kind::interrupted));
    close_links();
    throw Interrupted{};
  }
}

void Group::poll_connections(std::chrono::milliseconds slice) {
  polled_.clear();
  if (control_->open()) polled_.push_back({control_->fd(), POLLIN, 0});
  for (const auto* link : active_) {
    const int events = (link->can_send() ? POLLOUT : 0) | (link->can_receive() ? POLLIN : 0);
    if (events != 0) polled_.push_back({link->fd(), static_cast<short>(events), 0});
  }
  poll(polled_.data(), static_cast<nfds_t>(polled_.size()), static_cast<int>(slice.count()));
  if (control_->open() && polled_[0].revents != 0) attend_control();
}

void Group::attend_control() {
  const auto state = control_->listen();
  while (const auto frame = control_->next()) {
    switch (frame->header.tag) {
      case Tag::question:
        control_->send(Tag::answer, status(Kind::waiting));
        break;
      case Tag::abort:
        fail(frame->payload.substr(0, kMostControlBytes));
      case Tag::goodbye:  // what it sent before is still good; what is missing will show
        return control_->close();
      default:
        fail(name_of(names_, 0) + " sent a control frame with an unknown tag");
    }
  }
  if (control_->nonsense()) {
    fail(name_of(names_, 0) + " sent bytes on its control connection that are no frame of this protocol");
  }
  if (state == Control::State::ended) fail(died(names_, 0));
}

Said Group::status(Kind kind, std::uint32_t peer) const {
  Said said{.sequence = sequence_, .call = call_, .statement = {.kind = kind, .peer = peer}};
  for (const auto* link : active_) {
    if (!link->done() && said.waits_for.size() < kMostWaits) said.waits_for.push_back(link->peer());
  }
  return said;
}

void Group::appeal(Said said) {
  if (options_.hooks.before_long_wait) options_.hooks.before_long_wait();
  control_->send(Tag::report, said);
  const auto until = Clock::now() + kForVerdict;
  while (control_->open() && Clock::now() < until) {
    pollfd one{control_->fd(), POLLIN, 0};
    poll(&one, 1, 50);
    attend_control();  // throws the verdict
  }
  // Rank 0 says nothing. If nobody else has done anything wrong, then that is it.
  if (said.statement.kind == Kind::silence && control_->open()) said.waits_for = {0};
  fail(own_words(said));
}

std::string Group::own_words(const Said& said) const {
  const auto peer = said.statement.peer;
  switch (said.statement.kind) {
    case Kind::left:
      return left(names_, peer);
    case Kind::lost:
      return lost(names_, rank_, peer);
    case Kind::malformed:
      return name_of(names_, peer) + " sent " + said.text;
    case Kind::disagreement: {
      if (said.statement.peer_call == call_) return out_of_step(names_, rank_, sequence_, said.statement);
      comm::RankAndCall calls[] = {{rank_, call_}, {peer, said.statement.peer_call}};
      if (peer < rank_) std::swap(calls[0], calls[1]);
      return "the ranks disagree: " + comm::who_called_what(calls);
    }
    default:
      return silent(names_, said.waits_for, options_.timeout.count());
  }
}

void Group::close_links() noexcept {
  for (auto* link : active_) link->close();
}

void Group::fail(std::string words) {
  close_links();
  throw GroupFailure{std::move(words)};
}

}  // namespace cobre::tcp
