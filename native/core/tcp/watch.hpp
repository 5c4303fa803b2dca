// Rank 0's ear: a thread that hears all control connections, also while rank 0 itself is busy elsewhere.
//
// Without it a death would go unnoticed until rank 0's own next collective. It shares nothing with the
// thread that runs collectives, whose word reaches it by a connection like everybody else's.
#pragma once

#include <thread>
#include <vector>

#include "control.hpp"
#include "judge.hpp"

namespace cobre::tcp {

class Watch {
 public:
  /// `connections[r]` is rank r's control connection; for rank 0, one end of a pair.
  Watch(std::vector<Control>&& connections, Names names, double timeout_s);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void run();
  void hear(std::uint32_t rank);
  void hear(std::uint32_t rank, const ControlFrame& frame);
  void tell_all(const Header& header, std::string_view payload = {});

  std::vector<Control> connections_;
  Judge judge_;
  Pair stop_ = connected_pair();
  bool told_ = false;
  std::thread thread_;
};

}  // namespace cobre::tcp
