// Another process: is it still there, and can its memory be read?
#pragma once

#include <cstddef>
#include <cstdint>

namespace cobre::shm {

/// Watches one process through a pidfd, which, unlike a pid, never comes to mean another process.
class ProcessWatch {
 public:
  ProcessWatch() = default;
  ~ProcessWatch();
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;

  /// Begin to watch. If the process is gone already, `died` says so from the start.
  void watch(std::int32_t pid) noexcept;
  /// Watch the process that `other` watches.
  void watch(const ProcessWatch& other) noexcept;
  bool watching() const noexcept { return pid_ != 0; }
  bool died() const noexcept;

 private:
  std::int32_t pid_ = 0;
  int fd_ = -1;
};

/// Copy from another process's memory without its help. False if the kernel refuses.
bool read_memory(std::int32_t pid, const void* from, void* to, std::size_t bytes) noexcept;
/// Copy to another process's memory without its help. False if the kernel refuses.
bool write_memory(std::int32_t pid, const void* from, void* to, std::size_t bytes) noexcept;

}  // namespace cobre::shm
