// The MPI library that mpi4py has loaded, called directly.
//
// A collective of 32 bytes takes about a microsecond, and so does the way into it through Python. MPI's
// libraries differ in what a handle is, an int or a pointer; both travel in a register or in a slot of
// their own, so one declaration serves all of them.
#pragma once

#include <cstdint>
#include <string>

namespace cobre::mpi {

using Handle = std::uintptr_t;

struct Library {
  int (*Barrier)(Handle comm);
  int (*Bcast)(void* buf, int count, Handle type, int root, Handle comm);
  int (*Allgather)(const void* send, int count, Handle type, void* recv, int recv_count, Handle recv_type,
                   Handle comm);
  int (*Allgatherv)(const void* send, int count, Handle type, void* recv, const int* counts,
                    const int* displs, Handle recv_type, Handle comm);
  int (*Allreduce)(const void* send, void* recv, int count, Handle type, Handle op, Handle comm);
  int (*Alltoallv)(const void* send, const int* counts, const int* displs, Handle type, void* recv,
                   const int* recv_counts, const int* recv_displs, Handle recv_type, Handle comm);
  int (*Abort)(Handle comm, int code);
  int (*Finalized)(int* flag);
  int (*Error_class)(int code, int* error_class);
  int (*Error_string)(int code, char* text, int* length);

  /// Find the functions; `module` is the file of mpi4py.MPI. Throws std::runtime_error.
  static Library find(const std::string& module);
};

}  // namespace cobre::mpi
