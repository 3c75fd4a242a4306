#include "src/base/h5_messages.hpp"

#include <algorithm>
#include <bit>

#include "src/base/error.hpp"

namespace rewise::h5::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr std::size_t kMaxRank = 8;

}  // namespace

void unfit(const std::string& what) { throw Error(ExitCode::data, "HDF5: " + what); }

std::uint64_t product(std::uint64_t a, std::uint64_t b, std::uint64_t limit, const char* what) {
  require(b == 0 || a <= limit / b, what);
  return a * b;
}

Type parse_type(Bytes bytes) {
  Cursor in(bytes);
  const auto head = in.take<std::uint32_t>();
  Type type;
  type.size = in.take<std::uint32_t>();
  const std::uint32_t version = (head >> 4) & 0xf, bits = head >> 8;
  require(version >= 1 && version <= 3, "a datatype of another version");
  switch (head & 0xf) {
    case 0: {  // bits: order, padding, sign
      require((bits & ~0x8U) == 0 && std::has_single_bit(type.size) && type.size <= 8,
              "an integer of another kind");
      type.is_signed = (bits & 0x8U) != 0;
      const auto offset = in.take<std::uint16_t>(), precision = in.take<std::uint16_t>();
      require(offset == 0 && precision == 8 * type.size, "an integer with gaps");
      break;
    }
    case 1: {
      type.kind = Class::real;
      type.is_signed = true;
      // Sign at bit 63, exponent 11 bits from 52, mantissa 52 bits from 0 with a hidden bit.
      const std::uint64_t fields = in.take<std::uint64_t>();
      require(bits == 0x3f20 && type.size == 8 && fields == 0x3400'0b34'0040'0000ULL &&
                  in.take<std::uint32_t>() == 1023,
              "a real number that is no IEEE double");
      break;
    }
    case 3:  // bits: padding, character set
      type.kind = Class::text;
      require((bits & 0xf) <= 2 && bits >> 4 <= 1 && type.size > 0, "a text of another kind");
      break;
    default:
      unfit("an element type that is not supported");
  }
  return type;
}

std::vector<std::uint64_t> parse_space(Bytes bytes) {
  Cursor in(bytes);
  const auto version = in.take<std::uint8_t>(), rank = in.take<std::uint8_t>(),
             flags = in.take<std::uint8_t>(), kind = in.take<std::uint8_t>();
  require(version == 1 || version == 2, "a dataspace of another version");
  if (version == 1) in.take(4);
  require(version == 1 || kind <= 1, "a null dataspace");
  require(rank <= kMaxRank && (flags & ~1U) == 0, "a dataspace of another kind");
  std::vector<std::uint64_t> dims(rank);
  for (auto& extent : dims) extent = in.take<std::uint64_t>();
  return dims;
}

std::uint64_t array_bytes(const std::vector<std::uint64_t>& dims, const Type& type,
                          std::uint64_t limit) {
  std::uint64_t bytes = type.size;
  // Extents of zero last, so that the others may not hide behind them.
  for (const auto extent : dims) {
    bytes = product(bytes, std::max<std::uint64_t>(extent, 1), limit, "an array that is too large");
  }
  return std::find(dims.begin(), dims.end(), 0U) == dims.end() ? bytes : 0;
}

}  // namespace rewise::h5::detail
