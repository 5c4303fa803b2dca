#include "process.hpp"

#include <cerrno>
#include <csignal>

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

bool ProcessWatch::died() const noexcept {
  if (fd_ >= 0) {
    pollfd entry{fd_, POLLIN, 0};
    return poll(&entry, 1, 0) > 0;  // readable from the moment the process ends, even as a zombie
  }
  // No pidfd: it was gone when we looked, or the kernel is older than 5.3 or short of descriptors.
  return pid_ != 0 && kill(pid_, 0) != 0 && errno == ESRCH;
}

bool read_memory(std::int32_t pid, const void* from, void* to, std::size_t bytes) noexcept {
  auto* local = static_cast<char*>(to);
  auto* remote = static_cast<char*>(const_cast<void*>(from));  // iovec knows no const
  while (bytes > 0) {
    iovec here{local, bytes};
    iovec there{remote, bytes};
    const ssize_t copied = process_vm_readv(pid, &here, 1, &there, 1, 0);
    if (copied <= 0) return false;
    local += copied;
    remote += copied;
    bytes -= static_cast<std::size_t>(copied);
  }
  return true;
}

}  // namespace cobre::shm
