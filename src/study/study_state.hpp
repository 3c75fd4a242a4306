// Whose a study's folder is, and whether its summary is what its tasks and its configuration give.
//
// A folder belongs to one study: its command (tc, sweep), name, seed and model; another one is
// refused. The study's grid and sampling may be edited: tasks stay what they are, the summary is
// replaced. Several processes may work there at a time, all with one resolved configuration (less
// [run]): each holds DIR/.study.lock shared; to work with another one, a process needs it alone.
// The first line of study.toml names command, seed, model and the configuration's hash; it is
// written under the exclusive lock only. The kernel drops the lock of a process that ends. Where a
// file system knows no such locks, the line alone decides, each time before a summary is written.
//
// DIR/.finished lets a finished study run again in the time that looking at its files takes. It
// holds the hash of the configuration that made the summary, and a digest over the program
// (version, revision, its file), the files of own graphs, the schedules, the summary, and name,
// size and time of every finished task. Any of these another, and the study runs as ever, which
// writes a summary that was damaged anew. It says nothing of what stands in the task files: delete
// .finished to have them all read again.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "src/study/config.hpp"
#include "src/study/ranks.hpp"

namespace rewise {

class StudyFolder {
 public:
  // `command` in words of the command line: "tc", "sweep". Touches nothing. Reads own graphs' files
  // for their digest, before anybody builds graphs of them.
  StudyFolder(std::filesystem::path folder, const StudyConfig& config, std::string command);
  StudyFolder(StudyFolder&& other) noexcept;
  StudyFolder& operator=(StudyFolder&&) = delete;
  ~StudyFolder();

  const std::filesystem::path& path() const { return folder_; }
  const StudyConfig& config() const { return config_; }
  const std::string& hash() const { return hash_; }  // 16 hex digits: command and configuration

  bool holds_study() const;  // there is a study.toml
  // Error(held) where claim() would refuse the folder for what lies there; touches nothing.
  void check_free() const;
  // Makes the folder where it is missing and takes it for this configuration until this object
  // ends. Error(held) when it holds something else than a study, another study, or is being worked
  // on with another configuration; Error(io).
  void claim();
  // Error(held) where the folder has become another configuration's.
  void check_still_ours() const;

  // Removes temporary files that no process has locked: what killed processes left.
  void clear_temporaries() const;
  // The same, and leases of dead processes.
  void clear_leftovers() const;

  // Of a job's ranks that claimed this folder: whether this one prints and sums up (ranks.hpp). A
  // rank takes over if lower ones have ended without finishing the study. Thread-safe.
  bool leads() const;

  void mark_finished() const;
  bool is_finished() const;

 private:
  void refuse_other_things() const;
  void lock();
  void write_configuration();
  std::string finished_text() const;

  std::filesystem::path folder_;
  StudyConfig config_;
  std::string command_, resolved_, hash_;
  std::vector<std::string> graph_files_;  // [config_.files] what stood in them
  int lock_ = -1;                         // descriptor of .study.lock
  bool locked_ = false;                   // its lock is held
  std::unique_ptr<RanksHere> ranks_;      // where it is claimed
};

// Whether `file` is there and not older than `other`.
bool is_up_to_date(const std::filesystem::path& file, const std::filesystem::path& other);

}  // namespace rewise
