// What a collective may touch: a caller's buffer, looked at once and checked before a byte moves.
#pragma once

#include "numpy_api.hpp"

#include <cstddef>
#include <cstdint>

#include "core/comm/reduce.hpp"

namespace cobre::bind {

enum class Access : std::uint8_t { read, write };

/// A caller's buffer as a flat run of equal elements. Keeps the array alive; copies nothing.
class Buffer {
 public:
  /// `operation` and `name` are for the words of an error: "allreduce: recv is read-only".
  Buffer(nanobind::handle object, Access access, const char* operation, const char* name);

  std::byte* data() const noexcept { return static_cast<std::byte*>(PyArray_DATA(array())); }
  std::int64_t count() const noexcept { return PyArray_SIZE(array()); }
  std::int64_t itemsize() const noexcept { return PyArray_ITEMSIZE(array()); }
  std::int64_t nbytes() const noexcept { return count() * itemsize(); }
  PyArray_Descr* dtype() const noexcept { return PyArray_DESCR(array()); }
  const char* name() const noexcept { return name_; }

  /// The buffer as a one-dimensional array, for the Python side of a backend.
  nanobind::object flat() const { return array_; }

  /// Raises TypeError if the elements cannot be reduced.
  comm::Element element() const;

  /// Raises TypeError unless both hold the same kind of elements.
  void require_dtype_of(const Buffer& other) const;

 private:
  PyArrayObject* array() const noexcept { return reinterpret_cast<PyArrayObject*>(array_.ptr()); }

  nanobind::object array_;
  const char* operation_;
  const char* name_;
};

/// Whether the two runs of bytes have a byte in common.
bool overlap(const std::byte* a, std::int64_t a_bytes, const std::byte* b, std::int64_t b_bytes) noexcept;

/// Raises TypeError unless `op` is a ReduceOp.
comm::ReduceOp as_reduce_op(nanobind::handle op, const char* operation);

}  // namespace cobre::bind
