// cobre.comm.shm's native part: one rank's end of a group that meets in shared memory.
#include "buffers.hpp"
#include "raise.hpp"

#include <chrono>
#include <memory>
#include <vector>

#include <nanobind/stl/string.h>

#include "core/shm/group.hpp"

namespace nb = nanobind;
using namespace nb::literals;
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

std::uint32_t element_code(const Buffer& buffer) {
  return static_cast<std::uint32_t>(buffer.dtype()->kind) << 24 |
         static_cast<std::uint32_t>(buffer.itemsize() & 0xffffff);
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
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE | PyBUF_WRITABLE) != 0) throw nb::python_error();
  }
  ~PinnedMemory() { PyBuffer_Release(&view_); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  void* data() const noexcept { return view_.buf; }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(view_.len); }

 private:
  Py_buffer view_{};
};

class ShmGroup {
 public:
  ShmGroup(nb::handle memory, std::uint32_t size, std::size_t slot_bytes, std::uint64_t token, std::uint32_t rank,
           double timeout_s)
      : memory_(memory),
        group_(memory_.data(), checked({size, slot_bytes}, token, memory_), rank,
               {std::chrono::duration<double>(timeout_s), python_interrupts}) {}

  void join() {
    run("join", [&] { group_.join(); });
  }
  void leave() { group_.leave(); }

  void barrier(Operation operation) {
    const Call call{.operation = operation};
    run(name(operation), [&] { group_.barrier(call); });
  }

  void allgatherv(nb::handle send_object, nb::handle recv_object, nb::tuple counts, nb::tuple displs) {
    const Buffer send(send_object, Access::read, "allgatherv", "send");
    const Buffer recv(recv_object, Access::write, "allgatherv", "recv");
    const auto itemsize = static_cast<std::size_t>(recv.itemsize());
    std::size_t total = 0;
    parts_.resize(counts.size());
    for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
      parts_[rank] = {nb::cast<std::size_t>(counts[rank]) * itemsize, nb::cast<std::size_t>(displs[rank]) * itemsize};
      total += parts_[rank].bytes;
    }
    const Call call{.operation = Operation::allgatherv,
                    .element = element_code(recv),
                    .count = total / std::max<std::size_t>(itemsize, 1),
                    .parts = digest(parts_)};
    run("allgatherv", [&] { group_.allgatherv(call, send.data(), recv.data(), parts_); });
  }

  void allreduce(nb::handle send_object, nb::handle recv_object, nb::handle op) {
    const Buffer send(send_object, Access::read, "allreduce", "send");
    const Buffer recv(recv_object, Access::write, "allreduce", "recv");
    const auto count = static_cast<std::size_t>(recv.count());
    const Call call{.operation = Operation::allreduce,
                    .reduce_op = static_cast<std::uint8_t>(as_reduce_op(op, "allreduce")),
                    .element = element_code(recv),
                    .count = count};
    const auto element = recv.element();
    run("allreduce", [&] {
      group_.allreduce(call, element, static_cast<std::size_t>(recv.itemsize()), send.data(), recv.data(), count);
    });
  }

  void broadcast(nb::handle buf_object, std::uint16_t root) {
    const Buffer buf(buf_object, Access::read, "broadcast", "buf");
    const Call call{.operation = Operation::broadcast,
                    .root = root,
                    .element = element_code(buf),
                    .count = static_cast<std::uint64_t>(buf.count())};
    run("broadcast", [&] { group_.broadcast(call, buf.data(), static_cast<std::size_t>(buf.nbytes())); });
  }

  /// Agree on the arguments of a call that is more than one collective, and share rank 0's answer to it.
  void announce(Operation operation, std::uint64_t count, const std::string& kind, std::uint32_t itemsize,
                nb::handle answer_object) {
    const Buffer answer(answer_object, Access::write, name(operation), "answer");
    const Call call{.operation = operation,
                    .element = static_cast<std::uint32_t>(kind.empty() ? 0 : kind[0]) << 24 | (itemsize & 0xffffff),
                    .count = count};
    run(name(operation),
        [&] { group_.broadcast(call, answer.data(), static_cast<std::size_t>(answer.nbytes())); });
  }

  std::int32_t pid_of(std::uint32_t rank) const { return group_.pid_of(rank); }
  bool reads_peers_memory() const { return group_.reads_peers_memory(); }

 private:
  /// A segment is trusted only after this: right length, right version, right group.
  static Layout checked(const Layout& layout, std::uint64_t token, const PinnedMemory& memory) {
    if (memory.bytes() < layout.total() || !Group::is_segment(memory.data(), layout, token)) {
      raise_cobre_error("InitializationFailed", "shm", "the segment belongs to another group or version of cobre");
    }
    return layout;
  }

  static const char* name(Operation operation) {
    switch (operation) {
      case Operation::fence:
        return "fence";
      case Operation::create_shared_region:
        return "create_shared_region";
      case Operation::split_local:
        return "split_local";
      default:
        return "barrier";
    }
  }

  template <class Collective>
  void run(const char* operation, Collective&& collective) {
    std::string what;
    try {
      const nb::gil_scoped_release released;
      collective();
      return;
    } catch (const GroupFailure& failure) {
      what = failure.what;
    } catch (const shm::Interrupted&) {
      throw nb::python_error();  // the exception that the signal's handler raised
    }
    raise_cobre_error("CollectiveFailed", operation, what.c_str());
  }

  PinnedMemory memory_;
  Group group_;
  std::vector<Part> parts_;
};

}  // namespace

void bind_shm(nb::module_& m) {
  nb::enum_<Operation>(m, "ShmOperation", "What a meeting in shared memory is for.")
      .value("BARRIER", Operation::barrier)
      .value("FENCE", Operation::fence)
      .value("CREATE_SHARED_REGION", Operation::create_shared_region)
      .value("SPLIT_LOCAL", Operation::split_local);

  m.def(
      "shm_segment_bytes", [](std::uint32_t size, std::size_t slot_bytes) { return Layout{size, slot_bytes}.total(); },
      "size"_a, "slot_bytes"_a, "The length of the segment of a group.");
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
      .def(nb::init<nb::handle, std::uint32_t, std::size_t, std::uint64_t, std::uint32_t, double>(), "memory"_a,
           "size"_a, "slot_bytes"_a, "token"_a, "rank"_a, "timeout_s"_a,
           nb::sig("def __init__(self, memory: BufferLike, size: int, slot_bytes: int, token: int, rank: int, "
                   "timeout_s: float) -> None"))
      .def("join", &ShmGroup::join, "Wait for all ranks to come.")
      .def("leave", &ShmGroup::leave, "Say goodbye; peers that still wait for this rank fail at once.")
      .def("barrier", &ShmGroup::barrier, "operation"_a)
      .def("allgatherv", &ShmGroup::allgatherv, "send"_a, "recv"_a, "counts"_a, "displs"_a,
           nb::sig("def allgatherv(self, send: BufferLike, recv: BufferLike, counts: tuple[int, ...], displs: "
                   "tuple[int, ...]) -> None"))
      .def("allreduce", &ShmGroup::allreduce, "send"_a, "recv"_a, "op"_a,
           nb::sig("def allreduce(self, send: BufferLike, recv: BufferLike, op: ReduceOp) -> None"))
      .def("broadcast", &ShmGroup::broadcast, "buf"_a, "root"_a,
           nb::sig("def broadcast(self, buf: BufferLike, root: int) -> None"))
      .def("announce", &ShmGroup::announce, "operation"_a, "count"_a, "kind"_a, "itemsize"_a, "answer"_a,
           nb::sig("def announce(self, operation: ShmOperation, count: int, kind: str, itemsize: int, answer: "
                   "BufferLike) -> None"),
           "Agree on the arguments of a call, and give everybody rank 0's answer to it.")
      .def("pid_of", &ShmGroup::pid_of, "rank"_a)
      .def_prop_ro("reads_peers_memory", &ShmGroup::reads_peers_memory,
                   "Whether large parts travel by one copy, straight from the peer's memory.");
}

}  // namespace cobre::bind
