#include "judge.hpp"

#include <algorithm>
#include <utility>

namespace cobre::tcp {
namespace {

using namespace std::chrono_literals;

// How long answers are waited for. Whoever is inside a collective answers at once.
constexpr auto kForAnswers = 100ms;
// A lost connection usually means that its peer died, and then its control connection ends too.
constexpr auto kForDeath = 300ms;

}  // namespace

std::string name_of(const Names& names, std::uint32_t rank) {
  const std::string number = "rank " + std::to_string(rank);
  return rank < names.size() ? number + " (" + names[rank] + ")" : number;
}

std::string died(const Names& names, std::uint32_t rank) {
  return name_of(names, rank) + " exited; read its own traceback first";
}

std::string left(const Names& names, std::uint32_t rank) {
  return name_of(names, rank) +
         " closed or dropped its communicator while others needed it; if it failed, read its traceback first";
}

std::string silent(const Names& names, const std::vector<std::uint32_t>& ranks, double timeout_s) {
  std::string who;
  for (const auto rank : ranks) who += (who.empty() ? "" : ", ") + name_of(names, rank);
  return who + " did not come within " + comm::seconds_in_words(timeout_s) + " s; " +
         (ranks.size() > 1 ? "they are" : "it is") + " stopped, stuck, cut off, or " +
         (ranks.size() > 1 ? "need" : "needs") + " a longer timeout";
}

std::string lost(const Names& names, std::uint32_t rank, std::uint32_t peer) {
  return "the connection between " + name_of(names, rank) + " and " + name_of(names, peer) +
         " broke; look at the network between them";
}

std::string out_of_step(const Names& names, std::uint32_t rank, std::uint64_t sequence,
                        const Statement& of_peer) {
  return "the ranks disagree: " + name_of(names, rank) + " is in its collective number " +
         std::to_string(sequence) + ", " + name_of(names, of_peer.peer) + " in number " +
         std::to_string(of_peer.peer_sequence);
}

Judge::Judge(Names names, double timeout_s)
    : names_(std::move(names)), timeout_s_(timeout_s), said_(names_.size()), gone_(names_.size()) {}

void Judge::decide(std::string words) {
  if (!verdict_) verdict_ = std::move(words);
  deadline_.reset();
}

void Judge::ended(std::uint32_t rank) { decide(died(names_, rank)); }

void Judge::goodbye(std::uint32_t rank) { gone_[rank] = true; }

void Judge::sent_nonsense(std::uint32_t rank) {
  decide(name_of(names_, rank) + " sent bytes on its control connection that are no frame of this protocol");
}

bool Judge::wants_to_ask() noexcept { return std::exchange(ask_, false); }

void Judge::reported(std::uint32_t rank, Said said, Clock::time_point now) {
  const auto kind = said.statement.kind;
  const auto peer = said.statement.peer;
  switch (kind) {
    case Kind::interrupted:
      return decide(name_of(names_, rank) + " was interrupted");
    case Kind::left:
      return decide(left(names_, peer));
    case Kind::malformed:
      return decide(name_of(names_, peer) + " sent " + said.text + ", says rank " + std::to_string(rank));
    case Kind::lost:
      if (peer < gone_.size() && gone_[peer]) return decide(left(names_, peer));
      break;
    case Kind::silence:
    case Kind::disagreement:
    case Kind::waiting:
      break;
  }
  said_[rank] = std::move(said);
  if (reporter_) return;
  reporter_ = rank;
  ask_ = true;
  deadline_ = now + (kind == Kind::lost ? kForDeath : kForAnswers);
}

void Judge::answered(std::uint32_t rank, Said said) {
  if (!reporter_) return sent_nonsense(rank);  // nobody has been asked
  if (!said_[rank]) said_[rank] = std::move(said);
  // A death explains a lost connection better than any answer; it may still be on its way.
  if (said_[*reporter_]->statement.kind != Kind::lost && all_answered()) conclude();
}

bool Judge::all_answered() const {
  return std::all_of(said_.begin(), said_.end(), [](const auto& said) { return said.has_value(); });
}

void Judge::look_at_clock(Clock::time_point now) {
  if (deadline_ && now >= *deadline_) conclude();
}

void Judge::conclude() {
  const auto& report = *said_[*reporter_];
  // Ranks at the same place in the row of collectives must be in the same one.
  std::vector<comm::RankAndCall> calls;
  for (std::uint32_t rank = 0; rank < said_.size(); ++rank) {
    if (said_[rank] && said_[rank]->sequence == report.sequence) calls.push_back({rank, said_[rank]->call});
  }
  const auto& statement = report.statement;
  const auto is_peer = [&](const auto& entry) { return entry.first == statement.peer; };
  if (statement.kind == Kind::disagreement && std::none_of(calls.begin(), calls.end(), is_peer)) {
    calls.push_back({statement.peer, statement.peer_call});
    std::sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  const auto differs = [&](const auto& entry) { return entry.second != calls.front().second; };
  if (std::any_of(calls.begin(), calls.end(), differs)) {
    return decide("the ranks disagree: " + comm::who_called_what(calls));
  }
  if (statement.kind == Kind::disagreement) {
    return decide(out_of_step(names_, *reporter_, report.sequence, statement));
  }
  if (statement.kind == Kind::lost) return decide(lost(names_, *reporter_, statement.peer));

  const auto waits = [](const std::optional<Said>& said, std::uint32_t rank) {
    return said && std::find(said->waits_for.begin(), said->waits_for.end(), rank) != said->waits_for.end();
  };
  std::vector<std::uint32_t> missing;
  for (std::uint32_t rank = 0; rank < said_.size(); ++rank) {
    const auto for_this = [&](const auto& said) { return waits(said, rank); };
    if (!said_[rank] && std::any_of(said_.begin(), said_.end(), for_this)) missing.push_back(rank);
  }
  if (missing.empty()) {
    // All are there, so what is missing is a connection: of two that wait for each other. The reporter
    // may be a collective further on, and wait for both of them.
    for (std::uint32_t rank = 0; rank < said_.size(); ++rank) {
      for (std::uint32_t peer = rank + 1; peer < said_.size(); ++peer) {
        if (waits(said_[rank], peer) && waits(said_[peer], rank)) return decide(lost(names_, rank, peer));
      }
    }
    const auto peer = report.waits_for.empty() ? *reporter_ : report.waits_for.front();
    return decide(lost(names_, *reporter_, peer));
  }
  if (missing.size() == 1 && gone_[missing.front()]) return decide(left(names_, missing.front()));
  decide(silent(names_, missing, timeout_s_));
}

}  // namespace cobre::tcp
