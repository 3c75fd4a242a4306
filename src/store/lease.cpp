#include "src/store/lease.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <thread>

#include "src/base/temporary.hpp"
#include "src/store/lease_owner.hpp"
#include "src/store/syscalls.hpp"
#include "src/store/temporary_file.hpp"

namespace rewise {
namespace fs = std::filesystem;
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

// The leases that this process holds, and its observations of other processes' leases.
class KnownLeases {
 public:
  void add(const std::string& token) {
    const std::lock_guard lock(mutex_);
    mine_.insert(token);
  }
  void remove(const std::string& token) {
    const std::lock_guard lock(mutex_);
    mine_.erase(token);
  }
  bool is_mine(const std::string& token) {
    const std::lock_guard lock(mutex_);
    return mine_.contains(token);
  }

  // The time since this process first read the lease with this token and modification time.
  Clock::duration unchanged(const fs::path& path, const std::string& token, double touched) {
    const std::lock_guard lock(mutex_);
    SeenLease& seen = seen_[path.string()];
    if (seen.token != token || seen.touched != touched) seen = {token, touched, Clock::now()};
    return Clock::now() - seen.since;
  }
  void forget(const fs::path& path) {
    const std::lock_guard lock(mutex_);
    seen_.erase(path.string());
  }

 private:
  struct SeenLease {
    std::string token;
    double touched = -1;
    Clock::time_point since;
  };
  std::mutex mutex_;
  std::set<std::string> mine_;  // tokens
  std::map<std::string, SeenLease> seen_;
};
KnownLeases& known() {
  static KnownLeases all;
  return all;
}

// Whether the owner of a lease counts as dead (lease.hpp). False if there is no lease file. `now`:
// the time by the file server's clock.
bool is_dead(const fs::path& path, const LeaseOwner& owner, double now,
             const LeaseOptions& options) {
  if (!owner.token.empty() && is_of_this_system(owner)) {
    if (process_is_gone(owner)) return true;
    // This process has released the lease, but the file still exists.
    if (is_this_process(owner) && !known().is_mine(owner.token)) return true;
  }
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0) return false;  // just released
  const double touched = seconds(status.st_mtim);
  return now - touched > seconds(options.stale_after) ||
         known().unchanged(path, owner.token, touched) > options.stale_after;
}

// "pid 123 on host", with a note if the lease file is unusual.
std::string describe(const fs::path& path, const LeaseOwner& owner, double now,
                     const LeaseOptions& options) {
  const std::string holder = owner.describe();
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0) return holder;
  const double silent = now - seconds(status.st_mtim);
  if (silent > 2 * seconds(options.heartbeat))
    return fmt::format("{}, last heartbeat {:.0f} s ago", holder, silent);
  if (silent < -1)
    return fmt::format("{}, lease file dated {:.0f} s in the future", holder, -silent);
  return holder;
}

// A new lease of this process, written to a temporary file. A link or a rename publishes it.
class Candidate {
 public:
  Candidate(const fs::path& lease, const LeaseOwner& owner) : file_(lease) {
    const std::string text = to_text(owner);
    file_.write(std::as_bytes(std::span(text)));
    file_.close();
  }
  const fs::path& path() const { return file_.path(); }
  double now() const { return file_.written_at(); }  // by the file server's clock
  void published() { file_.published(); }

 private:
  Temporary file_;
};

// Creates the lease file. Returns false if there is one already.
bool create_exclusively(Candidate& candidate, const fs::path& lease) {
  if (link_file(candidate.path(), lease) == 0) return true;
  if (errno == EEXIST) return false;
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) fail_io("create", lease, errno);
  // No hard links on this file system: create with O_EXCL, then rename the content over it.
  const int file = syscalls().open(lease.c_str(), kTemporaryFlags, 0666);
  if (file < 0 && errno == EEXIST) return false;
  if (file < 0) fail_io("create", lease, errno);
  syscalls().close(file);
  if (rename_file(candidate.path(), lease) != 0) {
    fail_io("create", lease, errno);
  }
  candidate.published();
  return true;
}

// The folder's lock: serialises takeovers, publications and releases. The kernel releases it when
// the process dies.
class LeaseFolderLock {
 public:
  explicit LeaseFolderLock(const fs::path& folder) : process_lock_(process_mutex(), 5s) {
    file_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file_ < 0) fail_io("open", folder, errno);
    if (acquire()) return;
    const bool no_locks = errno == ENOSYS || errno == EOPNOTSUPP || errno == ENOLCK;
    if (waited_ || no_locks) return;
    // This file system locks files but no folders. Most such file systems require a file that is
    // open for writing.
    const int file = open_lock_file(folder / ".leases.lock");
    if (file < 0) return;
    ::close(file_);
    file_ = file;
    acquire();
  }
  LeaseFolderLock(const LeaseFolderLock&) = delete;
  LeaseFolderLock& operator=(const LeaseFolderLock&) = delete;
  ~LeaseFolderLock() { ::close(file_); }
  bool locked() const { return locked_; }

 private:
  bool acquire() {
    const auto end = Clock::now() + lease_options().stale_after / 24;
    auto pause = 200us;
    while (!locked_) {
      locked_ = syscalls().flock(file_, LOCK_EX | LOCK_NB) == 0;
      if (locked_ || (errno != EWOULDBLOCK && errno != EINTR)) break;
      waited_ = Clock::now() > end;
      if (waited_) break;
      std::this_thread::sleep_for(pause);
      pause = std::min<std::chrono::microseconds>(2 * pause, 10ms);
    }
    return locked_;
  }

  // Threads of this process wait on a mutex instead of polling flock().
  static std::timed_mutex& process_mutex() {
    static std::timed_mutex& all = *new std::timed_mutex;
    return all;
  }

  std::unique_lock<std::timed_mutex> process_lock_;
  int file_ = -1;
  bool locked_ = false, waited_ = false;
};

// Replaces the lease of `dead` by a new one. Returns false if another process was faster.
bool take_over(const fs::path& lease, const LeaseOwner& dead, const LeaseOwner& me,
               const LeaseOptions& options) {
  Candidate candidate(lease, me);
  const LeaseFolderLock lock(folder_of(lease));
  const auto current = read_owner(lease);
  if (!current || current->token != dead.token || current->term != dead.term ||
      !is_dead(lease, *current, candidate.now(), options)) {
    return false;
  }
  if (rename_file(candidate.path(), lease) != 0) {
    fail_io("take over", lease, errno);
  }
  candidate.published();
  if (lock.locked()) return true;
  // Without flock, several processes may rename at once, and the last rename wins. Each process
  // therefore waits and then reads who owns the lease.
  std::this_thread::sleep_for(500ms);
  const auto winner = read_owner(lease);
  return winner && winner->token == me.token;
}

}  // namespace

LeaseOptions lease_options() {
  LeaseOptions options;
  const char* text = std::getenv("REWISE_LEASE_SECONDS");
  const double life = text == nullptr ? 0 : std::strtod(text, nullptr);
  if (life > 0 && life < 1e6) {
    options.stale_after = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * life));
    options.heartbeat = std::max<std::chrono::milliseconds>(options.stale_after / 12, 1ms);
  }
  return options;
}

namespace {

// The heartbeat thread, which touches this process's leases. Started with the first lease.
class Heartbeat {
 public:
  void add(const void* lease, std::chrono::milliseconds period, std::function<void()> beat) {
    const std::lock_guard lock(mutex_);
    if (!running_) std::thread([this] { run(); }).detach();
    running_ = true;  // not reached if std::thread throws
    beats_[lease] = {period, Clock::now() + period, std::move(beat)};
    wake_.notify_all();
  }
  // When this returns, no heartbeat of the lease is in progress.
  void remove(const void* lease) {
    std::unique_lock lock(mutex_);
    beaten_.wait(lock, [&] { return under_way_ != lease; });
    beats_.erase(lease);
  }

 private:
  struct TouchedLease {
    std::chrono::milliseconds period;
    Clock::time_point next;
    std::function<void()> beat;
  };

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      auto due = beats_.begin();
      for (auto other = beats_.begin(); other != beats_.end(); ++other) {
        if (other->second.next < due->second.next) due = other;
      }
      if (due == beats_.end()) {
        wake_.wait(lock);
        continue;
      }
      const Clock::time_point next = due->second.next;
      if (next > Clock::now()) {
        wake_.wait_until(lock, next);
        continue;
      }
      due->second.next = Clock::now() + due->second.period;
      under_way_ = due->first;
      lock.unlock();
      due->second.beat();
      lock.lock();
      under_way_ = nullptr;
      beaten_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, beaten_;
  std::map<const void*, TouchedLease> beats_;
  const void* under_way_ = nullptr;
  bool running_ = false;
};

// The Heartbeat of this process. A forked child gets a new one. Never destroyed, because its thread
// runs until the process ends.
Heartbeat& process_heartbeat() {
  static std::mutex mutex;
  static Heartbeat* heartbeat = nullptr;
  static pid_t process = 0;
  const std::lock_guard lock(mutex);
  if (process != ::getpid()) heartbeat = new Heartbeat;
  process = ::getpid();
  return *heartbeat;
}

}  // namespace

struct Lease::Impl {
  Impl(fs::path lease_path, LeaseOwner me, const LeaseOptions& options)
      : path(std::move(lease_path)), owner(std::move(me)) {
    known().add(owner.token);
    known().forget(path);
    process_heartbeat().add(this, options.heartbeat, [this] {
      try {
        if (is_mine()) ::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
      } catch (const std::exception&) {
        // The file is unreadable or memory is exhausted: the next heartbeat tries again.
      }
    });
  }

  ~Impl() {
    process_heartbeat().remove(this);
    // If the file cannot be removed, is_dead() still recognises the lease as released.
    known().remove(owner.token);
    try {
      const LeaseFolderLock lock(folder_of(path));
      if (is_mine()) syscalls().unlink(path.c_str());
    } catch (const std::exception&) {
    }
  }

  bool is_mine() const {
    const auto current = read_owner(path);
    return current && current->token == owner.token;
  }

  void require_mine() const {
    const auto current = read_owner(path);
    if (current && current->token == owner.token) return;
    throw LeaseLost(
        ExitCode::interrupted,
        fmt::format(
            "lease {} was taken over by {}, because this process did not renew it in time; this "
            "process stops working on the task",
            path.string(),
            current ? current->describe()
                    : "another process, which has released "
                      "it since"));
  }

  fs::path path;
  LeaseOwner owner;
};

Lease::Lease(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Lease::Lease(Lease&&) noexcept = default;
Lease& Lease::operator=(Lease&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}
// A forked child does not own the lease. The heartbeat thread may have held its mutex at the fork
// and does not exist in the child, so ~Impl() could wait for ever. The child therefore leaks impl_.
Lease::~Lease() {
  if (impl_ && ::getpid() != impl_->owner.pid) static_cast<void>(impl_.release());
}

bool Lease::held() const { return impl_ && impl_->is_mine(); }
const fs::path& Lease::path() const { return impl_->path; }
std::uint64_t Lease::term() const { return impl_->owner.term; }

void Lease::publish_if_held(const std::function<void()>& publish,
                            const std::function<void()>& prepare) const {
  const LeaseFolderLock lock(folder_of(impl_->path));
  if (prepare) prepare();
  impl_->require_mine();
  publish();
}

bool Lease::publish_if_locked(const std::function<void()>& publish) const {
  const LeaseFolderLock lock(folder_of(impl_->path));
  if (!lock.locked()) return false;
  impl_->require_mine();
  publish();
  return true;
}

void Lease::raise_term_above(std::uint64_t term) {
  if (impl_->owner.term > term) return;
  LeaseOwner grown = impl_->owner;
  grown.term = term + 1;
  // A takeover deletes temporary files of this name, so a crash leaves none behind.
  Candidate candidate(fs::path(impl_->path).replace_extension(".grown"), grown);
  publish_if_held([&] {
    if (rename_file(candidate.path(), impl_->path) != 0) {
      const int error = errno;
      impl_->require_mine();
      fail_io("write", impl_->path, error);
    }
    candidate.published();
  });
  impl_->owner.term = grown.term;
}

LeaseClaim claim_lease(const fs::path& path, const LeaseOptions& options) {
  LeaseOwner me = myself();
  Candidate candidate(path, me);
  const auto mine = [&](std::string note) {
    return LeaseClaim{Lease(std::make_unique<Lease::Impl>(path, me, options)), "", std::move(note)};
  };
  // Two attempts, because the owner may release the lease between the attempt and the check.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (create_exclusively(candidate, path)) return mine("");
    const auto holder = read_owner(path);
    if (!holder) continue;
    const std::string text = describe(path, *holder, candidate.now(), options);
    if (!is_dead(path, *holder, candidate.now(), options)) return {{}, text, ""};
    me.term = holder->term + 1;
    if (take_over(path, *holder, me, options)) {
      // The id of a task, the name of a schedule file, or the group of a results archive.
      std::string owned = path.stem().string();
      remove_temporaries(folder_of(path), owned.substr(0, owned.rfind(".pack")));
      clear_temporaries(folder_of(path), fmt::format(".{}.", owned));
      return mine(fmt::format("{} is dead; its lease {} was taken over", text, path.string()));
    }
  }
  const auto holder = read_owner(path);
  return {{}, holder ? holder->describe() : "another process", ""};
}

}  // namespace rewise
