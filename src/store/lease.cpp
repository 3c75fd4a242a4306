#include "src/store/lease.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "src/base/error.hpp"
#include "src/store/lease_owner.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {
namespace fs = std::filesystem;
namespace {

double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// `now` is the file server's clock.
bool is_dead(const fs::path& path, const LeaseOwner& owner, double now,
             const LeaseOptions& options) {
  if (!owner.token.empty() && owner.system == this_system()) return process_is_gone(owner);
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return false;  // just released
  return now - seconds(status.st_mtim) > std::chrono::duration<double>(options.stale_after).count();
}

// My claim, written under a private name first.
class Candidate {
 public:
  Candidate(const fs::path& lease, const LeaseOwner& owner)
      : path_(folder_of(lease) /
              fmt::format(".{}.{}.tmp", lease.filename().string(), owner.token)) {
    const std::string text = to_text(owner);
    const int file = ::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (file < 0) fail_io("create", path_, errno);
    const ssize_t written = ::write(file, text.data(), text.size());
    int error = written < 0 ? errno : written != static_cast<ssize_t>(text.size()) ? ENOSPC : 0;
    struct stat status;
    if (error == 0 && ::fstat(file, &status) != 0) error = errno;
    if (::close(file) != 0 && error == 0) error = errno;
    if (error != 0) {
      ::unlink(path_.c_str());
      fail_io("write", path_, error);
    }
    now_ = seconds(status.st_mtim);
  }
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;
  ~Candidate() { ::unlink(path_.c_str()); }

  const fs::path& path() const { return path_; }
  double now() const { return now_; }  // by the file server's clock

 private:
  fs::path path_;
  double now_ = 0;
};

// True when the lease is ours now, false when there is one already.
bool create_exclusively(const Candidate& candidate, const fs::path& lease) {
  if (syscalls().link(candidate.path().c_str(), lease.c_str()) == 0) return true;
  if (errno == EEXIST) return false;
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) fail_io("create", lease, errno);
  // No hard links here: O_EXCL, then the content by a rename over it.
  const int file = ::open(lease.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (file < 0 && errno == EEXIST) return false;
  if (file < 0) fail_io("create", lease, errno);
  ::close(file);
  if (::rename(candidate.path().c_str(), lease.c_str()) != 0) fail_io("create", lease, errno);
  return true;
}

// Serialises takeovers in one folder; the kernel drops it when its process dies.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder) {
    const fs::path path = folder / ".leases.lock";
    file_ = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    if (file_ < 0) fail_io("open", path, errno);
    while (syscalls().flock(file_, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      locked_ = false;
      return;
    }
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock() { ::close(file_); }
  bool locked() const { return locked_; }

 private:
  int file_ = -1;
  bool locked_ = true;
};

// Replaces the lease of `dead` by ours; false when somebody else was quicker.
bool take_over(const Candidate& candidate, const fs::path& lease, const LeaseOwner& dead,
               const LeaseOwner& me, const LeaseOptions& options) {
  const FolderLock lock(folder_of(lease));
  const auto current = read_owner(lease);
  if (!current || current->token != dead.token ||
      !is_dead(lease, *current, candidate.now(), options)) {
    return false;
  }
  if (::rename(candidate.path().c_str(), lease.c_str()) != 0) fail_io("take over", lease, errno);
  if (lock.locked()) return true;
  // A file system without flock: the last rename wins, and everybody looks after a while.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const auto winner = read_owner(lease);
  return winner && winner->token == me.token;
}

// Temporaries of a killed writer of this task (`.<id>.*.tmp`), its claim among them; other
// contenders' claims are young.
void remove_leftovers(const fs::path& lease, const LeaseOwner& dead, double now,
                      const LeaseOptions& options) {
  const std::string prefix = fmt::format(".{}.", lease.stem().string());
  const std::string claims = fmt::format(".{}.", lease.filename().string());
  std::error_code error;
  for (fs::directory_iterator entry(folder_of(lease), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(".tmp")) continue;
    struct stat status;
    const bool old =
        ::stat(entry->path().c_str(), &status) == 0 &&
        now - seconds(status.st_mtim) > std::chrono::duration<double>(options.stale_after).count();
    const bool its_claim = !dead.token.empty() && name == claims + dead.token + ".tmp";
    if (old || its_claim || !name.starts_with(claims)) ::unlink(entry->path().c_str());
  }
}

}  // namespace

struct Lease::Impl {
  Impl(fs::path lease_path, LeaseOwner me, const LeaseOptions& options)
      : path(std::move(lease_path)), owner(std::move(me)) {
    beat = std::jthread([this, period = options.heartbeat](const std::stop_token& stop) {
      std::unique_lock lock(mutex);
      while (!wake.wait_for(lock, stop, period, [] { return false; }) && !stop.stop_requested()) {
        if (is_mine()) ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
      }
    });
  }

  ~Impl() {
    beat.request_stop();
    beat.join();
    if (is_mine()) ::unlink(path.c_str());
  }

  bool is_mine() const {
    const auto current = read_owner(path);
    return current && current->token == owner.token;
  }

  fs::path path;
  LeaseOwner owner;
  std::mutex mutex;
  std::condition_variable_any wake;
  std::jthread beat;
};

Lease::Lease(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Lease::Lease(Lease&&) noexcept = default;
Lease& Lease::operator=(Lease&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}
// A forked child's copy is not the owner, and the heartbeat's thread does not exist there: taking
// apart what that thread waits on would wait for it for ever, so the copy is left as it is.
Lease::~Lease() {
  if (impl_ && ::getpid() != impl_->owner.pid) static_cast<void>(impl_.release());
}

bool Lease::held() const { return impl_ && impl_->is_mine(); }
const fs::path& Lease::path() const { return impl_->path; }

LeaseClaim claim_lease(const fs::path& path, const LeaseOptions& options) {
  const LeaseOwner me = myself();
  const Candidate candidate(path, me);
  const auto mine = [&](std::string note) {
    return LeaseClaim{Lease(std::make_unique<Lease::Impl>(path, me, options)), "", std::move(note)};
  };
  // Twice, since the holder may release between our attempt and our look.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (create_exclusively(candidate, path)) return mine("");
    const auto holder = read_owner(path);
    if (!holder) continue;
    if (!is_dead(path, *holder, candidate.now(), options)) return {{}, holder->describe(), ""};
    if (take_over(candidate, path, *holder, me, options)) {
      remove_leftovers(path, *holder, candidate.now(), options);
      return mine(
          fmt::format("{} is dead; its lease {} is taken over", holder->describe(), path.string()));
    }
  }
  const auto holder = read_owner(path);
  return {{}, holder ? holder->describe() : "another process", ""};
}

}  // namespace rewise
