#include "src/base/deflate.hpp"

#ifdef REWISE_HAVE_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

#include <memory>
#include <new>

namespace rewise {

#ifdef REWISE_HAVE_LIBDEFLATE

namespace {

struct Compressor {
  explicit Compressor(int compression_level)
      : level(compression_level),
        library(libdeflate_alloc_compressor(compression_level), libdeflate_free_compressor) {
    if (library == nullptr) throw std::bad_alloc();
  }
  int level;
  std::unique_ptr<libdeflate_compressor, void (*)(libdeflate_compressor*)> library;
};

}  // namespace

std::vector<std::byte> deflated(std::span<const std::byte> bytes, int level) {
  // Creating a compressor costs more than compressing a small array.
  static thread_local std::unique_ptr<Compressor> kept;
  if (kept == nullptr || kept->level != level) kept = std::make_unique<Compressor>(level);
  std::vector<std::byte> out(bytes.size());
  out.resize(libdeflate_zlib_compress(kept->library.get(), bytes.data(), bytes.size(), out.data(),
                                      out.size()));
  return out;
}

std::string deflate_library() { return "libdeflate " LIBDEFLATE_VERSION_STRING; }

#else

std::vector<std::byte> deflated(std::span<const std::byte> bytes, int level) {
  std::vector<std::byte> out(bytes.size());
  uLongf size = static_cast<uLongf>(out.size());
  const int result = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes.data()),
                               static_cast<uLong>(bytes.size()), level);
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  out.resize(result == Z_OK ? size : 0);
  return out;
}

std::string deflate_library() { return std::string("zlib ") + zlibVersion(); }

#endif

}  // namespace rewise
