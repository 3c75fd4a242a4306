// A cache of page-locked host memory for reuse: allocation takes a millisecond per 4 MiB, and
// freeing waits for the device.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "src/cuda/pinned_buffer.hpp"

namespace rewise {

class PinnedStock {
 public:
  using Buffer = PinnedBuffer<std::byte>;

  // Limits of the cache: number of buffers and total bytes.
  PinnedStock(std::size_t most, std::size_t most_bytes) : most_(most), most_bytes_(most_bytes) {}

  // Returns a buffer of at least that size.
  Buffer take(std::size_t size) {
    {
      const std::lock_guard lock(mutex_);
      for (Buffer& kept : kept_) {
        if (kept.size() < size || kept.size() > 4 * size) continue;
        std::swap(kept, kept_.back());
        Buffer buffer = std::move(kept_.back());
        kept_.pop_back();
        bytes_ -= buffer.size();
        return buffer;
      }
    }
    return Buffer(size);
  }
  void give(Buffer buffer) {
    if (buffer.size() == 0) return;
    const std::lock_guard lock(mutex_);
    if (kept_.size() >= most_ || bytes_ + buffer.size() > most_bytes_) return;
    bytes_ += buffer.size();
    kept_.push_back(std::move(buffer));
  }

 private:
  const std::size_t most_, most_bytes_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;  // in the cache
  std::vector<Buffer> kept_;
};

}  // namespace rewise
