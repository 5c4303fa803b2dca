// A native group as Python sees it: arguments checked, one collective at a time, errors raised.
//
// What differs between backends is the core's `Group`: how the ranks meet. It has `barrier`, `allgatherv`,
// `allreduce` and `broadcast`, which take checked buffers and the `Call` that ranks compare.
#pragma once

#include "arguments.hpp"
#include "buffers.hpp"
#include "raise.hpp"
#include "turn.hpp"

#include <string>
#include <vector>

#include <nanobind/stl/string.h>

#include "core/comm/call.hpp"

namespace cobre::bind {

/// The hook of a waiting core: whether Python wants to stop this thread, by Ctrl-C or another signal
/// with a handler that raises.
bool python_interrupts();

/// Words as Python can show them. They may quote a peer, who may have sent any bytes.
std::string readable(const std::string& words);

std::uint32_t element_code(char kind, bool native_order, std::int64_t itemsize);
std::uint32_t element_code(const Buffer& buffer);

/// FNV-1a over whole numbers: equal counts have equal digests, unequal ones hardly ever.
std::uint64_t digest(const std::vector<comm::Part>& parts);

/// Gives the GIL away for as long as this lives, at the latest when a wait becomes long.
///
/// Taking it back costs as much as a short collective, so a short one keeps it; nobody else gets far in
/// a few microseconds anyway.
class LazyGilRelease {
 public:
  LazyGilRelease() = default;
  ~LazyGilRelease() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  LazyGilRelease(const LazyGilRelease&) = delete;
  LazyGilRelease& operator=(const LazyGilRelease&) = delete;
  void release() noexcept {
    if (state_ == nullptr) state_ = PyEval_SaveThread();
  }

 private:
  PyThreadState* state_ = nullptr;
};

/// The collectives of `Self`, which derives from this and has the core's group as `group_`.
template <class Self>
class GroupBinding {
 public:
  GroupBinding(std::uint32_t rank, std::uint32_t size, Turn& turn) : rank_(rank), size_(size), turn_(turn) {}

  void barrier() { meet(comm::Operation::barrier, "barrier"); }

  void allgatherv(nanobind::handle send, nanobind::handle recv, nanobind::handle counts,
                  nanobind::handle displs) {
    const GatherArguments checked(send, recv, counts, displs, rank_, size_);
    const auto itemsize = static_cast<std::size_t>(checked.recv.itemsize());
    std::uint64_t total = 0;
    // Not a member: another thread may come this far before it is refused.
    std::vector<comm::Part> parts(size_);
    for (std::size_t rank = 0; rank < size_; ++rank) {
      const auto count = static_cast<std::size_t>(checked.counts[rank]);
      parts[rank] = {count * itemsize, static_cast<std::size_t>(checked.displs[rank]) * itemsize};
      total += count;
    }
    const comm::Call call{.operation = comm::Operation::allgatherv,
                          .element = element_code(checked.recv),
                          .count = total,
                          .parts = digest(parts)};
    run("allgatherv", total * itemsize,
        [&] { group().allgatherv(call, checked.send.data(), checked.recv.data(), parts); });
  }

  void allreduce(nanobind::handle send, nanobind::handle recv, nanobind::handle op) {
    const ReduceArguments checked(send, recv, op);
    const auto count = static_cast<std::size_t>(checked.recv.count());
    const auto itemsize = static_cast<std::size_t>(checked.recv.itemsize());
    const comm::Call call{.operation = comm::Operation::allreduce,
                          .reduce_op = static_cast<std::uint8_t>(checked.op),
                          .element = element_code(checked.recv),
                          .count = count};
    run("allreduce", count * itemsize, [&] {
      group().allreduce(call, checked.element, itemsize, checked.send.data(), checked.recv.data(), count);
    });
  }

  void broadcast(nanobind::handle buf, nanobind::handle root) {
    const BroadcastArguments checked(buf, root, rank_, size_);
    const comm::Call call{.operation = comm::Operation::broadcast,
                          .root = static_cast<std::uint16_t>(checked.root),
                          .element = element_code(checked.buf),
                          .count = static_cast<std::uint64_t>(checked.buf.count())};
    const auto bytes = static_cast<std::size_t>(checked.buf.nbytes());
    run("broadcast", bytes, [&] { group().broadcast(call, checked.buf.data(), bytes); });
  }

  /// Inside a turn already: agree on the arguments of a call that is more than one collective, and
  /// share rank 0's answer to it.
  void announce(const std::string& operation, std::uint64_t count, const std::string& kind,
                std::uint32_t itemsize, nanobind::handle answer_object) {
    const bool region = operation == "create_shared_region";
    const Buffer answer(answer_object, Access::write, operation.c_str(), "answer");
    const comm::Call call{
        .operation = region ? comm::Operation::create_shared_region : comm::Operation::split_local,
        .element = element_code(kind.empty() ? '\0' : kind[0], true, itemsize),
        .count = count};
    run_in_turn(operation.c_str(), kReleaseGilBytes,
                [&] { group().broadcast(call, answer.data(), static_cast<std::size_t>(answer.nbytes())); });
  }

  /// Inside a turn already: whether all ranks say yes.
  bool all(const std::string& operation, bool yes) {
    const auto mine = static_cast<std::byte>(yes);
    std::byte everybodys{};
    const comm::Call call{.operation = comm::Operation::allreduce,
                          .reduce_op = static_cast<std::uint8_t>(comm::ReduceOp::min)};
    run_in_turn(operation.c_str(), kReleaseGilBytes,
                [&] { group().allreduce(call, comm::Element::uint8, 1, &mine, &everybodys, 1); });
    return everybodys != std::byte{0};
  }

 protected:
  // With this many bytes to move, the GIL is given away from the start.
  static constexpr std::size_t kReleaseGilBytes = 32 * 1024;

  comm::WaitHooks wait_hooks() {
    return {[this] { gil_->release(); }, python_interrupts};
  }

  void meet(comm::Operation operation, const char* name) {
    const comm::Call call{.operation = operation};
    run(name, 0, [&] { group().barrier(call); });
  }

  template <class Collective>
  void run(const char* operation, std::size_t bytes, Collective&& collective) {
    turn_.enter(operation);
    struct Leave {
      Turn& turn;
      ~Leave() { turn.leave(); }
    } const leave_at_the_end{turn_};
    run_in_turn(operation, bytes, collective);
  }

  template <class Collective>
  void run_in_turn(const char* operation, std::size_t bytes, Collective&& collective) {
    if constexpr (requires { group().finalized(); }) {
      if (group().finalized()) raise_cobre_error("InvalidCommunicator", "MPI has been finalised");
    }
    std::string what;
    int mpi_error_class = 0;
    try {
      LazyGilRelease gil;
      gil_ = &gil;
      if (bytes >= Self::kReleaseGilBytes) gil.release();
      collective();
      return;
    } catch (const comm::GroupFailure& failure) {
      what = readable(failure.what);
      mpi_error_class = failure.mpi_error_class;
    } catch (const comm::Interrupted&) {  // the exception that a signal's handler raised is set
      turn_.finish(std::string("this communicator was finished by an interrupt in ") + operation +
                   "; create a new one");
      throw nanobind::python_error();
    }
    turn_.finish(std::string("this communicator was finished by an earlier failure in ") + operation + " (" +
                 what + "); create a new one");
    if (mpi_error_class != 0) raise_mpi_error(operation, what, mpi_error_class, bytes);
    raise_cobre_error("CollectiveFailed", operation, what);
  }

 private:
  auto& group() { return static_cast<Self&>(*this).group_; }

  const std::uint32_t rank_, size_;
  Turn& turn_;
  LazyGilRelease* gil_ = nullptr;  // of the collective that runs
};

/// The docstrings of the public collectives. The contract in Python has them; until it has been imported they
/// are empty.
struct Docstrings {
  std::string allgatherv, allreduce, broadcast, barrier;
};

/// Classes whose collectives `document_collectives` defines again, with docstrings: nanobind copies a
/// docstring when it makes a function, and cannot change it afterwards.
using DefineCollectives = void (*)(const Docstrings&);
std::vector<DefineCollectives>& documented_classes();

template <class Self>
void define_collectives(const Docstrings& docs) {
  using namespace nanobind::literals;
  namespace nb = nanobind;
  auto type = nb::borrow<nb::class_<Self>>(nb::type<Self>());
  for (const char* name : {"allgatherv", "allreduce", "broadcast", "barrier"}) {
    if (nb::hasattr(type, name)) nb::delattr(type, name);  // else this would become an overload
  }
  type.def("barrier", &Self::barrier, docs.barrier.c_str())
      .def(
          "allgatherv", &Self::allgatherv, "send"_a, "recv"_a, "counts"_a, "displs"_a = nb::none(),
          nb::sig("def allgatherv(self, send: BufferLike, recv: BufferLike, counts: Sequence[SupportsIndex], "
                  "displs: Sequence[SupportsIndex] | None = None) -> None"),
          docs.allgatherv.c_str())
      .def("allreduce", &Self::allreduce, "send"_a, "recv"_a, "op"_a = comm::ReduceOp::sum,
           nb::sig("def allreduce(self, send: BufferLike, recv: BufferLike, op: ReduceOp = ...) -> None"),
           docs.allreduce.c_str())
      .def("broadcast", &Self::broadcast, "buf"_a, "root"_a = 0,
           nb::sig("def broadcast(self, buf: BufferLike, root: int = 0) -> None"), docs.broadcast.c_str());
}

/// Give the Python class the methods that all groups have.
template <class Self>
void bind_collectives(nanobind::class_<Self>& type) {
  using namespace nanobind::literals;
  namespace nb = nanobind;
  define_collectives<Self>({});
  documented_classes().push_back(&define_collectives<Self>);
  type.def("announce", &Self::announce, "operation"_a, "count"_a, "kind"_a, "itemsize"_a, "answer"_a,
           nb::sig("def announce(self, operation: str, count: int, kind: str, itemsize: int, answer: "
                   "BufferLike) -> None"),
           "Within another operation: agree on its arguments, and give all ranks rank 0's answer.")
      .def("all", &Self::all, "operation"_a, "yes"_a, "Within another operation: whether all ranks say yes.");
}

}  // namespace cobre::bind
