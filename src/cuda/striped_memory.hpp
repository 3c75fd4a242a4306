// Memory of several CUDA devices under one run of addresses, which all of them read and write as
// they do their own: kernels need not know where a byte lies, only that what is far takes longer.
// (Virtual memory management of the CUDA driver; the devices must be peers that have atomic
// operations in each other's memory, as NVLink gives them: DeviceTeam asks.) Move-only; gone, it
// must not be in use.
//
// On one device it is plain device memory. On several it is a row of periods (the systems of a run,
// say), each of which is cut into equal parts, one for each device, as DevicePart cuts work. Parts
// end at whole pages, so up to a page (2 MiB) at a border lies with the neighbour; periods of less
// than a page for each device are cut as one.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <vector>

#include "src/cuda/device_buffer.hpp"

namespace rewise {

class StripedMemory {
 public:
  StripedMemory() = default;
  // Uninitialised. A device may be named more than once. Error(device) where a device has too
  // little memory left or cannot map that of others.
  StripedMemory(std::size_t bytes, std::size_t period, const std::vector<int>& devices);
  StripedMemory(StripedMemory&& other) noexcept;
  StripedMemory& operator=(StripedMemory&& other) noexcept;
  ~StripedMemory();

  std::byte* data() const { return reinterpret_cast<std::byte*>(address_); }
  std::size_t bytes() const { return bytes_; }

  // As those of DeviceBuffer: queued on a stream of any of the devices.
  void copy_in(std::span<const std::byte> host, cudaStream_t stream, std::size_t first);
  void copy_out(std::span<std::byte> host, cudaStream_t stream, std::size_t first) const;
  void clear(cudaStream_t stream);

 private:
  // Pages that follow each other on one device.
  struct Piece {
    std::size_t begin, end;  // bytes from the start
    unsigned long long handle;
  };

  // Calls f(begin, end) for the parts of [begin, end) in one piece each.
  template <class F>
  void for_each_piece(std::size_t begin, std::size_t end, F&& f) const;
  void map(int device, std::size_t begin, std::size_t end);

  unsigned long long address_ = 0;
  std::size_t bytes_ = 0, reserved_ = 0;
  std::vector<Piece> pieces_;
  DeviceBuffer<std::byte> whole_;  // on one device
};

}  // namespace rewise
