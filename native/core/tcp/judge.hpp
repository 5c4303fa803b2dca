// Who is at fault when a group fails: decided once, by rank 0, from what all ranks say.
//
// A rank sees only its own connections. It may wait for a peer that itself waits for a third; what looks
// like silence may be a disagreement. So it reports to rank 0, which asks everybody and then decides. This
// class decides; it knows neither sockets nor threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frame.hpp"

namespace cobre::tcp {

using Clock = std::chrono::steady_clock;

/// What a rank says of itself, in a report or an answer.
struct Said {
  std::uint64_t sequence = 0;
  Call call;
  Statement statement;
  std::vector<std::uint32_t> waits_for;
  std::string text;
};

/// Ranks as people know them: "rank 2 (pid 4711)".
using Names = std::vector<std::string>;
std::string name_of(const Names& names, std::uint32_t rank);

// The words of a verdict. A rank that cannot hear one uses them itself.
std::string died(const Names& names, std::uint32_t rank);
std::string left(const Names& names, std::uint32_t rank);
std::string silent(const Names& names, const std::vector<std::uint32_t>& ranks, double timeout_s);
std::string lost(const Names& names, std::uint32_t rank, std::uint32_t peer);
std::string out_of_step(const Names& names, std::uint32_t rank, std::uint64_t sequence,
                        const Statement& of_peer);

class Judge {
 public:
  Judge(Names names, double timeout_s);

  void ended(std::uint32_t rank);  // its control connection, and no goodbye before
  void goodbye(std::uint32_t rank);
  void reported(std::uint32_t rank, Said said, Clock::time_point now);
  void answered(std::uint32_t rank, Said said);
  void sent_nonsense(std::uint32_t rank);

  /// Whether everybody is to be asked now; true once per inquiry.
  bool wants_to_ask() noexcept;
  /// When to come back although nobody has spoken.
  std::optional<Clock::time_point> deadline() const noexcept { return deadline_; }
  void look_at_clock(Clock::time_point now);

  /// Why the group failed; the first verdict stands.
  const std::optional<std::string>& verdict() const noexcept { return verdict_; }

 private:
  void decide(std::string words);
  void conclude();
  bool all_answered() const;

  const Names names_;
  const double timeout_s_;
  std::vector<std::optional<Said>> said_;
  std::vector<bool> gone_;  // said goodbye
  std::optional<std::uint32_t> reporter_;
  std::optional<Clock::time_point> deadline_;
  bool ask_ = false;
  std::optional<std::string> verdict_;
};

}  // namespace cobre::tcp
