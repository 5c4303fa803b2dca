// cobre.comm.mpi's native part: one rank's end of an MPI communicator that mpi4py has made.
#include "group.hpp"

#include <cstdio>
#include <memory>
#include <stdexcept>

#include <unistd.h>

#include <nanobind/stl/array.h>
#include <nanobind/stl/vector.h>

#include "core/mpi/group.hpp"
#include "core/mpi/watchdog.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bind {
namespace {

mpi::Library library_in(const std::string& module) {
  try {
    return mpi::Library::find(module);
  } catch (const std::runtime_error& problem) {
    raise_cobre_error("BackendNotAvailable", "mpi", problem.what(), "use an MPI that mpi4py supports");
  }
}

class MpiGroup : public GroupBinding<MpiGroup> {
 public:
  MpiGroup(std::uint32_t rank, std::uint32_t size, const std::string& module, mpi::Handle comm,
           mpi::Handle byte, const std::vector<mpi::Handle>& types, const std::array<mpi::Handle, 3>& ops,
           double timeout_s, bool checked, std::size_t most_at_once, Turn& turn)
      : GroupBinding(rank, size, turn),
        group_(rank, size, library_in(module), {comm, byte, types, ops},
               {std::chrono::duration<double>(timeout_s), checked, most_at_once}) {}

  bool finalized() const { return group_.finalized(); }
  void fence() { meet(comm::Operation::fence, "fence"); }

 private:
  friend class GroupBinding<MpiGroup>;
  // Always given away: MPI's calls block without ever asking.
  static constexpr std::size_t kReleaseGilBytes = 0;
  mpi::Group group_;
};

/// Looks at the clock while mpi4py starts MPI and makes communicators, some of it without giving the GIL
/// away.
class MpiJoinWatch {
 public:
  explicit MpiJoinWatch(double timeout_s)
      : dog_(std::make_unique<mpi::Watchdog>(
            std::chrono::duration<double>(timeout_s), [timeout_s](comm::Operation) {
              std::fprintf(stderr,
                           "cobre: pid %d has been joining its group for %s s; a rank has not come, so the "
                           "job is ended (COBRE_MPI_TIMEOUT_SECS)\n",
                           static_cast<int>(getpid()), comm::seconds_in_words(timeout_s).c_str());
              std::fflush(stderr);
              _exit(1);  // MPI cannot abort before it has started; the launcher does so in its place
            })) {
    dog_->begin(comm::Operation::join);
  }
  void stop() { dog_.reset(); }

 private:
  std::unique_ptr<mpi::Watchdog> dog_;
};

}  // namespace

void bind_mpi(nb::module_& m) {
  nb::class_<MpiJoinWatch>(m, "MpiJoinWatch",
                           "Ends this process when joining takes longer, unless it is stopped.")
      .def(nb::init<double>(), "timeout_s"_a)
      .def("stop", &MpiJoinWatch::stop, "The group is complete, or has failed to be.");
  nb::class_<MpiGroup> type(m, "MpiGroup", "One rank's end of an MPI communicator.");
  type.def(nb::init<std::uint32_t, std::uint32_t, const std::string&, mpi::Handle, mpi::Handle,
                    const std::vector<mpi::Handle>&, const std::array<mpi::Handle, 3>&, double, bool,
                    std::size_t, Turn&>(),
           "rank"_a, "size"_a, "module"_a, "comm"_a, "byte"_a, "types"_a, "ops"_a, "timeout_s"_a, "checked"_a,
           "most_at_once"_a, "turn"_a, nb::keep_alive<1, 12>(),
           "Use MPI handles as integers; `types` by element type, 0 where MPI has none; `ops` are sum, min, "
           "max.")
      .def("fence", &MpiGroup::fence, "SharedRegion.fence, as far as it is waiting.")
      .def_prop_ro("finalized", &MpiGroup::finalized, "Whether MPI has been finalised.");
  bind_collectives(type);
}

}  // namespace cobre::bind
