// The protocol with threads for ranks: they share one mapping, so ThreadSanitizer sees every access.
#include "check.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include <sys/mman.h>

#include "core/shm/group.hpp"

using namespace cobre::shm;
using cobre::comm::Element;
using cobre::comm::ReduceOp;

namespace {

constexpr std::uint64_t kToken = 42;

/// Fresh shared memory with a segment in it.
class Segment {
 public:
  Segment(std::uint32_t size, std::size_t slot_bytes) : layout{size, slot_bytes} {
    memory = mmap(nullptr, layout.total(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    Group::initialise(memory, layout, kToken);
  }
  ~Segment() { munmap(memory, layout.total()); }
  Layout layout;
  void* memory;
};

Group::Options patient() { return {std::chrono::seconds(20), true, {}}; }

/// Run `body(group, rank)` on a thread per rank; returns what each failed with, or nothing.
std::vector<std::string> on_all_ranks(std::uint32_t size, std::size_t slot_bytes,
                                      const std::function<void(Group&, std::uint32_t)>& body,
                                      const Group::Options& options = patient()) {
  Segment segment(size, slot_bytes);
  std::vector<std::string> failures(size);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        Group group(segment.memory, segment.layout, rank, options);
        group.join();
        body(group, rank);
      } catch (const GroupFailure& failure) {
        failures[rank] = failure.what;
      } catch (const Interrupted&) {
        failures[rank] = "interrupted";
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return failures;
}

bool none(const std::vector<std::string>& failures) {
  for (const auto& failure : failures) {
    if (!failure.empty()) std::fprintf(stderr, "%s\n", failure.c_str());
    if (!failure.empty()) return false;
  }
  return true;
}

Call reduction(std::size_t count) {
  return {.operation = Operation::allreduce, .element = ('f' << 24) | 8, .count = count};
}

// ThreadSanitizer slows everything down; the interleavings are what matters, not the volume.
constexpr std::size_t kSlot = 4096;

}  // namespace

TEST(shm_sums_of_every_length_are_right_on_every_rank) {
  for (const std::uint32_t size : {1u, 2u, 3u, 5u}) {
    std::mutex counting;
    std::size_t wrong = 0;
    CHECK(none(on_all_ranks(size, kSlot, [&](Group& group, std::uint32_t rank) {
      for (const std::size_t count : {1u, 4u, 5u, 100u, 513u, 1500u, 5000u}) {
        std::vector<double> send(count), recv(count);
        for (std::size_t i = 0; i < count; ++i) send[i] = static_cast<double>(i + rank);
        group.allreduce(reduction(count), Element::float64, 8, reinterpret_cast<std::byte*>(send.data()),
                        reinterpret_cast<std::byte*>(recv.data()), count);
        const std::lock_guard guard(counting);
        for (std::size_t i = 0; i < count; ++i) wrong += recv[i] != size * i + size * (size - 1) / 2.0;
      }
    })));
    CHECK(wrong == 0);
  }
}

TEST(shm_gathers_parts_of_every_length) {
  std::mutex counting;
  std::size_t wrong = 0;
  CHECK(none(on_all_ranks(3, kSlot, [&](Group& group, std::uint32_t rank) {
    for (const std::size_t base : {0u, 1u, 4u, 700u, 3000u}) {
      std::vector<Part> parts;
      std::size_t at = 0;
      for (std::uint32_t r = 0; r < 3; ++r) {
        parts.push_back({base * r, at});
        at += base * r;
      }
      std::vector<std::byte> send(base * rank, std::byte(rank)), recv(at, std::byte{99});
      group.allgatherv({.operation = Operation::allgatherv, .count = at}, send.data(), recv.data(), parts);
      const std::lock_guard guard(counting);
      for (std::uint32_t r = 0; r < 3; ++r)
        for (std::size_t i = 0; i < parts[r].bytes; ++i) wrong += recv[parts[r].at + i] != std::byte(r);
    }
  })));
  CHECK(wrong == 0);
}

TEST(shm_broadcasts_from_every_root) {
  std::mutex counting;
  std::size_t wrong = 0;
  CHECK(none(on_all_ranks(3, kSlot, [&](Group& group, std::uint32_t rank) {
    for (const std::size_t bytes : {0u, 5u, 4000u, 20'000u}) {
      for (std::uint16_t root = 0; root < 3; ++root) {
        std::vector<std::byte> buf(bytes, std::byte(rank));
        group.broadcast({.operation = Operation::broadcast, .root = root, .count = bytes}, buf.data(), bytes);
        const std::lock_guard guard(counting);
        for (const auto value : buf) wrong += value != std::byte(root);
      }
    }
  })));
  CHECK(wrong == 0);
}

TEST(shm_barriers_publish_what_was_written_before_them) {
  // Plain, unsynchronised variables: ThreadSanitizer objects if the barrier does not order them.
  std::array<int, 4> written{};
  std::array<int, 4> wrong{};
  CHECK(none(on_all_ranks(4, kSlot, [&](Group& group, std::uint32_t rank) {
    for (int round = 1; round <= 300; ++round) {
      written[rank] = round;
      group.barrier({.operation = Operation::barrier});
      for (const int value : written) wrong[rank] += value != round;
      group.barrier({.operation = Operation::barrier});
    }
  })));
  CHECK((wrong == std::array<int, 4>{}));
}

TEST(shm_sleeping_ranks_are_woken) {
  // Each rank in turn is late enough for the others to be asleep on its post.
  CHECK(none(on_all_ranks(3, kSlot, [&](Group& group, std::uint32_t rank) {
    for (std::uint32_t late = 0; late < 3; ++late) {
      if (rank == late) std::this_thread::sleep_for(std::chrono::milliseconds(15));
      group.barrier({.operation = Operation::barrier});
    }
  })));
}

TEST(shm_ranks_that_call_different_things_all_learn_who_called_what) {
  const auto failures = on_all_ranks(3, kSlot, [&](Group& group, std::uint32_t rank) {
    double send = 1, recv = 0;
    if (rank == 1) return group.barrier({.operation = Operation::barrier});
    group.allreduce(reduction(1), Element::float64, 8, reinterpret_cast<std::byte*>(&send),
                    reinterpret_cast<std::byte*>(&recv), 1);
  });
  for (const auto& failure : failures) {
    CHECK(failure ==
          "the ranks disagree: ranks 0, 2 called allreduce(SUM) of 1 elements of type f8; rank 1 called "
          "barrier");
  }
}

TEST(shm_a_rank_that_leaves_is_named) {
  const auto failures = on_all_ranks(3, kSlot, [&](Group& group, std::uint32_t rank) {
    if (rank == 2) return group.leave();
    group.barrier({.operation = Operation::barrier});
  });
  CHECK(failures[0].starts_with("rank 2 (pid "));
  CHECK(failures[0].find("closed or dropped its communicator") != std::string::npos);
  CHECK(failures[1] == failures[0]);
}

TEST(shm_a_silent_rank_is_named_when_time_is_over) {
  const Group::Options hasty{std::chrono::milliseconds(80), true, {}};
  const auto failures = on_all_ranks(
      2, kSlot,
      [&](Group& group, std::uint32_t rank) {
        if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(400));
        group.barrier({.operation = Operation::barrier});
      },
      hasty);
  CHECK(failures[0].find("rank 1 (pid ") == 0 &&
        failures[0].find("did not come within 0.08 s") != std::string::npos);
  CHECK(failures[1] == failures[0]);  // the late one learns that it was given up
}

TEST(shm_the_timeout_counts_once_per_meeting) {
  // Each peer alone is in time, but the last comes later than that after the first has begun to wait.
  const Group::Options hasty{std::chrono::milliseconds(150), true, {}};
  const auto failures = on_all_ranks(
      4, kSlot,
      [&](Group& group, std::uint32_t rank) {
        std::this_thread::sleep_for(std::chrono::milliseconds(120 * rank));
        group.barrier({.operation = Operation::barrier});
      },
      hasty);
  for (const auto& failure : failures) CHECK(failure.find("did not come within 0.15 s") != std::string::npos);
}

TEST(shm_an_interrupt_ends_the_wait_on_all_ranks) {
  std::atomic<bool> stop{false};
  const Group::Options interruptible{std::chrono::seconds(20), true, {{}, [&] { return stop.load(); }}};
  const auto failures = on_all_ranks(
      3, kSlot,
      [&](Group& group, std::uint32_t rank) {
        if (rank == 2) {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          stop = true;
          std::this_thread::sleep_for(std::chrono::milliseconds(60));
        }
        group.barrier({.operation = Operation::barrier});
      },
      interruptible);
  CHECK(failures[0] == "interrupted" || failures[1] == "interrupted");
  for (const auto& failure : failures) CHECK(!failure.empty());
}

TEST(shm_missing_ranks_are_named_at_the_start) {
  Segment segment(4, kSlot);
  Group group(segment.memory, segment.layout, 1, {std::chrono::milliseconds(50), true, {}});
  std::string what;
  try {
    group.join();
  } catch (const GroupFailure& failure) {
    what = failure.what;
  }
  CHECK(what == "ranks that did not come in time: 0, 2, 3");
}

TEST(shm_a_rank_can_be_taken_only_once) {
  Segment segment(2, kSlot);
  Group first(segment.memory, segment.layout, 0, {std::chrono::milliseconds(30), true, {}});
  Group second(segment.memory, segment.layout, 0, patient());
  try {
    first.join();
  } catch (const GroupFailure&) {
  }
  std::string what;
  try {
    second.join();
  } catch (const GroupFailure& failure) {
    what = failure.what;
  }
  CHECK(what.starts_with("rank 0 is taken already, by pid "));
}

TEST(shm_only_the_right_segment_is_recognised) {
  Segment segment(2, kSlot);
  CHECK(Group::is_segment(segment.memory, segment.layout, kToken));
  CHECK(!Group::is_segment(segment.memory, segment.layout, kToken + 1));
  CHECK(!Group::is_segment(segment.memory, {3, kSlot}, kToken));
}
