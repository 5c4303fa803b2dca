// cobre.comm's native part: argument checks, the rank-ordered reduction, placing a part.
#include "buffers.hpp"
#include "raise.hpp"

#include <cstring>
#include <string>
#include <vector>

#include "core/comm/parts.hpp"
#include "core/comm/reduce.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using cobre::comm::PartFault;
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

[[noreturn]] void raise_size(const char* operation, std::int64_t expected, std::int64_t actual,
                             const std::string& detail) {
  raise_cobre_error("InvalidBufferSize", operation, expected, actual, detail.c_str());
}

/// One whole number per rank. A number beyond 64 bits is clipped: no buffer is that large anyway.
std::vector<std::int64_t> per_rank(nb::handle object, std::int64_t size, const char* name) {
  const nb::object fast = nb::steal(PySequence_Fast(object.ptr(), ""));
  if (!fast.is_valid()) {
    PyErr_Format(PyExc_TypeError, "allgatherv: %s must be a sequence of whole numbers, not %s", name,
                 Py_TYPE(object.ptr())->tp_name);
    throw nb::python_error();
  }
  const auto length = static_cast<std::int64_t>(PySequence_Fast_GET_SIZE(fast.ptr()));
  if (length != size) {
    raise_size("allgatherv", size, length, std::string(name) + " needs one entry per rank");
  }
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(size));
  PyObject** items = PySequence_Fast_ITEMS(fast.ptr());
  for (auto& number : numbers) {
    number = PyNumber_AsSsize_t(*items++, nullptr);
    if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  }
  return numbers;
}

nb::tuple as_tuple(const std::vector<std::int64_t>& numbers) {
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(numbers[i]));
  }
  return nb::cast<nb::tuple>(tuple);
}

void require_parts_fit(const std::vector<std::int64_t>& counts, const std::vector<std::int64_t>& displs,
                       std::int64_t capacity) {
  const PartFault fault = comm::find_fault(counts, displs, capacity);
  const auto rank = fault.rank;
  const std::string whose = "rank " + std::to_string(rank) + "'s part of recv";
  switch (fault.kind) {
    case PartFault::Kind::none:
      return;
    case PartFault::Kind::negative_count:
      raise_size("allgatherv", 0, counts[rank], whose + " has a negative count");
    case PartFault::Kind::negative_displacement:
      raise_size("allgatherv", 0, displs[rank], whose + " has a negative displacement");
    case PartFault::Kind::beyond_end:
      raise_size("allgatherv", comm::saturating_add(displs[rank], counts[rank]), capacity,
                 whose + " does not fit");
    case PartFault::Kind::overlap:
      raise_size("allgatherv", displs[fault.other] + counts[fault.other], displs[rank],
                 whose + " begins before rank " + std::to_string(fault.other) + "'s ends");
  }
}

nb::tuple check_allgatherv(nb::handle send_object, nb::handle recv_object, nb::handle counts_object,
                           nb::handle displs_object, std::int64_t rank, std::int64_t size) {
  const Buffer send(send_object, Access::read, "allgatherv", "send");
  const Buffer recv(recv_object, Access::write, "allgatherv", "recv");
  recv.require_dtype_of(send);
  const auto counts = per_rank(counts_object, size, "counts");
  const auto displs =
      displs_object.is_none() ? comm::packed_displacements(counts) : per_rank(displs_object, size, "displs");
  const auto own = counts[static_cast<std::size_t>(rank)];
  if (send.count() != own) {
    raise_size("allgatherv", own, send.count(), "send differs from counts[rank]");
  }
  require_parts_fit(counts, displs, recv.count());
  const auto* own_place = recv.data() + displs[static_cast<std::size_t>(rank)] * recv.itemsize();
  if (send.data() != own_place && overlap(send.data(), send.nbytes(), recv.data(), recv.nbytes())) {
    PyErr_SetString(PyExc_ValueError,
                    "allgatherv: send overlaps recv; in place, send must be exactly this rank's part "
                    "of recv");
    throw nb::python_error();
  }
  return nb::make_tuple(send.flat(), recv.flat(), as_tuple(counts), as_tuple(displs));
}

nb::tuple check_allreduce(nb::handle send_object, nb::handle recv_object, nb::handle op) {
  as_reduce_op(op, "allreduce");
  const Buffer send(send_object, Access::read, "allreduce", "send");
  const Buffer recv(recv_object, Access::write, "allreduce", "recv");
  send.element();
  recv.require_dtype_of(send);
  if (send.count() == 0) raise_size("allreduce", 1, 0, "send has no elements to reduce");
  if (send.count() != recv.count()) {
    raise_size("allreduce", send.count(), recv.count(), "recv differs from send");
  }
  if (send.data() != recv.data() && overlap(send.data(), send.nbytes(), recv.data(), recv.nbytes())) {
    PyErr_SetString(PyExc_ValueError,
                    "allreduce: send and recv overlap; in place, they must be the same buffer");
    throw nb::python_error();
  }
  return nb::make_tuple(send.flat(), recv.flat());
}

nb::object check_broadcast(nb::handle buf_object, nb::handle root_object, std::int64_t rank,
                           std::int64_t size) {
  if (PyIndex_Check(root_object.ptr()) == 0) {
    PyErr_Format(PyExc_TypeError, "broadcast: root must be a whole number, not %s",
                 Py_TYPE(root_object.ptr())->tp_name);
    throw nb::python_error();
  }
  const std::int64_t root = PyNumber_AsSsize_t(root_object.ptr(), nullptr);
  if (root == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  if (root < 0 || root >= size) raise_cobre_error("InvalidRoot", root, size);
  return Buffer(buf_object, rank == root ? Access::read : Access::write, "broadcast", "buf").flat();
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
  nb::enum_<ReduceOp>(m, "ReduceOp", "How ``allreduce`` combines the elements of all ranks.")
      .value("SUM", ReduceOp::sum, "Their sum; integers wrap around.")
      .value("MIN", ReduceOp::min, "The smallest; NaN if there is one.")
      .value("MAX", ReduceOp::max, "The largest; NaN if there is one.");

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
