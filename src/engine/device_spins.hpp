// Direct access to the spins of an engine in the memory of a CUDA device, and to sums over them.
#pragma once

#include <cstdint>
#include <vector>

namespace rewise {

// An array on the device, in the layout of the engine, for T temperatures and R replicas:
//   bytespin    bytes [T][R][sites], 0 or 1, Potts 0..q - 1
//   multispin   words [T R / 32 / V][slots][V], V from 1 to 8: bit r of a word is replica r of the
//               word group (first index) * V + (last index); device_slots() gives slots of sites
//   bitlattice  words [T][R][2][rows][words of a row]: src/bitlattice/layout.hpp
struct DeviceSpins {
  void* data = nullptr;
  int device = 0;
  bool words = false;                 // 32-bit words, else bytes
  std::vector<std::uint64_t> shape;   // the last axis is contiguous
  std::vector<std::int64_t> strides;  // per axis, in items
};

// Additional interface of engines on CUDA devices.
class HasDeviceSpins {
 public:
  virtual ~HasDeviceSpins() = default;
  // The spins. Their address does not change during the lifetime of the engine; the content is that
  // after the last call. Throws Error(device) if the spins are distributed over several devices.
  virtual DeviceSpins device_spins() = 0;
  // Measures all replicas without a transfer to the host; cluster sums are not reset. Returns int64
  // [2][T][R] on the device of the spins, Observation::bond_sum and ::magnetisation. The address is
  // always the same, the content is valid until the next call. Throws Error(device) as above.
  virtual std::int64_t* measure_on_device() = 0;
  // The slot of each site, [sites]; empty if the array has no slots.
  virtual std::vector<std::uint32_t> device_slots() const { return {}; }
  // Waits for all work on the device, since other code may be reading the spins.
  virtual void wait_for_readers() = 0;
};

}  // namespace rewise
