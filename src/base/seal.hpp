// Sealed files: a 512-byte user block with a digest, followed by an image. Any damage is detected.
//
//   bytes   0..7    magic 89 'R' 'W' 'S' 0D 0A 1A 0A
//           8..11   format version, little endian      12..15  512
//          16..23   length of the image                24..39  xxh3-128 of the whole file
//          (with these 16 bytes zero, so that padding counts too)
//          40..503  one line of text for human readers, then zeros
//         504..511  the term of the lease under which it was written (src/store/lease.hpp); 0: none
//   bytes 512..     the image; it starts with the HDF5 superblock, so h5dump and h5py open the file
// Magic, length and digest keep their offsets in all later versions. src/store/sealed_file.hpp
// writes such files. Cost: one pass of XXH3.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/digest.hpp"

namespace rewise {

enum class SealState {
  good,
  missing,
  damaged,
  newer,  // good, but of an unknown, later format version
};

struct SealedRead {
  SealState state = SealState::missing;
  std::vector<std::byte> image;  // empty unless good
  std::string problem;           // empty if good; what is wrong, without the file's name
  std::uint64_t term = 0;        // from the block; 0 unless good
};

// seal_block() returns the block that precedes an image, seal() the bytes of the whole file.
using SealBlock = std::array<std::byte, 512>;
inline constexpr std::size_t kSealBytes = std::tuple_size_v<SealBlock>;
SealBlock seal_block(std::span<const std::byte> image, std::uint64_t term = 0);
std::uint64_t block_term(const SealBlock& block);  // also of a damaged file
std::vector<std::byte> seal(std::span<const std::byte> image);

// Checks a file of `size` bytes that consists of `block` and `image`. The image is not copied.
SealedRead check_seal(const SealBlock& block, std::size_t size, std::span<const std::byte> image);
// check_seal() for the bytes of a whole file.
SealedRead parse_sealed(std::span<const std::byte> bytes);

// check_seal() for an image that is read piece by piece.
class SealCheck {
 public:
  explicit SealCheck(const SealBlock& block);
  void add(std::span<const std::byte> piece);
  SealedRead end() const;

 private:
  const SealBlock block_;
  std::size_t length_ = 0;
  Digest128 digest_;
};

}  // namespace rewise
