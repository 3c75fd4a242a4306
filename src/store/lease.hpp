// A task is claimed by a lease file that names its owner; an owner that dies or falls silent loses
// it.
//
// The file appears with its content in one step (a link to a private file, else O_EXCL). It names
// host, boot, pid namespace, pid and that process's start time, a random token and a term. A thread
// of the owner touches all that it has every few seconds: that is how a living owner is known. An
// owner is dead when its lease was not touched for `stale_after`, by the file server's clock or by
// watching it for as long (so a time in the future, a damaged file or something else than a file in
// its place holds nobody up for ever); one of this boot and pid namespace also as soon as its pid
// is gone, a zombie's or has another start time.
//
// Takeover replaces the dead lease by a rename under the folder's lock, so exactly one contender
// wins, and removes all that was written aside for this task. The term grows by one at every
// takeover. Files written under a lease bear its term (sealed_file.hpp), and each is published by a
// rename of what was written aside, after its owner has proved that the lease still is its own. So
// an owner that was stopped for so long that it lost its lease cannot replace what its successor
// wrote: before the proof it is told; after it, what it would rename is gone, before its successor
// reads or writes anything. That needs no lock.
//
// The folder's lock, which spares the others such work, is flock on the folder itself; where that
// cannot be (NFS), on `.leases.lock` in it. Nobody waits for it longer than a 24th of a lease's
// life, 5 s: who keeps it that long was stopped while he held it. Without flock, as on some cluster
// file systems, the last rename within half a second wins a takeover: best effort.
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

// The defaults, or heartbeats of a twelfth of REWISE_LEASE_SECONDS (tests; the same for all who
// share a folder).
LeaseOptions lease_options();

// What an owner is told who is one no longer: leave the task to others.
class LeaseLost : public Error {
 public:
  using Error::Error;
};

class Lease {
 public:
  Lease(Lease&&) noexcept;
  Lease& operator=(Lease&&) noexcept;
  ~Lease();  // releases: removes the file if it still is this lease's

  // Whether the file still is this lease's. Error(io) where it cannot be read.
  bool held() const;
  const std::filesystem::path& path() const;

  std::uint64_t term() const;
  // Makes the term greater than one that a file of the task bears. LeaseLost, Error(io).
  void outgrow(std::uint64_t term);

  // Calls `prepare`, if any, and then, where the lease still is its own, `publish`; under the
  // folder's lock, if it can be had. LeaseLost, between them, where it is lost.
  void prove(const std::function<void()>& publish, const std::function<void()>& prepare = {}) const;
  // The same, but only where the folder's lock is held meanwhile; false where it cannot be had.
  bool prove_locked(const std::function<void()>& publish) const;

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

// Does not wait for a holder. Error(io) when the folder cannot be written or a lease not be read.
LeaseClaim claim_lease(const std::filesystem::path& path,
                       const LeaseOptions& options = lease_options());

}  // namespace rewise
