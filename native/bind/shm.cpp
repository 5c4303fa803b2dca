// cobre.comm.shm's native part: one rank's end of a group that meets in shared memory.
#include "arguments.hpp"
#include "buffers.hpp"
#include "raise.hpp"
#include "turn.hpp"

#include <chrono>
#include <memory>
#include <vector>

#include <nanobind/stl/string.h>

#include "core/shm/group.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using cobre::comm::ReduceOp;
using cobre::shm::Call;
using cobre::shm::Group;
using cobre::shm::GroupFailure;
using cobre::shm::Layout;
using cobre::shm::Operation;
using cobre::shm::Part;

namespace cobre::bind {
namespace {

/// Whether Python wants to stop this thread: Ctrl-C, or another signal with a handler that raises.
bool python_interrupts() {
  const nb::gil_scoped_acquire held;
  return PyErr_CheckSignals() != 0;
}

std::uint32_t element_code(char kind, bool native_order, std::int64_t itemsize) {
  return static_cast<std::uint32_t>(kind) << 24 | (native_order ? 0 : shm::kForeignByteOrder) |
         (static_cast<std::uint32_t>(itemsize) & (shm::kForeignByteOrder - 1));
}

std::uint32_t element_code(const Buffer& buffer) {
  return element_code(buffer.dtype()->kind, PyArray_ISNBO(buffer.dtype()->byteorder), buffer.itemsize());
}

/// FNV-1a over whole numbers: equal counts have equal digests, unequal ones hardly ever.
std::uint64_t digest(const std::vector<Part>& parts) {
  std::uint64_t value = 0xcbf29ce484222325u;
  for (const auto& part : parts) value = (value ^ part.bytes) * 0x100000001b3u;
  return value;
}

/// A writable buffer of Python's that stays where it is while this lives.
class PinnedMemory {
 public:
  explicit PinnedMemory(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE | PyBUF_WRITABLE) != 0)
      throw nb::python_error();
  }
  ~PinnedMemory() { PyBuffer_Release(&view_); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  void* data() const noexcept { return view_.buf; }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(view_.len); }

 private:
  Py_buffer view_{};
};

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

class ShmGroup {
 public:
  ShmGroup(nb::handle memory, std::uint32_t size, std::size_t slot_bytes, std::uint64_t token,
           std::uint32_t rank, double timeout_s, bool one_copy, Turn& turn)
      : memory_(memory),
        rank_(rank),
        size_(size),
        turn_(turn),
        group_(memory_.data(), checked({size, slot_bytes}, token, memory_), rank,
               {std::chrono::duration<double>(timeout_s), one_copy, [this] { gil_->release(); },
                python_interrupts}) {}

  void join() {
    run("join", kReleaseGilBytes, [&] { group_.join(); });
  }
  void leave() { group_.leave(); }

  void barrier() { meet(Operation::barrier, "barrier"); }
  void fence() { meet(Operation::fence, "fence"); }

  void allgatherv(nb::handle send, nb::handle recv, nb::handle counts, nb::handle displs) {
    const GatherArguments checked(send, recv, counts, displs, rank_, size_);
    const auto itemsize = static_cast<std::size_t>(checked.recv.itemsize());
    std::uint64_t total = 0;
    // Not a member: another thread may come this far before it is refused.
    std::vector<Part> parts(size_);
    for (std::size_t rank = 0; rank < size_; ++rank) {
      const auto count = static_cast<std::size_t>(checked.counts[rank]);
      parts[rank] = {count * itemsize, static_cast<std::size_t>(checked.displs[rank]) * itemsize};
      total += count;
    }
    const Call call{.operation = Operation::allgatherv,
                    .element = element_code(checked.recv),
                    .count = total,
                    .parts = digest(parts)};
    run("allgatherv", total * itemsize,
        [&] { group_.allgatherv(call, checked.send.data(), checked.recv.data(), parts); });
  }

  void allreduce(nb::handle send, nb::handle recv, nb::handle op) {
    const ReduceArguments checked(send, recv, op);
    const auto count = static_cast<std::size_t>(checked.recv.count());
    const auto itemsize = static_cast<std::size_t>(checked.recv.itemsize());
    const Call call{.operation = Operation::allreduce,
                    .reduce_op = static_cast<std::uint8_t>(checked.op),
                    .element = element_code(checked.recv),
                    .count = count};
    run("allreduce", count * itemsize, [&] {
      group_.allreduce(call, checked.element, itemsize, checked.send.data(), checked.recv.data(), count);
    });
  }

  void broadcast(nb::handle buf, nb::handle root) {
    const BroadcastArguments checked(buf, root, rank_, size_);
    const Call call{.operation = Operation::broadcast,
                    .root = static_cast<std::uint16_t>(checked.root),
                    .element = element_code(checked.buf),
                    .count = static_cast<std::uint64_t>(checked.buf.count())};
    const auto bytes = static_cast<std::size_t>(checked.buf.nbytes());
    run("broadcast", bytes, [&] { group_.broadcast(call, checked.buf.data(), bytes); });
  }

  /// Inside a turn already: agree on the arguments of a call that is more than one collective, and
  /// share rank 0's answer to it.
  void announce(const std::string& operation, std::uint64_t count, const std::string& kind,
                std::uint32_t itemsize, nb::handle answer_object) {
    const bool region = operation == "create_shared_region";
    const Buffer answer(answer_object, Access::write, operation.c_str(), "answer");
    const Call call{.operation = region ? Operation::create_shared_region : Operation::split_local,
                    .element = element_code(kind.empty() ? '\0' : kind[0], true, itemsize),
                    .count = count};
    run_in_turn(operation.c_str(), kReleaseGilBytes,
                [&] { group_.broadcast(call, answer.data(), static_cast<std::size_t>(answer.nbytes())); });
  }

  /// Inside a turn already: whether all ranks say yes.
  bool all(const std::string& operation, bool yes) {
    const auto mine = static_cast<std::byte>(yes);
    std::byte everybodys{};
    const Call call{.operation = Operation::allreduce,
                    .reduce_op = static_cast<std::uint8_t>(comm::ReduceOp::min)};
    run_in_turn(operation.c_str(), kReleaseGilBytes,
                [&] { group_.allreduce(call, comm::Element::uint8, 1, &mine, &everybodys, 1); });
    return everybodys != std::byte{0};
  }

  std::int32_t pid_of(std::uint32_t rank) const { return group_.pid_of(rank); }
  bool reads_peers_memory() const { return group_.reads_peers_memory(); }

 private:
  // With this many bytes to move, the GIL is given away from the start.
  static constexpr std::size_t kReleaseGilBytes = 32 * 1024;

  /// A segment is trusted only after this: right length, right version, right group.
  static Layout checked(const Layout& layout, std::uint64_t token, const PinnedMemory& memory) {
    if (memory.bytes() < layout.total() || !Group::is_segment(memory.data(), layout, token)) {
      raise_cobre_error("InitializationFailed", "shm",
                        "the segment belongs to another group or version of cobre");
    }
    return layout;
  }

  void meet(Operation operation, const char* name) {
    const Call call{.operation = operation};
    run(name, 0, [&] { group_.barrier(call); });
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
    std::string what;
    try {
      LazyGilRelease gil;
      gil_ = &gil;
      if (bytes >= kReleaseGilBytes) gil.release();
      collective();
      return;
    } catch (const GroupFailure& failure) {
      what = failure.what;
    } catch (const shm::Interrupted&) {  // the exception that a signal's handler raised is set
      turn_.finish(std::string("this communicator was finished by an interrupt in ") + operation +
                   "; create a new one");
      throw nb::python_error();
    }
    turn_.finish(std::string("this communicator was finished by an earlier failure in ") + operation + " (" +
                 what + "); create a new one");
    raise_cobre_error("CollectiveFailed", operation, what.c_str());
  }

  PinnedMemory memory_;
  const std::uint32_t rank_, size_;
  Turn& turn_;
  LazyGilRelease* gil_ = nullptr;  // of the collective that runs
  Group group_;
};

}  // namespace

void bind_shm(nb::module_& m) {
  m.def(
      "shm_segment_bytes",
      [](std::uint32_t size, std::size_t slot_bytes) { return Layout{size, slot_bytes}.total(); }, "size"_a,
      "slot_bytes"_a, "The length of the segment of a group.");
  m.def(
      "shm_initialise",
      [](nb::handle memory, std::uint32_t size, std::size_t slot_bytes, std::uint64_t token) {
        const PinnedMemory pinned(memory);
        Group::initialise(pinned.data(), {size, slot_bytes}, token);
      },
      "memory"_a, "size"_a, "slot_bytes"_a, "token"_a,
      nb::sig("def shm_initialise(memory: BufferLike, size: int, slot_bytes: int, token: int) -> None"),
      "Make fresh, zero-filled memory the segment of a group.");

  nb::class_<ShmGroup>(m, "ShmGroup", "One rank's end of a group that meets in shared memory.")
      .def(
          nb::init<nb::handle, std::uint32_t, std::size_t, std::uint64_t, std::uint32_t, double, bool,
                   Turn&>(),
          "memory"_a, "size"_a, "slot_bytes"_a, "token"_a, "rank"_a, "timeout_s"_a, "one_copy"_a, "turn"_a,
          nb::keep_alive<1, 9>(),
          nb::sig("def __init__(self, memory: BufferLike, size: int, slot_bytes: int, token: int, rank: int, "
                  "timeout_s: float, one_copy: bool, turn: Turn) -> None"))
      .def("join", &ShmGroup::join, "Wait for all ranks to come.")
      .def("leave", &ShmGroup::leave, "Say goodbye; peers that still wait for this rank fail at once.")
      .def("barrier", &ShmGroup::barrier, "Communicator.barrier, checks included.")
      .def("fence", &ShmGroup::fence, "SharedRegion.fence.")
      .def(
          "allgatherv", &ShmGroup::allgatherv, "send"_a, "recv"_a, "counts"_a, "displs"_a = nb::none(),
          nb::sig("def allgatherv(self, send: BufferLike, recv: BufferLike, counts: Sequence[SupportsIndex], "
                  "displs: Sequence[SupportsIndex] | None = None) -> None"),
          "Communicator.allgatherv, checks included.")
      .def("allreduce", &ShmGroup::allreduce, "send"_a, "recv"_a, "op"_a = ReduceOp::sum,
           nb::sig("def allreduce(self, send: BufferLike, recv: BufferLike, op: ReduceOp = ...) -> None"),
           "Communicator.allreduce, checks included.")
      .def("broadcast", &ShmGroup::broadcast, "buf"_a, "root"_a = 0,
           nb::sig("def broadcast(self, buf: BufferLike, root: int = 0) -> None"),
           "Communicator.broadcast, checks included.")
      .def("announce", &ShmGroup::announce, "operation"_a, "count"_a, "kind"_a, "itemsize"_a, "answer"_a,
           nb::sig("def announce(self, operation: str, count: int, kind: str, itemsize: int, answer: "
                   "BufferLike) -> "
                   "None"),
           "Within another operation: agree on its arguments, and give everybody rank 0's answer.")
      .def("all", &ShmGroup::all, "operation"_a, "yes"_a,
           "Within another operation: whether all ranks say yes.")
      .def("pid_of", &ShmGroup::pid_of, "rank"_a)
      .def_prop_ro("reads_peers_memory", &ShmGroup::reads_peers_memory,
                   "Whether large parts travel by one copy, straight from the peer's memory.");
}

}  // namespace cobre::bind
