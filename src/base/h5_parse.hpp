// Our own reader of HDF5's structure, for images that may be damaged or forged.
//
// libhdf5 (1.10.8 at least) can be crashed by one flipped bit, so it only ever writes here. This
// parser knows the earliest format and what both our writer and h5py's defaults make of it:
// superblock 0, version 1 object headers and B-trees, symbol tables, fixed-length texts, integers
// and IEEE doubles, contiguous and chunked data with shuffle and deflate. Anything else, and any
// address or size outside of the image, is Error(data). Every structure is visited once, so the
// work is bounded by the image's size.
// Source: HDF5 File Format Specification Version 3.0, sections II.A, III and IV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rewise::h5::detail {

using Bytes = std::span<const std::byte>;

enum class Class { integer, real, text };

struct Type {
  Class kind = Class::integer;
  bool is_signed = false;
  std::uint32_t size = 0;  // bytes
  friend bool operator==(const Type&, const Type&) = default;
};

struct Attribute {
  Type type;
  std::vector<std::uint64_t> dims;  // empty: a scalar
  Bytes data;
};

struct Chunk {
  std::vector<std::uint64_t> offset;  // [rank], in elements
  Bytes data;                         // as stored
};

struct Dataset {
  Type type;
  std::vector<std::uint64_t> dims;   // empty: a scalar
  Bytes data;                        // contiguous data
  std::vector<std::uint64_t> chunk;  // [rank] extents of a chunk; empty: contiguous
  std::vector<Chunk> chunks;
  bool shuffled = false, deflated = false;
};

// A group has links, a dataset a dataset; both may have attributes.
struct Node {
  std::map<std::string, Attribute> attributes;
  std::map<std::string, std::unique_ptr<Node>> links;
  std::optional<Dataset> dataset;
};

// A whole file that is read.
struct Image {
  std::vector<std::byte> bytes;
  std::unique_ptr<Node> root;  // points into `bytes`
};

// The tree of an image whose superblock is at its first byte. The result points into `image`.
std::unique_ptr<Node> parse(Bytes image);

[[noreturn]] void unfit(const std::string& what);  // throws Error(data)

}  // namespace rewise::h5::detail
