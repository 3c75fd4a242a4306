// Digests (XXH3) of bytes that come in pieces.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <memory>
#include <new>

namespace rewise {

// Begin, add and end are the library's functions of one width. Throws std::bad_alloc.
template <auto kBegin, auto kAdd, auto kEnd>
class Digest {
 public:
  Digest() : state_(XXH3_createState(), &XXH3_freeState) {
    if (!state_) throw std::bad_alloc();
    kBegin(state_.get());
  }
  void add(const void* bytes, std::size_t size) { kAdd(state_.get(), bytes, size); }
  auto value() const { return kEnd(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

using Digest64 = Digest<&XXH3_64bits_reset, &XXH3_64bits_update, &XXH3_64bits_digest>;
using Digest128 = Digest<&XXH3_128bits_reset, &XXH3_128bits_update, &XXH3_128bits_digest>;

}  // namespace rewise
