// Writing sealed files so that a good one is there at every instant (sealed_file.hpp).
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <functional>

#include "src/base/error.hpp"
#include "src/base/temporary.hpp"
#include "src/store/lease.hpp"
#include "src/store/sealed_file.hpp"
#include "src/store/syscalls.hpp"
#include "src/store/temporary.hpp"

namespace rewise {
namespace fs = std::filesystem;
namespace {

bool is_there(const fs::path& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT) return false;
  fail_io("look at", path, errno);
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
  // Some network file systems cannot sync folders and do it by themselves.
  if (result != 0 && error != EINVAL && error != ENOTSUP) fail_io("sync", folder, error);
}

enum class Kept { none, linked, moved };

// Makes `.prev` a second name of the file at `path`, which stays where it is if links are possible.
Kept keep_previous(const fs::path& path) {
  if (!is_there(path)) return Kept::none;
  const fs::path previous = previous_path(path);
  const fs::path aside = temporary_path(path);
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

// A file of a later term was written by whoever took our lease over.
void require_no_later(const fs::path& path, const Lease& lease) {
  const int file = syscalls().open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
  if (file < 0) return;  // none, or what cannot be read any more may be replaced
  SealBlock block{};
  const ssize_t got = syscalls().read(file, block.data(), block.size());
  syscalls().close(file);
  if (got != static_cast<ssize_t>(block.size()) || block_term(block) <= lease.term()) return;
  const SealedRead read = read_sealed(path);  // unless the block is damaged
  if (read.state != SealState::good || read.term <= lease.term()) return;
  throw LeaseLost(ExitCode::interrupted,
                  fmt::format("{} was written in term {} of its lease, later than this process's "
                              "term {}; the task is left to others",
                              path.string(), read.term, lease.term()));
}

// Calls `publish`, with a lease only while it is right.
void under(const Lease* lease, const fs::path& path, const std::function<void()>& publish) {
  if (lease == nullptr) return publish();
  lease->prove([&] {
    require_no_later(path, *lease);
    publish();
  });
}

void publish_over(Temporary& temporary, const fs::path& path, const Lease* lease) {
  const fs::path previous = previous_path(path);
  Kept kept = Kept::none;
  under(lease, path, [&] {
    kept = keep_previous(path);
    temporary.release();
    if (syscalls().rename(temporary.path().c_str(), path.c_str()) != 0) {
      const int error = errno;
      if (kept == Kept::moved) syscalls().rename(previous.c_str(), path.c_str());
      fail_io("rename", temporary.path(), error);
    }
    temporary.published();
  });
  try {
    sync_folder(folder_of(path));
  } catch (const Error&) {
    // An error means that nothing has changed, so the previous file comes back.
    under(lease, path, [&] {
      if (kept == Kept::none) {
        syscalls().unlink(path.c_str());
      } else {
        syscalls().rename(previous.c_str(), path.c_str());
      }
    });
    throw;
  }
}

[[noreturn]] void refuse(const fs::path& path) {
  throw Error(ExitCode::held,
              fmt::format("{} exists already and is not overwritten", path.string()));
}

// Neither links nor RENAME_NOREPLACE (FAT, some of FUSE): who makes the marker may look and rename.
// 0, or -1 with errno.
int rename_by_marker(const fs::path& from, const fs::path& path) {
  const fs::path marker =
      folder_of(path) / fmt::format(".{}.0.tmp", path.filename().string());  // a temporary, too
  int file = -1;
  for (int attempt = 0; attempt < 2 && file < 0; ++attempt) {
    file = syscalls().open(marker.c_str(), kTemporaryFlags, 0666);
    if (file < 0 && errno != EEXIST) return -1;
    if (file < 0) clear_temporaries(folder_of(path), marker.filename().string());  // a dead one's
  }
  if (file < 0) return -1;
  int result = -1;
  if (!hold_temporary(file, folder_of(path)) || is_there(path)) {
    errno = EEXIST;
  } else {
    result = syscalls().rename(from.c_str(), path.c_str());
  }
  const int error = errno;
  syscalls().unlink(marker.c_str());
  syscalls().close(file);
  errno = error;
  return result;
}

void publish_new(Temporary& temporary, const fs::path& path, const Lease* lease) {
  under(lease, path, [&] {
    const fs::path& from = temporary.path();
    temporary.release();
    int result = syscalls().link(from.c_str(), path.c_str());
    if (result != 0 && links_unsupported(errno)) {
      result = syscalls().rename_new(from.c_str(), path.c_str());
      if (result != 0 && (errno == EINVAL || errno == ENOSYS))
        result = rename_by_marker(from, path);
      if (result == 0) temporary.published();
    }
    if (result != 0) {
      if (errno == EEXIST) refuse(path);
      fail_io("publish", path, errno);
    }
  });
  try {
    sync_folder(folder_of(path));
  } catch (const Error&) {
    under(lease, path, [&] { syscalls().unlink(path.c_str()); });
    throw;
  }
}

void write_to(Temporary& temporary, std::span<const std::byte> image, const Lease* lease) {
  const SealBlock block = seal_block(image, lease != nullptr ? lease->term() : 0);
  temporary.write(block);
  temporary.write(image);
  temporary.sync_and_close();
}

}  // namespace

fs::path previous_path(const fs::path& path) { return fs::path(path.string() + ".prev"); }

void write_sealed(const fs::path& path, std::span<const std::byte> image, const Lease* lease) {
  Temporary temporary(path);
  write_to(temporary, image, lease);
  publish_over(temporary, path, lease);
}

void write_new_sealed(const fs::path& path, std::span<const std::byte> image, const Lease* lease) {
  if (lease == nullptr && is_there(path)) refuse(path);
  Temporary temporary(path);
  write_to(temporary, image, lease);
  publish_new(temporary, path, lease);
}

void write_plain(const fs::path& path, std::span<const std::byte> bytes) {
  Temporary temporary(path);
  temporary.write(bytes);
  temporary.sync_and_close();
  temporary.release();
  if (syscalls().rename(temporary.path().c_str(), path.c_str()) != 0) fail_io("write", path, errno);
  temporary.published();
}

}  // namespace rewise
