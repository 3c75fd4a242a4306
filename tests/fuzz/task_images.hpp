// Images of tasks whose structure is sound and whose content is not: made by our own writer, so
// that the fuzzed reader is shown everything but damage, which digests keep from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rewise::test {

// Each byte decides on one piece (attribute, dataset or group) of the file of a small checkpoint,
// in turn: 0, or no byte left, as it should be; else missing, of another type, rank or size, with
// other values, or replaced by something else.
std::vector<std::byte> task_image(std::span<const std::uint8_t> decisions);

// How many pieces there are to decide on.
inline constexpr std::size_t kTaskPieces = 39;

}  // namespace rewise::test
