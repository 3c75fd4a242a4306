// Spins in the place where an engine keeps them on a CUDA device, and sums over them, for who reads
// them there.
#pragma once

#include <cstdint>
#include <vector>

namespace rewise {

// An array on the device: as the engine keeps the spins of its T temperatures and R replicas.
//   bytespin    bytes [T][R][sites], 0 or 1, Potts 0..q - 1
//   multispin   words [T R / 32 / V][slots][V], V from 1 to 8: bit r of a word is replica r of the
//           word group (first index) * V + (last index), its site the one whose slot it is
//   bitlattice  words [T][R][2][rows][words of a row]: src/bitlattice/layout.hpp
struct DeviceSpins {
  void* data = nullptr;
  int device = 0;
  bool words = false;                 // of 32 bits, else bytes
  std::vector<std::uint64_t> shape;   // the last axis is contiguous
  std::vector<std::int64_t> strides;  // likewise, in items
};

// What engines on CUDA devices are, too.
class HasDeviceSpins {
 public:
  virtual ~HasDeviceSpins() = default;
  // The place stays the same as long as the engine lives; what is there is what the last call left.
  // Error(device) where the spins are spread over several devices.
  virtual DeviceSpins device_spins() = 0;
  // Measures all replicas as they are, without a word to the host; cluster sums go on. int64
  // [2][T][R] on the device of the spins, Observation::bond_sum and ::magnetisation: always the
  // same place, valid until the next such call. Error(device) as above.
  virtual std::int64_t* measure_on_device() = 0;
  // Of each site its slot, where the array has slots. [sites] or nothing
  virtual std::vector<std::uint32_t> device_slots() const { return {}; }
  // Waits for what others do on the device, who may be reading.
  virtual void wait_for_readers() = 0;
};

}  // namespace rewise
