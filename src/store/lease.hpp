// A lease file gives one process the right to compute a task. Another process can take the lease
// over when its owner has died or stopped responding.
//
// Content: host, boot, pid namespace, pid and start time of the owner, a random token and a term.
// The file appears complete in one step (a hard link to a private file, else O_EXCL).
//
// Liveness: a thread of the owner updates the modification time of its leases every few seconds.
// The owner counts as dead if the file was not touched for `stale_after`, measured by the file
// server's clock or by observing the file for that long. (Observation also covers times in the
// future, damaged files, and names that are not files.) On the same boot and pid namespace, the
// owner also counts as dead as soon as its pid does not exist, belongs to a zombie, or has another
// start time.
//
// Takeover: the contender replaces the dead lease by a rename under the folder's lock, so that
// exactly one contender wins, and removes the temporary files of the task. Each takeover increases
// the term by one.
//
// Files written under a lease carry its term (sealed_file.hpp). A file is first written under a
// temporary name; then the writer checks that it still holds the lease, and renames the file. A
// process that was suspended and lost its lease therefore cannot overwrite its successor's files:
// either the check fails, or the temporary file is gone, because the successor removed it before it
// read or wrote anything. This needs no lock.
//
// The folder's lock only avoids superfluous work. It is flock on the folder or, where that is not
// possible (NFS), on `.leases.lock` in it. A process waits for it at most a 24th of a lease's
// lifetime (5 s): a longer wait means that its holder was suspended. On file systems without flock
// (some cluster file systems) the last rename within half a second wins a takeover.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "src/base/error.hpp"

namespace rewise {

struct LeaseOptions {
  std::chrono::milliseconds heartbeat{10'000};
  std::chrono::milliseconds stale_after{120'000};
};

// The defaults. If REWISE_LEASE_SECONDS is set (for tests), the heartbeat is a twelfth of it; all
// processes that share a folder need the same value.
LeaseOptions lease_options();

// Thrown if another process has taken over the lease. The caller drops the task.
class LeaseLost : public Error {
 public:
  using Error::Error;
};

class Lease {
 public:
  Lease(Lease&&) noexcept;
  Lease& operator=(Lease&&) noexcept;
  ~Lease();  // removes the file if it still belongs to this lease

  // Whether the lease file still belongs to this lease. Throws Error(io) if it cannot be read.
  bool held() const;
  const std::filesystem::path& path() const;

  std::uint64_t term() const;
  // Raises the term above that of an existing file of the task. Throws LeaseLost, Error(io).
  void raise_term_above(std::uint64_t term);

  // Calls `prepare`, if any, checks that the lease is still held, and calls `publish`; under the
  // folder's lock if it can be acquired. Throws LeaseLost before calling `publish` if the lease is
  // lost.
  void publish_if_held(const std::function<void()>& publish,
                       const std::function<void()>& prepare = {}) const;
  // The same, but only under the folder's lock. Returns false if the lock cannot be acquired.
  bool publish_if_locked(const std::function<void()>& publish) const;

  struct Impl;

 private:
  friend struct LeaseClaim claim_lease(const std::filesystem::path& path,
                                       const LeaseOptions& options);
  explicit Lease(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct LeaseClaim {
  std::optional<Lease> lease;  // empty: another process holds the lease
  std::string holder;          // that process: "pid 123 on host"
  std::string note;            // after a takeover: the previous owner
};

// Does not wait for the owner. Throws Error(io) if the folder is not writable or a lease is
// unreadable.
LeaseClaim claim_lease(const std::filesystem::path& path,
                       const LeaseOptions& options = lease_options());

}  // namespace rewise
