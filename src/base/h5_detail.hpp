// Internals shared by the two halves of the HDF5 layer, h5.cpp and h5_read.cpp.
#pragma once

#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include "src/base/error.hpp"
#include "src/base/h5.hpp"

namespace rewise::h5::detail {

constexpr std::size_t kMaxText = 60'000;  // bytes of a text attribute

// zlib compresses at most 1032:1; small files may contain a page of fill values.
constexpr std::uint64_t kDeflateRatio = 1100, kSmall = 1 << 16;

// Set if memory ran out since this thread began its last file (h5.cpp hides this from the library).
inline thread_local bool memory_was_lacking = false;

// True if the last call failed because memory ran out.
inline bool memory_ran_out() {
  if (memory_was_lacking) return true;
  bool found = false;
  const auto look = [](unsigned, const H5E_error2_t* error, void* result) -> herr_t {
    if (error->maj_num == H5E_RESOURCE && error->min_num == H5E_NOSPACE) {
      *static_cast<bool*>(result) = true;
    }
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look, &found);
  return found;
}

// unfit() reports an invalid file, failed() a defect. Both throw std::bad_alloc instead if memory
// ran out.
[[noreturn]] inline void unfit(const std::string& what) {
  if (memory_ran_out()) throw std::bad_alloc();
  throw Error(ExitCode::data, "HDF5: " + what);
}
[[noreturn]] inline void failed(const std::string& what) {
  if (memory_ran_out()) throw std::bad_alloc();
  throw Error(ExitCode::internal, "HDF5: cannot " + what);
}

// Stops the library from printing its error stack. The setting is per thread and made once.
inline void quiet() {
  static thread_local const bool done = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  static_cast<void>(done);
  // No filter of a file may load a plug-in.
  static const bool no_plugins = H5PLset_loading_state(0) >= 0;
  static_cast<void>(no_plugins);
}

// The type of an element in the file, and in memory (h5.cpp requires little-endian numbers).
inline hid_t type_of(Kind kind) {
  switch (kind) {
    case Kind::i64:
      return H5T_STD_I64LE;
    case Kind::u64:
      return H5T_STD_U64LE;
    case Kind::u32:
      return H5T_STD_U32LE;
    case Kind::u8:
      return H5T_STD_U8LE;
    case Kind::f64:
      return H5T_IEEE_F64LE;
  }
  failed("name an element type");
}

inline Id text_type(std::size_t size, H5T_cset_t characters = H5T_CSET_UTF8) {
  Id type(H5Tcopy(H5T_C_S1), H5Tclose);
  if (!type.valid() || H5Tset_size(type.get(), std::max<std::size_t>(size, 1)) < 0 ||
      H5Tset_strpad(type.get(), H5T_STR_NULLPAD) < 0 || H5Tset_cset(type.get(), characters) < 0) {
    failed("make a text type");
  }
  return type;
}

}  // namespace rewise::h5::detail
