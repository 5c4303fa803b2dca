#include "arguments.hpp"

#include <string>

#include "core/comm/parts.hpp"
#include "raise.hpp"

namespace nb = nanobind;
using cobre::comm::PartFault;

namespace cobre::bind {
namespace {

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

void require_parts_fit(const std::vector<std::int64_t>& counts, const std::vector<std::int64_t>& displs,
                       std::int64_t capacity) {
  const PartFault fault = comm::find_fault(counts, displs, capacity);
  if (fault.kind == PartFault::Kind::none) return;
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

std::int64_t checked_root(nb::handle object, std::int64_t size) {
  if (PyIndex_Check(object.ptr()) == 0) {
    PyErr_Format(PyExc_TypeError, "broadcast: root must be a whole number, not %s",
                 Py_TYPE(object.ptr())->tp_name);
    throw nb::python_error();
  }
  const std::int64_t root = PyNumber_AsSsize_t(object.ptr(), nullptr);
  if (root == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  if (root < 0 || root >= size) raise_cobre_error("InvalidRoot", root, size);
  return root;
}

[[noreturn]] void raise_value_error(const char* message) {
  PyErr_SetString(PyExc_ValueError, message);
  throw nb::python_error();
}

}  // namespace

void raise_size(const char* operation, std::int64_t expected, std::int64_t actual,
                const std::string& detail) {
  raise_cobre_error("InvalidBufferSize", operation, expected, actual, detail.c_str());
}

GatherArguments::GatherArguments(nb::handle send_object, nb::handle recv_object, nb::handle counts_object,
                                 nb::handle displs_object, std::int64_t rank, std::int64_t size)
    : send(send_object, Access::read, "allgatherv", "send"),
      recv(recv_object, Access::write, "allgatherv", "recv") {
  recv.require_dtype_of(send);
  counts = per_rank(counts_object, size, "counts");
  displs =
      displs_object.is_none() ? comm::packed_displacements(counts) : per_rank(displs_object, size, "displs");
  const auto own = counts[static_cast<std::size_t>(rank)];
  if (send.count() != own) raise_size("allgatherv", own, send.count(), "send differs from counts[rank]");
  require_parts_fit(counts, displs, recv.count());
  const auto* own_place = recv.data() + displs[static_cast<std::size_t>(rank)] * recv.itemsize();
  if (send.data() != own_place && overlap(send.data(), send.nbytes(), recv.data(), recv.nbytes())) {
    raise_value_error(
        "allgatherv: send overlaps recv; in place, send must be exactly this rank's part of recv");
  }
}

ReduceArguments::ReduceArguments(nb::handle send_object, nb::handle recv_object, nb::handle op_object)
    : op(as_reduce_op(op_object, "allreduce")),
      send(send_object, Access::read, "allreduce", "send"),
      recv(recv_object, Access::write, "allreduce", "recv"),
      element(send.element()) {
  recv.require_dtype_of(send);
  if (send.count() == 0) raise_size("allreduce", 1, 0, "send has no elements to reduce");
  if (send.count() != recv.count())
    raise_size("allreduce", send.count(), recv.count(), "recv differs from send");
  if (send.data() != recv.data() && overlap(send.data(), send.nbytes(), recv.data(), recv.nbytes())) {
    raise_value_error("allreduce: send and recv overlap; in place, they must be the same buffer");
  }
}

BroadcastArguments::BroadcastArguments(nb::handle buf_object, nb::handle root_object, std::int64_t rank,
                                       std::int64_t size)
    : root(checked_root(root_object, size)),
      // The root's buffer is only read.
      buf(buf_object, rank == root ? Access::read : Access::write, "broadcast", "buf") {}

}  // namespace cobre::bind
