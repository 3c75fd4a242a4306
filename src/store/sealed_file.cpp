#include "src/store/sealed_file.hpp"

#include <algorithm>
#include <array>

#include "src/store/input_file.hpp"

namespace rewise {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 24;

}  // namespace

SealedRead read_sealed(const fs::path& path) {
  const InputFile file(path);
  if (!file.is_there()) return {SealState::missing, {}, "there is no such file"};
  const std::size_t size = file.size();
  SealBlock block{};
  std::vector<std::byte> image(size - std::min(size, kSealBytes));
  std::size_t have = file.read(std::span(block).first(std::min(size, kSealBytes)));
  have += file.read(image);
  image.resize(have - std::min(have, kSealBytes));  // if the file has been truncated
  SealedRead read = check_seal(block, have, image);
  if (read.state == SealState::good) read.image = std::move(image);
  return read;
}

SealedRead check_sealed(const fs::path& path, std::uint64_t& length) {
  length = 0;
  const InputFile file(path);
  if (!file.is_there()) return {SealState::missing, {}, "there is no such file"};
  SealBlock block{};
  const std::size_t have = file.read(block);
  if (have < kSealBytes) return check_seal(block, have, {});
  SealCheck check(block);
  std::vector<std::byte> piece(
      std::min(kPiece, std::max(file.size(), kSealBytes + 1) - kSealBytes));
  while (const std::size_t got = file.read(piece)) {
    check.add(std::span(piece).first(got));
    length += got;
  }
  return check.end();
}

}  // namespace rewise
