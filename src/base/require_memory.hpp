// The error of engines that need more memory than is free.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "src/base/error.hpp"

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

}  // namespace rewise
