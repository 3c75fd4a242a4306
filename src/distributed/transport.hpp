// Messages between the ranks that share a lattice: the one interface through which engines know of
// each other, whatever carries it (threads.hpp: threads of one process; mpi.hpp: processes of
// mpirun or srun).
//
// Messages from one rank to another with one tag arrive in the order in which they were posted,
// each in a receive of its length. Posting does not wait; what was posted must stay as and where it
// is until wait(). Collective calls (broadcast, sum, gather, barrier) are made by all ranks in the
// same order, with nothing posted. One thread of a rank at a time makes calls.
//
// A message that cannot come is an Error, or the end of the process: no call returns without what
// it waits for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/error.hpp"

namespace rewise::distributed {

// Tags of engines start here.
inline constexpr int kFirstTag = 16;

// The way of messages that lie in the memory of CUDA devices (engine/device_mail.hpp).
enum class DeviceRoute : std::uint8_t {
  automatic,  // for every two ranks the first of these that there is
  peer,       // the receiver's device copies from the sender's: ranks of one machine
  direct,     // the transport takes addresses of device memory
  host,       // copies through memory of the host
};

// What all ranks throw in the same call, with nothing posted: rank 0 tells it.
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
  // Whether all ranks are of one process: an address that one sends means the same to all.
  virtual bool one_process() const { return false; }
  // Whether bytes to be sent and received may lie in the memory of a CUDA device.
  virtual bool takes_device_memory() const { return false; }

  // What the user asks for.
  DeviceRoute device_route() const { return device_route_; }
  void set_device_route(DeviceRoute route) { device_route_ = route; }

  virtual void post_send(int to, int tag, std::span<const std::uint8_t> bytes) = 0;
  virtual void post_receive(int from, int tag, std::span<std::uint8_t> bytes) = 0;
  // Until all that this rank has posted is done.
  virtual void wait() = 0;
  // Ends all ranks: whoever waits for this one learns of it. Processes end, with the error's status
  // and a line that names the rank; of threads, all others' calls throw.
  virtual void abort(const Error& error) = 0;

  // The same bytes to all, from rank 0.
  void broadcast(std::span<std::uint8_t> bytes);
  std::vector<std::uint8_t> broadcast(std::vector<std::uint8_t> bytes);  // of any length
  // Adds up every number over all ranks; rank 0 gets the sums, the others' numbers are lost.
  void sum(std::span<std::uint64_t> numbers);
  // Everybody's bytes, of any length, at rank 0: [rank]. Elsewhere nothing.
  std::vector<std::vector<std::uint8_t>> gather(std::span<const std::uint8_t> bytes);
  // Returns when all ranks have called it.
  void barrier();

 protected:
  int rank_ = 0, size_ = 1;

 private:
  DeviceRoute device_route_ = DeviceRoute::automatic;
};

}  // namespace rewise::distributed
