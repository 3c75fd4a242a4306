#include "src/store/state_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <iterator>
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

// The term in the name of a part of a task file; 0 for any other file.
std::uint64_t term_of(std::string_view name, std::string_view task) {
  if (!name.starts_with(task)) return 0;
  name.remove_prefix(task.size());
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

fs::path next_parts(const fs::path& file, const Lease& lease) {
  return fs::path(
      fmt::format("{}.{}-{}", fs::absolute(file).string(), lease.term(), random_token()));
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

void check_parts(const fs::path& folder, const StateRecord& state) {
  for (const StatePart& part : state.parts) {
    const fs::path path = folder / part.file;
    std::uint64_t length = 0;
    const SealedRead read = check_sealed(path, length);
    if (read.state != SealState::good) {
      throw Error(ExitCode::data, fmt::format("{}: {}", path.string(), read.problem));
    }
    if (length != part_bytes(state, part)) {
      throw Error(ExitCode::data, fmt::format("{}: {} bytes, but its task file states {}",
                                              path.string(), length, part_bytes(state, part)));
    }
  }
}

PartsReader::PartsReader(fs::path folder, const StateRecord& state)
    : rows_(state.rows), row_bytes_(state.row_bytes) {
  for (const StatePart& part : state.parts) parts_.push_back({part, folder / part.file, nullptr});
  for (Part& part : parts_) {
    part.file = std::make_unique<InputFile>(part.path);
    if (part.file->is_there()) continue;
    throw Error(ExitCode::data, fmt::format("{}: there is no such file", part.path.string()));
  }
}

void PartsReader::read(std::uint64_t first, std::span<std::uint8_t> out) {
  while (!out.empty()) {
    const std::uint64_t row = first / row_bytes_, byte = first % row_bytes_;
    const auto part = std::find_if(parts_.begin(), parts_.end(),
                                   [&](const Part& p) { return byte < p.where.last; });
    const std::uint64_t each = part->where.last - part->where.first;
    const std::size_t count = std::min<std::uint64_t>(out.size(), part->where.last - byte);
    part->file->go_to(sizeof(SealBlock) + row * each + byte - part->where.first);
    if (part->file->read(std::as_writable_bytes(out.first(count))) < count) {
      throw Error(ExitCode::data,
                  fmt::format("{}: became shorter while it was read", part->path.string()));
    }
    out = out.subspan(count);
    first += count;
  }
}

void join_parts(const fs::path& folder, StateRecord& state) {
  check_parts(folder, state);
  PartsReader spins(folder, state);
  std::vector<std::uint8_t> all(spins.size() + state.bytes.size());
  spins.read(0, std::span(all).first(spins.size()));
  std::copy(state.bytes.begin(), state.bytes.end(), all.end() - std::ssize(state.bytes));
  state.bytes = std::move(all);
  state.parts.clear();
  state.rows = state.row_bytes = 0;
}

void remove_unnamed_parts(const fs::path& file, const Lease& lease) {
  const fs::path folder = folder_of(file);
  const std::string own = file.filename().string();
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
  lease.publish_if_held([&] {
    std::set<std::string> named;
    for (const fs::path& path : {file, previous_path(file)}) {
      const SealedRead read = read_sealed(path);
      if (read.state == SealState::missing) continue;
      if (read.state != SealState::good) return;  // a later run may still need the parts
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
