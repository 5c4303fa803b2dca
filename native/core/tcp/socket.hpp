// The few socket calls that everything else is made of. Connections never block here.
#pragma once

#include <cstddef>
#include <span>

#include <sys/uio.h>

namespace cobre::tcp {

/// A descriptor that is closed with its owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }
  int get() const noexcept { return fd_; }
  bool open() const noexcept { return fd_ >= 0; }
  void close() noexcept;

 private:
  int fd_ = -1;
};

/// Two ends of a connection inside this process.
struct Pair {
  Descriptor first, second;
};
Pair connected_pair();

void never_block(int fd) noexcept;

enum class Transfer { moved, blocked, ended };

/// How far a transfer went. `ended`: the peer is gone, in whatever way.
struct Moved {
  Transfer outcome;
  std::size_t bytes = 0;
};

Moved send_from(int fd, std::span<const iovec> pieces) noexcept;
Moved receive_into(int fd, std::span<const iovec> pieces) noexcept;

}  // namespace cobre::tcp
