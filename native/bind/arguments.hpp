// The arguments of a collective, checked. Every backend goes through these, so all refuse the same.
#pragma once

#include "buffers.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cobre::bind {

struct GatherArguments {
  GatherArguments(nanobind::handle send, nanobind::handle recv, nanobind::handle counts,
                  nanobind::handle displs, std::int64_t rank, std::int64_t size);
  Buffer send, recv;
  std::vector<std::int64_t> counts, displs;
};

struct ReduceArguments {
  ReduceArguments(nanobind::handle send, nanobind::handle recv, nanobind::handle op);
  comm::ReduceOp op;
  Buffer send, recv;
  comm::Element element;
};

struct BroadcastArguments {
  BroadcastArguments(nanobind::handle buf, nanobind::handle root, std::int64_t rank, std::int64_t size);
  std::int64_t root;
  Buffer buf;
};

[[noreturn]] void raise_size(const char* operation, std::int64_t expected, std::int64_t actual,
                             const std::string& detail);

}  // namespace cobre::bind
