// The ranks of a group over connected sockets: one rank's end of it.
//
// Rank 0 is connected to all. The others may be connected with each other too ("direct"); then payloads
// go the short way, and rank 0 only judges failures. Otherwise it hands on what they bring.
//
// A collective lays out, per connection, what is to be sent and what is to be received (link.hpp), and then
// moves bytes on all of them at once until nothing is left. Whatever a rank waits for, it waits with a
// deadline, and watches its control connection meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <poll.h>

#include "control.hpp"
#include "core/comm/reduce.hpp"
#include "link.hpp"
#include "watch.hpp"

namespace cobre::tcp {

using comm::GroupFailure;
using comm::Interrupted;
using comm::Part;

/// A connection to a rank.
struct Connection {
  std::uint32_t rank;
  Descriptor descriptor;
};

class Group {
 public:
  struct Options {
    std::chrono::duration<double> timeout{60.0};
    comm::WaitHooks hooks;
    std::uint32_t ranks_here = 1;  // on this machine, which have its cores between them
    /// Whether bytes come and go through another thread of this process, which must not be kept waiting.
    bool relayed = false;
  };

  /// Rank 0 gives a control and a data connection per other rank, the others give theirs to rank 0.
  Group(std::uint32_t rank, Names names, std::vector<Connection> control, std::vector<Connection> data,
        Options options);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Use direct connections from now on. All ranks have one to each other, and all do this at the same time.
  void connect_directly(std::vector<Connection> connections);

  /// Say goodbye: peers that still need this rank fail at once instead of waiting.
  void leave() noexcept;

  // The collectives. `call` is what the ranks compare; the buffers have been checked.
  void barrier(const Call& call);
  void allgatherv(const Call& call, const std::byte* send, std::byte* recv, std::span<const Part> parts);
  void allreduce(const Call& call, comm::Element element, std::size_t itemsize, const std::byte* send,
                 std::byte* recv, std::size_t count);
  void broadcast(const Call& call, std::byte* buf, std::size_t bytes);

 private:
  // collectives.cpp
  void begin(const Call& call);
  Header header(Tag tag, std::size_t bytes, std::uint32_t part) const noexcept;
  void bring(Link& link, const std::byte* data, std::size_t bytes);
  void expect_from(Link& link, Tag tag, const Incoming& piece);
  void gather_at_hub(std::byte* recv, std::span<const Part> parts);
  void gather_from_hub(const std::byte* send, std::byte* recv, std::span<const Part> parts);
  void broadcast_by_shares(std::byte* buf, std::size_t bytes);
  struct Reduction;
  template <class Progress>
  void run(Progress&& progress);

  // group.cpp
  void connect(std::vector<Connection> connections);
  bool move(Link& link);
  void wait();
  void poll_connections(std::chrono::milliseconds slice);
  void attend_control();
  Said status(Kind kind, std::uint32_t peer = 0) const;
  [[noreturn]] void complain(const Link& link, const Header& came);
  [[noreturn]] void appeal(Said said);
  [[noreturn]] void fail(std::string words);
  std::string own_words(const Said& said) const;
  void close_links() noexcept;

  const std::uint32_t rank_, size_;
  const Names names_;
  const Options options_;
  std::unique_ptr<Watch> watch_;  // rank 0's
  std::optional<Control> control_;
  std::vector<Link> links_;    // by rank; not open where there is none
  std::vector<Link*> active_;  // the open ones, beginning with the next rank
  bool direct_ = false;

  std::uint64_t sequence_ = 0;
  Call call_;
  std::vector<std::byte> scratch_;  // for operands that are being reduced
  int spins_;                       // looks before the first yield
  int idle_ = 0;                    // looks since a byte moved
  std::optional<Clock::time_point> idle_since_;
  std::vector<pollfd> polled_;
};

}  // namespace cobre::tcp
