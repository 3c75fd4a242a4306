#include "src/store/temporary_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "src/base/temporary.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {
namespace fs = std::filesystem;

Temporary::Temporary(const fs::path& target) : target_(target) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    path_ = temporary_path(target);
    file_ = syscalls().open(path_.c_str(), kTemporaryFlags, 0666);
    if (file_ >= 0) {
      if (hold_temporary(file_, folder_of(target))) return;
      ::close(file_);
      file_ = -1;
      errno = EAGAIN;
      continue;
    }
    if (errno != EEXIST && errno != EINTR) break;
  }
  const int error = errno;
  path_.clear();
  fail_io("create", target_, error);
}

Temporary::~Temporary() {
  if (file_ >= 0) syscalls().close(file_);
  if (!path_.empty()) syscalls().unlink(path_.c_str());
  if (held_ >= 0) ::close(held_);
}

void Temporary::write(std::span<const std::byte> bytes) {
  // Linux writes at most 2^31 - 4096 bytes per call. Smaller pieces let a signal take effect
  // sooner.
  constexpr std::size_t kPiece = 1 << 26;
  while (!bytes.empty()) {
    const ssize_t done =
        syscalls().write(file_, bytes.data(), std::min<std::size_t>(bytes.size(), kPiece));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_io("write", target_, errno);
    if (done == 0) fail_io("write", target_, EIO);  // nothing written, but no error either
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void Temporary::close() {
  struct stat status {};
  if (::fstat(file_, &status) != 0) fail_io("write", target_, errno);
  written_at_ = static_cast<double>(status.st_mtim.tv_sec) +
                1e-9 * static_cast<double>(status.st_mtim.tv_nsec);
  held_ = ::dup(file_);
  const int file = file_;
  file_ = -1;
  if (syscalls().close(file) != 0 && errno != EINTR) fail_io("close", target_, errno);
}

void Temporary::share() { share_temporary(held_); }

void Temporary::sync_and_close() {
  while (syscalls().fsync(file_) != 0) {
    if (errno != EINTR) fail_io("sync", target_, errno);
  }
  close();
}

}  // namespace rewise
