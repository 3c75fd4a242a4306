#include "src/base/h5.hpp"

#include <fmt/format.h>
#include <hdf5.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
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

// Images that are open at the same time need different names, by which the library identifies them.
std::string unique_image_name() {
  static std::atomic<std::uint64_t> count{0};
  return fmt::format("rewise-image-{}", count.fetch_add(1));
}

static_assert(std::endian::native == std::endian::little, "stored arrays are little-endian");

// Extents or a position: one number for each dimension of an array.
using Indices = std::vector<std::uint64_t>;

// An array in memory. Values may have more bytes in the file (sign extension).
struct Elements {
  const std::byte* data;
  std::size_t bytes, file_bytes;  // of a value
  bool has_sign;
};

// Shuffles `count` values of `bytes` bytes into a chunk, from element `first` on: first the first
// bytes of all elements, then the second bytes, and so on.
template <std::size_t bytes>
void shuffle(const std::byte* values, const Elements& array, std::size_t first, std::size_t count,
             std::span<std::byte> chunk) {
  const std::size_t elements = chunk.size() / array.file_bytes;
  const auto plane = [&](std::size_t b) { return chunk.data() + b * elements + first; };
  for (std::size_t b = 0; b < bytes; ++b) {
    std::byte* const to = plane(b);
    for (std::size_t k = 0; k < count; ++k) to[k] = values[k * bytes + b];
  }
  if (bytes == array.file_bytes) return;
  std::byte* const sign = plane(bytes);
  for (std::size_t k = 0; k < count; ++k) {
    const bool negative =
        array.has_sign && (values[k * bytes + bytes - 1] & std::byte{0x80}) != std::byte{0};
    sign[k] = negative ? std::byte{0xff} : std::byte{0};
  }
  for (std::size_t b = bytes + 1; b < array.file_bytes; ++b) std::copy_n(sign, count, plane(b));
}

void shuffle(const std::byte* values, const Elements& array, std::size_t first, std::size_t count,
             std::span<std::byte> chunk) {
  if (array.bytes == 8) return shuffle<8>(values, array, first, count, chunk);
  if (array.bytes == 4) return shuffle<4>(values, array, first, count, chunk);
  if (array.bytes == 2) return shuffle<2>(values, array, first, count, chunk);
  shuffle<1>(values, array, first, count, chunk);
}

std::vector<PackedChunk> pack_chunks(const Elements& values, const Indices& dims,
                                     const Packing& packing) {
  const std::size_t rank = dims.size();
  const Indices extents(dims.begin(), dims.end()), ones(rank, 1);
  const Indices chunk(packing.chunk.begin(), packing.chunk.end());
  std::uint64_t elements = 1;
  for (const auto extent : chunk) elements *= extent;
  Indices strides(packing.strides.begin(), packing.strides.end());
  if (strides.empty()) {
    strides = ones;
    for (std::size_t i = rank - 1; i-- > 0;) strides[i] = strides[i + 1] * extents[i + 1];
  }
  // Advances the first `digits` indices like an odometer. Returns false after the last position.
  const auto next = [](Indices& at, const Indices& step, const Indices& end, std::size_t digits) {
    for (std::size_t i = digits; i-- > 0; at[i] = 0) {
      at[i] += step[i];
      if (at[i] < end[i]) return true;
    }
    return false;
  };
  std::vector<PackedChunk> packed;
  std::vector<std::byte> shuffled(values.file_bytes * elements);
  Indices offset(rank, 0);
  do {
    std::fill(shuffled.begin(), shuffled.end(), std::byte{0});  // padding beyond the array
    Indices within(rank);  // extents of the chunk, within the array
    for (std::size_t i = 0; i < rank; ++i) within[i] = std::min(chunk[i], extents[i] - offset[i]);
    Indices row(rank, 0);  // start of a row: elements along the last index are contiguous
    do {
      std::uint64_t from = 0, to = 0;
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

// Throws std::bad_alloc unless 16 MiB of address space are available, because the library crashes
// if its own allocations fail (1.10.8: H5AC_create()).
void require_room() {
  constexpr std::size_t least = std::size_t{16} << 20;
  void* const room = ::mmap(nullptr, least, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  ::munmap(room, least);
}

}  // namespace

// Holds the bytes that the library has written, in pages of the size of a large chunk, and views of
// the arrays of write_apart(). The library only allocates space for these arrays; image() copies
// them in.
struct detail::Memory {
  static constexpr std::size_t kPage = std::size_t{1} << 16;
  using Page = std::array<std::byte, kPage>;
  struct Apart {
    haddr_t at;
    std::span<const std::uint8_t> bytes;
  };

  // Calls f(page number, offset in the page, offset in the range, size) for each page of a range.
  template <class F>
  static void by_pages(haddr_t at, std::size_t size, const F& f) {
    for (std::size_t done = 0; done < size;) {
      const auto within = static_cast<std::size_t>((at + done) % kPage);
      const std::size_t count = std::min(size - done, kPage - within);
      f((at + done) / kPage, within, done, count);
      done += count;
    }
  }

  void write(haddr_t at, std::span<const std::byte> bytes) {
    by_pages(at, bytes.size(), [&](haddr_t page, std::size_t to, std::size_t from, std::size_t n) {
      auto found = pages.find(page);
      if (found == pages.end()) found = pages.emplace(page, std::make_unique<Page>()).first;
      std::copy_n(bytes.data() + from, n, found->second->data() + to);
    });
    written = std::max(written, at + bytes.size());
  }
  // Bytes that were never written are zero.
  void read(haddr_t at, std::span<std::byte> bytes) const {
    by_pages(at, bytes.size(), [&](haddr_t page, std::size_t from, std::size_t to, std::size_t n) {
      const auto found = pages.find(page);
      if (found == pages.end()) {
        std::fill_n(bytes.data() + to, n, std::byte{0});
      } else {
        std::copy_n(found->second->data() + from, n, bytes.data() + to);
      }
    });
  }
  std::vector<std::byte> image() const {
    if (lacks_bytes) throw std::bad_alloc();
    std::vector<std::byte> bytes(static_cast<std::size_t>(end));
    for (const auto& [page, memory] : pages) {
      if (page * kPage >= end) continue;
      const std::size_t at = page * kPage;
      std::copy_n(memory->data(), std::min(kPage, bytes.size() - at), bytes.data() + at);
    }
    for (const Apart& some : apart) {
      std::memcpy(bytes.data() + some.at, some.bytes.data(), some.bytes.size());
    }
    return bytes;
  }

  std::map<haddr_t, std::unique_ptr<Page>> pages;
  haddr_t written = 0, end = 0;  // end of the written and of the allocated part of the file
  std::vector<Apart> apart;
  bool lacks_bytes = false;  // out of memory: some bytes are missing
};

namespace {

// A file of the HDF5 file driver that stores the bytes in a Memory. (The library's core driver
// keeps one array, which it copies whenever the file grows, under the lock.)
struct MemoryFile {
  H5FD_t library;                  // comes first: the library's part
  std::shared_ptr<Memory> memory;  // shared: the library may keep a file that it could not close
};
using MemoryInfo = const std::shared_ptr<Memory>*;  // passed to the driver's open function

Memory& memory_of(const H5FD_t* file) { return *reinterpret_cast<const MemoryFile*>(file)->memory; }

H5FD_t* open_memory(const char*, unsigned, hid_t access, haddr_t) {
  const void* const info = H5Pget_driver_info(access);
  if (info == nullptr) return nullptr;
  auto* const file = new (std::nothrow) MemoryFile{};
  if (file == nullptr) {
    memory_was_lacking = true;
    return nullptr;
  }
  file->memory = **static_cast<const MemoryInfo*>(info);
  return &file->library;
}
herr_t close_memory(H5FD_t* file) {
  delete reinterpret_cast<MemoryFile*>(file);
  return 0;
}
herr_t get_features(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}
haddr_t end_of_layout(const H5FD_t* file, H5FD_mem_t) { return memory_of(file).end; }
herr_t lay_out_to(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  memory_of(file).end = end;
  return 0;
}
haddr_t end_of_bytes(const H5FD_t* file, H5FD_mem_t) { return memory_of(file).written; }
herr_t read_memory(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, std::size_t size, void* to) {
  memory_of(file).read(at, {static_cast<std::byte*>(to), size});
  return 0;
}
// If memory runs out, the file has no image, but this function reports success: otherwise the
// library would not close the file and would crash at exit (1.10.8).
herr_t write_memory(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, std::size_t size,
                    const void* from) {
  try {
    memory_of(file).write(at, {static_cast<const std::byte*>(from), size});
  } catch (const std::bad_alloc&) {
    memory_of(file).lacks_bytes = memory_was_lacking = true;
  }
  return 0;
}

hid_t memory_driver() {
  static const hid_t driver = [] {
    static H5FD_class_t made{};
#ifdef H5FD_CLASS_VERSION
    made.version = H5FD_CLASS_VERSION;
    made.value = static_cast<H5FD_class_value_t>(400);  // user-defined drivers: 256 to 511
#endif
    made.name = "rewise_memory";
    made.maxaddr = static_cast<haddr_t>(1) << 62;
    made.fc_degree = H5F_CLOSE_WEAK;
    made.fapl_size = sizeof(MemoryInfo);
    made.open = open_memory;
    made.close = close_memory;
    made.query = get_features;
    made.get_eoa = end_of_layout;
    made.set_eoa = lay_out_to;
    made.get_eof = end_of_bytes;
    made.read = read_memory;
    made.write = write_memory;
    std::fill(std::begin(made.fl_map), std::end(made.fl_map), H5FD_MEM_DEFAULT);
    return H5FDregister(&made);
  }();
  return driver;
}

// Access properties for the earliest file format.
Id file_access() {
  require_room();
  Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (!access.valid() ||
      H5Pset_libver_bounds(access.get(), H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST) < 0) {
    failed("set up a file in memory");
  }
  return access;
}

}  // namespace

namespace {

std::mutex& library_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}
thread_local int lock_depth = 0;  // recursion depth of this thread

}  // namespace

LibraryLock::LibraryLock() {
  if (lock_depth == 0) library_mutex().lock();
  ++lock_depth;
}

LibraryLock::~LibraryLock() {
  if (mine_ && --lock_depth == 0) library_mutex().unlock();
}

LibraryUnlock::LibraryUnlock() : depth_(std::exchange(lock_depth, 0)) {
  if (depth_ > 0) library_mutex().unlock();
}

LibraryUnlock::~LibraryUnlock() {
  if (depth_ > 0) library_mutex().lock();
  lock_depth = depth_;
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
  LibraryLock lock;
  quiet();
  memory_was_lacking = false;
  const Id access = file_access();
  auto memory = std::make_shared<Memory>();
  const MemoryInfo there = &memory;
  if (memory_driver() < 0 || H5Pset_driver(access.get(), memory_driver(), &there) < 0) {
    failed("set up a file in memory");
  }
  Id file(H5Fcreate(unique_image_name().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()),
          H5Fclose);
  if (!file.valid()) failed("create a file in memory");
  return File(std::move(lock), std::move(file), std::numeric_limits<std::uint64_t>::max(),
              std::move(memory));
}

namespace {

// Callbacks with which the library reads an image in place. By default it copies the image twice,
// which takes longer than everything else.
void* borrow_image(std::size_t, H5FD_file_image_op_t, void* image) { return image; }
void* no_copy(void* to, const void*, std::size_t, H5FD_file_image_op_t, void*) { return to; }
void* no_growth(void*, std::size_t, H5FD_file_image_op_t, void*) { return nullptr; }
herr_t no_free(void*, H5FD_file_image_op_t, void*) { return 0; }
void* same_image(void* image) { return image; }
herr_t keep_image(void*) { return 0; }

}  // namespace

File File::open(std::span<const std::byte> image) {
  quiet();
  if (image.empty()) unfit("the image is empty");
  LibraryLock lock;
  memory_was_lacking = false;
  const Id access = file_access();
  // Opened read-only, the library never writes to these bytes.
  auto* const bytes = const_cast<std::byte*>(image.data());
  H5FD_file_image_callbacks_t callbacks{borrow_image, no_copy,    no_growth, no_free,
                                        same_image,   keep_image, bytes};
  if (H5Pset_fapl_core(access.get(), 1 << 16, 0) < 0 ||
      H5Pset_file_image_callbacks(access.get(), &callbacks) < 0 ||
      H5Pset_file_image(access.get(), bytes, image.size()) < 0) {
    failed("take over an image");
  }
  Id file(H5Fopen(unique_image_name().c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (!file.valid()) unfit("not an HDF5 file");
  return File(std::move(lock), std::move(file), kDeflateRatio * image.size() + kSmall);
}

Group File::root() const {
  quiet();
  Id group(H5Gopen2(id_.get(), "/", H5P_DEFAULT), H5Gclose);
  if (!group.valid()) unfit("it has no root group");
  return Group(std::move(group), budget_, memory_);
}

void File::flush() const {
  quiet();
  if (H5Fflush(id_.get(), H5F_SCOPE_GLOBAL) < 0) failed("flush a file in memory");
}

std::vector<std::byte> File::image() const {
  flush();
  const LibraryUnlock unlock;
  return memory_->image();
}

namespace {

// Flat combining: the first waiting thread executes its own request and those of other threads,
// until the queue is empty or it has executed kMaxCombined of the others. Then the next waiting
// thread continues.
class CombiningQueue {
 public:
  void run(const std::function<void()>& work) {
    Job job{&work};
    std::unique_lock lock(mutex_);
    (last_ == nullptr ? first_ : last_->next) = &job;
    last_ = &job;
    if (std::exchange(has_leader_, true)) {
      job.changed.wait(lock, [&] { return job.done || job.leads; });
    }
    if (!job.done) lead(lock);
    if (job.error) std::rethrow_exception(job.error);
  }

 private:
  static constexpr int kMaxCombined = 32;
  struct Job {
    const std::function<void()>* work;
    std::exception_ptr error = {};
    bool done = false, leads = false;
    std::condition_variable changed = {};
    Job* next = nullptr;
  };

  // Executes queued requests. The first one is that of this thread.
  void lead(std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    const LibraryLock library;
    lock.lock();
    for (int done = 0; first_ != nullptr; ++done) {
      if (done > kMaxCombined) {
        first_->leads = true;
        first_->changed.notify_one();
        return;
      }
      Job& job = *first_;
      lock.unlock();
      try {
        (*job.work)();
      } catch (...) {
        job.error = std::current_exception();
      }
      lock.lock();
      first_ = job.next;
      if (first_ == nullptr) last_ = nullptr;
      job.done = true;
      job.changed.notify_one();
    }
    has_leader_ = false;
  }

  std::mutex mutex_;
  Job *first_ = nullptr, *last_ = nullptr;
  bool has_leader_ = false;
};

}  // namespace

std::vector<std::byte> build(const std::function<void(Group root)>& fill) {
  static CombiningQueue& queue = *new CombiningQueue;
  std::shared_ptr<Memory> memory;
  const auto work = [&] {
    const File file = File::create();
    fill(file.root());
    file.flush();
    memory = file.memory_;
  };
  lock_depth > 0 ? work() : queue.run(work);
  return memory->image();
}

Group Group::create_group(const std::string& name) {
  quiet();
  Id group(H5Gcreate2(id_.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  if (!group.valid()) failed(fmt::format("create the group {}", name));
  return Group(std::move(group), budget_, memory_);
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
      H5Acreate2(id_.get(), name.c_str(), type_of(kind), space.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose);
  if (!attribute.valid() || (size > 0 && H5Awrite(attribute.get(), type_of(kind), values) < 0)) {
    failed(fmt::format("write the attribute {}", name));
  }
}

namespace {

std::size_t element_bytes(Kind kind) {
  switch (kind) {
    case Kind::u8:
      return 1;
    case Kind::u32:
      return 4;
    default:
      return 8;
  }
}

std::uint64_t product(const Indices& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::uint64_t{1}, std::multiplies<>());
}

// Creation properties of a new dataset.
Id layout_list(const std::string& name) {
  Id list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  if (!list.valid() || H5Pset_obj_track_times(list.get(), false) < 0) {
    failed(fmt::format("lay out {}", name));
  }
  return list;
}

Id create_dataset(hid_t group, const std::string& name, Kind kind, const Indices& dims,
                  const Id& list) {
  const Id space = simple_space(dims);
  if (!space.valid()) failed(fmt::format("lay out {}", name));
  Id dataset(H5Dcreate2(group, name.c_str(), type_of(kind), space.get(), H5P_DEFAULT, list.get(),
                        H5P_DEFAULT),
             H5Dclose);
  if (!dataset.valid()) failed(fmt::format("create {}", name));
  return dataset;
}

// HDF5 does not allow chunks larger than the array, so an empty array is not chunked.
void set_chunks(const Id& list, const std::string& name, const Packing& packing) {
  const std::vector<hsize_t> chunk(packing.chunk.begin(), packing.chunk.end());
  if (H5Pset_chunk(list.get(), static_cast<int>(chunk.size()), chunk.data()) < 0 ||
      (packing.level > 0 &&
       (H5Pset_shuffle(list.get()) < 0 ||
        H5Pset_deflate(list.get(), static_cast<unsigned>(packing.level)) < 0))) {
    failed(fmt::format("lay out {}", name));
  }
}

}  // namespace

PackedArray detail::pack(Kind kind, const Values& values, std::size_t size, const Indices& dims,
                         const Packing& packing) {
  const bool packs = packing.chunk.size() == dims.size() && packing.level > 0;
  if (product(dims) != size || (size > 0 && !packs)) {
    throw Error(ExitCode::internal,
                "HDF5: cannot pack an array: its values or its chunks do not fit");
  }
  PackedArray array{kind, dims, packing, {}};
  if (size == 0) return array;
  array.chunks = pack_chunks({static_cast<const std::byte*>(values.data), values.bytes,
                              element_bytes(kind), kind == Kind::i64},
                             dims, packing);
  return array;
}

void Group::write(const std::string& name, const PackedArray& array) {
  quiet();
  const Id list = layout_list(name);
  if (!array.chunks.empty()) set_chunks(list, name, array.packing);
  const Id dataset = create_dataset(id_.get(), name, array.kind, array.dims, list);
  constexpr std::uint32_t not_deflated = 2;  // the second filter
  for (const PackedChunk& chunk : array.chunks) {
    const std::vector<hsize_t> offset(chunk.offset.begin(), chunk.offset.end());
    if (H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, chunk.deflated ? 0 : not_deflated, offset.data(),
                       chunk.bytes.size(), chunk.bytes.data()) < 0) {
      failed(fmt::format("write {}", name));
    }
  }
}

void Group::write_apart(const std::string& name, std::span<const std::uint8_t> bytes) {
  quiet();
  const Id list = layout_list(name);
  if (H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY) < 0 ||
      H5Pset_fill_time(list.get(), H5D_FILL_TIME_NEVER) < 0) {
    failed(fmt::format("lay out {}", name));
  }
  const Id dataset = create_dataset(id_.get(), name, Kind::u8, {bytes.size()}, list);
  if (bytes.empty()) return;
  const haddr_t at = H5Dget_offset(dataset.get());
  if (at == HADDR_UNDEF) failed(fmt::format("find the offset of {}", name));
  memory_->apart.push_back({at, bytes});
}

void Group::write_raw(const std::string& name, Kind kind, const detail::Values& values,
                      std::size_t size, const std::vector<std::uint64_t>& dims,
                      const Packing& packing) {
  quiet();
  if (!packing.chunk.empty() && packing.level > 0 && size > 0) {
    const auto packed = [&] {
      const LibraryUnlock unlock;
      return detail::pack(kind, values, size, dims, packing);
    };
    return write(name, packed());
  }
  if (product(dims) != size) failed(fmt::format("write {}: values and dimensions differ", name));
  if (!packing.strides.empty() && size > 0) failed(fmt::format("lay out {}", name));
  const Id list = layout_list(name);
  if (!packing.chunk.empty() && size > 0) set_chunks(list, name, packing);
  const Id dataset = create_dataset(id_.get(), name, kind, dims, list);
  if (size > 0 &&
      H5Dwrite(dataset.get(), type_of(kind), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data) < 0) {
    failed(fmt::format("write {}", name));
  }
}

void Group::write_text(const std::string& name, std::string_view value) {
  quiet();
  const std::string bytes = padded(value);
  const Id type = text_type(bytes.size());
  const Id space = scalar_space();
  const Id list = layout_list(name);
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
