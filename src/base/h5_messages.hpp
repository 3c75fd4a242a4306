// The pieces of an HDF5 image that stand alone: bounded reading, datatypes and dataspaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "src/base/h5_parse.hpp"

namespace rewise::h5::detail {

// Error(data) with this text unless `good`.
inline void require(bool good, const char* what) {
  if (!good) unfit(what);
}

// Takes values one after the other; Error(data) at the end of the bytes.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : bytes_(bytes) {}
  template <class T>
  T take() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  Bytes take(std::uint64_t count) {
    require(count <= bytes_.size(), "a structure ends too early");
    const Bytes piece = bytes_.first(static_cast<std::size_t>(count));
    bytes_ = bytes_.subspan(piece.size());
    return piece;
  }
  void expect(std::string_view signature, const char* what) {
    const Bytes found = take(signature.size());
    require(std::memcmp(found.data(), signature.data(), found.size()) == 0, what);
  }
  // `count` bytes, of which as many follow as fill it up to a multiple of eight.
  Bytes take_padded(std::uint64_t count) {
    const Bytes piece = take(count);
    take((8 - count % 8) % 8);
    return piece;
  }
  std::size_t left() const { return bytes_.size(); }

 private:
  Bytes bytes_;
};

// a * b where the product is at most `limit`.
std::uint64_t product(std::uint64_t a, std::uint64_t b, std::uint64_t limit, const char* what);

// Messages 0x03 and 0x01 of an object header; anything that Type cannot say is Error(data).
Type parse_type(Bytes bytes);
std::vector<std::uint64_t> parse_space(Bytes bytes);

// Bytes of an array; 0 if an extent is. Error(data) beyond `limit`.
std::uint64_t array_bytes(const std::vector<std::uint64_t>& dims, const Type& type,
                          std::uint64_t limit);

}  // namespace rewise::h5::detail
