#include "socket.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cobre::tcp {
namespace {

#if defined(MSG_NOSIGNAL)
constexpr int kSendFlags = MSG_NOSIGNAL | MSG_DONTWAIT;  // a lost peer is an error, not a signal
#else
constexpr int kSendFlags = MSG_DONTWAIT;
#endif

Moved outcome(ssize_t moved, bool zero_means_end) noexcept {
  if (moved > 0) return {Transfer::moved, static_cast<std::size_t>(moved)};
  if (moved == 0) return {zero_means_end ? Transfer::ended : Transfer::blocked};
  const bool again = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOBUFS;
  return {again ? Transfer::blocked : Transfer::ended};
}

msghdr message(std::span<const iovec> pieces) noexcept {
  msghdr header{};
  header.msg_iov = const_cast<iovec*>(pieces.data());
  header.msg_iovlen = static_cast<decltype(header.msg_iovlen)>(pieces.size());
  return header;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.fd_;
    other.fd_ = -1;
  }
  return *this;
}

void Descriptor::close() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Pair connected_pair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  Pair pair{Descriptor(fds[0]), Descriptor(fds[1])};
  for (const int fd : fds) {
    never_block(fd);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  return pair;
}

void never_block(int fd) noexcept {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
#if defined(SO_NOSIGPIPE)
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof(yes));
#endif
}

// One piece, such as a lone header, goes without the vector: that saves the kernel a few percent of a
// barrier.
Moved send_from(int fd, std::span<const iovec> pieces) noexcept {
  if (pieces.size() == 1) return outcome(send(fd, pieces[0].iov_base, pieces[0].iov_len, kSendFlags), false);
  const auto header = message(pieces);
  return outcome(sendmsg(fd, &header, kSendFlags), false);
}

Moved receive_into(int fd, std::span<const iovec> pieces) noexcept {
  if (pieces.size() == 1) return outcome(recv(fd, pieces[0].iov_base, pieces[0].iov_len, MSG_DONTWAIT), true);
  auto header = message(pieces);
  return outcome(recvmsg(fd, &header, MSG_DONTWAIT), true);
}

}  // namespace cobre::tcp
