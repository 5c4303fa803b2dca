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

/// Raise the exception that `cobre.comm.mpi` has for an error class of the MPI library, whose numbers differ.
template <class... Args>
[[noreturn]] void raise_mpi_error(Args&&... args) {
  namespace nb = nanobind;
  const nb::object error =
      nb::module_::import_("cobre.comm.mpi").attr("error_of")(std::forward<Args>(args)...);
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nb::python_error();
}

}  // namespace cobre::bind
