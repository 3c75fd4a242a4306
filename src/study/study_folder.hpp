// Determines which study a folder belongs to, and whether its summary is up to date.
//
// A folder belongs to one study, given by its command (tc, sweep), name, seed and model; other
// studies are rejected. Grid and sampling of the study may be edited: the tasks remain, the summary
// is replaced. Several processes may use the folder if they have the same resolved configuration
// (without [run]). Each holds a shared lock of DIR/.study.lock; a process with another
// configuration needs an exclusive one. The kernel releases the lock of a process that ends. The
// first line of study.toml states command, seed, model and the hash of the configuration. It is
// written only under the exclusive lock. On file systems without locks, each process reads this
// line before it writes a summary, and stops if the line is that of another configuration.
//
// DIR/.finished makes repeated runs of a finished study fast. It holds the hash of the
// configuration of the summary, and a digest of the program (version, revision, its file), the
// imported graphs, the schedules, the summary, and name, size and time of every finished task. If
// any of these differs, the study runs as usual and rewrites a damaged summary. The digest does not
// cover the contents of the task files, which `rewise study DIR --check` reads.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "src/settings/config.hpp"
#include "src/study/ranks.hpp"

namespace rewise {

// The lock of DIR/.study.lock, which is created if possible. No call waits; each replaces the lock
// that is held.
class StudyLock {
 public:
  explicit StudyLock(const std::filesystem::path& folder);
  StudyLock(const StudyLock&) = delete;
  StudyLock& operator=(const StudyLock&) = delete;
  ~StudyLock();

  bool exclusive();  // whether it is held now
  bool shared();
  void release();
  bool held() const { return held_; }
  // False if the file cannot be opened or the file system has no locks. Then none is ever held.
  bool works() const { return file_ >= 0; }

 private:
  bool take(int operation);

  int file_;
  bool held_ = false;
};

class StudyFolder {
 public:
  // `command`: "tc" or "sweep". Only reads: the constructor digests the files of imported graphs
  // before graphs are built from them.
  StudyFolder(std::filesystem::path folder, const StudyConfig& config, std::string command);

  const std::filesystem::path& path() const { return folder_; }
  const StudyConfig& config() const { return config_; }
  const std::string& hash() const { return hash_; }  // 16 hex digits: command and configuration

  bool holds_study() const;  // study.toml exists
  // Throws Error(held) if claim() would reject the folder because of its content. Changes nothing.
  void check_free() const;
  // Creates the folder if necessary and claims it for this configuration during the life of this
  // object. Throws Error(held) if the folder contains other files or another study, or is in use
  // with another configuration; Error(io).
  void claim();
  // Throws Error(held) if another configuration has taken over the folder.
  void check_still_ours() const;

  // Removes unlocked temporary files, which killed processes left.
  void clear_temporaries() const;
  // Also removes leases of dead processes.
  void clear_leftovers() const;

  // Whether this rank, among the ranks of a job that claimed this folder, prints and writes the
  // summary (ranks.hpp). A rank takes over if all lower ones ended without finishing the study.
  // Thread-safe.
  bool leads() const;

  void mark_finished() const;
  bool is_finished() const;

 private:
  void reject_other_things() const;
  void lock();
  void write_configuration();
  std::string finished_text() const;

  std::filesystem::path folder_;
  StudyConfig config_;
  std::string command_, resolved_, hash_;
  std::vector<std::string> graph_files_;  // digests, by [config_.files]
  std::unique_ptr<StudyLock> lock_;       // after claim(), as is ranks_
  std::unique_ptr<RankPresence> ranks_;
};

// Whether `file` exists and is not older than `other`.
bool is_up_to_date(const std::filesystem::path& file, const std::filesystem::path& other);

}  // namespace rewise
