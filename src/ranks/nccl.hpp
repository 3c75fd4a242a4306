// NCCL: messages from one rank's CUDA device to another's, queued on streams. The library
// (libnccl.so.2, 2.14 or later) is looked for when it is asked for; neither its header nor CUDA is
// needed where this is built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "src/ranks/transport.hpp"

namespace rewise::ranks {

struct NcclLibrary {
  std::string version;  // "2.27.3", or nothing
  std::string why_not;  // there is none
};
const NcclLibrary& nccl_library();

class Nccl {
 public:
  // All ranks together, each on the CUDA device that is current, which `device` tells from all
  // others anywhere. All get one, or none of them, with the first rank's reason why: no library,
  // libraries of different versions, two ranks on one device, or what NCCL says. Ranks that do not
  // come together within `patience` seconds have a reason, too.
  static std::unique_ptr<Nccl> join(Transport& transport, const std::string& device,
                                    std::string& why_not, double patience = 60);
  // All ranks together, what was queued being done; or on the way of an error, alone.
  ~Nccl();
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  // Messages between begin() and end() go when what was queued on the stream (a cudaStream_t)
  // before is done, and what is queued after end() follows them. Between two ranks they are in the
  // same order with both, of the same lengths, none of them 0. Error(device).
  void begin();
  void send(int to, std::span<const std::uint8_t> bytes, void* stream);
  void receive(int from, std::span<std::uint8_t> bytes, void* stream);
  void end();
  // Error(device) where what was queued cannot come any more. Whoever waits for it asks.
  void check() const;

 private:
  Nccl() = default;
  std::string meet(Transport& transport, bool blocks, double patience);
  std::string why(int status) const;
  void pass(int status) const;
  int state() const;

  void* comm_ = nullptr;  // ncclComm_t
};

}  // namespace rewise::ranks
