#include "src/store/state_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <set>
#include <system_error>

#include "src/base/error.hpp"
#include "src/base/temporary.hpp"
#include "src/store/lease.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kTokenDigits = 16;

// The term in the name of a checkpoint's part; 0 of any other file.
std::uint64_t term_of(std::string_view name, std::string_view checkpoint) {
  if (!name.starts_with(checkpoint)) return 0;
  name.remove_prefix(checkpoint.size());
  if (!name.starts_with('.')) return 0;
  std::uint64_t term = 0;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), term);
  name.remove_prefix(static_cast<std::size_t>(end - name.data()));
  const bool part = error == std::errc{} && name.size() > kTokenDigits + 2 && name.front() == '-' &&
                    name[kTokenDigits + 1] == '.';
  return part ? term : 0;
}

std::uint64_t part_bytes(const StateRecord& state, const StatePart& part) {
  return state.rows * (part.last - part.first);
}

}  // namespace

fs::path next_parts(const fs::path& checkpoint, const Lease& lease) {
  return fs::path(
      fmt::format("{}.{}-{}", fs::absolute(checkpoint).string(), lease.term(), random_token()));
}

void write_part_file(const std::string& path, std::span<const std::uint8_t> bytes) {
  write_new_sealed(path, std::as_bytes(bytes));
}

bool sees_parts(const fs::path& folder, const StateRecord& state) {
  return std::all_of(state.parts.begin(), state.parts.end(), [&](const StatePart& part) {
    std::error_code error;
    return fs::file_size(folder / part.file, error) == sizeof(SealBlock) + part_bytes(state, part);
  });
}

void join_parts(const fs::path& folder, StateRecord& state) {
  std::vector<std::uint8_t> all(state.rows * state.row_bytes);
  for (const StatePart& part : state.parts) {
    const fs::path path = folder / part.file;
    const SealedRead read = read_sealed(path);
    if (read.state != SealState::good) {
      throw Error(ExitCode::data, fmt::format("{}: {}", path.string(), read.problem));
    }
    if (read.image.size() != part_bytes(state, part)) {
      throw Error(ExitCode::data,
                  fmt::format("{}: {} bytes where the checkpoint says {}", path.string(),
                              read.image.size(), part_bytes(state, part)));
    }
    const std::uint64_t each = part.last - part.first;
    for (std::uint64_t row = 0; row < state.rows && each > 0; ++row) {
      std::memcpy(all.data() + row * state.row_bytes + part.first, read.image.data() + row * each,
                  each);
    }
  }
  all.insert(all.end(), state.bytes.begin(), state.bytes.end());
  state.bytes = std::move(all);
  state.parts.clear();
  state.rows = state.row_bytes = 0;
}

void remove_unnamed_parts(const fs::path& checkpoint, const Lease& lease) {
  const fs::path folder = folder_of(checkpoint);
  const std::string own = checkpoint.filename().string();
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const std::uint64_t term = term_of(name, own);
    if (term > 0 && term <= lease.term()) found.push_back(entry.path());
  }
  if (error) {
    throw Error(ExitCode::io, fmt::format("cannot list {}: {}", folder.string(), error.message()));
  }
  if (found.empty()) return;
  lease.prove([&] {
    std::set<std::string> named;
    for (const fs::path& path : {checkpoint, previous_path(checkpoint)}) {
      const SealedRead read = read_sealed(path);
      if (read.state == SealState::missing) continue;
      if (read.state != SealState::good) return;  // it may still be asked for
      for (const StatePart& part : decode_task(read.image).state.parts) named.insert(part.file);
    }
    for (const fs::path& path : found) {
      if (named.contains(path.filename().string())) continue;
      if (syscalls().unlink(path.c_str()) != 0 && errno != ENOENT) {
        throw Error(ExitCode::io,
                    fmt::format("cannot remove {}: {}", path.string(), std::strerror(errno)));
      }
    }
  });
}

}  // namespace rewise
