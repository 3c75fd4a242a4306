#include "src/store/task_pack.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "src/base/count_text.hpp"
#include "src/base/error.hpp"
#include "src/base/h5.hpp"
#include "src/base/temporary.hpp"
#include "src/store/input_file.hpp"
#include "src/store/lease.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {
namespace fs = std::filesystem;
namespace {

constexpr const char* kPackFormat = "rewise task pack";
constexpr std::int64_t kVersion = 1;
constexpr std::string_view kEnding = ".pack.h5";
// Keys that may differ between a stored task and one extended by more measurements (task.hpp).
const std::vector<std::string> kMayGrow{"sampling.measure"};

using Bytes = std::vector<std::byte>;

fs::path pack_path(const fs::path& folder, const std::string& group, std::size_t number) {
  return folder / fmt::format("{}.{}{}", group, number, kEnding);
}

// Group and number from a name such as "GROUP.3.pack.h5"; number 0 for any other name.
std::pair<std::string, std::size_t> split_name(std::string name) {
  if (!name.ends_with(kEnding) || name.starts_with(".")) return {"", 0};
  name.resize(name.size() - kEnding.size());
  const std::size_t dot = name.rfind('.');
  if (dot == 0 || dot == name.npos) return {"", 0};
  std::size_t number = 0;
  const auto [end, error] =
      std::from_chars(name.data() + dot + 1, name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return {"", 0};
  return {name.substr(0, dot), number};
}

// The position of a task's sealed bytes in a pack.
struct ByteRange {
  std::uint64_t offset = 0, size = 0;
};

// The contents of one version of a pack.
struct Index {
  FileIdentity identity;
  SealState state = SealState::missing;
  std::string problem;
  bool misplaced = false;  // good, but named after another group: treated as damaged and empty
  std::uint64_t term = 0;
  std::map<std::string, ByteRange> tasks;  // by id
};

// Detects a pack that is named after another group than that of its tasks. All tasks of a pack
// belong to one group, so the first one is sufficient.
void check_group(const fs::path& path, std::span<const std::byte> image, Index& index) {
  if (index.tasks.empty()) return;
  const ByteRange first = index.tasks.begin()->second;
  const SealedRead task = parse_sealed(image.subspan(
      static_cast<std::size_t>(first.offset) - kSealBytes, static_cast<std::size_t>(first.size)));
  if (task.state != SealState::good) return;
  std::string name = path.filename().string(), group;
  if (name.ends_with(".prev")) name.resize(name.size() - 5);
  try {
    group = archive_name(decode_task(task.image).configuration);
  } catch (const Error&) {
    return;  // the error is reported when the task is read
  }
  if (group.empty() || split_name(name).first == group) return;
  index.state = SealState::damaged;
  index.misplaced = true;
  index.problem = fmt::format("misplaced: its tasks belong to {}", group);
  index.tasks.clear();
}

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
      const std::string id = task_id(decode_task(read.image).configuration, kMayGrow);
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
      check_group(path, image, index);
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
  return fmt::format("{} is {}{}", path.string(),
                     index.misplaced ? "" : "damaged: ", index.problem);
}

// The index of a pack just written, without reading it; nothing if the file has been replaced.
std::shared_ptr<const Index> index_of_written(const fs::path& path,
                                              std::span<const std::byte> image) {
  const InputFile file(path);
  Index index;
  SealBlock block{};
  if (!file.is_there() || file.read(block) != kSealBytes) return nullptr;
  index.identity = file.identity();
  const auto size = static_cast<std::size_t>(index.identity.size);
  const SealedRead seal = check_seal(block, size, image);
  if (size != kSealBytes + image.size() || seal.state != SealState::good) return nullptr;
  index.state = seal.state;
  index.term = seal.term;
  list_places(image, index);
  return std::make_shared<const Index>(std::move(index));
}

// Cache of the packs of all folders. A pack is read again when its file has been replaced.
class Packs {
 public:
  // Highest number first. The folder is listed once; later packs are found by counting upwards.
  std::vector<std::pair<fs::path, std::shared_ptr<const Index>>> of(const fs::path& folder,
                                                                    const std::string& group) {
    const std::lock_guard lock(mutex_);
    std::set<std::size_t>& numbers = numbers_of(folder)[group];
    std::vector<std::pair<fs::path, std::shared_ptr<const Index>>> found;
    std::size_t next = numbers.empty() ? 1 : *numbers.rbegin() + 1;
    for (; file_exists(pack_path(folder, group, next)); ++next) numbers.insert(next);
    for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
      const fs::path path = pack_path(folder, group, *number);
      const auto index = look_at(path);
      if (index != nullptr) found.emplace_back(path, index);
      // After a kill or damage on a file system without links: use the previous version.
      if (index != nullptr && index->state == SealState::good) continue;
      if (const auto before = look_at(previous_path(path)); before != nullptr) {
        found.emplace_back(previous_path(path), before);
      }
    }
    return found;
  }

  // Stores the index of a pack that this process has written, so that it need not be read.
  void learn(const fs::path& path, std::shared_ptr<const Index> index) {
    const std::lock_guard lock(mutex_);
    indices_[path.string()] = std::move(index);
  }

 private:
  std::map<std::string, std::set<std::size_t>>& numbers_of(const fs::path& folder) {
    const auto [known, is_new] = numbers_.try_emplace(folder.string());
    if (!is_new) return known->second;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      const auto [group, number] = split_name(entry->path().filename().string());
      if (number > 0) known->second[group].insert(number);
    }
    if (error && error != std::errc::no_such_file_or_directory) {
      numbers_.erase(known);
      fail_io("list", folder, error.value());
    }
    return known->second;
  }

  std::shared_ptr<const Index> look_at(const fs::path& path) {
    struct stat status;
    while (::stat(path.c_str(), &status) != 0) {
      if (errno == EINTR) continue;
      if (errno != ENOENT) fail_io("look at", path, errno);
      indices_.erase(path.string());
      return nullptr;
    }
    std::shared_ptr<const Index>& known = indices_[path.string()];
    if (known == nullptr || known->identity != FileIdentity(status)) {
      known.reset();
      if (auto read = read_pack(path)) {
        known = std::make_shared<const Index>(std::move(read->second));
      }
    }
    return known;
  }

  std::mutex mutex_;
  std::map<std::string, std::map<std::string, std::set<std::size_t>>> numbers_;  // folder, group
  std::map<std::string, std::shared_ptr<const Index>> indices_;                  // by path
};
Packs& packs() {
  static Packs all;
  return all;
}

// The sealed bytes of a task from a pack; nothing if the pack has been replaced meanwhile.
std::optional<SealedRead> read_range(const fs::path& path, const Index& index,
                                     const ByteRange& range) {
  const InputFile file(path);
  if (!file.is_there() || file.identity() != index.identity) return std::nullopt;
  file.go_to(range.offset);
  Bytes bytes(static_cast<std::size_t>(range.size));
  bytes.resize(file.read(bytes));
  return parse_sealed(bytes);
}

std::string packed_source(const fs::path& pack, const std::string& id) {
  return fmt::format("{}:/{}", pack.string(), id);
}

std::optional<LoadedTask> load_packed(const TaskPaths& paths) {
  const fs::path folder = folder_of(paths.finished);
  const std::string id = paths.finished.stem().string();
  std::string damaged;  // a damaged pack that may have contained the task
  for (int attempt = 0; attempt < 10; ++attempt) {
    damaged.clear();
    bool changed = false;
    for (const auto& [pack, index] : packs().of(folder, paths.group)) {
      if (index->state != SealState::good && damaged.empty()) {
        damaged = fmt::format("{} ({})", pack.string(), index->problem);
      }
      const auto range = index->tasks.find(id);
      if (range == index->tasks.end()) continue;
      const auto read = read_range(pack, *index, range->second);
      if (!read) {
        changed = true;
        break;
      }
      const std::string source = packed_source(pack, id);
      if (read->state != SealState::good) {
        damaged = fmt::format("{} ({})", source, read->problem);
        continue;
      }
      try {
        return LoadedTask{decode_task(read->image), source, {}, read->term};
      } catch (const Error& error) {
        throw Error(error.exit_code(), fmt::format("{}: {}", source, error.what()));
      }
    }
    if (changed) continue;  // replaced meanwhile
    if (damaged.empty()) return std::nullopt;
    break;
  }
  throw Error(ExitCode::data,
              fmt::format("no good copy of task {}: it may have been in {}", id, damaged));
}

}  // namespace

std::string archive_name(const TextMap& configuration) {
  if (configuration.contains("graph.hash")) return "graph_" + text_at(configuration, "graph.hash");
  if (!configuration.contains("lattice.size")) return "";
  return fmt::format("{}_p{}_{}", text_at(configuration, "lattice.size"),
                     text_at(configuration, "lattice.p"), text_at(configuration, "lattice.rule"));
}

std::optional<LoadedTask> load_finished(const TaskPaths& paths, OpenAs as) {
  std::optional<LoadedTask> own;
  std::string problem;
  try {
    own = load_task(paths.finished, as, Spins::apart);
  } catch (const Error& error) {
    if (paths.group.empty() || error.exit_code() != ExitCode::data) throw;
    problem = error.what();
  }
  if (paths.group.empty() || (own && own->source == paths.finished)) return own;
  std::optional<LoadedTask> packed;
  try {
    packed = load_packed(paths);
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
  if (paths.group.empty()) return false;
  const std::string id = paths.finished.stem().string();
  for (const auto& [pack, index] : packs().of(folder_of(paths.finished), paths.group)) {
    if (index->tasks.contains(id)) return true;
  }
  return false;
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
  Bytes bytes;  // set once the file was read and is good
};

// Nothing if there is no file, or if it should not be packed.
std::optional<UnpackedTask> look_at_own(const fs::path& folder, const std::string& id,
                                        const PackLimits& limits) {
  UnpackedTask own{id, folder / (id + ".h5"), {}, {}};
  struct stat status;
  if (::lstat(own.path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) > limits.largest_task) {
    return std::nullopt;
  }
  own.identity = FileIdentity(status);
  return own;
}

// False if the file has changed or is damaged.
bool read_own(UnpackedTask& own) {
  const InputFile file(own.path);
  if (!file.is_there() || file.identity() != own.identity) return false;
  own.bytes.resize(static_cast<std::size_t>(own.identity.size));
  return file.read(own.bytes) == own.bytes.size() &&
         parse_sealed(own.bytes).state == SealState::good;
}

void remove_file(const fs::path& path) {
  if (syscalls().unlink(path.c_str()) != 0 && errno != ENOENT) fail_io("remove", path, errno);
}

// Removes a file if it is the one that was packed. It is renamed first, because another file may
// have taken the name while this process was suspended.
void remove_own(const UnpackedTask& one) {
  const fs::path aside = temporary_path(one.path);
  if (rename_file(one.path, aside) != 0) fail_io("remove", one.path, errno);
  struct stat status {};
  const bool there = ::lstat(aside.c_str(), &status) == 0;
  if (there && !one.identity.same_content(FileIdentity(status)) &&
      rename_file_new(aside, one.path) == 0) {
    return;
  }
  remove_file(aside);
}

// Adds tasks to a pack and removes their own files.
void grow_pack(const fs::path& path, std::vector<UnpackedTask> own, Lease& lease) {
  std::erase_if(own, [](UnpackedTask& one) { return !read_own(one); });
  if (own.empty()) return;
  const auto before = read_pack(path);
  if (before && before->second.state != SealState::good) return;  // damaged meanwhile
  Tasks tasks;
  if (before) tasks = tasks_of(before->first, before->second);
  bool changed = false;
  for (const UnpackedTask& one : own) {
    std::span<const std::byte>& there = tasks[one.id];
    changed =
        changed || !std::equal(there.begin(), there.end(), one.bytes.begin(), one.bytes.end());
    there = one.bytes;
  }
  if (before) lease.outgrow(before->second.term);
  if (changed) {
    const Bytes image = encode_pack(tasks);
    write_sealed(path, image, &lease);
    if (auto index = index_of_written(path, image)) packs().learn(path, std::move(index));
  }
  lease.prove_locked([&] {
    for (const UnpackedTask& one : own) {
      struct stat status;
      if (::lstat(one.path.c_str(), &status) != 0 || FileIdentity(status) != one.identity) continue;
      // Removes the older version first: if it were left alone, it would count as the latest.
      remove_file(previous_path(one.path));
      remove_own(one);
    }
  });
}

// The pack for each task: the one that already contains it, else the last one, else a new one.
std::map<std::size_t, std::vector<UnpackedTask>> distribute(const fs::path& folder,
                                                            const std::string& group,
                                                            std::vector<UnpackedTask> own,
                                                            const PackLimits& limits) {
  std::map<std::size_t, std::vector<UnpackedTask>> plan;
  std::map<std::string, std::size_t> held;
  std::size_t last = 0, tasks = 0;
  std::uint64_t bytes = 0;  // size of the last pack
  bool open = false;        // the last pack may still grow
  for (const auto& [path, index] : packs().of(folder, group)) {
    const std::size_t number = split_name(path.filename().string()).second;
    if (number > last) {
      last = number;
      open = index->state == SealState::good;
      tasks = index->tasks.size();
      bytes = static_cast<std::uint64_t>(index->identity.size);
    }
    if (number == 0 || index->state != SealState::good) continue;
    for (const auto& [id, range] : index->tasks) held.try_emplace(id, number);
  }
  for (UnpackedTask& one : own) {
    const auto there = held.find(one.id);
    if (there != held.end()) {
      plan[there->second].push_back(std::move(one));
      continue;
    }
    const auto size = static_cast<std::uint64_t>(one.identity.size);
    if (!open || tasks >= limits.most_tasks || bytes + size > limits.full) {
      ++last;
      open = true;
      tasks = 0;
      bytes = 0;
    }
    ++tasks;
    bytes += size;
    plan[last].push_back(std::move(one));
  }
  return plan;
}

fs::path group_lease(const fs::path& folder, const std::string& group) {
  return folder / (group + ".pack.lease");
}

// Removes files left by a process that was killed while packing or could not remove a file.
bool has_leftovers(const fs::path& folder, const std::string& group) {
  if (file_exists(group_lease(folder, group))) return true;
  for (const auto& [path, index] : packs().of(folder, group)) {
    if (index->state == SealState::good && file_exists(previous_path(path))) return true;
  }
  return false;
}

}  // namespace

std::size_t pack_tasks(const fs::path& folder, const std::string& group,
                       std::span<const std::string> ids, const PackLimits& limits) {
  std::vector<UnpackedTask> own;
  for (const std::string& id : std::set<std::string>(ids.begin(), ids.end())) {
    if (auto one = look_at_own(folder, id, limits)) own.push_back(std::move(*one));
  }
  if (own.size() < limits.least) {
    if (!has_leftovers(folder, group)) return 0;
    own.clear();
  }
  LeaseClaim claim = claim_lease(group_lease(folder, group));
  if (!claim.lease || !claim.lease->prove_locked([] {})) return 0;
  std::size_t packed = 0;
  for (auto& [number, some] : distribute(folder, group, std::move(own), limits)) {
    packed += some.size();
    grow_pack(pack_path(folder, group, number), std::move(some), *claim.lease);
  }
  for (const auto& [path, index] : packs().of(folder, group)) {
    if (index->state != SealState::good || !file_exists(previous_path(path))) continue;
    claim.lease->prove_locked([&pack = path] { remove_file(previous_path(pack)); });
  }
  return packed;
}

std::vector<StoredTask> stored_tasks(const fs::path& folder, std::vector<std::string>& problems) {
  std::map<std::string, StoredTask> found;
  std::set<std::string> groups;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    std::string name = path.filename().string();
    if (name.starts_with(".")) continue;
    if (const auto [group, number] = split_name(name); number > 0) {
      groups.insert(group);
    } else if (name.ends_with(".h5") && !name.ends_with(".part.h5")) {
      std::error_code none;
      const auto bytes = fs::file_size(path, none);
      name.resize(name.size() - 3);
      found[name] = {name, path, false, none ? 0 : bytes};
    }
  }
  if (error) fail_io("list", folder, error.value());
  for (const std::string& group : groups) {
    for (const auto& [pack, index] : packs().of(folder, group)) {
      if (index->state != SealState::good) {
        problems.push_back(problem_of(pack, *index));
      }
      for (const auto& [id, range] : index->tasks) {
        found.try_emplace(id, StoredTask{id, pack, true, range.size});
      }
    }
  }
  std::vector<StoredTask> tasks;
  for (auto& [id, task] : found) tasks.push_back(std::move(task));
  return tasks;
}

std::optional<LoadedTask> load_stored(const StoredTask& task) {
  const std::string group =
      task.packed ? split_name(task.file.filename().string()).first : std::string();
  return load_finished({folder_of(task.file) / (task.id + ".h5"), {}, {}, group}, OpenAs::reader);
}

namespace {

// All packs of a folder.
std::vector<std::pair<std::string, fs::path>> pack_files(const fs::path& folder) {
  std::vector<std::pair<std::string, fs::path>> files;  // group, path
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto [group, number] = split_name(entry->path().filename().string());
    if (number > 0) files.emplace_back(group, entry->path());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    fail_io("list", folder, error.value());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Acquires the lease of a group, waiting for another packer, which finishes within seconds.
Lease wait_for_lease(const fs::path& path) {
  for (int attempt = 0;; ++attempt) {
    LeaseClaim claim = claim_lease(path);
    if (claim.lease) return std::move(*claim.lease);
    if (attempt >= 100) {
      throw Error(ExitCode::held, fmt::format("{} is held by {}", path.string(), claim.holder));
    }
    ::usleep(100'000);
  }
}

}  // namespace

std::vector<std::string> repair_packs(const fs::path& folder) {
  std::vector<std::string> said;
  for (const auto& [group, path] : pack_files(folder)) {
    auto now = read_pack(path);
    if (!now || now->second.state == SealState::good) continue;
    Lease lease = wait_for_lease(group_lease(folder, group));
    now = read_pack(path);
    if (!now || now->second.state == SealState::good) continue;  // repaired meanwhile
    if (now->second.misplaced) {
      said.push_back(fmt::format("{}; it is set aside as {} and computed again",
                                 problem_of(path, now->second), set_aside(path).string()));
      continue;
    }
    Tasks tasks = tasks_of(now->first, now->second);
    const auto before = read_pack(previous_path(path));
    if (before) tasks.merge(tasks_of(before->first, before->second));
    write_sealed(path, encode_pack(tasks), &lease);
    // `.prev` is now the damaged file that was replaced.
    const fs::path aside = set_aside(path, previous_path(path));
    said.push_back(fmt::format("{}; it is written again with {}, and the old file is kept as {}",
                               problem_of(path, now->second),
                               count_text(tasks.size(), "undamaged task"), aside.string()));
  }
  return said;
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
  for (const auto& [group, path] : pack_files(folder)) {
    const auto before = read_pack(path);
    if (!before || before->second.state != SealState::good) continue;
    Tasks tasks = tasks_of(before->first, before->second);
    const std::size_t count = tasks.size();
    std::erase_if(tasks, [&](const auto& task) { return unwanted.contains(task.first); });
    if (tasks.size() == count) continue;
    Lease lease = wait_for_lease(group_lease(folder, group));
    lease.outgrow(before->second.term);
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
