// cobre.comm's native part: argument checks, the rank-ordered reduction, placing a part.
#include "arguments.hpp"
#include "buffers.hpp"
#include "group.hpp"
#include "turn.hpp"

#include <cstring>
#include <string>
#include <vector>

#include <nanobind/stl/string.h>

#include "core/comm/reduce.hpp"
#include "core/processor.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using cobre::comm::ReduceOp;

namespace cobre::bind {
namespace {

// Below this many bytes, giving the GIL away and taking it back costs more than the work.
constexpr std::int64_t kReleaseGilBytes = 32 * 1024;

template <class Work>
void without_gil_if_large(std::int64_t bytes, Work&& work) {
  if (bytes < kReleaseGilBytes) {
    work();
  } else {
    const nb::gil_scoped_release released;
    work();
  }
}

/// The characters of a name that Python keeps for good.
const char* interned(nb::str name) {
  PyObject* kept = name.release().ptr();
  PyUnicode_InternInPlace(&kept);  // names are few: those of the operations
  return PyUnicode_AsUTF8(kept);
}

nb::tuple as_tuple(const std::vector<std::int64_t>& numbers) {
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(numbers[i]));
  }
  return nb::cast<nb::tuple>(tuple);
}

nb::tuple check_allgatherv(nb::handle send, nb::handle recv, nb::handle counts, nb::handle displs,
                           std::int64_t rank, std::int64_t size) {
  const GatherArguments checked(send, recv, counts, displs, rank, size);
  return nb::make_tuple(checked.send.flat(), checked.recv.flat(), as_tuple(checked.counts),
                        as_tuple(checked.displs));
}

nb::tuple check_allreduce(nb::handle send, nb::handle recv, nb::handle op) {
  const ReduceArguments checked(send, recv, op);
  return nb::make_tuple(checked.send.flat(), checked.recv.flat());
}

nb::object check_broadcast(nb::handle buf, nb::handle root, std::int64_t rank, std::int64_t size) {
  return BroadcastArguments(buf, root, rank, size).buf.flat();
}

void reduce(nb::handle slot_objects, nb::handle out_object, nb::handle op_object) {
  const ReduceOp op = as_reduce_op(op_object, "reduce");
  const Buffer out(out_object, Access::write, "reduce", "out");
  const comm::Element element = out.element();
  const nb::object fast = nb::steal(PySequence_Fast(slot_objects.ptr(), "reduce: slots is no sequence"));
  if (!fast.is_valid()) throw nb::python_error();
  const auto ranks = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(fast.ptr()));
  if (ranks == 0) raise_size("reduce", 1, 0, "there are no slots");
  std::vector<Buffer> slots;  // holds the arrays while the GIL is away
  std::vector<const void*> addresses;
  slots.reserve(ranks);
  addresses.reserve(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto& slot =
        slots.emplace_back(PySequence_Fast_ITEMS(fast.ptr())[rank], Access::read, "reduce", "a slot");
    slot.require_dtype_of(out);
    if (slot.count() != out.count()) {
      raise_size("reduce", out.count(), slot.count(), "a slot differs from out");
    }
    if (slot.data() != out.data() && overlap(slot.data(), slot.nbytes(), out.data(), out.nbytes())) {
      PyErr_SetString(PyExc_ValueError, "reduce: a slot and out overlap without being the same");
      throw nb::python_error();
    }
    addresses.push_back(slot.data());
  }
  without_gil_if_large(out.nbytes() * static_cast<std::int64_t>(ranks), [&] {
    comm::reduce(op, element, addresses.data(), ranks, out.data(), static_cast<std::size_t>(out.count()));
  });
}

void place(nb::handle part_object, nb::handle whole_object, std::int64_t at) {
  const Buffer part(part_object, Access::read, "place", "part");
  const Buffer whole(whole_object, Access::write, "place", "whole");
  whole.require_dtype_of(part);
  if (at < 0 || at > whole.count() - part.count()) {
    raise_size("place", whole.count() - part.count(), at, "the part does not fit there");
  }
  auto* target = whole.data() + at * whole.itemsize();
  const auto bytes = static_cast<std::size_t>(part.nbytes());
  without_gil_if_large(part.nbytes(), [&] {
    if (bytes > 0) std::memmove(target, part.data(), bytes);
  });
}

}  // namespace

void bind_comm(nb::module_& m) {
  m.def("uses_avx2", [] { return uses_avx2; }, "Whether these kernels use AVX2.");
  nb::enum_<ReduceOp>(m, "ReduceOp", "How ``allreduce`` combines the elements of all ranks.")
      .value("SUM", ReduceOp::sum, "Their sum; integers wrap around.")
      .value("MIN", ReduceOp::min, "The smallest; NaN if there is one.")
      .value("MAX", ReduceOp::max, "The largest; NaN if there is one.");

  nb::class_<Turn>(m, "Turn", "One collective at a time, and none after a failure.")
      .def(nb::init<>())
      // The name is kept as a pointer: Python's own names of methods are interned and live on.
      .def(
          "enter", [](Turn& self, nb::str operation) { self.enter(interned(operation)); }, "operation"_a)
      .def("enter_to_close", &Turn::enter_to_close)
      .def("leave", &Turn::leave)
      .def("finish", &Turn::finish, "reason"_a)
      .def_prop_ro("busy", &Turn::busy)
      .def_prop_ro(
          "finished", [](const Turn& self) { return self.finished() ? nb::cast(self.reason()) : nb::none(); },
          nb::sig("def finished(self) -> str | None"), "Why no collective can follow; None if one can.");

  m.def(
      "document_collectives",
      [](const std::string& allgatherv, const std::string& allreduce, const std::string& broadcast,
         const std::string& barrier) {
        for (const auto define : documented_classes()) define({allgatherv, allreduce, broadcast, barrier});
      },
      nb::kw_only(), "allgatherv"_a, "allreduce"_a, "broadcast"_a, "barrier"_a,
      "Give the collectives of all native groups their docstrings.");

  m.def("check_allgatherv", &check_allgatherv, "send"_a, "recv"_a, "counts"_a, "displs"_a.none(), "rank"_a,
        "size"_a,
        nb::sig("def check_allgatherv(send: BufferLike, recv: BufferLike, counts: Sequence[SupportsIndex], "
                "displs: Sequence[SupportsIndex] | None, rank: int, size: int) -> "
                "tuple[NDArray[Any], NDArray[Any], tuple[int, ...], tuple[int, ...]]"),
        "Check the arguments of an allgatherv; return them flat, with displacements.");
  m.def("check_allreduce", &check_allreduce, "send"_a, "recv"_a, "op"_a,
        nb::sig("def check_allreduce(send: BufferLike, recv: BufferLike, op: ReduceOp) -> "
                "tuple[NDArray[Any], NDArray[Any]]"),
        "Check the arguments of an allreduce; return the buffers flat.");
  m.def("check_broadcast", &check_broadcast, "buf"_a, "root"_a, "rank"_a, "size"_a,
        nb::sig("def check_broadcast(buf: BufferLike, root: SupportsIndex, rank: int, size: int) -> "
                "NDArray[Any]"),
        "Check the arguments of a broadcast; return the buffer flat.");
  m.def("reduce", &reduce, "slots"_a, "out"_a, "op"_a,
        nb::sig("def reduce(slots: Sequence[BufferLike], out: BufferLike, op: ReduceOp) -> None"),
        "Reduce equally long slots into ``out``, element by element, in the order of the slots.\n\n"
        "The same bits as the plain loop; ``out`` may be one of the slots. A NaN result is always "
        "the\npositive quiet NaN without payload. Releases the GIL when there is enough to do.");
  m.def("place", &place, "part"_a, "whole"_a, "at"_a,
        nb::sig("def place(part: BufferLike, whole: BufferLike, at: int) -> None"),
        "Copy ``part`` into ``whole`` from element ``at`` on, byte for byte, padding included.");
}

}  // namespace cobre::bind
