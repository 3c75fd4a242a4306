#include "src/store/task_pack.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "src/base/count_text.hpp"
#include "src/base/error.hpp"
#include "src/base/h5.hpp"
#include "src/store/input_file.hpp"
#include "src/store/lease.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {
namespace fs = std::filesystem;
namespace {

constexpr const char* kPackFormat = "rewise task pack";
constexpr std::int64_t kVersion = 1;
constexpr std::string_view kEnding = ".pack.h5";

using Bytes = std::vector<std::byte>;

// The number N of a name "GROUP.N.pack.h5"; 0 for any other name.
std::size_t number_of(std::string name) {
  if (!name.ends_with(kEnding) || name.starts_with(".")) return 0;
  name.resize(name.size() - kEnding.size());
  const std::size_t dot = name.rfind('.');
  if (dot == 0 || dot == name.npos) return 0;
  std::size_t number = 0;
  const auto [end, error] =
      std::from_chars(name.data() + dot + 1, name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? number : 0;
}

fs::path pack_path(const fs::path& folder, std::size_t number) {
  return folder / fmt::format("tasks.{}{}", number, kEnding);
}

fs::path pack_lease(const fs::path& folder) { return folder / "tasks.pack.lease"; }

// The position of a task's sealed bytes in a pack.
struct ByteRange {
  std::uint64_t offset = 0, size = 0;
};

// The contents of one version of a pack.
struct Index {
  FileIdentity identity;
  SealState state = SealState::missing;
  std::string problem;
  std::uint64_t term = 0;
  std::map<std::string, ByteRange> tasks;  // by id
};

// The index of a good pack, from its HDF5 structure.
void list_places(std::span<const std::byte> image, Index& index) {
  const h5::File file = h5::File::open(image);
  const h5::Group root = file.root();
  if (!root.has_attribute("format") || root.text("format") != kPackFormat) {
    throw Error(ExitCode::data, "not a pack of tasks");
  }
  const auto version = root.get<std::int64_t>("format_version");
  if (version < 1 || version > kVersion) {
    throw Error(ExitCode::data,
                fmt::format("pack format {}, but this program reads up to {}", version, kVersion));
  }
  for (const auto& id : root.names()) {
    const auto [offset, size] = root.place_of_bytes(id);
    if (offset > image.size() || size > image.size() - offset) {
      throw Error(ExitCode::data, fmt::format("{} extends beyond the end of the file", id));
    }
    index.tasks[id] = {kSealBytes + offset, size};
  }
}

// The index of a damaged pack: finds every good sealed task by scanning the bytes.
void salvage_places(std::span<const std::byte> bytes, Index& index) {
  const SealBlock any = seal_block({});
  const std::byte* at = bytes.data() + std::min(kSealBytes, bytes.size());
  const std::byte* const end = bytes.data() + bytes.size();
  while ((at = std::search(at, end, any.begin(), any.begin() + 8)) != end) {
    const std::span<const std::byte> rest(at, end);
    std::uint64_t length = 0;
    if (rest.size() >= kSealBytes) std::memcpy(&length, rest.data() + 16, sizeof length);
    ++at;
    if (rest.size() < kSealBytes || length > rest.size() - kSealBytes) continue;
    const auto sealed = rest.first(kSealBytes + static_cast<std::size_t>(length));
    SealedRead read = parse_sealed(sealed);
    if (read.state != SealState::good) continue;
    try {
      const std::string id = task_id(decode_task(read.image).configuration, kExtendableKeys);
      index.tasks[id] = {static_cast<std::uint64_t>(sealed.data() - bytes.data()), sealed.size()};
    } catch (const Error&) {
      continue;  // sealed, but not a task
    }
    at = sealed.data() + sealed.size();
  }
}

// The bytes of a pack and their index; nothing if there is no such file. O(size).
std::optional<std::pair<Bytes, Index>> read_pack(const fs::path& path) {
  const InputFile file(path);
  if (!file.is_there()) return std::nullopt;
  Index index;
  index.identity = file.identity();
  Bytes bytes(static_cast<std::size_t>(index.identity.size));
  bytes.resize(file.read(bytes));
  SealBlock block{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), kSealBytes), block.begin());
  const auto image = std::span(bytes).subspan(std::min(bytes.size(), kSealBytes));
  const SealedRead seal = check_seal(block, bytes.size(), image);
  index.state = seal.state;
  index.problem = seal.problem;
  index.term = seal.term;
  if (seal.state == SealState::newer) {
    throw Error(ExitCode::data, fmt::format("{}: {}", path.string(), seal.problem));
  }
  if (seal.state == SealState::good) {
    try {
      list_places(image, index);
    } catch (const Error& error) {
      throw Error(error.exit_code(), fmt::format("{}: {}", path.string(), error.what()));
    }
  } else {
    salvage_places(bytes, index);
  }
  return std::pair(std::move(bytes), std::move(index));
}

// The message for a damaged pack: "PACK is damaged: ..".
std::string problem_of(const fs::path& path, const Index& index) {
  return fmt::format("{} is damaged: {}", path.string(), index.problem);
}

// A pack: a file that holds many small task files. Packs with higher numbers come first: their copy
// of a task is the newer one.
struct PackFile {
  std::size_t number = 0;
  fs::path path;
  std::shared_ptr<const Index> index;
};

// Cache of the packs of all folders. A pack is read again when its file has been replaced.
class PackCache {
 public:
  // The packs as last read, and those that have been written since.
  std::vector<PackFile> cached(const fs::path& folder) {
    std::unique_lock lock(mutex_);
    const auto entry = folders_.find(folder.string());
    if (entry == folders_.end() || !is_latest(entry->second)) {
      lock.unlock();
      return refreshed(folder);
    }
    std::vector<PackFile>& packs = entry->second;
    const auto next = [&] {
      return pack_path(folder, packs.empty() ? 1 : packs.front().number + 1);
    };
    while (file_exists(next()) && add(packs, next())) {
    }
    return packs;
  }

  // Lists the folder and reads the packs that have changed.
  std::vector<PackFile> refreshed(const fs::path& folder) {
    const std::lock_guard lock(mutex_);
    std::vector<PackFile> old = std::exchange(folders_[folder.string()], {}), packs;
    for (const fs::path& path : pack_files(folder)) {
      const InputFile file(path);
      const auto same = std::ranges::find(old, path, &PackFile::path);
      if (same != old.end() && file.is_there() &&
          file.identity().same_content(same->index->identity)) {
        packs.push_back(*same);
      } else {
        add(packs, path);
      }
    }
    return folders_[folder.string()] = std::move(packs);
  }

  // The paths of all packs of a folder, the highest number first.
  static std::vector<fs::path> pack_files(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      if (number_of(entry->path().filename().string()) > 0) files.push_back(entry->path());
    }
    if (error && error != std::errc::no_such_file_or_directory) {
      fail_io("list", folder, error.value());
    }
    std::ranges::sort(files, std::greater<>(), [](const fs::path& path) {
      return std::pair(number_of(path.filename().string()), path);
    });
    return files;
  }

 private:
  // Whether the last pack is still the file that was read; not if the folder has been replaced.
  static bool is_latest(const std::vector<PackFile>& packs) {
    struct stat status;
    return packs.empty() || (::stat(packs.front().path.c_str(), &status) == 0 &&
                             packs.front().index->identity.same_content(FileIdentity(status)));
  }
  static bool add(std::vector<PackFile>& packs, const fs::path& path) {
    auto read = read_pack(path);
    if (!read) return false;
    const PackFile pack{number_of(path.filename().string()), path,
                        std::make_shared<const Index>(std::move(read->second))};
    packs.insert(std::ranges::find_if(
                     packs, [&](const PackFile& other) { return other.number <= pack.number; }),
                 pack);
    return true;
  }

  std::mutex mutex_;
  std::map<std::string, std::vector<PackFile>> folders_;
};
PackCache& pack_cache() {
  static PackCache all;
  return all;
}

// The sealed bytes of a task from a pack; nothing if the pack has been replaced meanwhile.
std::optional<Bytes> read_range(const PackFile& pack, const ByteRange& range) {
  const InputFile file(pack.path);
  if (!file.is_there() || !file.identity().same_content(pack.index->identity)) return std::nullopt;
  file.go_to(range.offset);
  Bytes bytes(static_cast<std::size_t>(range.size));
  bytes.resize(file.read(bytes));
  return bytes;
}

// The folder is listed again if a pack was replaced meanwhile, or if a damaged one, which may have
// contained the task, could have been repaired.
std::optional<LoadedTask> load_packed(const fs::path& folder, const std::string& id) {
  constexpr int kTries = 10;
  std::string damaged;
  for (int k = 0; k < kTries; ++k) {
    bool replaced = false;
    damaged.clear();
    for (const PackFile& pack :
         k > 0 ? pack_cache().refreshed(folder) : pack_cache().cached(folder)) {
      const Index& index = *pack.index;
      if (index.state != SealState::good && damaged.empty()) {
        damaged = fmt::format("{} ({})", pack.path.string(), index.problem);
      }
      const auto range = index.tasks.find(id);
      if (range == index.tasks.end()) continue;
      const std::string source = fmt::format("{}:/{}", pack.path.string(), id);
      const auto bytes = read_range(pack, range->second);
      replaced = !bytes;
      if (replaced) {
        damaged = fmt::format("{} (replaced while it was read)", source);
        break;
      }
      const SealedRead read = parse_sealed(*bytes);
      if (read.state != SealState::good) {
        damaged = fmt::format("{} ({})", source, read.problem);
        continue;
      }
      try {
        return LoadedTask{decode_task(read.image), source, {}, read.term};
      } catch (const Error& error) {
        throw Error(error.exit_code(), fmt::format("{}: {}", source, error.what()));
      }
    }
    if (damaged.empty()) return std::nullopt;
    if (k > 0 && !replaced) break;
  }
  throw Error(ExitCode::data,
              fmt::format("no good copy of task {}: it may have been in {}", id, damaged));
}

}  // namespace

std::optional<LoadedTask> load_finished(const TaskPaths& paths, OpenAs as) {
  std::optional<LoadedTask> own;
  std::string problem;
  try {
    own = load_task(paths.finished, as, LoadParts::skip);
  } catch (const Error& error) {
    if (!paths.of_study || error.exit_code() != ExitCode::data) throw;
    problem = error.what();
  }
  if (!paths.of_study || (own && own->source == paths.finished)) return own;
  std::optional<LoadedTask> packed;
  try {
    packed = load_packed(folder_of(paths.finished), paths.finished.stem().string());
  } catch (const Error& error) {
    if (!own || error.exit_code() != ExitCode::data) throw;
  }
  if (!packed) {
    if (!problem.empty()) throw Error(ExitCode::data, problem);
    return own;
  }
  // The `.prev` of a task file may remain if its owner was killed while removing the file.
  if (own && own->task.bond_sum.time() > packed->task.bond_sum.time()) return own;
  if (!problem.empty()) {
    std::string what = problem;
    if (as == OpenAs::owner && file_exists(paths.finished)) {
      what += fmt::format(" (set aside as {})", set_aside(paths.finished).string());
    }
    packed->warnings.push_back(
        fmt::format("{}; continuing from {}", what, packed->source.string()));
  }
  return packed;
}

bool has_finished(const TaskPaths& paths) {
  if (file_exists(paths.finished)) return true;
  if (!paths.of_study) return false;
  const std::string id = paths.finished.stem().string();
  return std::ranges::any_of(pack_cache().cached(folder_of(paths.finished)),
                             [&](const PackFile& pack) { return pack.index->tasks.contains(id); });
}

namespace {

using Tasks = std::map<std::string, std::span<const std::byte>>;  // sealed files by id

Bytes encode_pack(const Tasks& tasks) {
  const h5::File file = h5::File::create();
  h5::Group root = file.root();
  root.set_text("format", kPackFormat);
  root.set("format_version", kVersion);
  for (const auto& [id, bytes] : tasks) {
    root.write_apart(id, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  }
  return file.image();
}

Tasks tasks_of(std::span<const std::byte> pack, const Index& index) {
  Tasks tasks;
  for (const auto& [id, range] : index.tasks) {
    tasks[id] =
        pack.subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size));
  }
  return tasks;
}

// A task file to be packed.
struct UnpackedTask {
  std::string id;
  fs::path path;
  FileIdentity identity;
  Bytes bytes;
};

bool is_task_id(const std::string& name) {
  return name.size() == 16 && name.find_first_not_of("0123456789abcdef") == name.npos;
}

// The task files of the folder that are no larger than `most` bytes, without their bytes.
std::vector<UnpackedTask> unpacked_tasks(const fs::path& folder, std::uint64_t most) {
  std::vector<UnpackedTask> tasks;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    struct stat status;
    if (path.extension() == ".h5" && is_task_id(path.stem().string()) &&
        ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        static_cast<std::uint64_t>(status.st_size) <= most) {
      tasks.push_back({path.stem().string(), path, FileIdentity(status), {}});
    }
  }
  if (error) fail_io("list", folder, error.value());
  std::ranges::sort(tasks, {}, &UnpackedTask::id);
  return tasks;
}

// False if the file has changed or is damaged.
bool read_own(UnpackedTask& own) {
  const InputFile file(own.path);
  if (!file.is_there() || file.identity() != own.identity) return false;
  own.bytes.resize(static_cast<std::size_t>(own.identity.size));
  return file.read(own.bytes) == own.bytes.size() &&
         parse_sealed(own.bytes).state == SealState::good;
}

// Whether the file equals its copy in the newest pack that has one.
bool is_packed(const UnpackedTask& own, const std::vector<PackFile>& all) {
  for (const PackFile& pack : all) {
    const auto range = pack.index->tasks.find(own.id);
    if (range == pack.index->tasks.end()) continue;
    return read_range(pack, range->second) == own.bytes;
  }
  return false;
}

void remove_file(const fs::path& path) {
  if (syscalls().unlink(path.c_str()) != 0 && errno != ENOENT) fail_io("remove", path, errno);
}

// Writes a pack, if any of these tasks is not packed yet, and removes their own files.
void write_pack(const fs::path& folder, const std::vector<UnpackedTask>& own, const Lease& lease) {
  const std::vector<PackFile> all = pack_cache().cached(folder);
  Tasks tasks;
  for (const UnpackedTask& one : own) {
    if (!is_packed(one, all)) tasks[one.id] = one.bytes;
  }
  if (!tasks.empty()) {
    const std::size_t number = all.empty() ? 1 : all.front().number + 1;
    write_new_sealed(pack_path(folder, number), encode_pack(tasks), &lease);
  }
  lease.publish_if_locked([&] {
    for (const UnpackedTask& one : own) {
      struct stat status;
      if (::lstat(one.path.c_str(), &status) != 0 || FileIdentity(status) != one.identity) continue;
      // Removes the older version first: if it were left alone, it would count as the latest.
      remove_file(previous_path(one.path));
      remove_file(one.path);
    }
  });
}

}  // namespace

std::size_t pack_tasks(const fs::path& folder, const PackLimits& limits) {
  std::vector<UnpackedTask> own = unpacked_tasks(folder, limits.largest_task);
  if (own.size() < limits.min_tasks && !file_exists(pack_lease(folder))) return 0;
  LeaseClaim claim = claim_lease(pack_lease(folder));
  if (!claim.lease || !claim.lease->publish_if_locked([] {})) return 0;
  if (own.size() < limits.min_tasks) return 0;  // the lease of a dead process is removed
  std::size_t packed = 0;
  std::vector<UnpackedTask> next;
  std::uint64_t bytes = 0;
  const auto flush = [&] {
    if (!next.empty()) write_pack(folder, next, *claim.lease);
    packed += next.size();
    next.clear();
    bytes = 0;
  };
  for (UnpackedTask& one : own) {
    if (!read_own(one)) continue;
    if (next.size() >= limits.max_tasks || bytes + one.bytes.size() > limits.full) flush();
    bytes += one.bytes.size();
    next.push_back(std::move(one));
  }
  flush();
  return packed;
}

std::vector<StoredTask> stored_tasks(const fs::path& folder, std::vector<std::string>& problems) {
  std::map<std::string, StoredTask> found;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    std::string name = path.filename().string();
    if (name.starts_with(".") || !name.ends_with(".h5") || name.ends_with(".part.h5") ||
        number_of(name) > 0) {
      continue;
    }
    std::error_code none;
    const auto bytes = fs::file_size(path, none);
    name.resize(name.size() - 3);
    found[name] = {name, path, false, none ? 0 : bytes};
  }
  if (error) fail_io("list", folder, error.value());
  for (const PackFile& pack : pack_cache().refreshed(folder)) {
    if (pack.index->state != SealState::good) {
      problems.push_back(problem_of(pack.path, *pack.index));
    }
    for (const auto& [id, range] : pack.index->tasks) {
      found.try_emplace(id, StoredTask{id, pack.path, true, range.size});
    }
  }
  std::vector<StoredTask> tasks;
  for (auto& [id, task] : found) tasks.push_back(std::move(task));
  return tasks;
}

std::optional<LoadedTask> load_stored(const StoredTask& task) {
  return load_finished({folder_of(task.file) / (task.id + ".h5"), {}, {}, task.packed},
                       OpenAs::reader);
}

namespace {

// The lease for packing. Throws Error(held) if another process packs, which takes seconds.
Lease packing_lease(const fs::path& folder) {
  LeaseClaim claim = claim_lease(pack_lease(folder));
  if (claim.lease) return std::move(*claim.lease);
  throw Error(ExitCode::held,
              fmt::format("{} is held by {}", pack_lease(folder).string(), claim.holder));
}

}  // namespace

std::vector<std::string> repair_packs(const fs::path& folder) {
  std::vector<std::string> messages;
  for (const fs::path& path : PackCache::pack_files(folder)) {
    auto now = read_pack(path);
    if (!now || now->second.state == SealState::good) continue;
    Lease lease = packing_lease(folder);
    now = read_pack(path);
    if (!now || now->second.state == SealState::good) continue;  // repaired meanwhile
    const Tasks tasks = tasks_of(now->first, now->second);
    write_sealed(path, encode_pack(tasks), &lease);
    // `.prev` is now the damaged file that was replaced.
    const fs::path aside = set_aside(path, previous_path(path));
    messages.push_back(fmt::format(
        "{}; it is written again with {}, and the old file is kept as {}",
        problem_of(path, now->second), count_text(tasks.size(), "undamaged task"), aside.string()));
  }
  return messages;
}

std::uint64_t remove_tasks(const fs::path& folder, std::span<const std::string> ids) {
  const std::set<std::string> unwanted(ids.begin(), ids.end());
  std::uint64_t freed = 0;
  const auto remove = [&](const fs::path& path) {
    struct stat status;
    if (::lstat(path.c_str(), &status) != 0) return;
    remove_file(path);
    freed += static_cast<std::uint64_t>(status.st_size);
  };
  for (const std::string& id : unwanted) {
    for (const char* ending : {".h5", ".part.h5"}) {
      const fs::path path = folder / (id + ending);
      remove(previous_path(path));
      remove(path);
    }
  }
  std::set<std::string> drop = unwanted;  // and tasks of which a newer pack has a copy
  for (const fs::path& path : PackCache::pack_files(folder)) {
    const auto before = read_pack(path);
    if (!before || before->second.state != SealState::good) continue;
    Tasks tasks = tasks_of(before->first, before->second);
    const std::size_t count = tasks.size();
    std::erase_if(tasks, [&](const auto& task) { return !drop.insert(task.first).second; });
    if (tasks.size() == count) continue;
    Lease lease = packing_lease(folder);
    lease.raise_term_above(before->second.term);
    if (tasks.empty()) {
      remove_sealed(path, &lease);
      freed += before->first.size();
      continue;
    }
    const Bytes image = encode_pack(tasks);
    write_sealed(path, image, &lease);
    remove_file(previous_path(path));
    freed += before->first.size() - std::min(before->first.size(), image.size() + kSealBytes);
  }
  return freed;
}

}  // namespace rewise
