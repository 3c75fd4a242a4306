// A task is claimed by a lease file that names its owner; a dead owner loses it.
//
// The file appears with its content in one step (a link to a private file, else O_EXCL). It names
// host, boot, pid namespace, pid and that process's start time, and a random token. A thread of the
// owner touches it every few seconds. An owner of this boot and pid namespace is dead when its pid
// is gone, is a zombie's or has another start time; any other owner when the file was not touched
// for `stale_after`, by the file server's clock. Takeover replaces the dead lease by a rename under
// flock on `.leases.lock` in the same folder, so exactly one contender wins, and
// clears away the temporary files that the dead owner left of this task. (Without flock, as on some
// cluster file systems, the last rename within half a second wins: best effort.)
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace rewise {

struct LeaseOptions {
  std::chrono::milliseconds heartbeat{10'000};
  std::chrono::milliseconds stale_after{120'000};
};

class Lease {
 public:
  Lease(Lease&&) noexcept;
  Lease& operator=(Lease&&) noexcept;
  ~Lease();  // releases: removes the file if it still is this lease's

  // Whether the file still is this lease's. False after another host took it for stale: stop, and
  // write nothing more.
  bool held() const;
  const std::filesystem::path& path() const;

  struct Impl;

 private:
  friend struct LeaseClaim claim_lease(const std::filesystem::path& path,
                                       const LeaseOptions& options);
  explicit Lease(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct LeaseClaim {
  std::optional<Lease> lease;  // empty: somebody else has it
  std::string holder;          // who has it: "pid 123 on host"
  std::string note;            // who lost it, when a dead owner's lease was taken over
};

// Never waits. Error(io) when the folder cannot be written.
LeaseClaim claim_lease(const std::filesystem::path& path, const LeaseOptions& options = {});

}  // namespace rewise
