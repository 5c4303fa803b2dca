// Raising the exceptions of cobre.errors from native code.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

namespace cobre::bind {

/// Raise `cobre.errors.<name>(*args)`. Imported only now: the error path may be slow.
template <class... Args>
[[noreturn]] void raise_cobre_error(const char* name, Args&&... args) {
  namespace nb = nanobind;
  const nb::object type = nb::module_::import_("cobre.errors").attr(name);
  const nb::object error = type(std::forward<Args>(args)...);
  PyErr_SetObject(type.ptr(), error.ptr());
  throw nb::python_error();
}

}  // namespace cobre::bind
