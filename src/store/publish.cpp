// Writing sealed files so that a good one is there at every instant (sealed_file.hpp).
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "src/base/error.hpp"
#include "src/store/sealed_file.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {
namespace fs = std::filesystem;
namespace {

// Temporaries of `path` are called .<name>.<pid>-<count>.tmp, beside it.
std::string temporary_prefix(const fs::path& path) {
  return fmt::format(".{}.", path.filename().string());
}

bool is_there(const fs::path& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT) return false;
  fail_io("look at", path, errno);
}

bool links_unsupported(int error) {
  return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK;
}

// A file under a temporary name: removed again unless it was published.
class Temporary {
 public:
  explicit Temporary(const fs::path& target) {
    static std::atomic<unsigned> count{0};
    for (int attempt = 0; attempt < 100; ++attempt) {
      path_ = folder_of(target) /
              fmt::format("{}{}-{}.tmp", temporary_prefix(target), ::getpid(), count.fetch_add(1));
      file_ = syscalls().open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
      if (file_ >= 0) return;
      if (errno != EEXIST) break;  // a killed process of the same pid may have left one
    }
    fail_io("create", path_, errno);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (file_ >= 0) syscalls().close(file_);
    if (!path_.empty()) syscalls().unlink(path_.c_str());
  }

  void write(std::span<const std::byte> bytes) {
    // Linux transfers at most 2^31 - 4096 bytes at once; smaller pieces let a signal be seen.
    constexpr std::size_t kPiece = 1 << 26;
    while (!bytes.empty()) {
      const ssize_t done =
          syscalls().write(file_, bytes.data(), std::min<std::size_t>(bytes.size(), kPiece));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) fail_io("write", path_, errno);
      if (done == 0) fail_io("write", path_, EIO);  // no progress and no reason given
      bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
  }

  // On disk after this. A network file system may report a full disk only when closing.
  void finish() {
    if (syscalls().fsync(file_) != 0) fail_io("sync", path_, errno);
    const int file = file_;
    file_ = -1;
    if (syscalls().close(file) != 0 && errno != EINTR) fail_io("close", path_, errno);
  }

  const fs::path& path() const { return path_; }
  void published() { path_.clear(); }

 private:
  fs::path path_;
  int file_ = -1;
};

void sync_folder(const fs::path& folder) {
  const int file = syscalls().open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (file < 0) fail_io("open", folder, errno);
  const int result = syscalls().fsync(file);
  const int error = errno;
  syscalls().close(file);
  // Some network file systems cannot sync folders and do it by themselves.
  if (result != 0 && error != EINVAL && error != ENOTSUP) fail_io("sync", folder, error);
}

enum class Kept { none, linked, moved };

// Makes `.prev` a second name of the file at `path`, which stays where it is if links are possible.
Kept keep_previous(const fs::path& path) {
  if (!is_there(path)) return Kept::none;
  const fs::path previous = previous_path(path);
  const fs::path aside =
      folder_of(path) / fmt::format("{}{}-prev.tmp", temporary_prefix(path), ::getpid());
  syscalls().unlink(aside.c_str());  // left by a killed process of the same pid
  if (syscalls().link(path.c_str(), aside.c_str()) == 0) {
    const int result = syscalls().rename(aside.c_str(), previous.c_str());
    const int error = errno;
    // Renaming one name of a file onto another name of it does nothing: remove it in any case.
    syscalls().unlink(aside.c_str());
    if (result != 0) fail_io("rename", aside, error);
    return Kept::linked;
  }
  if (!links_unsupported(errno)) fail_io("link", path, errno);
  if (syscalls().rename(path.c_str(), previous.c_str()) != 0) fail_io("rename", path, errno);
  return Kept::moved;
}

void publish_over(Temporary& temporary, const fs::path& path) {
  const fs::path previous = previous_path(path);
  const Kept kept = keep_previous(path);
  if (syscalls().rename(temporary.path().c_str(), path.c_str()) != 0) {
    const int error = errno;
    if (kept == Kept::moved) syscalls().rename(previous.c_str(), path.c_str());
    fail_io("rename", temporary.path(), error);
  }
  temporary.published();
  try {
    sync_folder(folder_of(path));
  } catch (const Error&) {
    // An error means that nothing has changed, so the previous file comes back.
    if (kept == Kept::none) {
      syscalls().unlink(path.c_str());
    } else {
      syscalls().rename(previous.c_str(), path.c_str());
    }
    throw;
  }
}

[[noreturn]] void refuse(const fs::path& path) {
  throw Error(ExitCode::held,
              fmt::format("{} exists already and is not overwritten", path.string()));
}

void publish_new(Temporary& temporary, const fs::path& path) {
  int result = syscalls().link(temporary.path().c_str(), path.c_str());
  if (result != 0 && links_unsupported(errno)) {
    result =
        ::renameat2(AT_FDCWD, temporary.path().c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE);
    if (result == 0) temporary.published();
  }
  if (result != 0) {
    if (errno == EEXIST) refuse(path);
    fail_io("publish", path, errno);
  }
  try {
    sync_folder(folder_of(path));
  } catch (const Error&) {
    syscalls().unlink(path.c_str());
    throw;
  }
}

void write_to(Temporary& temporary, std::span<const std::byte> image) {
  const SealBlock block = seal_block(image);
  temporary.write(block);
  temporary.write(image);
  temporary.finish();
}

}  // namespace

fs::path previous_path(const fs::path& path) { return fs::path(path.string() + ".prev"); }

void write_sealed(const fs::path& path, std::span<const std::byte> image) {
  Temporary temporary(path);
  write_to(temporary, image);
  publish_over(temporary, path);
}

void write_new_sealed(const fs::path& path, std::span<const std::byte> image) {
  if (is_there(path)) refuse(path);
  Temporary temporary(path);
  write_to(temporary, image);
  publish_new(temporary, path);
}

}  // namespace rewise
