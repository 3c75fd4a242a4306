#include "src/study/study_folder.hpp"

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "src/base/digest.hpp"
#include "src/base/error.hpp"
#include "src/base/json.hpp"
#include "src/base/setting_name.hpp"
#include "src/base/temporary.hpp"
#include "src/settings/parse.hpp"
#include "src/settings/schema.hpp"
#include "src/settings/toml_reader.hpp"
#include "src/store/lease.hpp"
#include "src/store/sealed_file.hpp"
#include "src/store/syscalls.hpp"
#include "src/study/build_info.hpp"

namespace rewise {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr const char* kMark = ".finished";

// Identifies a study: two configurations with the same values belong to the same study. Also
// contains the hash of the whole configuration.
struct Owner {
  std::string command;  // "" if unknown
  std::string seed, model;
  std::string hash;  // "" if unknown
};

// 16 hex digits for a command and its configuration without [run], which affects no result.
std::string configuration_hash(std::string_view command, std::string_view configuration) {
  // Searches for a whole line, because names of graph files may contain "[run]".
  const std::string text =
      fmt::format("{}\n{}", command, configuration.substr(0, configuration.find("\n[run]\n") + 1));
  return fmt::format("{:016x}", XXH3_128bits(text.data(), text.size()).low64);
}

std::string head_line(const Owner& owner) {
  return fmt::format("{}{}; seed {}; {}; configuration {}\n", kStudyHead, owner.command, owner.seed,
                     owner.model, owner.hash);
}

// Parses the first line of a study.toml; nothing if it has another form.
std::optional<Owner> read_head(std::string_view text) {
  if (!text.starts_with(kStudyHead)) return std::nullopt;
  std::string_view line = text.substr(kStudyHead.size(), text.find('\n') - kStudyHead.size());
  const auto part = [&line](std::string_view name) -> std::string {
    const auto end = std::min(line.find("; "), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 2, line.size()));
    return std::string(word.starts_with(name) ? word.substr(name.size()) : "");
  };
  Owner owner;
  owner.command = part("");
  owner.seed = part("seed ");
  owner.model = part("");
  owner.hash = part("configuration ");
  if (owner.seed.empty() || owner.hash.empty()) return std::nullopt;
  return owner;
}

// Reads the command that wrote a folder's summary; "" if unknown.
std::string summary_kind(const fs::path& folder) {
  std::error_code ignored;
  const fs::path file = folder / "summary.json";
  if (!fs::is_regular_file(file, ignored)) return "";
  const Json summary = Json::parse(read_text_file(file), nullptr, false);
  if (!summary.is_object() || !summary.contains("kind") || !summary["kind"].is_string()) return "";
  return summary["kind"].get<std::string>();
}

struct StoredStudy {
  std::string name;
  Owner owner;
};

// Throws Error(data) if the first line contradicts the configuration below it. Checks only a line
// whose hash fits this very configuration, because users may edit the rest of the file.
void check_head(const Owner& head, const Owner& body, std::string_view text, const fs::path& file) {
  const std::string_view configuration = text.substr(text.find('\n') + 1);
  for (const std::string& command : {head.command, std::string("sweep"), std::string("tc")}) {
    if (configuration_hash(command, configuration) != head.hash) continue;
    if (command == head.command && head.seed == body.seed && head.model == body.model) return;
    throw Error(
        ExitCode::data,
        fmt::format("{}:1: the line is damaged: it states rewise {}, seed {}, {}, but its "
                    "digest belongs to rewise {}, seed {}, {} (remove the line, or use {}, which "
                    "rewrites the file and keeps the tasks)",
                    file.string(), head.command, head.seed, head.model, command, body.seed,
                    body.model, setting_name("recompute_damaged")));
  }
}

// Throws Error(usage) with the position if the text is not TOML; Error(data) as check_head().
StoredStudy read_stored_study(const std::string& text, const fs::path& file) {
  const toml::table root = parse_study_toml(text, file.string(), false);
  const auto name = root["study"]["name"];
  if (name && !name.is_string()) {
    throw Error(ExitCode::usage, file.string() + ": study.name must be text");
  }
  StoredStudy stored{name ? *name.value<std::string>() : StudyConfig{}.name, {}};
  const StudyConfig defaults;
  const auto seed = root["study"]["seed"].value<std::int64_t>();
  stored.owner.seed = seed ? fmt::format("{}", *seed) : fmt::format("{}", defaults.seed);
  ModelTexts words, origin;
  for (const char* key : kModelKeys) {
    const auto node = root["model"][key];
    origin[key] = fmt::format("{}: model.{}", file.string(), key);
    if (const auto number = node.value<double>()) words[key] = number_text(*number);
    if (const auto word = node.value<std::string>()) words[key] = *word;
  }
  stored.owner.model = to_string(parse_model(words, origin));
  if (const auto head = read_head(text)) {
    check_head(*head, stored.owner, text, file);
    stored.owner = *head;
  } else {  // from a version without the first line
    stored.owner.command = summary_kind(file.parent_path());
  }
  return stored;
}

// Lines of the configuration without comments and [run].
std::vector<std::string> configuration_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line == "[run]") break;
    if (!line.empty() && !line.starts_with("#")) lines.push_back(line);
  }
  return lines;
}

// Lines of a study.toml as this version would write them, because earlier versions used other keys.
std::vector<std::string> lines_of_stored(const std::string& text) {
  try {
    return configuration_lines(to_toml(parse_study_config(text, "study.toml")));
  } catch (const Error&) {  // edited by hand
    return configuration_lines(text);
  }
}

// The first line that differs: "graphs = [4, 4] there, graphs = [8, 8] here".
std::string first_difference(const std::string& there, const std::string& here) {
  const auto old_lines = lines_of_stored(there), new_lines = configuration_lines(here);
  const auto [a, b] =
      std::mismatch(old_lines.begin(), old_lines.end(), new_lines.begin(), new_lines.end());
  const std::string none = "nothing";
  return fmt::format("{} there, {} here", a == old_lines.end() ? none : *a,
                     b == new_lines.end() ? none : *b);
}

// Size and digest of a file; "" if it is missing, unreadable or not a regular file.
std::string content(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return "";
  std::ifstream in(file, std::ios::binary);
  Digest128 digest;
  std::vector<char> part(std::size_t{1} << 20);
  std::uint64_t bytes = 0;
  while (in) {
    in.read(part.data(), static_cast<std::streamsize>(part.size()));
    const auto count = static_cast<std::size_t>(in.gcount());
    digest.add(part.data(), count);
    bytes += count;
  }
  if (!in.eof()) return "";
  const XXH128_hash_t hash = digest.value();
  return fmt::format("{} {:016x}{:016x}", bytes, hash.high64, hash.low64);
}

// "size time" of a file, "" if there is none.
std::string stamp(const fs::path& file) {
  struct stat status;
  if (::stat(file.c_str(), &status) != 0) return "";
  return fmt::format("{} {}.{:09}", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

void add_folder(std::vector<std::string>& lines, const fs::path& folder) {
  std::error_code error;
  fs::directory_iterator entry(folder, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(".")) continue;
    if (name.ends_with(".h5") && !name.ends_with(".part.h5")) {
      lines.push_back(fmt::format("{} {}", name, stamp(entry->path())));
    } else if (name.ends_with(".json")) {
      lines.push_back(fmt::format("{} {}", name, content(entry->path())));
    }
  }
  if (error && error != std::errc::no_such_file_or_directory)
    fail_io("list", folder, error.value());
}

// Ignores tasks/ and hidden files, which a process creates before it writes study.toml.
bool holds_other_things(const fs::path& folder) {
  std::error_code error;
  fs::directory_iterator entry(folder, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name != "tasks" && name != "study.toml" && !name.starts_with(".")) return true;
  }
  return false;
}

std::string text_of(const fs::path& file) {
  return file_exists(file) ? read_text_file(file) : std::string();
}

Owner owner_of(const std::string& command, const StudyConfig& config, const std::string& hash) {
  return {command, fmt::format("{}", config.seed), to_string(config.model), hash};
}

// Throws Error(held) if the folder's study has another name, command, seed or model. Its grid and
// sampling may differ.
void reject_another_study(const StoredStudy& stored, const std::string& name, const Owner& mine,
                          const fs::path& folder) {
  const auto reject = [&](const std::string& theirs, const std::string& ours) {
    throw Error(ExitCode::held,
                fmt::format("folder '{}' contains {}, not {} (choose another folder with {})",
                            folder.string(), theirs, ours, setting_name("out")));
  };
  const Owner& owner = stored.owner;
  if (stored.name != name) {
    reject(fmt::format("the study \"{}\"", stored.name), fmt::format("\"{}\"", name));
  }
  if (!owner.command.empty() && owner.command != mine.command) {
    reject(fmt::format("a study of rewise {}", owner.command),
           fmt::format("of rewise {}", mine.command));
  }
  if (owner.seed != mine.seed) {
    reject(fmt::format("a study with seed {}", owner.seed), fmt::format("seed {}", mine.seed));
  }
  if (owner.model != mine.model) {
    reject(fmt::format("a study of another model ({})", owner.model),
           fmt::format("{}", mine.model));
  }
}

}  // namespace

StudyLock::StudyLock(const fs::path& folder) : file_(open_lock_file(folder / ".study.lock")) {}

StudyLock::~StudyLock() {
  if (file_ >= 0) ::close(file_);
}

bool StudyLock::take(int operation) {
  held_ = works() && syscalls().flock(file_, operation | LOCK_NB) == 0;
  if (works() && !held_ && errno != EWOULDBLOCK && errno != EINTR) {
    ::close(file_);
    file_ = -1;
  }
  return held_;
}

bool StudyLock::exclusive() { return take(LOCK_EX); }
bool StudyLock::shared() { return take(LOCK_SH); }

void StudyLock::release() {
  if (held_) syscalls().flock(file_, LOCK_UN);
  held_ = false;
}

StudyFolder::StudyFolder(fs::path folder, const StudyConfig& config, std::string command)
    : folder_(std::move(folder)),
      config_(config),
      command_(std::move(command)),
      resolved_(to_toml(config)) {
  hash_ = configuration_hash(command_, resolved_);
  for (const fs::path& file : config_.files) graph_files_.push_back(content(file));
}

bool StudyFolder::holds_study() const { return file_exists(folder_ / "study.toml"); }

void StudyFolder::reject_other_things() const {
  if (file_exists(folder_) && !folder_exists(folder_)) {
    throw Error(ExitCode::held, fmt::format("'{}' exists and is not a folder", folder_.string()));
  }
  if (!holds_study() && holds_other_things(folder_)) {
    throw Error(ExitCode::held,
                fmt::format("folder '{}' is not empty and contains no study: study.toml is "
                            "missing (choose another folder with {})",
                            folder_.string(), setting_name("out")));
  }
}

void StudyFolder::check_free() const {
  reject_other_things();
  const fs::path file = folder_ / "study.toml";
  const std::string text = text_of(file);
  if (text.empty()) return;
  std::optional<StoredStudy> stored;
  try {
    stored = read_stored_study(text, file);
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::data && !config_.recompute_damaged) throw;
    return;  // a damaged file belongs to no study and will be set aside
  }
  reject_another_study(*stored, config_.name, owner_of(command_, config_, hash_), folder_);
}

void StudyFolder::claim() {
  if (ranks_ != nullptr) return;
  reject_other_things();
  make_folder(folder_ / "tasks");
  lock();
  ranks_ = std::make_unique<RankPresence>(this_rank(), folder_);
}

bool StudyFolder::leads() const {
  return ranks_ == nullptr || ranks_->led_at_start() ||
         (!ranks_->lower_rank_present() && !is_finished());
}

// All processes with the same configuration hold the lock shared. A process with another
// configuration holds it exclusively while it writes that configuration.
void StudyFolder::lock() {
  lock_ = std::make_unique<StudyLock>(folder_);
  const auto begin = std::chrono::steady_clock::now();
  int others = 0;  // consecutive tries that met another configuration
  while (lock_->works()) {
    if (lock_->exclusive()) write_configuration();
    lock_->shared();  // may fail after exclusive(), too: another process may lock in between
    if (!lock_->works()) break;
    const std::string stored = text_of(folder_ / "study.toml");
    const auto head = read_head(stored);
    if (lock_->held() && head && head->hash == hash_) return;
    if (lock_->held()) ++others;
    lock_->release();
    // The lock's holder may be about to write another configuration, but this takes little time.
    const bool busy = others >= 20 || std::chrono::steady_clock::now() - begin > 10s;
    if (busy && !head) {
      throw Error(ExitCode::held, fmt::format("folder '{}' is being set up by another process, "
                                              "which has not finished after 10 s (wait for it, or "
                                              "stop it)",
                                              folder_.string()));
    }
    if (busy && head->command != command_) {
      throw Error(ExitCode::held,
                  fmt::format("folder '{}' is in use by rewise {}; choose "
                              "another folder with {}",
                              folder_.string(), head->command, setting_name("out")));
    }
    if (busy) {
      throw Error(ExitCode::held,
                  fmt::format("folder '{}' is in use with another configuration, {} (this "
                              "one is {}: {}); wait for it, or choose another folder with {}",
                              folder_.string(), head->hash, hash_,
                              first_difference(stored, resolved_), setting_name("out")));
    }
    std::this_thread::sleep_for(20ms);
  }
  // The file system has no locks. The folder may be a finished study that is only readable.
  const auto head = read_head(text_of(folder_ / "study.toml"));
  if (!head || head->hash != hash_) write_configuration();
}

// Call with the exclusive lock, if there are locks.
void StudyFolder::write_configuration() {
  const fs::path file = folder_ / "study.toml";
  const Owner mine = owner_of(command_, config_, hash_);
  const std::string wanted = head_line(mine) + resolved_;
  const std::string text = text_of(file);
  if (text == wanted) return;
  if (!text.empty()) {
    std::optional<StoredStudy> stored;
    try {
      stored = read_stored_study(text, file);
    } catch (const Error& error) {
      if (error.exit_code() == ExitCode::data && !config_.recompute_damaged) throw;
      // No study depends on the damaged file, because tasks contain their configuration. It is
      // kept.
      fs::path aside;
      for (int n = 1; aside.empty() || file_exists(aside); ++n) {
        aside = fmt::format("{}.damaged-{}", file.string(), n);
      }
      write_text_file(aside, text);
      fmt::print(stderr, "warning: {}; the file is written again (the old one is kept as {})\n",
                 error.what(), aside.string());
    }
    if (stored) {
      reject_another_study(*stored, config_.name, mine, folder_);
      if (stored->owner.hash != hash_ && lines_of_stored(text) != configuration_lines(resolved_)) {
        fmt::print(stderr, "the study's configuration was edited ({}); its results are kept\n",
                   first_difference(text, resolved_));
      }
    }
  }
  write_text_file(file, wanted);
}

void StudyFolder::check_still_ours() const {
  if (lock_ && lock_->held()) return;
  const std::string stored = text_of(folder_ / "study.toml");
  const auto head = read_head(stored);
  if (head && head->hash == hash_) return;
  throw Error(ExitCode::held,
              fmt::format("folder '{}' has been taken over by another configuration, {} (this one "
                          "is {}: {}); no summary is written",
                          folder_.string(), head ? head->hash : "of an unknown hash", hash_,
                          first_difference(stored, resolved_)));
}

std::string StudyFolder::finished_text() const {
  std::vector<std::string> lines;
  add_folder(lines, folder_ / "tasks");
  add_folder(lines, folder_ / "schedules");
  for (const char* name :
       {"summary.json", "summary.txt", "summary.csv", "summary.h5", "tc.csv", "tasks.json"}) {
    lines.push_back(fmt::format("{} {}", name, content(folder_ / name)));
  }
  for (std::size_t k = 0; k < graph_files_.size(); ++k) {
    lines.push_back(fmt::format("{} {}", config_.files[k].string(), graph_files_[k]));
  }
  std::sort(lines.begin(), lines.end());
  std::string text = fmt::format("{} {} {}\n", build_info().version, build_info().revision,
                                 stamp("/proc/self/exe"));
  for (const auto& line : lines) text += line + "\n";
  const XXH128_hash_t sum = XXH3_128bits(text.data(), text.size());
  return fmt::format("configuration {}\nfiles {:016x}{:016x}\n", hash_, sum.high64, sum.low64);
}

void StudyFolder::clear_temporaries() const {
  for (const fs::path& where :
       {folder_, folder_ / "tasks", folder_ / "schedules", folder_ / "plots"}) {
    rewise::clear_temporaries(where);
  }
}

void StudyFolder::clear_leftovers() const {
  std::vector<fs::path> leases;
  for (const fs::path& where : {folder_ / "tasks", folder_ / "schedules"}) {
    std::error_code error;
    for (fs::directory_iterator entry(where, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->path().extension() == ".lease") leases.push_back(entry->path());
    }
  }
  for (const fs::path& lease : leases) {
    try {
      claim_lease(lease);  // the temporary releases it, which removes the file
    } catch (const Error&) {
      // The folder is read-only: the lease stays and does no harm.
    }
  }
  clear_temporaries();
}

void StudyFolder::mark_finished() const { write_text_file(folder_ / kMark, finished_text()); }

bool StudyFolder::is_finished() const {
  if (std::ranges::find(graph_files_, "") != graph_files_.end()) return false;
  return file_exists(folder_ / "summary.json") && file_exists(folder_ / "summary.txt") &&
         file_exists(folder_ / "summary.csv") && file_exists(folder_ / kMark) &&
         read_text_file(folder_ / kMark) == finished_text();
}

bool is_up_to_date(const fs::path& file, const fs::path& other) {
  std::error_code none, neither;
  const auto time = fs::last_write_time(file, none);
  return !none && time >= fs::last_write_time(other, neither);
}

}  // namespace rewise
