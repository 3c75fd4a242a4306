// Writes sealed files so that a good one exists at every instant (sealed_file.hpp).
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <initializer_list>
#include <string>

#include "src/base/error.hpp"
#include "src/base/temporary.hpp"
#include "src/store/lease.hpp"
#include "src/store/sealed_file.hpp"
#include "src/store/syscalls.hpp"
#include "src/store/temporary_file.hpp"

namespace rewise {
namespace fs = std::filesystem;
namespace {

bool is_there(const fs::path& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT) return false;
  fail_io("read the properties of", path, errno);
}

bool links_unsupported(int error) {
  return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK;
}

void sync_folder(const fs::path& folder) {
  const int file = syscalls().open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (file < 0) fail_io("open", folder, errno);
  const int result = syscalls().fsync(file);
  const int error = errno;
  syscalls().close(file);
  // Some network file systems reject fsync on folders; they make renames durable themselves.
  if (result != 0 && error != EINVAL && error != ENOTSUP) fail_io("sync", folder, error);
}

// The temporary file is gone: it was removed by a process that took over the lease, or by one that
// cleared the folder while the lock was being converted (src/base/temporary.hpp).
struct TemporaryRemoved {};

[[noreturn]] void fail_publish(const char* what, const fs::path& path, int error) {
  if (error == ENOENT) throw TemporaryRemoved{};
  fail_io(what, path, error);
}

// A second hard link to a file, under a temporary name. rename_to() gives it its final name;
// otherwise the destructor removes it. The file is locked meanwhile, because other processes remove
// unlocked temporary files.
class SecondName {
 public:
  // Returns 0 or errno.
  int make(const fs::path& file, const fs::path& beside) {
    lock_ = ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (lock_ >= 0) static_cast<void>(::flock(lock_, LOCK_SH | LOCK_NB));
    path_ = temporary_path(beside);
    if (link_file(file, path_) == 0) return 0;
    const int error = errno;
    path_.clear();
    return error;
  }
  ~SecondName() {
    remove();
    if (lock_ >= 0) ::close(lock_);
  }
  // Returns 0 or errno. Renaming one hard link of a file to another one of the same file does
  // nothing.
  int rename_to(const fs::path& path) {
    const int error = rename_file(path_, path) == 0 ? 0 : errno;
    remove();
    return error;
  }

 private:
  void remove() {
    if (!path_.empty()) syscalls().unlink(path_.c_str());
    path_.clear();
  }
  fs::path path_;
  int lock_ = -1;
};

// Throws LeaseLost if the file has a later term: then another process has taken over the lease.
void require_no_later(const fs::path& path, const Lease& lease) {
  const int file = syscalls().open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
  if (file < 0) return;  // a missing or unreadable file may be replaced
  SealBlock block{};
  const ssize_t got = syscalls().read(file, block.data(), block.size());
  syscalls().close(file);
  if (got != static_cast<ssize_t>(block.size()) || block_term(block) <= lease.term()) return;
  const SealedRead read = read_sealed(path);  // the block may be damaged
  if (read.state != SealState::good || read.term <= lease.term()) return;
  throw LeaseLost(ExitCode::interrupted,
                  fmt::format("{} was already written by a later owner of its lease (term {}; "
                              "this process has term {}); this process stops its work on the task",
                              path.string(), read.term, lease.term()));
}

// Calls `prepare` and then `publish`; with a lease, `publish` only if the lease is still held.
// Everything that `publish` renames or links exists before that check. A process that takes over
// the lease removes these files first (lease.hpp), so that even after a long suspension between
// check and `publish` nothing is replaced.
void under(const Lease* lease, const fs::path& path, const std::function<void()>& prepare,
           const std::function<void()>& publish) {
  if (lease == nullptr) {
    prepare();
    return publish();
  }
  const auto proved = [&] {
    require_no_later(path, *lease);
    publish();
  };
  lease->publish_if_held(proved, prepare);
}

enum class PreviousFile { none, linked, moved };

// Replaces `.prev` by a link to the file at `path`. If the file system has hard links, `path` stays
// in place.
void publish_over(Temporary& temporary, const fs::path& path, const Lease* lease) {
  const fs::path previous = previous_path(path);
  PreviousFile kept = PreviousFile::none;
  SecondName second;
  const auto prepare = [&] {
    if (!is_there(path)) return;
    const int error = second.make(path, path);
    if (error == ENOENT) return;  // removed meanwhile: the lease is lost
    if (error != 0 && !links_unsupported(error)) fail_io("link", path, error);
    kept = error == 0 ? PreviousFile::linked : PreviousFile::moved;
  };
  const auto publish = [&] {
    if (kept == PreviousFile::linked) {
      const int error = second.rename_to(previous);
      if (error != 0) fail_publish("rename", path, error);
    } else if (kept == PreviousFile::moved && rename_file(path, previous) != 0) {
      fail_io("rename", path, errno);
    }
    temporary.share();
    if (rename_file(temporary.path(), path) != 0) {
      const int error = errno;
      if (kept == PreviousFile::moved) rename_file(previous, path);
      fail_publish("rename", temporary.path(), error);
    }
    temporary.published();
  };
  under(lease, path, prepare, publish);
  sync_folder(folder_of(path));
}

[[noreturn]] void reject(const fs::path& path) {
  throw Error(ExitCode::held,
              fmt::format("{} already exists and is not overwritten", path.string()));
}

void publish_new(Temporary& temporary, const fs::path& path, const Lease* lease) {
  const auto publish = [&] {
    const fs::path& from = temporary.path();
    temporary.share();
    int result = link_file(from, path);
    if (result != 0 && links_unsupported(errno)) {
      result = rename_file_new(from, path);
      if (result != 0 && (errno == EINVAL || errno == ENOSYS)) {  // neither is supported
        if (is_there(path)) reject(path);
        result = rename_file(from, path);
      }
      if (result == 0) temporary.published();
    }
    if (result != 0) {
      if (errno == EEXIST) reject(path);
      fail_publish("publish", path, errno);
    }
  };
  under(
      lease, path, [] {}, publish);
  sync_folder(folder_of(path));
}

// Writes and syncs a temporary file, then publishes it. The lease is checked after writing, just
// before the file appears.
void write_and(void (*publish)(Temporary&, const fs::path&, const Lease*), const fs::path& path,
               std::initializer_list<std::span<const std::byte>> parts, const Lease* lease) {
  for (int attempt = 1;; ++attempt) {
    Temporary temporary(path);
    for (const auto part : parts) temporary.write(part);
    temporary.sync_and_close();
    try {
      return publish(temporary, path, lease);
    } catch (const TemporaryRemoved&) {
      if (attempt == 3) fail_io("publish", path, ENOENT);
    }
  }
}

void replace(Temporary& temporary, const fs::path& path) {
  if (rename_file(temporary.path(), path) != 0) fail_io("write", path, errno);
  temporary.published();
}

SealBlock seal_of(std::span<const std::byte> image, const Lease* lease) {
  return seal_block(image, lease != nullptr ? lease->term() : 0);
}

}  // namespace

fs::path previous_path(const fs::path& path) { return fs::path(path.string() + ".prev"); }

void write_sealed(const fs::path& path, std::span<const std::byte> image, const Lease* lease) {
  write_and(publish_over, path, {seal_of(image, lease), image}, lease);
}

void write_new_sealed(const fs::path& path, std::span<const std::byte> image, const Lease* lease) {
  if (lease == nullptr && is_there(path)) reject(path);
  write_and(publish_new, path, {seal_of(image, lease), image}, lease);
}

void write_file(const fs::path& path, Overwrite overwrite,
                const std::function<void(const TextSink& out)>& fill) {
  constexpr std::size_t most = std::size_t{1} << 18;  // bytes written at a time
  if (overwrite == Overwrite::no && is_there(path)) reject(path);
  clear_temporaries(folder_of(path), fmt::format(".{}.", path.filename().string()));
  Temporary temporary(path);
  std::string buffer;
  const auto flush = [&] {
    temporary.write(std::as_bytes(std::span(buffer)));
    buffer.clear();
  };
  fill([&](std::string_view text) {
    buffer += text;
    if (buffer.size() >= most) flush();
  });
  flush();
  temporary.sync_and_close();
  if (overwrite == Overwrite::no) {
    try {
      return publish_new(temporary, path, nullptr);
    } catch (const TemporaryRemoved&) {
      fail_io("publish", path, ENOENT);
    }
  }
  replace(temporary, path);
}

void write_text_file(const fs::path& path, std::string_view text) {
  Temporary temporary(path);
  temporary.write(std::as_bytes(std::span(text)));
  temporary.sync_and_close();
  replace(temporary, path);
}

void write_new_text_file(const fs::path& path, std::string_view text, const Lease& lease) {
  write_and(publish_new, path, {std::as_bytes(std::span(text))}, &lease);
}

}  // namespace rewise
