#include "src/store/sealed_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "src/base/error.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kBlock = std::tuple_size_v<SealBlock>;

// A file that is only read; `file` is what open() returned.
class InputFile {
 public:
  InputFile(const fs::path& path, int file) : path_(path), file_(file) {
    if (file_ < 0 && errno != ENOENT) fail_io("open", path_, errno);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() {
    if (file_ >= 0) syscalls().close(file_);
  }
  bool is_there() const { return file_ >= 0; }

  std::size_t size() const {
    struct stat status;
    if (::fstat(file_, &status) != 0) fail_io("read", path_, errno);
    if (!S_ISREG(status.st_mode)) fail_io("read", path_, S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
    return static_cast<std::size_t>(status.st_size);
  }

  // Fills `bytes` as far as the file goes.
  std::size_t read(std::span<std::byte> bytes) const {
    std::size_t have = 0;
    while (have < bytes.size()) {
      const ssize_t got = syscalls().read(file_, bytes.data() + have, bytes.size() - have);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_io("read", path_, errno);
      if (got == 0) break;
      have += static_cast<std::size_t>(got);
    }
    return have;
  }

 private:
  const fs::path& path_;
  int file_;
};

}  // namespace

SealedRead read_sealed(const fs::path& path) {
  // O_NONBLOCK: a pipe of that name must not make us wait.
  const InputFile file(path, syscalls().open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0));
  if (!file.is_there()) return {SealState::missing, {}, "there is no such file"};
  const std::size_t size = file.size();
  SealBlock block{};
  std::vector<std::byte> image(size - std::min(size, kBlock));
  std::size_t have = file.read(std::span(block).first(std::min(size, kBlock)));
  have += file.read(image);
  image.resize(have - std::min(have, kBlock));  // if it is shorter than a moment ago
  SealedRead read = check_seal(block, have, image);
  if (read.state == SealState::good) read.image = std::move(image);
  return read;
}

}  // namespace rewise
