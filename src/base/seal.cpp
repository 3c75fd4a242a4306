#include "src/base/seal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace rewise {
namespace {

constexpr std::size_t kBlock = std::tuple_size_v<SealBlock>;
constexpr std::array<unsigned char, 8> kMagic{0x89, 'R', 'W', 'S', '\r', '\n', 0x1a, '\n'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kVersionAt = 8, kBlockAt = 12, kLengthAt = 16, kDigestAt = 24, kLineAt = 40,
                      kTermAt = 504;
constexpr const char* kLine = "rewise sealed file, format 1; HDF5 begins at byte 512\n";

using Block = SealBlock;

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

// The digest of the block, with its digest field zero. The image follows.
Digest128 begin_digest(Block block) {
  std::fill_n(block.begin() + kDigestAt, sizeof(XXH128_canonical_t), std::byte{0});
  Digest128 digest;
  digest.add(block.data(), block.size());
  return digest;
}

XXH128_canonical_t canonical(const Digest128& digest) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, digest.value());
  return bytes;
}

SealedRead damaged(const std::string& problem) { return {SealState::damaged, {}, problem, 0}; }

// The checks that do not need the digest.
std::string problem_of(const Block& block, std::size_t image_bytes) {
  if (std::memcmp(block.data(), kMagic.data(), kMagic.size()) != 0) {
    return "not a rewise file (its first bytes are not the signature of one)";
  }
  const auto length = get<std::uint64_t>(block, kLengthAt);
  if (length == image_bytes) return "";
  return fmt::format("it has {} bytes, but {} + {} were written", kBlock + image_bytes, kBlock,
                     length);
}

}  // namespace

SealCheck::SealCheck(const SealBlock& block) : block_(block), digest_(begin_digest(block)) {}

void SealCheck::add(std::span<const std::byte> piece) {
  length_ += piece.size();
  digest_.add(piece.data(), piece.size());
}

SealedRead SealCheck::end() const {
  if (const std::string problem = problem_of(block_, length_); !problem.empty()) {
    return damaged(problem);
  }
  const XXH128_canonical_t sum = canonical(digest_);
  if (std::memcmp(block_.data() + kDigestAt, &sum, sizeof sum) != 0) {
    return damaged("its content and its digest differ");
  }
  const auto version = get<std::uint32_t>(block_, kVersionAt);
  if (version != kVersion || get<std::uint32_t>(block_, kBlockAt) != kBlock) {
    return {SealState::newer,
            {},
            fmt::format("sealed format {}, but this program reads format {}", version, kVersion),
            0};
  }
  return {SealState::good, {}, "", block_term(block_)};
}

SealedRead check_seal(const Block& block, std::size_t size, std::span<const std::byte> image) {
  if (size < kBlock) return damaged(fmt::format("it has {} bytes, less than its header", size));
  if (const std::string problem = problem_of(block, image.size()); !problem.empty()) {
    return damaged(problem);
  }
  SealCheck check(block);
  check.add(image);
  return check.end();
}

SealBlock seal_block(std::span<const std::byte> image, std::uint64_t term) {
  Block block{};
  std::memcpy(block.data(), kMagic.data(), kMagic.size());
  put(block, kVersionAt, kVersion);
  put(block, kBlockAt, static_cast<std::uint32_t>(kBlock));
  put(block, kLengthAt, static_cast<std::uint64_t>(image.size()));
  std::memcpy(block.data() + kLineAt, kLine, std::strlen(kLine));
  put(block, kTermAt, term);
  Digest128 digest = begin_digest(block);
  digest.add(image.data(), image.size());
  const XXH128_canonical_t sum = canonical(digest);
  std::memcpy(block.data() + kDigestAt, &sum, sizeof sum);
  return block;
}

std::uint64_t block_term(const Block& block) { return get<std::uint64_t>(block, kTermAt); }

std::vector<std::byte> seal(std::span<const std::byte> image) {
  const Block block = seal_block(image);
  std::vector<std::byte> bytes(block.size() + image.size());
  std::copy(block.begin(), block.end(), bytes.begin());
  std::copy(image.begin(), image.end(), bytes.begin() + kBlock);
  return bytes;
}

SealedRead parse_sealed(std::span<const std::byte> bytes) {
  Block block{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), kBlock), block.begin());
  const auto image = bytes.subspan(std::min(bytes.size(), kBlock));
  SealedRead read = check_seal(block, bytes.size(), image);
  if (read.state == SealState::good) read.image.assign(image.begin(), image.end());
  return read;
}

}  // namespace rewise
