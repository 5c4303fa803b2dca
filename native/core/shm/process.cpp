#include "process.hpp"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace cobre::shm {

ProcessWatch::~ProcessWatch() {
  if (fd_ >= 0) close(fd_);
}

void ProcessWatch::watch(std::int32_t pid) noexcept {
  pid_ = pid;
  fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));  // closed on exec by itself
}

void ProcessWatch::watch(const ProcessWatch& other) noexcept {
  pid_ = other.pid_;
  fd_ = other.fd_ < 0 ? -1 : fcntl(other.fd_, F_DUPFD_CLOEXEC, 0);
}

bool ProcessWatch::died() const noexcept {
  if (fd_ >= 0) {
    pollfd entry{fd_, POLLIN, 0};
    return poll(&entry, 1, 0) > 0;  // readable from the moment the process ends, even as a zombie
  }
  // No pidfd: it was gone when we looked, or the kernel is older than 5.3 or short of descriptors.
  return pid_ != 0 && kill(pid_, 0) != 0 && errno == ESRCH;
}

namespace {

/// One of the two calls, again and again until all is copied.
template <class Transfer>
bool copy_all(Transfer&& transfer, char* here, char* there, std::size_t bytes) noexcept {
  while (bytes > 0) {
    const iovec local{here, bytes}, remote{there, bytes};
    const ssize_t copied = transfer(&local, &remote);
    if (copied <= 0) return false;
    here += copied;
    there += copied;
    bytes -= static_cast<std::size_t>(copied);
  }
  return true;
}

char* bytes_at(const void* address) noexcept {
  return static_cast<char*>(const_cast<void*>(address));  // iovec knows no const
}

}  // namespace

bool read_memory(std::int32_t pid, const void* from, void* to, std::size_t bytes) noexcept {
  const auto transfer = [pid](const iovec* local, const iovec* remote) {
    return process_vm_readv(pid, local, 1, remote, 1, 0);
  };
  return copy_all(transfer, bytes_at(to), bytes_at(from), bytes);
}

bool write_memory(std::int32_t pid, const void* from, void* to, std::size_t bytes) noexcept {
  const auto transfer = [pid](const iovec* local, const iovec* remote) {
    return process_vm_writev(pid, local, 1, remote, 1, 0);
  };
  return copy_all(transfer, bytes_at(from), bytes_at(to), bytes);
}

}  // namespace cobre::shm
