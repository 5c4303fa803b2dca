// cobre._native: one function per area, each in a file of its own.
#define COBRE_IMPORTS_NUMPY
#include "numpy_api.hpp"

namespace cobre::bind {
void bind_comm(nanobind::module_& m);
void bind_mpi(nanobind::module_& m);
void bind_tcp(nanobind::module_& m);
#if defined(__linux__)
void bind_shm(nanobind::module_& m);
#endif
}  // namespace cobre::bind

NB_MODULE(_native, m) {
  if (PyArray_ImportNumPyAPI() < 0) throw nanobind::python_error();
  // A communicator that a program keeps until the end is no leak worth a page of warnings.
  nanobind::set_leak_warnings(false);
  m.doc() = "The native core of cobre. Its functions are for the other modules of the package.";
  cobre::bind::bind_comm(m);
  cobre::bind::bind_mpi(m);
  cobre::bind::bind_tcp(m);
#if defined(__linux__)
  cobre::bind::bind_shm(m);
#endif
}
