// The protocol with threads for ranks and socket pairs for connections, and the judge by itself.
#include "check.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

#include "core/tcp/group.hpp"

using namespace cobre::tcp;
using cobre::comm::Element;
using cobre::comm::ReduceOp;
using namespace std::chrono_literals;

namespace {

Names names(std::uint32_t size) {
  Names all;
  for (std::uint32_t rank = 0; rank < size; ++rank) all.push_back("pid " + std::to_string(100 + rank));
  return all;
}

/// The connections of all ranks of a group, to be taken one by one.
class Network {
 public:
  explicit Network(std::uint32_t size) : control(size), data(size), direct(size) {
    for (std::uint32_t low = 0; low < size; ++low) {
      for (std::uint32_t high = low + 1; high < size; ++high) {
        if (low == 0) join(control, low, high);
        join(low == 0 ? data : direct, low, high);
      }
    }
  }
  std::vector<std::vector<Connection>> control, data, direct;

 private:
  static void join(std::vector<std::vector<Connection>>& kind, std::uint32_t low, std::uint32_t high) {
    auto [first, second] = connected_pair();
    kind[low].push_back({high, std::move(first)});
    kind[high].push_back({low, std::move(second)});
  }
};

struct Setting {
  std::uint32_t size;
  bool direct;
  std::chrono::duration<double> timeout = 20s;
  std::function<bool()> interrupted = {};
};

/// Run `body(group, rank)` on a thread per rank; returns what each failed with, or nothing.
std::vector<std::string> on_all_ranks(const Setting& setting,
                                      const std::function<void(Group&, std::uint32_t)>& body) {
  Network network(setting.size);
  std::vector<std::string> failures(setting.size);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < setting.size; ++rank) {
    threads.emplace_back([&, rank] {
      Group group(rank, names(setting.size), std::move(network.control[rank]), std::move(network.data[rank]),
                  {setting.timeout, {{}, setting.interrupted}, setting.size});
      if (setting.direct) group.connect_directly(std::move(network.direct[rank]));
      try {
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

bool none_failed(const std::vector<std::string>& failures) {
  for (const auto& failure : failures) {
    if (!failure.empty()) std::fprintf(stderr, "failed: %s\n", failure.c_str());
  }
  return std::all_of(failures.begin(), failures.end(), [](const auto& failure) { return failure.empty(); });
}

bool contains(const std::string& text, const std::string& words) {
  if (text.find(words) != std::string::npos) return true;
  std::fprintf(stderr, "'%s' does not contain '%s'\n", text.c_str(), words.c_str());
  return false;
}

constexpr Call kBarrier{.operation = Operation::barrier};

Call allreduce_of(std::size_t count) {
  return {.operation = Operation::allreduce, .element = ('f' << 24) | 8, .count = count};
}

double operand(std::uint32_t rank, std::size_t i) {
  return 1.0 / static_cast<double>(3 * rank + 7 * (i % 1000) + 1);
}

void check_allreduce(Group& group, std::uint32_t rank, std::uint32_t size, std::size_t count, bool in_place) {
  std::vector<double> send(count), own_recv(in_place ? 0 : count);
  for (std::size_t i = 0; i < count; ++i) send[i] = operand(rank, i);
  auto& recv = in_place ? send : own_recv;
  group.allreduce(allreduce_of(count), Element::float64, 8, reinterpret_cast<std::byte*>(send.data()),
                  reinterpret_cast<std::byte*>(recv.data()), count);
  bool same = true;
  for (std::size_t i = 0; i < count; ++i) {
    double sum = operand(0, i);
    for (std::uint32_t one = 1; one < size; ++one) sum += operand(one, i);
    same = same && std::memcmp(&sum, &recv[i], sizeof(sum)) == 0;
  }
  CHECK(same);
}

void check_allgatherv(Group& group, std::uint32_t rank, std::uint32_t size, std::size_t unit) {
  // Rank r brings r units, backwards and with a gap in between: nothing else may be touched.
  std::vector<Part> parts(size);
  std::size_t at = 0;
  for (std::uint32_t one = size; one-- > 0; at += one * unit + 1) parts[one] = {one * unit, at};
  std::vector<std::byte> recv(at, std::byte{0xee}), send(rank * unit, static_cast<std::byte>(rank));
  const Call call{.operation = Operation::allgatherv, .element = ('u' << 24) | 1, .count = at};
  group.allgatherv(call, send.data(), recv.data(), parts);
  std::vector<std::byte> expected(at, std::byte{0xee});
  for (std::uint32_t one = 0; one < size; ++one) {
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(parts[one].at), parts[one].bytes,
                static_cast<std::byte>(one));
  }
  CHECK(recv == expected);
}

void check_broadcast(Group& group, std::uint32_t rank, std::uint32_t root, std::size_t bytes) {
  std::vector<std::byte> buf(bytes, static_cast<std::byte>(rank));
  const Call call{
      .operation = Operation::broadcast, .root = static_cast<std::uint16_t>(root), .count = bytes};
  group.broadcast(call, buf.data(), bytes);
  CHECK(buf == std::vector<std::byte>(bytes, static_cast<std::byte>(root)));
}

/// Both topologies, several sizes.
void in_all_settings(const std::function<void(const Setting&)>& body) {
  for (const std::uint32_t size : {1u, 2u, 3u, 5u}) {
    body({size, false});
    if (size > 2) body({size, true});
  }
}

}  // namespace

TEST(tcp_collectives_give_the_right_bits_small_and_large) {
  in_all_settings([](const Setting& setting) {
    const auto size = setting.size;
    CHECK(none_failed(on_all_ranks(setting, [&](Group& group, std::uint32_t rank) {
      for (const std::size_t count : {1u, 4u, 2048u, 2049u, 8192u, 8193u, 32768u, 50001u, 200003u}) {
        check_allreduce(group, rank, size, count, false);
        check_allreduce(group, rank, size, count, true);
      }
      for (const std::size_t unit : {0u, 1u, 5000u, 300007u}) check_allgatherv(group, rank, size, unit);
      for (std::uint32_t root = 0; root < size; ++root) {
        for (const std::size_t bytes : {0u, 1u, 400009u}) check_broadcast(group, rank, root, bytes);
      }
      group.barrier(kBarrier);
    })));
  });
}

TEST(tcp_many_small_collectives_in_a_row) {
  in_all_settings([](const Setting& setting) {
    CHECK(none_failed(on_all_ranks(setting, [&](Group& group, std::uint32_t rank) {
      for (int i = 0; i < 200; ++i) {
        group.barrier(kBarrier);
        check_allreduce(group, rank, setting.size, 4, i % 2 == 0);
        check_broadcast(group, rank, static_cast<std::uint32_t>(i) % setting.size, 16);
        check_allgatherv(group, rank, setting.size, 3);
      }
    })));
  });
}

TEST(tcp_ranks_that_call_different_things_all_learn_who_called_what) {
  for (const bool direct : {false, true}) {
    const auto failures = on_all_ranks({3, direct}, [&](Group& group, std::uint32_t rank) {
      group.barrier(kBarrier);
      if (rank == 1) {
        check_allreduce(group, rank, 3, 4, false);
      } else {
        group.barrier(kBarrier);
      }
    });
    for (const auto& failure : failures) {
      CHECK(contains(failure,
                     "the ranks disagree: ranks 0, 2 called barrier; "
                     "rank 1 called allreduce(SUM) of 4 elements of type f8"));
    }
  }
}

TEST(tcp_a_rank_that_leaves_is_named) {
  for (const bool direct : {false, true}) {
    const auto failures = on_all_ranks({3, direct}, [&](Group& group, std::uint32_t rank) {
      group.barrier(kBarrier);
      if (rank != 2) group.barrier(kBarrier);
    });
    CHECK(contains(failures[0], "rank 2 (pid 102) closed or dropped its communicator"));
    CHECK(contains(failures[1], "rank 2 (pid 102) closed or dropped its communicator"));
    CHECK(failures[2].empty());
  }
}

TEST(tcp_silence_is_blamed_on_the_silent_rank_and_on_nobody_who_waits_for_it) {
  for (const bool direct : {false, true}) {
    for (const std::uint32_t silent_rank : {0u, 2u}) {
      const auto failures = on_all_ranks({3, direct, 300ms}, [&](Group& group, std::uint32_t rank) {
        group.barrier(kBarrier);
        if (rank == silent_rank) std::this_thread::sleep_for(900ms);
        check_allreduce(group, rank, 3, 50000, false);
      });
      const auto who = "rank " + std::to_string(silent_rank) + " (pid " + std::to_string(100 + silent_rank) +
                       ") did not come within 0.3 s";
      for (std::uint32_t rank = 0; rank < 3; ++rank) CHECK(contains(failures[rank], who));
    }
  }
}

TEST(tcp_an_interrupt_ends_the_wait_on_all_ranks) {
  std::atomic<bool> stop{false};
  const auto main_thread_only = [&, waiting = std::make_shared<std::atomic<int>>(0)] {
    return stop.load() && waiting->fetch_add(1) == 0;  // one rank is interrupted, whichever looks first
  };
  std::thread later([&] {
    std::this_thread::sleep_for(50ms);
    stop = true;
  });
  const auto failures = on_all_ranks({3, true, 20s, main_thread_only}, [&](Group& group, std::uint32_t rank) {
    if (rank == 2) {
      while (!stop) std::this_thread::sleep_for(5ms);
      std::this_thread::sleep_for(200ms);
    }
    group.barrier(kBarrier);  // of rank 2 it has all it needs
    group.barrier(kBarrier);
  });
  later.join();
  int interrupted = 0;
  for (const auto& failure : failures) {
    if (failure == "interrupted") {
      ++interrupted;
    } else {
      CHECK(contains(failure, "was interrupted"));
    }
  }
  CHECK(interrupted == 1);
}

namespace {

/// One real rank beside a peer made by hand: rank 1 of 2.
std::string failure_of_rank_0(const std::function<void(int data, int control)>& peer) {
  Network network(2);
  std::string words;
  std::thread rank_0([&] {
    Group group(0, names(2), std::move(network.control[0]), std::move(network.data[0]), {2s, {}});
    try {
      check_broadcast(group, 0, 0, 8);
    } catch (const GroupFailure& failure) {
      words = failure.what;
    }
  });
  auto data = std::move(network.data[1][0].descriptor);
  auto control = std::move(network.control[1][0].descriptor);
  peer(data.get(), control.get());
  rank_0.join();
  return words;
}

void write_all(int fd, const void* bytes, std::size_t length) {
  CHECK(write(fd, bytes, length) == static_cast<ssize_t>(length));
}

Header fitting() {
  return {.sequence = 1, .call = {.operation = Operation::broadcast, .count = 8}, .part = 1};
}

std::string failure_after(Header header, const std::string& extra = {}) {
  return failure_of_rank_0([&](int data, int) {
    write_all(data, &header, sizeof(header));
    if (!extra.empty()) write_all(data, extra.data(), extra.size());
  });
}

}  // namespace

TEST(tcp_a_frame_that_does_not_fit_is_refused_in_words) {
  CHECK(failure_after(fitting()).empty());

  auto header = fitting();
  header.magic = {'G', 'E', 'T', ' '};
  CHECK(contains(failure_after(header), "rank 1 (pid 101) sent bytes that are no frame of this protocol"));
  header = fitting();
  header.zeros = 7;
  CHECK(contains(failure_after(header), "no frame of this protocol"));
  header = fitting();
  header.tag = static_cast<Tag>(99);
  CHECK(contains(failure_after(header), "sent a frame with tag 99 where data was due"));
  header = fitting();
  header.length = std::uint64_t{1} << 63;
  CHECK(contains(failure_after(header), "a frame of 9223372036854775808 bytes, part 1, that does not fit"));
  header = fitting();
  header.part = 0;
  CHECK(contains(failure_after(header), "part 0, that does not fit its own call, broadcast"));
  header = fitting();
  header.sequence = 2;
  CHECK(contains(failure_after(header),
                 "rank 0 (pid 100) is in its collective number 1, rank 1 (pid 101) in number 2"));
  header = fitting();
  header.call = {.operation = static_cast<Operation>(77), .element = 3};
  CHECK(contains(failure_after(header), "rank 1 called something unknown of 0 elements of type ?3"));
  CHECK(contains(failure_after({.tag = Tag::goodbye}), "closed or dropped its communicator"));
}

TEST(tcp_half_a_frame_and_then_nothing_is_a_lost_connection) {
  const auto words = failure_of_rank_0([](int data, int) {
    const auto header = fitting();
    write_all(data, &header, sizeof(header) / 2);
    shutdown(data, SHUT_RDWR);
    std::this_thread::sleep_for(600ms);  // the control connection stays open meanwhile
  });
  CHECK(contains(words, "the connection between rank 0 (pid 100) and rank 1 (pid 101) broke"));
}

TEST(tcp_a_control_connection_that_ends_is_a_death) {
  const auto words = failure_of_rank_0([](int, int control) { shutdown(control, SHUT_RDWR); });
  CHECK(contains(words, "rank 1 (pid 101) exited"));
}

TEST(tcp_nonsense_on_a_control_connection_is_refused) {
  const auto no_frame = failure_of_rank_0([](int, int control) {
    const std::string text(200, 'x');
    write_all(control, text.data(), text.size());
  });
  CHECK(contains(no_frame, "rank 1 (pid 101) sent bytes on its control connection that are no frame"));
  const auto oversized = failure_of_rank_0([](int, int control) {
    const Header header{.tag = Tag::report, .length = std::uint64_t{1} << 40};
    write_all(control, &header, sizeof(header));
  });
  CHECK(contains(oversized, "no frame of this protocol"));
  const auto no_statement = failure_of_rank_0([](int, int control) {
    const Header header{.tag = Tag::report};
    write_all(control, &header, sizeof(header));
  });
  CHECK(contains(no_statement, "no frame of this protocol"));
}

namespace {

Said waiting_in(const Call& call, std::vector<std::uint32_t> for_whom, Kind kind = Kind::waiting) {
  Said said;
  said.sequence = 5;
  said.call = call;
  said.statement.kind = kind;
  said.waits_for = std::move(for_whom);
  return said;
}

}  // namespace

TEST(tcp_the_judge_asks_once_and_decides_when_all_have_answered_or_time_is_up) {
  const auto now = Clock::now();
  Judge judge(names(4), 5.0);
  CHECK(!judge.wants_to_ask() && !judge.deadline());
  judge.reported(1, waiting_in(kBarrier, {0}, Kind::silence), now);
  CHECK(judge.wants_to_ask() && !judge.wants_to_ask() && judge.deadline());
  judge.answered(0, waiting_in(kBarrier, {2, 3}));
  judge.answered(2, waiting_in(kBarrier, {0}));
  CHECK(!judge.verdict());
  judge.look_at_clock(now);
  CHECK(!judge.verdict());
  judge.look_at_clock(now + 1s);
  CHECK(contains(judge.verdict().value_or(""), "rank 3 (pid 103) did not come within 5 s; it is stopped"));
}

TEST(tcp_the_judge_sees_a_disagreement_behind_silence) {
  const auto now = Clock::now();
  Judge judge(names(2), 5.0);
  const Call from_0{.operation = Operation::broadcast, .root = 0},
      from_1{.operation = Operation::broadcast, .root = 1};
  judge.reported(0, waiting_in(from_1, {1}, Kind::silence), now);
  judge.answered(1, waiting_in(from_0, {0}));
  CHECK(contains(judge.verdict().value_or(""),
                 "rank 0 called broadcast from root 1; rank 1 called broadcast from root 0"));
}

TEST(tcp_the_judge_finds_a_cut_connection_when_everybody_answers) {
  const auto now = Clock::now();
  Judge judge(names(3), 5.0);
  judge.reported(1, waiting_in(kBarrier, {2}, Kind::silence), now);
  judge.answered(0, waiting_in(kBarrier, {1, 2}));
  judge.answered(2, waiting_in(kBarrier, {1}));
  CHECK(contains(judge.verdict().value_or(""),
                 "the connection between rank 1 (pid 101) and rank 2 (pid 102) broke"));
}

TEST(tcp_the_judge_is_not_misled_by_a_reporter_that_is_further_on) {
  const auto now = Clock::now();
  Judge judge(names(3), 5.0);
  auto further = waiting_in(kBarrier, {1, 2}, Kind::silence);
  ++further.sequence;
  judge.reported(0, further, now);
  judge.answered(1, waiting_in(kBarrier, {2}));
  judge.answered(2, waiting_in(kBarrier, {1}));
  CHECK(contains(judge.verdict().value_or(""),
                 "the connection between rank 1 (pid 101) and rank 2 (pid 102) broke"));
}

TEST(tcp_the_judge_prefers_a_death_to_the_lost_connection_that_it_caused) {
  const auto now = Clock::now();
  Judge judge(names(3), 5.0);
  judge.reported(1, waiting_in(kBarrier, {2}, Kind::lost), now);
  judge.answered(0, waiting_in(kBarrier, {2}));
  judge.answered(2, waiting_in(kBarrier, {2}));
  CHECK(!judge.verdict());
  judge.ended(2);
  CHECK(contains(judge.verdict().value_or(""), "rank 2 (pid 102) exited"));
  judge.ended(1);
  CHECK(contains(judge.verdict().value_or(""), "rank 2"));  // the first verdict stands
}
