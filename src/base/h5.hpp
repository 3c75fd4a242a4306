// A small RAII layer over the HDF5 C API, for files in memory.
//
// A file is built as an image and read back from one; nothing here touches a disk. Images use the
// earliest format without time stamps, so that equal data give equal bytes.
//
// Safety: a damaged image can crash libhdf5. Callers check the digest of a file first (seal.hpp)
// and pass only good images to File::open(). The content is checked as well: only hard links,
// fixed-length texts and the element types below; contiguous, compact or chunked layout; shuffle
// and deflate. The sizes read from a file may not exceed what deflate can expand the image to.
//
// Errors: Error(data) for an invalid image, Error(internal) if an image cannot be built.
//
// Threads: one thread per file at a time. A thread-safe libhdf5 acquires a global lock in every
// call; threads that make hundreds of calls each would spend most of their time on it. Therefore a
// thread holds rewise's own lock (LibraryLock) for as long as it has a File, except during a
// LibraryUnlock. Keep the time under the lock short: compress data before (pack(), pack_narrow())
// and leave large arrays out of the library (Group::write_apart()). Threads that write many files
// pass the work to build(), where one thread executes the requests of all (flat combining).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/base/narrow.hpp"

namespace rewise::h5 {

enum class Kind { i64, u64, u32, u8, f64 };

template <class T>
consteval Kind kind_of() {
  if constexpr (std::is_same_v<T, std::int64_t>) return Kind::i64;
  if constexpr (std::is_same_v<T, std::uint64_t>) return Kind::u64;
  if constexpr (std::is_same_v<T, std::uint32_t>) return Kind::u32;
  if constexpr (std::is_same_v<T, std::uint8_t>) return Kind::u8;
  if constexpr (std::is_same_v<T, double>) return Kind::f64;
}

// Owns one HDF5 identifier.
class Id {
 public:
  using Closer = int (*)(std::int64_t);
  Id() = default;
  Id(std::int64_t id, Closer close) : id_(id), close_(close) {}
  Id(Id&& other) noexcept : id_(other.id_), close_(other.close_) { other.id_ = -1; }
  Id& operator=(Id&& other) noexcept;
  ~Id();
  std::int64_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }

 private:
  std::int64_t id_ = -1;
  Closer close_ = nullptr;
};

template <class T>
struct Array {
  std::vector<std::uint64_t> dims;
  std::vector<T> values;  // [product of dims], last index fastest
};

// Layout of a dataset: contiguous if `chunk` is empty, else in chunks of that shape, shuffled and
// deflated at `level` (0: not compressed).
struct Packing {
  std::vector<std::uint64_t> chunk;
  int level = 0;
  // For pack(): the strides of the source array in values, if it is not in row-major order. The
  // last index has stride 1.
  std::vector<std::uint64_t> strides = {};
};

// A chunk after the filters shuffle and deflate.
struct PackedChunk {
  std::vector<std::uint64_t> offset;
  std::vector<std::byte> bytes;
  bool deflated = true;
};

// An array in its stored form. pack() and pack_narrow() do not need the lock.
struct PackedArray {
  Kind kind = Kind::u8;
  std::vector<std::uint64_t> dims;
  Packing packing;
  std::vector<PackedChunk> chunks;  // empty for an empty array
};

namespace detail {
struct Values {  // in memory
  const void* data;
  std::size_t bytes;  // per value
};
PackedArray pack(Kind kind, const Values& values, std::size_t size,
                 const std::vector<std::uint64_t>& dims, const Packing& packing);
struct Memory;  // the image of a file being written
}  // namespace detail

// `packing` must have a chunk shape and a level.
template <class T>
PackedArray pack(std::span<const T> values, const std::vector<std::uint64_t>& dims,
                 const Packing& packing) {
  return detail::pack(kind_of<T>(), {values.data(), sizeof(T)}, values.size(), dims, packing);
}
// Stores narrow values as 64-bit integers.
template <class T>
PackedArray pack_narrow(const NarrowSpan<T>& values, const std::vector<std::uint64_t>& dims,
                        const Packing& packing) {
  return detail::pack(kind_of<T>(), {values.data(), values.bytes_each()}, values.size(), dims,
                      packing);
}

class Group {
 public:
  // Writing. Attributes hold at most 60000 bytes (a limit of the earliest format).
  Group create_group(const std::string& name);
  void set_text(const std::string& name, std::string_view value);
  template <class T>
  void set(const std::string& name, T value) {
    set_raw(name, kind_of<T>(), &value, 1, true);
  }
  template <class T>
  void set_array(const std::string& name, std::span<const T> values) {
    set_raw(name, kind_of<T>(), values.data(), values.size(), false);
  }
  template <class T>
  void write(const std::string& name, std::span<const T> values,
             const std::vector<std::uint64_t>& dims, const Packing& packing = {}) {
    write_raw(name, kind_of<T>(), {values.data(), sizeof(T)}, values.size(), dims, packing);
  }
  void write(const std::string& name, const PackedArray& array);
  // A contiguous dataset whose bytes are copied without the lock when the image is made. They must
  // stay valid until then.
  void write_apart(const std::string& name, std::span<const std::uint8_t> bytes);
  void write_text(const std::string& name, std::string_view value);  // a scalar dataset, any length

  // Reading.
  Group group(const std::string& name) const;
  bool has(const std::string& name) const;  // a group or dataset of that name
  bool has_attribute(const std::string& name) const;
  std::vector<std::string> attribute_names() const;  // sorted
  std::vector<std::string> names() const;            // of groups and datasets, sorted
  std::string text(const std::string& name) const;
  template <class T>
  T get(const std::string& name) const {
    T value{};
    get_raw(name, kind_of<T>(), &value, 1);
    return value;
  }
  template <class T>
  std::vector<T> get_array(const std::string& name, std::size_t max_size) const {
    std::vector<T> values(array_size(name, max_size));
    get_raw(name, kind_of<T>(), values.data(), values.size());
    return values;
  }
  // A whole dataset of exactly `rank` dimensions.
  template <class T>
  Array<T> read(const std::string& name, std::size_t rank) const {
    const Id dataset = open_dataset(name, kind_of<T>());
    Array<T> array;
    array.dims = dataset_dims(dataset, name, rank, sizeof(T));
    std::uint64_t size = 1;
    for (const auto extent : array.dims) size *= extent;
    array.values.resize(static_cast<std::size_t>(size));
    read_raw(dataset, name, kind_of<T>(), array.values.data(), array.values.size());
    return array;
  }
  std::string read_text(const std::string& name) const;
  // Offset and size in the image of a contiguous dataset of bytes.
  std::pair<std::uint64_t, std::uint64_t> place_of_bytes(const std::string& name) const;

 private:
  friend class File;
  Group(Id id, std::shared_ptr<std::uint64_t> budget, std::shared_ptr<detail::Memory> memory)
      : id_(std::move(id)), budget_(std::move(budget)), memory_(std::move(memory)) {}

  void set_raw(const std::string& name, Kind kind, const void* values, std::size_t size,
               bool scalar);
  void write_raw(const std::string& name, Kind kind, const detail::Values& values, std::size_t size,
                 const std::vector<std::uint64_t>& dims, const Packing& packing);
  void require_hard_link(const std::string& name) const;
  Id open_attribute(const std::string& name) const;
  Id open_dataset(const std::string& name) const;
  Id open_dataset(const std::string& name, Kind kind) const;
  std::size_t array_size(const std::string& name, std::size_t max_size) const;
  void get_raw(const std::string& name, Kind kind, void* values, std::size_t size) const;
  std::vector<std::uint64_t> dataset_dims(const Id& dataset, const std::string& name,
                                          std::size_t rank, std::size_t element) const;
  void read_raw(const Id& dataset, const std::string& name, Kind kind, void* values,
                std::size_t size) const;

  void spend(std::uint64_t bytes, const std::string& name) const;

  Id id_;
  std::shared_ptr<std::uint64_t> budget_;   // bytes that may still be read from the file
  std::shared_ptr<detail::Memory> memory_;  // of a file being written
};

// Holds the lock of the library for a thread; recursive. Move-only.
class LibraryLock {
 public:
  LibraryLock();
  LibraryLock(LibraryLock&& other) noexcept : mine_(std::exchange(other.mine_, false)) {}
  LibraryLock& operator=(LibraryLock&& other) noexcept {
    std::swap(mine_, other.mine_);
    return *this;
  }
  ~LibraryLock();

 private:
  bool mine_ = true;
};

// Releases the lock while it exists, for work that makes no HDF5 calls.
class LibraryUnlock {
 public:
  LibraryUnlock();
  ~LibraryUnlock();
  LibraryUnlock(const LibraryUnlock&) = delete;
  LibraryUnlock& operator=(const LibraryUnlock&) = delete;

 private:
  const int depth_;  // recursion depth to restore
};

class File {
 public:
  static File create();  // an empty file in memory, for writing
  // Opens an image for reading. The bytes are not copied and must outlive the file and its groups.
  // The image may follow a user block, as in a sealed file. Check its digest first (seal.hpp).
  static File open(std::span<const std::byte> image);
  Group root() const;
  std::vector<std::byte> image() const;  // the current image of a file being written

 private:
  friend std::vector<std::byte> build(const std::function<void(Group root)>& fill);
  void flush() const;
  File(LibraryLock lock, Id id, std::uint64_t budget,
       std::shared_ptr<detail::Memory> memory = nullptr)
      : lock_(std::move(lock)),
        memory_(std::move(memory)),
        id_(std::move(id)),
        budget_(std::make_shared<std::uint64_t>(budget)) {}
  LibraryLock lock_;
  std::shared_ptr<detail::Memory> memory_;
  Id id_;
  std::shared_ptr<std::uint64_t> budget_;
};

// Builds a file: calls `fill` with its root group and returns the image. `fill` runs on this thread
// or on another thread that holds the lock, and must not wait for other threads.
std::vector<std::byte> build(const std::function<void(Group root)>& fill);

// Version of the HDF5 library in use, "1.10.8".
std::string library_version();

}  // namespace rewise::h5
