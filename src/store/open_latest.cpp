// Choosing between a sealed file and its `.prev`.
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "src/base/error.hpp"
#include "src/store/lease.hpp"
#include "src/store/sealed_file.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {
namespace fs = std::filesystem;

fs::path set_aside(const fs::path& path, const fs::path& from) {
  const fs::path& damaged = from.empty() ? path : from;
  for (int n = 1;; ++n) {
    const fs::path aside(fmt::format("{}.damaged-{}", path.string(), n));
    std::error_code error;
    const bool taken = fs::exists(fs::symlink_status(aside, error));
    if (taken && n < 10'000) continue;
    if (rename_file(damaged, aside) == 0) return aside;
    throw Error(ExitCode::io, fmt::format("cannot rename the damaged {} to {}: {}",
                                          damaged.string(), aside.string(), std::strerror(errno)));
  }
}

namespace {

void require_known_format(const fs::path& path, const SealedRead& read) {
  if (read.state == SealState::newer) {
    throw Error(ExitCode::data, fmt::format("{}: {}", path.string(), read.problem));
  }
}

}  // namespace

std::optional<LatestSealed> open_latest(const fs::path& path, OpenAs as) {
  SealedRead current = read_sealed(path);
  require_known_format(path, current);
  if (current.state == SealState::good) {
    return LatestSealed{std::move(current.image), path, {}, current.term};
  }

  const fs::path previous = previous_path(path);
  SealedRead older = read_sealed(previous);
  require_known_format(previous, older);
  if (older.state == SealState::good) {
    LatestSealed latest{std::move(older.image), previous, {}, older.term};
    if (current.state == SealState::missing) {
      latest.warnings.push_back(
          fmt::format("{} is missing; continuing from {}", path.string(), previous.string()));
      return latest;
    }
    std::string where = path.string();
    if (as == OpenAs::owner) where += fmt::format(" (set aside as {})", set_aside(path).string());
    latest.warnings.push_back(fmt::format("{} is damaged: {}; continuing from {}", where,
                                          current.problem, previous.string()));
    return latest;
  }
  if (current.state == SealState::missing && older.state == SealState::missing) return std::nullopt;
  const auto describe = [](const fs::path& file, const SealedRead& read) {
    return fmt::format("{} ({})", file.string(), read.problem);
  };
  throw Error(ExitCode::data,
              fmt::format("no good copy of a result: {} and {} (move both files away to start "
                          "again)",
                          describe(path, current), describe(previous, older)));
}

void remove_sealed(const fs::path& path, const Lease* lease) {
  const auto remove = [&path] {
    // Removes the older file first: if it were left alone, it would count as the latest.
    for (const fs::path& file : {previous_path(path), path}) {
      if (syscalls().unlink(file.c_str()) != 0 && errno != ENOENT) fail_io("remove", file, errno);
    }
  };
  if (lease != nullptr) {
    lease->publish_if_held(remove);
  } else {
    remove();
  }
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    throw Error(ExitCode::io,
                fmt::format("cannot create the folder {}: {}", path.string(), error.message()));
  }
}

}  // namespace rewise
