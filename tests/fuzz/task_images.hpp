// Images of tasks with valid HDF5 structure and wrong content. They are made by our own writer,
// since digests keep damaged images from the reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rewise::test {

// The file of a small checkpoint. Each byte of `decisions` determines one piece (attribute, dataset
// or group): 0, or no byte left, makes it correct. Other values omit it, change its type, rank,
// size or values, or replace it by something else.
std::vector<std::byte> task_image(std::span<const std::uint8_t> decisions);

// The number of pieces of the file.
inline constexpr std::size_t kTaskPieces = 39;

}  // namespace rewise::test
