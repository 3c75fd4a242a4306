#include "src/store/sealed_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>

#include "src/base/error.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::array<unsigned char, 8> kMagic{0x89, 'R', 'W', 'S', '\r', '\n', 0x1a, '\n'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kVersionAt = 8, kBlockAt = 12, kLengthAt = 16, kDigestAt = 24, kLineAt = 40;
constexpr const char* kLine = "rewise sealed file, format 1; HDF5 begins at byte 512\n";

using Block = std::array<std::byte, kBlock>;

[[noreturn]] void fail(const std::string& what, const fs::path& path, int error) {
  throw Error(ExitCode::io,
              fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(error)));
}

template <class T>
void put(Block& block, std::size_t at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    block[at + i] = static_cast<std::byte>((value >> (8 * i)) & 0xffU);
  }
}

template <class T>
T get(std::span<const std::byte> bytes, std::size_t at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value | (static_cast<T>(bytes[at + i]) << (8 * i)));
  }
  return value;
}

// Digest of the block, with its digest field zero, and of the image behind it.
XXH128_canonical_t digest(Block block, std::span<const std::byte> image) {
  std::fill_n(block.begin() + kDigestAt, sizeof(XXH128_canonical_t), std::byte{0});
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  if (!state || XXH3_128bits_reset(state.get()) != XXH_OK ||
      XXH3_128bits_update(state.get(), block.data(), block.size()) != XXH_OK ||
      XXH3_128bits_update(state.get(), image.data(), image.size()) != XXH_OK) {
    throw Error(ExitCode::internal, "cannot compute a file's digest");
  }
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state.get()));
  return canonical;
}

Block user_block(std::span<const std::byte> image) {
  Block block{};
  std::memcpy(block.data(), kMagic.data(), kMagic.size());
  put(block, kVersionAt, kVersion);
  put(block, kBlockAt, static_cast<std::uint32_t>(kBlock));
  put(block, kLengthAt, static_cast<std::uint64_t>(image.size()));
  std::memcpy(block.data() + kLineAt, kLine, std::strlen(kLine));
  const XXH128_canonical_t sum = digest(block, image);
  std::memcpy(block.data() + kDigestAt, &sum, sizeof sum);
  return block;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// Temporaries of `path` are called .<name>.<pid>-<count>.tmp, beside it.
std::string temporary_prefix(const fs::path& path) {
  return fmt::format(".{}.", path.filename().string());
}

bool is_there(const fs::path& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT) return false;
  fail("look at", path, errno);
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
    fail("create", path_, errno);
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
      if (done < 0) fail("write", path_, errno);
      if (done == 0) fail("write", path_, EIO);  // no progress and no reason given
      bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
  }

  // On disk after this. A network file system may report a full disk only when closing.
  void finish() {
    if (syscalls().fsync(file_) != 0) fail("sync", path_, errno);
    const int file = file_;
    file_ = -1;
    if (syscalls().close(file) != 0 && errno != EINTR) fail("close", path_, errno);
  }

  const fs::path& path() const { return path_; }
  void published() { path_.clear(); }

 private:
  fs::path path_;
  int file_ = -1;
};

void sync_folder(const fs::path& folder) {
  const int file = syscalls().open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (file < 0) fail("open", folder, errno);
  const int result = syscalls().fsync(file);
  const int error = errno;
  syscalls().close(file);
  // Some network file systems cannot sync folders and do it by themselves.
  if (result != 0 && error != EINVAL && error != ENOTSUP) fail("sync", folder, error);
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
    if (result != 0) fail("rename", aside, error);
    return Kept::linked;
  }
  if (!links_unsupported(errno)) fail("link", path, errno);
  if (syscalls().rename(path.c_str(), previous.c_str()) != 0) fail("rename", path, errno);
  return Kept::moved;
}

void publish_over(Temporary& temporary, const fs::path& path) {
  const fs::path previous = previous_path(path);
  const Kept kept = keep_previous(path);
  if (syscalls().rename(temporary.path().c_str(), path.c_str()) != 0) {
    const int error = errno;
    if (kept == Kept::moved) syscalls().rename(previous.c_str(), path.c_str());
    fail("rename", temporary.path(), error);
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
    fail("publish", path, errno);
  }
  try {
    sync_folder(folder_of(path));
  } catch (const Error&) {
    syscalls().unlink(path.c_str());
    throw;
  }
}

void write_to(Temporary& temporary, std::span<const std::byte> image) {
  const Block block = user_block(image);
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

std::vector<std::byte> seal(std::span<const std::byte> image) {
  const Block block = user_block(image);
  std::vector<std::byte> bytes(block.size() + image.size());
  std::copy(block.begin(), block.end(), bytes.begin());
  std::copy(image.begin(), image.end(), bytes.begin() + kBlock);
  return bytes;
}

SealedRead parse_sealed(std::span<const std::byte> bytes) {
  const auto damaged = [](const std::string& problem) {
    return SealedRead{SealState::damaged, {}, problem};
  };
  if (bytes.size() < kBlock) {
    return damaged(fmt::format("{} bytes, shorter than its header", bytes.size()));
  }
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return damaged("not a rewise file (its first bytes are not the magic)");
  }
  const auto image = bytes.subspan(kBlock);
  const auto length = get<std::uint64_t>(bytes, kLengthAt);
  if (length != image.size()) {
    return damaged(
        fmt::format("{} bytes long, but {} + {} were written", bytes.size(), kBlock, length));
  }
  Block block;
  std::copy_n(bytes.begin(), kBlock, block.begin());
  const XXH128_canonical_t sum = digest(block, image);
  if (std::memcmp(bytes.data() + kDigestAt, &sum, sizeof sum) != 0) {
    return damaged("its content does not match its digest");
  }
  const auto version = get<std::uint32_t>(bytes, kVersionAt);
  if (version != kVersion || get<std::uint32_t>(bytes, kBlockAt) != kBlock) {
    return {SealState::newer,
            {},
            fmt::format("sealed format {}, but this program reads format {}", version, kVersion)};
  }
  return {SealState::good, {image.begin(), image.end()}, ""};
}

SealedRead read_sealed(const fs::path& path) {
  const int file = syscalls().open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
  if (file < 0) {
    if (errno == ENOENT) return {SealState::missing, {}, "there is no such file"};
    fail("open", path, errno);
  }
  const auto stop = [&](int error) {
    syscalls().close(file);
    fail("read", path, error);
  };
  struct stat status;
  if (::fstat(file, &status) != 0) stop(errno);
  if (!S_ISREG(status.st_mode)) stop(S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = syscalls().read(file, bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) stop(errno);
    if (got == 0) break;  // shorter than a moment ago: parse_sealed reports it
    have += static_cast<std::size_t>(got);
  }
  syscalls().close(file);
  bytes.resize(have);
  return parse_sealed(bytes);
}

}  // namespace rewise
