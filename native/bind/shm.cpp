// cobre.comm.shm's native part: one rank's end of a group that meets in shared memory.
#include "group.hpp"

#include <chrono>

#include "core/shm/group.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using cobre::shm::Group;
using cobre::shm::Layout;

namespace cobre::bind {
namespace {

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

class ShmGroup : public GroupBinding<ShmGroup> {
 public:
  ShmGroup(nb::handle memory, std::uint32_t size, std::size_t slot_bytes, std::uint64_t token,
           std::uint32_t rank, double timeout_s, bool one_copy, Turn& turn)
      : GroupBinding(rank, size, turn),
        memory_(memory),
        group_(memory_.data(), checked({size, slot_bytes}, token, memory_), rank,
               {std::chrono::duration<double>(timeout_s), one_copy, wait_hooks()}) {}

  void join() {
    run("join", kReleaseGilBytes, [&] { group_.join(); });
  }
  void adopt(const ShmGroup& parent) {
    run("adopt", 0, [&] { group_.adopt(parent.group_); });
  }
  void leave() { group_.leave(); }
  void fence() { meet(comm::Operation::fence, "fence"); }
  std::int32_t pid_of(std::uint32_t rank) const { return group_.pid_of(rank); }
  bool reads_peers_memory() const { return group_.reads_peers_memory(); }

 private:
  friend class GroupBinding<ShmGroup>;

  /// A segment is trusted only after this: right length, right version, right group.
  static Layout checked(const Layout& layout, std::uint64_t token, const PinnedMemory& memory) {
    if (memory.bytes() < layout.total() || !Group::is_segment(memory.data(), layout, token)) {
      raise_cobre_error("InitializationFailed", "shm",
                        "the segment belongs to another group or version of cobre");
    }
    return layout;
  }

  PinnedMemory memory_;
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

  nb::class_<ShmGroup> type(m, "ShmGroup", "One rank's end of a group that meets in shared memory.");
  type.def(
          nb::init<nb::handle, std::uint32_t, std::size_t, std::uint64_t, std::uint32_t, double, bool,
                   Turn&>(),
          "memory"_a, "size"_a, "slot_bytes"_a, "token"_a, "rank"_a, "timeout_s"_a, "one_copy"_a, "turn"_a,
          nb::keep_alive<1, 9>(),
          nb::sig("def __init__(self, memory: BufferLike, size: int, slot_bytes: int, token: int, rank: int, "
                  "timeout_s: float, one_copy: bool, turn: Turn) -> None"))
      .def("join", &ShmGroup::join, "Wait for all ranks to come.")
      .def("adopt", &ShmGroup::adopt, "parent"_a, "Be a rank among those of the parent, which meet there.")
      .def("leave", &ShmGroup::leave, "Say goodbye; peers that still wait for this rank fail at once.")
      .def("fence", &ShmGroup::fence, "SharedRegion.fence.")
      .def("pid_of", &ShmGroup::pid_of, "rank"_a)
      .def_prop_ro("reads_peers_memory", &ShmGroup::reads_peers_memory,
                   "Whether large parts travel by one copy, straight from the peer's memory.");
  bind_collectives(type);
}

}  // namespace cobre::bind
