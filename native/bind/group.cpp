#include "group.hpp"

namespace cobre::bind {

std::vector<DefineCollectives>& documented_classes() {
  static std::vector<DefineCollectives> classes;
  return classes;
}

bool python_interrupts() {
  const nanobind::gil_scoped_acquire held;
  return PyErr_CheckSignals() != 0;
}

std::string readable(const std::string& words) {
  namespace nb = nanobind;
  const auto length = static_cast<Py_ssize_t>(words.size());
  const auto text = nb::steal<nb::str>(PyUnicode_DecodeUTF8(words.data(), length, "replace"));
  if (!text.is_valid()) throw nb::python_error();
  return nb::cast<std::string>(text);
}

std::uint32_t element_code(char kind, bool native_order, std::int64_t itemsize) {
  return static_cast<std::uint32_t>(kind) << 24 | (native_order ? 0 : comm::kForeignByteOrder) |
         (static_cast<std::uint32_t>(itemsize) & (comm::kForeignByteOrder - 1));
}

std::uint32_t element_code(const Buffer& buffer) {
  return element_code(buffer.dtype()->kind, PyArray_ISNBO(buffer.dtype()->byteorder), buffer.itemsize());
}

std::uint64_t digest(const std::vector<comm::Part>& parts) {
  std::uint64_t value = 0xcbf29ce484222325u;
  for (const auto& part : parts) value = (value ^ part.bytes) * 0x100000001b3u;
  return value;
}

}  // namespace cobre::bind
