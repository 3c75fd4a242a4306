#include "src/store/sealed_file.hpp"

#include <algorithm>
#include <array>

#include "src/store/input_file.hpp"

namespace rewise {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kBlock = std::tuple_size_v<SealBlock>;

}  // namespace

SealedRead read_sealed(const fs::path& path) {
  const InputFile file(path);
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
