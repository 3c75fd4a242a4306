#include "src/base/h5.hpp"

#include <fmt/format.h>
#include <hdf5.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <utility>

#include "src/base/deflate.hpp"
#include "src/base/h5_detail.hpp"

namespace rewise::h5 {

using namespace detail;

namespace {

static_assert(sizeof(hid_t) == sizeof(std::int64_t), "HDF5 1.10 or newer is needed");

Id simple_space(const std::vector<std::uint64_t>& dims) {
  const std::vector<hsize_t> extents(dims.begin(), dims.end());
  return Id(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose);
}

Id scalar_space() { return Id(H5Screate(H5S_SCALAR), H5Sclose); }

// A fixed-length text padded with zeros, of at least one byte.
std::string padded(std::string_view value) {
  if (value.find('\0') != std::string_view::npos) failed("store a text with a zero byte");
  return value.empty() ? std::string(1, '\0') : std::string(value);
}

// Images that are open at once need different names: the library tells them apart by it.
std::string unique_image_name() {
  static std::atomic<std::uint64_t> count{0};
  return fmt::format("rewise-image-{}", count.fetch_add(1));
}

static_assert(std::endian::native == std::endian::little, "arrays are stored as they lie here");

using Place = std::vector<hsize_t>;

// A chunk of an array as the filters shuffle and deflate leave it.
struct PackedChunk {
  Place offset;
  std::vector<std::byte> bytes;
  bool deflated = true;
};

// Values in memory, and what they become: elements of as many bytes or more, of which the ones
// beyond are the sign's.
struct Values {
  const std::byte* data;
  std::size_t bytes, element;
  bool has_sign;
};

// `count` values of `bytes` bytes, from number `first` on, of a chunk of elements: the first bytes
// of all elements lie before the second ones, ..
template <std::size_t bytes>
void shuffle(const std::byte* values, const Values& of, std::size_t first, std::size_t count,
             std::span<std::byte> chunk) {
  const std::size_t elements = chunk.size() / of.element;
  const auto plane = [&](std::size_t b) { return chunk.data() + b * elements + first; };
  for (std::size_t b = 0; b < bytes; ++b) {
    std::byte* const to = plane(b);
    for (std::size_t k = 0; k < count; ++k) to[k] = values[k * bytes + b];
  }
  if (bytes == of.element) return;
  std::byte* const sign = plane(bytes);
  for (std::size_t k = 0; k < count; ++k) {
    const bool negative =
        of.has_sign && (values[k * bytes + bytes - 1] & std::byte{0x80}) != std::byte{0};
    sign[k] = negative ? std::byte{0xff} : std::byte{0};
  }
  for (std::size_t b = bytes + 1; b < of.element; ++b) std::copy_n(sign, count, plane(b));
}

void shuffle(const std::byte* values, const Values& of, std::size_t first, std::size_t count,
             std::span<std::byte> chunk) {
  if (of.bytes == 8) return shuffle<8>(values, of, first, count, chunk);
  if (of.bytes == 4) return shuffle<4>(values, of, first, count, chunk);
  if (of.bytes == 2) return shuffle<2>(values, of, first, count, chunk);
  shuffle<1>(values, of, first, count, chunk);
}

std::vector<PackedChunk> pack_chunks(const Values& values, const std::vector<std::uint64_t>& dims,
                                     const Packing& packing) {
  const std::size_t rank = dims.size();
  const Place extents(dims.begin(), dims.end()), ones(rank, 1);
  const Place chunk(packing.chunk.begin(), packing.chunk.end());
  hsize_t elements = 1;
  for (const auto extent : chunk) elements *= extent;
  Place strides(packing.strides.begin(), packing.strides.end());
  if (strides.empty()) {
    strides = ones;
    for (std::size_t i = rank - 1; i-- > 0;) strides[i] = strides[i + 1] * extents[i + 1];
  }
  // The next place of an odometer of so many digits, or false after the last.
  const auto next = [](Place& at, const Place& step, const Place& end, std::size_t digits) {
    for (std::size_t i = digits; i-- > 0; at[i] = 0) {
      at[i] += step[i];
      if (at[i] < end[i]) return true;
    }
    return false;
  };
  std::vector<PackedChunk> packed;
  std::vector<std::byte> shuffled(values.element * elements);
  Place offset(rank, 0);
  do {
    std::fill(shuffled.begin(), shuffled.end(), std::byte{0});  // what is beyond the array
    Place within(rank);  // extents of the chunk, within the array
    for (std::size_t i = 0; i < rank; ++i) within[i] = std::min(chunk[i], extents[i] - offset[i]);
    Place row(rank, 0);  // of which the last index's elements lie side by side
    do {
      hsize_t from = 0, to = 0;
      for (std::size_t i = 0; i < rank; ++i) {
        from += (offset[i] + row[i]) * strides[i];
        to = to * chunk[i] + row[i];
      }
      shuffle(values.data + values.bytes * from, values, to, within[rank - 1], shuffled);
    } while (next(row, ones, within, rank - 1));
    packed.push_back({offset, deflated(shuffled, packing.level)});
    if (packed.back().bytes.empty()) packed.back() = {offset, shuffled, false};
  } while (next(offset, chunk, extents, rank));
  return packed;
}

// The library, which does one thing at a time whatever the number of threads, only takes them.
void write_chunks(hid_t dataset, const std::string& name, const Values& values,
                  const std::vector<std::uint64_t>& dims, const Packing& packing) {
  constexpr std::uint32_t not_deflated = 2;  // the second filter
  std::vector<PackedChunk> packed;
  {
    const Pause pause;
    packed = pack_chunks(values, dims, packing);
  }
  for (const PackedChunk& chunk : packed) {
    if (H5Dwrite_chunk(dataset, H5P_DEFAULT, chunk.deflated ? 0 : not_deflated, chunk.offset.data(),
                       chunk.bytes.size(), chunk.bytes.data()) < 0) {
      failed(fmt::format("write {}", name));
    }
  }
}

// The library crashes where what it needs for itself is refused (1.10.8: H5AC_create()).
void require_room() {
  constexpr std::size_t least = std::size_t{16} << 20;
  void* const room = ::mmap(nullptr, least, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  ::munmap(room, least);
}

Id memory_access() {
  require_room();
  Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  constexpr std::size_t kGrowth = 1 << 20;
  if (!access.valid() || H5Pset_fapl_core(access.get(), kGrowth, 0) < 0 ||
      H5Pset_libver_bounds(access.get(), H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST) < 0) {
    failed("set up a file in memory");
  }
  return access;
}

}  // namespace

namespace {

std::mutex& library_door() {
  static std::mutex& door = *new std::mutex;
  return door;
}
thread_local int turns = 0;  // of this thread

}  // namespace

Turn::Turn() {
  if (turns == 0) library_door().lock();
  ++turns;
}

Turn::~Turn() {
  if (mine_ && --turns == 0) library_door().unlock();
}

Pause::Pause() : turns_(std::exchange(turns, 0)) {
  if (turns_ > 0) library_door().unlock();
}

Pause::~Pause() {
  if (turns_ > 0) library_door().lock();
  turns = turns_;
}

Id& Id::operator=(Id&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(close_, other.close_);
  return *this;
}

Id::~Id() {
  if (id_ >= 0 && close_ != nullptr) close_(id_);
}

File File::create() {
  Turn turn;
  quiet();
  const Id access = memory_access();
  Id file(H5Fcreate(unique_image_name().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()),
          H5Fclose);
  if (!file.valid()) failed("create a file in memory");
  return File(std::move(turn), std::move(file), std::numeric_limits<std::uint64_t>::max());
}

namespace {

// An image to be read is lent to the library: of its own accord it would copy the bytes twice,
// which takes longer than all else.
void* lend(std::size_t, H5FD_file_image_op_t, void* image) { return image; }
void* leave_as_it_is(void* to, const void*, std::size_t, H5FD_file_image_op_t, void*) { return to; }
void* refuse_to_grow(void*, std::size_t, H5FD_file_image_op_t, void*) { return nullptr; }
herr_t give_back(void*, H5FD_file_image_op_t, void*) { return 0; }
void* same_image(void* image) { return image; }
herr_t keep_image(void*) { return 0; }

}  // namespace

File File::open(std::span<const std::byte> image) {
  quiet();
  if (image.empty()) unfit("the image is empty");
  Turn turn;
  const Id access = memory_access();
  // Opening read-only, the library never writes to the bytes.
  auto* const bytes = const_cast<std::byte*>(image.data());
  H5FD_file_image_callbacks_t lent{lend,       leave_as_it_is, refuse_to_grow, give_back,
                                   same_image, keep_image,     bytes};
  if (H5Pset_file_image_callbacks(access.get(), &lent) < 0 ||
      H5Pset_file_image(access.get(), bytes, image.size()) < 0) {
    failed("take over an image");
  }
  Id file(H5Fopen(unique_image_name().c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (!file.valid()) unfit("not an HDF5 file");
  return File(std::move(turn), std::move(file), kDeflateRatio * image.size() + kSmall);
}

Group File::root() const {
  quiet();
  Id group(H5Gopen2(id_.get(), "/", H5P_DEFAULT), H5Gclose);
  if (!group.valid()) unfit("it has no root group");
  return Group(std::move(group), budget_);
}

std::vector<std::byte> File::image() const {
  quiet();
  if (H5Fflush(id_.get(), H5F_SCOPE_GLOBAL) < 0) failed("flush a file in memory");
  const ssize_t size = H5Fget_file_image(id_.get(), nullptr, 0);
  if (size <= 0) failed("measure a file in memory");
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  if (H5Fget_file_image(id_.get(), bytes.data(), bytes.size()) != size) {
    failed("copy a file in memory");
  }
  return bytes;
}

Group Group::create_group(const std::string& name) {
  quiet();
  Id group(H5Gcreate2(id_.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  if (!group.valid()) failed(fmt::format("create the group {}", name));
  return Group(std::move(group), budget_);
}

void Group::set_text(const std::string& name, std::string_view value) {
  quiet();
  const std::string bytes = padded(value);
  if (bytes.size() > kMaxText) failed(fmt::format("store {} bytes in {}", bytes.size(), name));
  const Id type = text_type(bytes.size());
  const Id space = scalar_space();
  const Id attribute(
      H5Acreate2(id_.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose);
  if (!attribute.valid() || H5Awrite(attribute.get(), type.get(), bytes.data()) < 0) {
    failed(fmt::format("write the attribute {}", name));
  }
}

void Group::set_raw(const std::string& name, Kind kind, const void* values, std::size_t size,
                    bool scalar) {
  quiet();
  const Id space = scalar ? scalar_space() : simple_space({size});
  const Id attribute(
      H5Acreate2(id_.get(), name.c_str(), file_type(kind), space.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose);
  if (!attribute.valid() ||
      (size > 0 && H5Awrite(attribute.get(), memory_type(kind), values) < 0)) {
    failed(fmt::format("write the attribute {}", name));
  }
}

void Group::write_raw(const std::string& name, Kind kind, const Values& values, std::size_t size,
                      const std::vector<std::uint64_t>& dims, const Packing& packing) {
  quiet();
  std::uint64_t product = 1;
  for (const auto extent : dims) product *= extent;
  if (product != size) failed(fmt::format("write {}: values and dimensions differ", name));
  const Id list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  bool good = list.valid() && H5Pset_obj_track_times(list.get(), false) >= 0;
  // A chunk may not be larger than the array, so an empty array has none.
  const bool packed = !packing.chunk.empty() && packing.level > 0 && size > 0;
  const std::size_t element = H5Tget_size(memory_type(kind));
  const bool plain = packing.strides.empty() && values.bytes == element;
  if (!packed && !plain && size > 0) failed(fmt::format("lay out {}", name));
  if (good && !packing.chunk.empty() && size > 0) {
    const std::vector<hsize_t> chunk(packing.chunk.begin(), packing.chunk.end());
    good = H5Pset_chunk(list.get(), static_cast<int>(chunk.size()), chunk.data()) >= 0;
    if (good && packing.level > 0) {
      good = H5Pset_shuffle(list.get()) >= 0 &&
             H5Pset_deflate(list.get(), static_cast<unsigned>(packing.level)) >= 0;
    }
  }
  const Id space = simple_space(dims);
  if (!good || !space.valid()) failed(fmt::format("lay out {}", name));
  const Id dataset(H5Dcreate2(id_.get(), name.c_str(), file_type(kind), space.get(), H5P_DEFAULT,
                              list.get(), H5P_DEFAULT),
                   H5Dclose);
  if (packed && dataset.valid()) {
    return write_chunks(
        dataset.get(), name,
        {static_cast<const std::byte*>(values.data), values.bytes, element, kind == Kind::i64},
        dims, packing);
  }
  if (!dataset.valid() || (size > 0 && H5Dwrite(dataset.get(), memory_type(kind), H5S_ALL, H5S_ALL,
                                                H5P_DEFAULT, values.data) < 0)) {
    failed(fmt::format("write {}", name));
  }
}

void Group::write_text(const std::string& name, std::string_view value) {
  quiet();
  const std::string bytes = padded(value);
  const Id type = text_type(bytes.size());
  const Id space = scalar_space();
  const Id list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  if (!list.valid() || H5Pset_obj_track_times(list.get(), false) < 0) {
    failed(fmt::format("lay out {}", name));
  }
  const Id dataset(H5Dcreate2(id_.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT,
                              list.get(), H5P_DEFAULT),
                   H5Dclose);
  if (!dataset.valid() ||
      H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0) {
    failed(fmt::format("write {}", name));
  }
}

std::string library_version() {
  unsigned major = 0, minor = 0, release = 0;
  if (H5get_libversion(&major, &minor, &release) < 0) return "unknown";
  return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace rewise::h5
