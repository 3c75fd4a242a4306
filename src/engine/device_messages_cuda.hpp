// Messages between the memories of CUDA devices of different ranks. Two ranks use the first
// available route (distributed::DeviceRoute):
//
//   peer    ranks of one machine whose devices can access each other: the receiver's device copies
//           from the sender's memory, which other processes open by CUDA handles. The host only
//           announces a queued message and its address; streams wait for the sender's event, and no
//           host waits for a device.
//   direct  MPI that accepts device addresses (queried at run time)
//   host    through page-locked host memory
//
// The received data do not depend on the route.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/cuda/pinned_buffer.hpp"
#include "src/distributed/transport.hpp"

namespace rewise {

class DeviceMessages {
 public:
  // `device` must be the current device.
  DeviceMessages(distributed::Transport& transport, int device);
  // A collective call if register_memory() was called. Destroy the object on all ranks before the
  // memory is freed.
  ~DeviceMessages();
  DeviceMessages(const DeviceMessages&) = delete;
  DeviceMessages& operator=(const DeviceMessages&) = delete;

  // Makes memory of this device available for sending. `memory` must start at the beginning of its
  // allocation. Call on all ranks together, before the first exchange of messages in it. Throws
  // ErrorOfAll (device) if the user requests a route that some ranks do not have.
  void register_memory(std::span<std::uint8_t> memory);

  struct Message {
    int rank;          // of the sender or the receiver
    std::uint8_t* at;  // on this device
    std::uint64_t bytes;
    // If true, the first 64-bit word of the message is the number of words that follow, and `bytes`
    // is an upper limit. Between peers the host never reads this number.
    bool starts_with_length = false;
  };
  // Exchanges messages in the order of `stream`: `out` is sent after the work queued before the
  // call, and `in` is complete before work queued after the call begins. Messages between two ranks
  // have the same order in the lists of both.
  //
  // If two ranks are in the lists of each other, even with empty messages, then work queued after
  // the call begins only when both have read the messages of the previous exchange. Therefore a
  // message may reuse the memory of the message before the last one. Use one stream between two
  // calls of finish().
  void exchange(std::span<const Message> out, std::span<const Message> in, cudaStream_t stream);
  // exchange() without copies from peers. Returns the address at which the device can read each
  // message of `in`: in the memory of the peer, or Message::at. Queue the work that reads messages
  // before the next exchange.
  std::vector<const std::uint8_t*> exchange_addresses(std::span<const Message> out,
                                                      std::span<const Message> in,
                                                      cudaStream_t stream);
  // Waits until all work queued on the stream is done.
  void wait(cudaStream_t stream) const;
  // Call on all ranks together: waits for the stream and until no rank reads the memory of this
  // device.
  void finish(cudaStream_t stream);

  // Routes of the messages from this rank: "peer", "direct", "host", or several of them.
  std::string routes() const;

 private:
  struct Peer {
    bool reaches = false;                         // both devices can access the memory of the other
    bool own_process = false;                     // in this process: no handles are opened
    std::vector<const std::uint8_t*> registered;  // memory that the peer registered
    cudaEvent_t queued[2] = {};                   // events of the peer, used alternately
  };
  struct MemoryHandles;
  MemoryHandles handles_of(std::span<std::uint8_t> memory) const;
  bool open(Peer& peer, const MemoryHandles& handles);
  void close() noexcept;
  bool staged(int rank) const;
  bool needs_length(const Message& message) const;
  void exchange_lengths(std::vector<Message>& out, std::vector<Message>& in, cudaStream_t stream);
  std::uint64_t location(const std::uint8_t* at) const;

  distributed::Transport& transport_;
  const int device_;
  const bool peer_allowed_;  // the user allows the route `peer`
  bool direct_;  // messages to ranks that are not peers go from device memory; false: through
                 // the host
  std::vector<Peer> peers_;                          // [ranks]
  std::vector<std::span<std::uint8_t>> registered_;  // memory passed to register_memory()
  cudaEvent_t queued_[2] = {};
  std::size_t parity_ = 0;  // index in `queued_` of the last exchange
  bool any_peer_ = false;   // some ranks are peers
  std::vector<std::vector<std::uint64_t>> locations_out_, locations_in_;  // [ranks][messages]
  PinnedBuffer<std::uint8_t> staged_out_, staged_in_;
  PinnedBuffer<std::uint64_t> lengths_;
};

// A copy by the device from any memory that it can access.
struct DevicePull {
  const std::uint8_t* from;
  std::uint8_t* to;
  std::uint64_t bytes;
  bool starts_with_length = false;  // as in DeviceMessages::Message
};
// Queues all copies in few launches.
void launch_pull(std::span<const DevicePull> pulls, cudaStream_t stream);

}  // namespace rewise
