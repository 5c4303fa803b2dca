// cobre.comm.tcp's native part: one rank's end of a group over connected sockets.
#include "group.hpp"

#include <utility>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "core/tcp/group.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bind {
namespace {

/// (rank, descriptor) of connected sockets, which belong to the group from then on.
using Descriptors = std::vector<std::pair<std::uint32_t, int>>;

std::vector<tcp::Connection> owned(const Descriptors& descriptors) {
  std::vector<tcp::Connection> connections;
  for (const auto& [rank, fd] : descriptors) connections.push_back({rank, tcp::Descriptor(fd)});
  return connections;
}

class TcpGroup : public GroupBinding<TcpGroup> {
 public:
  TcpGroup(std::uint32_t rank, const std::vector<std::string>& names, const Descriptors& control,
           const Descriptors& data, double timeout_s, std::uint32_t ranks_here, bool relayed, Turn& turn)
      : GroupBinding(rank, static_cast<std::uint32_t>(names.size()), turn),
        group_(rank, names, owned(control), owned(data),
               {std::chrono::duration<double>(timeout_s), wait_hooks(), ranks_here, relayed}) {}

  void connect_directly(const Descriptors& descriptors) { group_.connect_directly(owned(descriptors)); }

  void leave() {
    const nb::gil_scoped_release released;  // a thread ends, which may take a moment
    group_.leave();
  }

 private:
  friend class GroupBinding<TcpGroup>;
  tcp::Group group_;
};

}  // namespace

void bind_tcp(nb::module_& m) {
  nb::class_<TcpGroup> type(m, "TcpGroup", "One rank's end of a group over connected sockets.");
  type.def(nb::init<std::uint32_t, const std::vector<std::string>&, const Descriptors&, const Descriptors&,
                    double, std::uint32_t, bool, Turn&>(),
           "rank"_a, "names"_a, "control"_a, "data"_a, "timeout_s"_a, "ranks_here"_a, "relayed"_a, "turn"_a,
           nb::keep_alive<1, 9>(),
           "Take over connected sockets, given as (rank, descriptor); `names` says who the ranks are.")
      .def("connect_directly", &TcpGroup::connect_directly, "connections"_a,
           "From now on use these connections to the other ranks; all ranks do this at the same time.")
      .def("leave", &TcpGroup::leave, "Say goodbye; peers that still need this rank fail at once.");
  bind_collectives(type);
}

}  // namespace cobre::bind
