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

class DeviceMail {
 public:
  // Uses the current device.
  DeviceMail(distributed::Transport& transport, int device);
  // Call on all ranks together, after lend(). Lent memory must be released after it.
  ~DeviceMail();
  DeviceMail(const DeviceMail&) = delete;
  DeviceMail& operator=(const DeviceMail&) = delete;

  // All ranks together, before the first exchange of what lies there: memory of this device, from
  // its first byte on, that messages are sent from. ErrorOfAll (device) where the user asks for a
  // way that some have not.
  void lend(std::span<std::uint8_t> memory);

  struct Message {
    int rank;          // from or to
    std::uint8_t* at;  // on this device
    std::uint64_t bytes;
    // Its first word says how many words of 64 bits follow it; `bytes` is the most that there may
    // be. Between peers the host never learns it.
    bool counted = false;
  };
  // Sends what is in `out` when the work queued on `stream` so far is done; when the work queued
  // there from here on begins, what comes is in `in`. Messages between two ranks are in the same
  // order with both. Two ranks that are in each other's lists, if only with no bytes, are done with
  // what they sent each other in the exchange before when the work queued after this one begins: a
  // message may lie where the one before the last did. Between finish() and finish() one stream.
  void exchange(std::span<const Message> out, std::span<const Message> in, cudaStream_t stream);
  // The same, but what a peer has stays there: returns from where the device reads each of `in`, in
  // their peer's memory or where they asked for. What reads it is queued before the next exchange.
  std::vector<const std::uint8_t*> reach(std::span<const Message> out, std::span<const Message> in,
                                         cudaStream_t stream);
  // Until all that is queued on the stream is done.
  void wait(cudaStream_t stream) const;
  // Call on all ranks together: waits for the stream and until no rank reads this device's memory.
  void finish(cudaStream_t stream);

  // Routes of the messages from this rank: "peer", "direct", "host", or several of them.
  std::string routes() const;

 private:
  struct Peer {
    bool reaches = false;                   // either its memory from here and the reverse
    bool own_process = false;               // nothing had to be opened
    std::vector<const std::uint8_t*> lent;  // memory that the peer has lent
    cudaEvent_t queued[2] = {};             // used alternately
  };
  struct Card;
  Card card(std::span<std::uint8_t> memory) const;
  bool open(Peer& peer, const Card& card);
  void close() noexcept;
  bool staged(int rank) const;
  bool asks_length(const Message& message) const;
  void learn_lengths(std::vector<Message>& out, std::vector<Message>& in, cudaStream_t stream);
  std::uint64_t place(const std::uint8_t* at) const;

  distributed::Transport& transport_;
  const int device_;
  const bool may_;  // reach each other's memory, as far as the user allows
  bool direct_;     // the transport sends from device memory unless a peer copies; else through the
                    // host
  std::vector<Peer> peers_;                    // [ranks]
  std::vector<std::span<std::uint8_t>> lent_;  // own
  cudaEvent_t queued_[2] = {};
  std::size_t turn_ = 0;
  bool any_peer_ = false;                                           // of all ranks
  std::vector<std::vector<std::uint64_t>> places_out_, places_in_;  // [ranks] of messages
  PinnedBuffer<std::uint8_t> staged_out_, staged_in_;
  PinnedBuffer<std::uint64_t> lengths_;
};

// Bytes that the device copies from wherever it reaches.
struct DevicePull {
  const std::uint8_t* from;
  std::uint8_t* to;
  std::uint64_t bytes;
  bool counted = false;  // as DeviceMail::Message
};
// All of them at once. Queued.
void launch_pull(std::span<const DevicePull> pulls, cudaStream_t stream);

}  // namespace rewise
