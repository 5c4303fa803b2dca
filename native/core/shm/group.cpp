#include "group.hpp"

#include <algorithm>
#include <cstring>

#include <sched.h>
#include <unistd.h>

#include "waiting.hpp"

namespace cobre::shm {
namespace {

// How long to give way to others without sleeping. Being woken takes about a tenth of it.
constexpr auto kYieldFor = std::chrono::microseconds(500);

}  // namespace

void Group::initialise(void* memory, const Layout& layout, std::uint64_t token) noexcept {
  auto* control = static_cast<ControlBlock*>(memory);
  control->magic = kMagic;
  control->version = kLayoutVersion;
  control->size = layout.size;
  control->slot_bytes = layout.slot_bytes;
  control->token = token;
  control->creator = getpid();
}

bool Group::is_segment(const void* memory, const Layout& layout, std::uint64_t token) noexcept {
  const auto* control = static_cast<const ControlBlock*>(memory);
  return control->magic == kMagic && control->version == kLayoutVersion && control->size == layout.size &&
         control->slot_bytes == layout.slot_bytes && control->token == token;
}

Group::Group(void* memory, const Layout& layout, std::uint32_t rank, Options options)
    : memory_(static_cast<std::byte*>(memory)),
      control_(*static_cast<ControlBlock*>(memory)),
      layout_(layout),
      rank_(rank),
      options_(std::move(options)),
      watches_(layout.size),
      addresses_(layout.size) {
  // With a core for everybody, looking costs nothing and saves the way through the kernel. Otherwise
  // the one we wait for may need this very core.
  const bool crowded = static_cast<int>(layout.size) > comm::usable_cores();
  spins_ = crowded ? 20 : 200;
}

Group::~Group() { leave(); }

RankBlock& Group::block(std::uint32_t rank) const noexcept {
  return reinterpret_cast<RankBlock*>(memory_ + layout_.ranks_at())[rank];
}

std::byte* Group::slot(std::uint32_t rank, std::uint64_t step) const noexcept {
  const std::size_t which = step & 1;
  return memory_ + layout_.slots_at() + rank * layout_.slots_per_rank() +
         which * layout_.slots_per_rank() / 4;
}

std::byte* Group::reduced(std::uint32_t rank, std::uint64_t step) const noexcept {
  return slot(rank, step) + layout_.slots_per_rank() / 2;
}

Post& Group::post_of(std::uint32_t rank) const noexcept { return block(rank).posts[step_ & 1]; }

std::int32_t Group::pid_of(std::uint32_t rank) const noexcept {
  const auto pid = block(rank).pid.load(std::memory_order_relaxed);
  return pid == 0 && rank == 0 ? control_.creator : pid;
}

// A single word says that the rank is taken and by whom: there is no moment in between to die in unnoticed.
void Group::take_rank() {
  std::int32_t nobody = 0;
  if (!block(rank_).pid.compare_exchange_strong(nobody, getpid())) {
    throw GroupFailure{"rank " + std::to_string(rank_) + " is taken already, by pid " +
                       std::to_string(nobody) + "; give every process a rank of its own"};
  }
  joined_ = true;
}

void Group::adopt(const Group& parent) {
  take_rank();
  for (std::uint32_t peer = 0; peer < layout_.size; ++peer) watches_[peer].watch(parent.watches_[peer]);
  reads_peers_memory_ = parent.reads_peers_memory_;
}

void Group::join() {
  take_rank();
  const Call call{.operation = Operation::join};
  begin_step();
  meet_and_compare(call);
  for (std::uint32_t peer = 0; peer < layout_.size; ++peer) {
    if (peer != rank_ && !watches_[peer].watching()) watches_[peer].watch(pid_of(peer));
  }
  probe_peers_memory(call);
}

void Group::probe_peers_memory(const Call& call) {
  // Each rank shows where it keeps a number that the others know, and tries to read the next rank's.
  const std::uint64_t known = control_.token ^ rank_;
  begin_step();
  show({reinterpret_cast<const std::byte*>(&known), nullptr});
  meet(call);
  const std::uint32_t next = (rank_ + 1) % layout_.size;
  std::uint64_t found = 0;
  const bool works = options_.one_copy &&
                     read_memory(pid_of(next), shown_by_all()[next].send, &found, sizeof(found)) &&
                     found == (control_.token ^ next);
  begin_step();  // also keeps `known` alive until all have read
  std::memcpy(post_of(rank_).payload, &works, sizeof(works));
  meet(call);
  reads_peers_memory_ = true;
  for (std::uint32_t rank = 0; rank < layout_.size; ++rank) {
    bool peers = false;
    std::memcpy(&peers, post_of(rank).payload, sizeof(peers));
    reads_peers_memory_ = reads_peers_memory_ && peers;
  }
}

void Group::leave() noexcept {
  if (!joined_) return;
  joined_ = false;
  block(rank_).left.store(1, std::memory_order_release);
  for (auto& post : block(rank_).posts) wake(post.step);
}

void Group::meet(const Call& call) {
  auto& mine = post_of(rank_);
  deadline_.reset();
  // Sequentially consistent, and so is the look at the sleepers: either this rank sees the sleeper or
  // the sleeper, who announces itself before it looks, sees this step. Publishes all writes before it.
  mine.step.store(step_, std::memory_order_seq_cst);
  if (block(rank_).sleepers.load(std::memory_order_seq_cst) != 0) wake(mine.step);
  for (std::uint32_t peer = rank_ + 1; peer < layout_.size; ++peer) wait_for(peer, call);
  for (std::uint32_t peer = 0; peer < rank_; ++peer) wait_for(peer, call);
  // Somebody may have given up on this group while all of this step's posts were there.
  if (control_.failure.load(std::memory_order_relaxed) != 0) raise_recorded();
}

void Group::meet_and_compare(const Call& call) {
  post_of(rank_).call = call;
  meet(call);
  for (std::uint32_t rank = 0; rank < layout_.size; ++rank) {
    if (!(post_of(rank).call == call)) fail(Trouble::disagreement, rank);
  }
}

void Group::wait_for(std::uint32_t peer, const Call& call) {
  const auto& word = post_of(peer).step;
  for (int i = 0; i < spins_; ++i) {
    // Acquire: what the peer wrote before its post is visible from here on.
    if (word.load(std::memory_order_acquire) == step_) return;
    relax();
  }
  if (options_.hooks.before_long_wait) options_.hooks.before_long_wait();
  // By the clock, not by count: among many busy processes one yield may take as long as a timeslice.
  const auto until = Clock::now() + kYieldFor;
  do {
    if (word.load(std::memory_order_acquire) == step_) return;
    sched_yield();
  } while (Clock::now() < until);
  wait_asleep_for(peer, call);
}

void Group::wait_asleep_for(std::uint32_t peer, const Call& call) {
  auto& word = post_of(peer).step;
  auto& sleepers = block(peer).sleepers;
  if (!deadline_) deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(options_.timeout);
  // Short at first; then long enough to cost nothing, short enough to notice a death at once.
  for (int slice_ms = 1; word.load(std::memory_order_acquire) != step_;
       slice_ms = std::min(2 * slice_ms, 16)) {
    look_for_trouble(peer, call);
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    const auto seen = word.load(std::memory_order_seq_cst);
    if (seen != step_) sleep_on(word, seen, slice_ms);
    sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
}

void Group::look_for_trouble(std::uint32_t peer, const Call& call) {
  if (control_.failure.load(std::memory_order_acquire) != 0) raise_recorded();
  for (std::uint32_t rank = 0; rank < layout_.size; ++rank) {
    if (rank == rank_) continue;
    auto& watch = watches_[rank];
    const auto pid = pid_of(rank);
    if (!watch.watching() && pid != 0) watch.watch(pid);
    const bool left = block(rank).left.load(std::memory_order_acquire) != 0;
    if (!left && !watch.died()) continue;
    // Whoever completes a step goes when all have posted it, and then nobody waits any more. If this rank
    // still does, the other went in the middle of it, whether it had posted or not.
    if (post_of(peer).step.load(std::memory_order_acquire) == step_) return;
    fail(left ? Trouble::left : Trouble::died, rank);
  }
  if (Clock::now() >= *deadline_) {
    const auto missing = call.operation == Operation::join ? absent() : std::vector<std::uint32_t>();
    if (!missing.empty()) fail(Trouble::absent, missing.front());
    fail(Trouble::silent, peer);
  }
  if (options_.hooks.interrupted && options_.hooks.interrupted()) {
    record(Trouble::interrupted, rank_);
    throw Interrupted{};
  }
}

void Group::record(Trouble trouble, std::uint32_t rank) noexcept {
  std::uint64_t none = 0;  // the first failure stands: what follows is its consequence
  control_.failure.compare_exchange_strong(none, (static_cast<std::uint64_t>(trouble) << 32) | rank);
  for (std::uint32_t other = 0; other < layout_.size; ++other) {
    for (auto& post : block(other).posts) wake(post.step);
  }
}

void Group::fail(Trouble trouble, std::uint32_t rank) {
  record(trouble, rank);
  raise_recorded();
}

void Group::raise_recorded() {
  const auto failure = control_.failure.load(std::memory_order_acquire);
  throw GroupFailure{words(static_cast<Trouble>(failure >> 32), static_cast<std::uint32_t>(failure))};
}

std::vector<std::uint32_t> Group::absent() const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < layout_.size; ++rank) {
    if (block(rank).pid.load(std::memory_order_relaxed) == 0) ranks.push_back(rank);
  }
  return ranks;
}

std::string Group::words(Trouble trouble, std::uint32_t rank) const {
  const std::string who = "rank " + std::to_string(rank) + " (pid " + std::to_string(pid_of(rank)) + ")";
  switch (trouble) {
    case Trouble::died:
      return who + " exited; read its own traceback first";
    case Trouble::silent:
      return who + " did not come within " + comm::seconds_in_words(options_.timeout.count()) +
             " s; it is stopped, stuck, or needs a longer timeout";
    case Trouble::absent: {  // some may have come since
      const auto missing = absent();
      return "ranks that did not come in time: " +
             (missing.empty() ? std::to_string(rank) : comm::listed(missing));
    }
    case Trouble::left:
      return who +
             " closed or dropped its communicator while others needed it; if it failed, read its traceback "
             "first";
    case Trouble::interrupted:
      return who + " was interrupted";
    case Trouble::disagreement: {
      std::vector<comm::RankAndCall> calls;
      for (std::uint32_t one = 0; one < layout_.size; ++one) calls.push_back({one, post_of(one).call});
      return "the ranks disagree: " + comm::who_called_what(calls);
    }
    case Trouble::refused:
      return who + " could not take part";
    case Trouble::none:
      break;
  }
  return "the group failed";
}

}  // namespace cobre::shm
