#include "library.hpp"

#include <stdexcept>

#include <dlfcn.h>

namespace cobre::mpi {
namespace {

class Finder {
 public:
  /// In the module and in what it was linked with, or else among all that is loaded.
  explicit Finder(const std::string& module) : handle_(dlopen(module.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {}
  ~Finder() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  Finder(const Finder&) = delete;
  Finder& operator=(const Finder&) = delete;

  template <class Function>
  void find(Function& function, const char* name) const {
    void* found = handle_ != nullptr ? dlsym(handle_, name) : nullptr;
    if (found == nullptr) found = dlsym(RTLD_DEFAULT, name);
    if (found == nullptr) throw std::runtime_error(std::string("the MPI library has no ") + name);
    function = reinterpret_cast<Function>(found);
  }

 private:
  void* handle_;
};

}  // namespace

Library Library::find(const std::string& module) {
  const Finder finder(module);
  Library library;
  finder.find(library.Barrier, "MPI_Barrier");
  finder.find(library.Bcast, "MPI_Bcast");
  finder.find(library.Allgather, "MPI_Allgather");
  finder.find(library.Allgatherv, "MPI_Allgatherv");
  finder.find(library.Allreduce, "MPI_Allreduce");
  finder.find(library.Alltoallv, "MPI_Alltoallv");
  finder.find(library.Abort, "MPI_Abort");
  finder.find(library.Finalized, "MPI_Finalized");
  finder.find(library.Error_class, "MPI_Error_class");
  finder.find(library.Error_string, "MPI_Error_string");
  return library;
}

}  // namespace cobre::mpi
