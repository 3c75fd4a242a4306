// The error of engines that need more memory than is free.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "src/base/error.hpp"
#include "src/cuda/devices.hpp"

namespace rewise {

inline double gib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1u << 30); }

// Throws Error(device) if `need` bytes exceed the `free` bytes of a device or machine, `where`.
inline void require_memory(std::string_view where, std::string_view what, std::uint64_t need,
                           std::uint64_t free, std::string_view advice) {
  if (need <= free) return;
  throw Error(ExitCode::device, fmt::format("{}: {} need {:.1f} GiB, but only {:.1f} GiB are free "
                                            "({})",
                                            where, what, gib(need), gib(free), advice));
}

// Bytes of a device that launches of kernels need in addition to all buffers.
inline constexpr std::uint64_t kDriverBytes = std::uint64_t{64} << 20;

// The same for a CUDA device, which becomes current. Returns its free bytes.
inline std::uint64_t require_device_memory(int device, std::string_view what, std::uint64_t need,
                                           std::string_view advice) {
  const std::uint64_t free = free_memory(device);
  require_memory(fmt::format("cuda:{}", device), what, need, free, advice);
  return free;
}

}  // namespace rewise
