#include "group.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>

#include <unistd.h>

#include "core/comm/parts.hpp"
#include "core/float_environment.hpp"

namespace cobre::mpi {
namespace {

// Up to this many bytes from all ranks together, everybody reducing everything beats sharing the work out.
constexpr std::size_t kReduceGatheredBytes = 32 * 1024;

bool is_integer(comm::Element element) noexcept { return element <= comm::Element::uint64; }

}  // namespace

Group::Group(std::uint32_t rank, std::uint32_t size, const Library& library, Handles handles, Options options)
    : rank_(rank),
      size_(size),
      library_(library),
      handles_(std::move(handles)),
      options_(options),
      numbers_(4 * size),
      slots_(size) {
  if (options_.timeout.count() > 0) {
    watchdog_ = std::make_unique<Watchdog>(options_.timeout, [this](auto operation) { give_up(operation); });
  }
}

bool Group::finalized() const noexcept {
  int flag = 0;
  library_.Finalized(&flag);
  return flag != 0;
}

void Group::check(int code) const {
  if (code == 0) return;  // MPI_SUCCESS, in every library
  int error_class = 0, length = 0;
  char text[4096] = "";
  library_.Error_class(code, &error_class);
  library_.Error_string(code, text, &length);
  throw comm::GroupFailure{std::string("MPI says: ") + text, error_class};
}

void Group::give_up(comm::Operation operation) const noexcept {
  std::fprintf(
      stderr,
      "cobre: rank %u (pid %d) has been in %s for %s s, its collective number %llu; a rank is stopped, "
      "stuck or has called something else, so the job is aborted (COBRE_MPI_TIMEOUT_SECS)\n",
      rank_, static_cast<int>(getpid()), comm::describe({.operation = operation}).c_str(),
      comm::seconds_in_words(options_.timeout.count()).c_str(), static_cast<unsigned long long>(sequence_));
  std::fflush(stderr);
  // MPICH's launcher ends on an abort without reading what is left in its pipes.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  library_.Abort(handles_.comm, 1);
  _exit(1);  // where MPI_Abort returns
}

/// The watchdog looks for as long as this lives.
struct Watched {
  Watched(Watchdog* watchdog, comm::Operation operation) : dog(watchdog) {
    if (dog != nullptr) dog->begin(operation);
  }
  ~Watched() {
    if (dog != nullptr) dog->end();
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  Watchdog* dog;
};

void Group::begin(const Call& call) {
  ++sequence_;
  // Making a region or a communicator takes long anyway, and must not begin before all have come.
  const bool always = call.operation == comm::Operation::create_shared_region ||
                      call.operation == comm::Operation::split_local;
  if (options_.checked || always) compare(call);
}

void Group::compare(const Call& call) {
  struct Posted {
    std::uint64_t sequence;
    Call call;
  };
  const Posted own{sequence_, call};
  std::vector<Posted> all(size_);
  constexpr int bytes = sizeof(Posted);
  check(library_.Allgather(&own, bytes, handles_.byte, all.data(), bytes, handles_.byte, handles_.comm));
  const auto same = [&](const Posted& one) { return one.sequence == own.sequence && one.call == own.call; };
  if (std::all_of(all.begin(), all.end(), same)) return;
  std::vector<comm::RankAndCall> calls;
  for (std::uint32_t rank = 0; rank < size_; ++rank) calls.push_back({rank, all[rank].call});
  throw comm::GroupFailure{"the ranks disagree: " + comm::who_called_what(calls)};
}

void Group::barrier(const Call& call) {
  const Watched watched(watchdog_.get(), call.operation);
  begin(call);
  check(library_.Barrier(handles_.comm));
}

void Group::broadcast_bytes(std::byte* buf, std::size_t bytes, std::uint32_t root) {
  do {  // also when there is nothing: then it is no more than a call
    const auto part = std::min(bytes, options_.most_at_once);
    check(library_.Bcast(buf, static_cast<int>(part), handles_.byte, static_cast<int>(root), handles_.comm));
    buf += part;
    bytes -= part;
  } while (bytes > 0);
}

void Group::broadcast(const Call& call, std::byte* buf, std::size_t bytes) {
  const Watched watched(watchdog_.get(), call.operation);
  begin(call);
  broadcast_bytes(buf, bytes, call.root);
}

void Group::allgatherv(const Call& call, const std::byte* send, std::byte* recv,
                       std::span<const Part> parts) {
  const Watched watched(watchdog_.get(), call.operation);
  begin(call);
  std::size_t end = 0;
  bool all_bring = true;
  for (const auto& part : parts) {
    end = std::max(end, part.at + part.bytes);
    all_bring = all_bring && part.bytes > 0;
  }
  // MPI does not wait for a rank that brings nothing.
  if (!all_bring) check(library_.Barrier(handles_.comm));
  const auto& own = parts[rank_];
  if (end > options_.most_at_once) {
    if (own.bytes > 0 && recv + own.at != send) std::memcpy(recv + own.at, send, own.bytes);
    for (std::uint32_t rank = 0; rank < size_; ++rank)
      broadcast_bytes(recv + parts[rank].at, parts[rank].bytes, rank);
    return;
  }
  // MPI wants what is sent and what is received apart from each other.
  if (own.bytes > 0 && recv + own.at == send) {
    if (scratch_.size() < own.bytes) scratch_.resize(own.bytes);
    std::memcpy(scratch_.data(), send, own.bytes);
    send = scratch_.data();
  }
  int* counts = numbers_.data();
  int* displs = counts + size_;
  for (std::uint32_t rank = 0; rank < size_; ++rank) {
    counts[rank] = static_cast<int>(parts[rank].bytes);
    displs[rank] = static_cast<int>(parts[rank].at);
  }
  check(library_.Allgatherv(send, static_cast<int>(own.bytes), handles_.byte, recv, counts, displs,
                            handles_.byte, handles_.comm));
}

bool Group::order_is_irrelevant(comm::ReduceOp op, comm::Element element) const noexcept {
  if (handles_.types[static_cast<std::size_t>(element)] == 0) return false;
  const bool wide = element == comm::Element::int32 || element == comm::Element::int64 ||
                    element == comm::Element::uint32 || element == comm::Element::uint64;
  if (is_integer(element)) {
    // Wrapping around is the same in any order. Open MPI, however, saturates most sums of short ones.
    return op != comm::ReduceOp::sum || wide;
  }
  // a + b = b + a, to the last bit. Minima and maxima are another matter: MPI leaves open what NaN does.
  return size_ == 2 && op == comm::ReduceOp::sum;
}

void Group::allreduce(const Call& call, comm::Element element, std::size_t itemsize, const std::byte* send,
                      std::byte* recv, std::size_t count) {
  const Watched watched(watchdog_.get(), call.operation);
  begin(call);
  const auto op = static_cast<comm::ReduceOp>(call.reduce_op);
  const auto most = options_.most_at_once / itemsize / (size_ + 1);  // elements
  // In pieces that MPI can count. Elements do not depend on each other, so neither do pieces.
  for (std::size_t done = 0; done < count;) {
    const auto part = std::min(count - done, most);
    const auto at = done * itemsize, bytes = part * itemsize;
    if (size_ == 1) {
      slots_[0] = send + at;
      comm::reduce(op, element, slots_.data(), 1, recv + at, part);
    } else if (order_is_irrelevant(op, element)) {
      const std::byte* from = send + at;
      if (send == recv) {
        if (scratch_.size() < bytes) scratch_.resize(bytes);
        std::memcpy(scratch_.data(), from, bytes);
        from = scratch_.data();
      }
      const DefaultFloatEnvironment as_everywhere;
      check(library_.Allreduce(from, recv + at, static_cast<int>(part),
                               handles_.types[static_cast<std::size_t>(element)],
                               handles_.ops[static_cast<std::size_t>(op)], handles_.comm));
      if (!is_integer(element)) {  // there is but one NaN
        slots_[0] = recv + at;
        comm::reduce(op, element, slots_.data(), 1, recv + at, part);
      }
    } else if (bytes * size_ <= kReduceGatheredBytes) {
      reduce_gathered(call, element, send + at, recv + at, part, bytes);
    } else {
      reduce_by_shares(call, element, itemsize, send + at, recv + at, part);
    }
    done += part;
  }
}

void Group::reduce_gathered(const Call& call, comm::Element element, const std::byte* send, std::byte* recv,
                            std::size_t count, std::size_t bytes) {
  if (scratch_.size() < size_ * bytes) scratch_.resize(size_ * bytes);
  const auto length = static_cast<int>(bytes);
  check(
      library_.Allgather(send, length, handles_.byte, scratch_.data(), length, handles_.byte, handles_.comm));
  for (std::uint32_t rank = 0; rank < size_; ++rank) slots_[rank] = scratch_.data() + rank * bytes;
  comm::reduce(static_cast<comm::ReduceOp>(call.reduce_op), element, slots_.data(), size_, recv, count);
}

void Group::reduce_by_shares(const Call& call, comm::Element element, std::size_t itemsize,
                             const std::byte* send, std::byte* recv, std::size_t count) {
  const auto share_at = [&](std::size_t rank) { return comm::share_begin(count, rank, size_) * itemsize; };
  const auto own = share_at(rank_ + 1) - share_at(rank_);
  // Everybody's operands of the own share, and the result.
  if (scratch_.size() < (size_ + 1) * own) scratch_.resize((size_ + 1) * own);
  int *counts = numbers_.data(), *displs = counts + size_, *from = displs + size_,
      *from_displs = from + size_;
  for (std::uint32_t rank = 0; rank < size_; ++rank) {
    displs[rank] = static_cast<int>(share_at(rank));
    counts[rank] = static_cast<int>(share_at(rank + 1) - share_at(rank));
    from[rank] = static_cast<int>(own);
    from_displs[rank] = static_cast<int>(rank * own);
    slots_[rank] = scratch_.data() + rank * own;
  }
  const auto byte = handles_.byte;
  check(library_.Alltoallv(send, counts, displs, byte, scratch_.data(), from, from_displs, byte,
                           handles_.comm));
  std::byte* reduced = scratch_.data() + size_ * own;
  comm::reduce(static_cast<comm::ReduceOp>(call.reduce_op), element, slots_.data(), size_, reduced,
               own / itemsize);
  check(library_.Allgatherv(reduced, static_cast<int>(own), byte, recv, counts, displs, byte, handles_.comm));
}

}  // namespace cobre::mpi
