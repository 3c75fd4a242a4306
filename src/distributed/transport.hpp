// Message passing between the ranks that share a lattice, implemented by threads of one process
// (threads.hpp) and by MPI (mpi.hpp).
//
// Messages between two ranks with the same tag arrive in the order in which they were posted. The
// length of a receive must equal that of its message. Posting does not block; buffers must not
// change until wait(). All ranks make collective calls (broadcast, sum, gather, barrier) in the
// same order and with no messages posted. Only one thread of a rank may call at a time.
//
// If a message cannot arrive, the call throws Error or the process ends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/error.hpp"

namespace rewise::distributed {

// The lowest tag that engines may use; smaller tags belong to collective calls.
inline constexpr int kFirstTag = 16;

// Values as a message. Their type must be trivially copyable.
template <class T>
std::span<std::uint8_t> bytes_of(std::span<T> values) {
  return {reinterpret_cast<std::uint8_t*>(values.data()), values.size_bytes()};
}
template <class T>
std::span<std::uint8_t> bytes_of(std::vector<T>& values) {
  return bytes_of(std::span<T>(values));
}

// The route of messages in CUDA device memory (engine/device_messages_cuda.hpp).
enum class DeviceRoute : std::uint8_t {
  automatic,  // for each pair of ranks, the first of the following routes that is available
  peer,       // the receiver's device copies from the sender's device, on the same machine
  direct,     // the transport accepts addresses of device memory (CUDA-aware MPI)
  host,       // copies through host memory
};

// An error that all ranks throw in the same call, with no messages posted; rank 0 reports it.
class ErrorOfAll : public Error {
 public:
  using Error::Error;
};

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }
  // Whether all ranks are in one process, so that addresses are valid for all of them.
  virtual bool one_process() const { return false; }
  // Whether buffers may be in CUDA device memory.
  virtual bool takes_device_memory() const { return false; }

  // The route requested by the user.
  DeviceRoute device_route() const { return device_route_; }
  void set_device_route(DeviceRoute route) { device_route_ = route; }

  virtual void post_send(int to, int tag, std::span<const std::uint8_t> bytes) = 0;
  virtual void post_receive(int from, int tag, std::span<std::uint8_t> bytes) = 0;
  // Waits for all messages that this rank has posted.
  virtual void wait() = 0;
  // Stops all ranks, so that none waits for this one. MPI processes print a line that names the
  // rank and exit with the status of the error. In ranks that are threads, all calls throw.
  virtual void abort(const Error& error) = 0;

  // Sends the bytes of rank 0 to all ranks.
  void broadcast(std::span<std::uint8_t> bytes);
  std::vector<std::uint8_t> broadcast(std::vector<std::uint8_t> bytes);  // of any length
  // Sums every number over all ranks. Rank 0 receives the sums; the arrays of the others are
  // overwritten.
  void sum(std::span<std::uint64_t> numbers);
  // Collects the bytes of all ranks, of any length, at rank 0: [rank]. Other ranks receive nothing.
  std::vector<std::vector<std::uint8_t>> gather(std::span<const std::uint8_t> bytes);
  // Returns when all ranks have called it.
  void barrier();

 protected:
  int rank_ = 0, size_ = 1;

 private:
  DeviceRoute device_route_ = DeviceRoute::automatic;
};

}  // namespace rewise::distributed
