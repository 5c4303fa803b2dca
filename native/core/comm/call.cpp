#include "call.hpp"

#include <algorithm>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace cobre::comm {
namespace {

constexpr const char* kOperationNames[] = {"nothing",    "join",      "barrier", "allgatherv",
                                           "allreduce",  "broadcast", "fence",   "create_shared_region",
                                           "split_local"};
constexpr const char* kReduceNames[] = {"SUM", "MIN", "MAX"};

/// A name from a table. The index may come from another process, so it may be anything.
template <std::size_t N>
const char* name_of(const char* const (&names)[N], std::size_t index) {
  return index < N ? names[index] : "something unknown";
}

}  // namespace

std::string describe(const Call& call) {
  std::string text = name_of(kOperationNames, static_cast<std::size_t>(call.operation));
  if (call.operation == Operation::allreduce)
    text += std::string("(") + name_of(kReduceNames, call.reduce_op) + ")";
  if (call.element != 0) {
    text += " of " + std::to_string(call.count) + " elements of type ";
    if ((call.element & kForeignByteOrder) != 0) text += '>';
    const char kind = static_cast<char>(call.element >> 24);
    text += kind > ' ' && kind <= '~' ? kind : '?';
    text += std::to_string(call.element & (kForeignByteOrder - 1));
  }
  if (call.operation == Operation::allgatherv) {
    text += " in parts #" + std::to_string(call.parts % 10000);  // tells different parts of one total apart
  }
  if (call.operation == Operation::broadcast) text += " from root " + std::to_string(call.root);
  return text;
}

std::string listed(std::span<const std::uint32_t> ranks) {
  std::string text;
  for (const auto rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

std::string who_called_what(std::span<const RankAndCall> calls) {
  std::vector<std::pair<std::string, std::vector<std::uint32_t>>> by_call;
  for (const auto& [rank, call] : calls) {
    const auto text = describe(call);
    const auto found =
        std::find_if(by_call.begin(), by_call.end(), [&](const auto& entry) { return entry.first == text; });
    if (found == by_call.end()) {
      by_call.push_back({text, {rank}});
    } else {
      found->second.push_back(rank);
    }
  }
  std::string all;
  for (const auto& [text, ranks] : by_call) {
    all += (all.empty() ? "" : "; ") + std::string(ranks.size() > 1 ? "ranks " : "rank ") + listed(ranks) +
           " called " + text;
  }
  return all;
}

std::string seconds_in_words(double seconds) {
  auto text = std::to_string(seconds);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

int usable_cores() noexcept {
#if defined(__linux__)
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
#else
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
#endif
}

}  // namespace cobre::comm
