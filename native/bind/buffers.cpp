#include "buffers.hpp"

#include <functional>

namespace nb = nanobind;

namespace cobre::bind {
namespace {

nb::object as_array(nb::handle object, const char* operation, const char* name) {
  if (PyArray_Check(object.ptr())) return nb::borrow(object);
  if (PyObject_CheckBuffer(object.ptr()) == 0) {
    PyErr_Format(PyExc_TypeError,
                 "%s: %s must be a NumPy array or another object with the buffer protocol, not %s", operation,
                 name, Py_TYPE(object.ptr())->tp_name);
    throw nb::python_error();
  }
  const nb::object view = nb::steal(PyMemoryView_FromObject(object.ptr()));
  if (!view.is_valid()) throw nb::python_error();
  nb::object array = nb::steal(PyArray_FROM_O(view.ptr()));
  if (!array.is_valid()) throw nb::python_error();
  return array;
}

}  // namespace

Buffer::Buffer(nb::handle object, Access access, const char* operation, const char* name)
    : array_(as_array(object, operation, name)), operation_(operation), name_(name) {
  if (!PyArray_IS_C_CONTIGUOUS(array())) {
    PyErr_Format(PyExc_ValueError,
                 "%s: %s is not C-contiguous; pass an array made by numpy.ascontiguousarray", operation,
                 name);
    throw nb::python_error();
  }
  if (access == Access::write && !PyArray_ISWRITEABLE(array())) {
    PyErr_Format(PyExc_ValueError, "%s: %s is read-only, and the result must be written to it", operation,
                 name);
    throw nb::python_error();
  }
  if (PyDataType_REFCHK(dtype())) {
    PyErr_Format(PyExc_TypeError,
                 "%s: %s has dtype %S, whose elements are Python objects; pointers mean nothing to "
                 "another process, so use a fixed-size dtype",
                 operation, name, dtype());
    throw nb::python_error();
  }
  if (PyArray_NDIM(array()) != 1) {
    npy_intp size = PyArray_SIZE(array());
    PyArray_Dims flat{&size, 1};
    array_ = nb::steal(PyArray_Newshape(array(), &flat, NPY_CORDER));  // a view: it is contiguous
    if (!array_.is_valid()) throw nb::python_error();
  }
}

comm::Element Buffer::element() const {
  using comm::Element;
  const bool native_order = PyArray_ISNOTSWAPPED(array());
  const auto size = itemsize();
  if (native_order) switch (dtype()->kind) {
      case 'i':
        if (size == 1) return Element::int8;
        if (size == 2) return Element::int16;
        if (size == 4) return Element::int32;
        if (size == 8) return Element::int64;
        break;
      case 'u':
        if (size == 1) return Element::uint8;
        if (size == 2) return Element::uint16;
        if (size == 4) return Element::uint32;
        if (size == 8) return Element::uint64;
        break;
      case 'f':
        if (size == 2) return Element::float16;
        if (size == 4) return Element::float32;
        if (size == 8) return Element::float64;
        if (size == sizeof(long double)) return Element::longdouble;
        break;
      default:
        break;
    }
  PyErr_Format(PyExc_TypeError,
               "%s: %s has dtype %S, which cannot be reduced; integers and floating-point numbers "
               "in native byte order can (for others try .view or .astype)",
               operation_, name_, dtype());
  throw nb::python_error();
}

void Buffer::require_dtype_of(const Buffer& other) const {
  if (dtype() == other.dtype() || PyArray_EquivTypes(dtype(), other.dtype())) return;
  PyErr_Format(PyExc_TypeError, "%s: %s has dtype %S but %s has dtype %S", operation_, name_, dtype(),
               other.name_, other.dtype());
  throw nb::python_error();
}

bool overlap(const std::byte* a, std::int64_t a_bytes, const std::byte* b, std::int64_t b_bytes) noexcept {
  const std::less<const std::byte*> before;  // defined for pointers into different arrays, unlike <
  return a_bytes > 0 && b_bytes > 0 && before(a, b + b_bytes) && before(b, a + a_bytes);
}

comm::ReduceOp as_reduce_op(nb::handle op, const char* operation) {
  // By type, since nanobind would also take a member's number.
  static const PyObject* const type = nb::type<comm::ReduceOp>().ptr();
  if (reinterpret_cast<const PyObject*>(Py_TYPE(op.ptr())) == type) return nb::cast<comm::ReduceOp>(op);
  PyErr_Format(PyExc_TypeError, "%s: op must be ReduceOp.SUM, ReduceOp.MIN or ReduceOp.MAX, not %R",
               operation, op.ptr());
  throw nb::python_error();
}

}  // namespace cobre::bind
