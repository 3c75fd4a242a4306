#include "src/engine/device_messages_cuda.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "src/base/error.hpp"
#include "src/base/setting_name.hpp"
#include "src/cuda/check.hpp"
#include "src/cuda/use_device.hpp"

namespace rewise {
namespace {

using distributed::bytes_of;
using distributed::DeviceRoute;

// Tags of announcements and of messages.
constexpr int kHandles = distributed::kFirstTag + 16, kLocations = kHandles + 1,
              kMessage = kHandles + 2;
// A location: the offset in registered memory; above these bits, the index of that memory.
constexpr unsigned kOffsetBits = 48;

// Identifies this machine and its boot. Handles of memory are valid only within them.
std::string machine() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return fmt::format("{} {}", boot, name);
}

}  // namespace

// The description of registered memory that a rank sends to the others.
struct DeviceMessages::MemoryHandles {
  char machine[128];
  int device;
  std::uint8_t* memory;
  cudaEvent_t queued[2];
  // Used by other processes
  bool exported;
  cudaIpcMemHandle_t memory_handle;
  cudaIpcEventHandle_t queued_handle[2];
};

DeviceMessages::DeviceMessages(distributed::Transport& transport, int device)
    : transport_(transport),
      device_(device),
      peer_allowed_(transport.device_route() == DeviceRoute::automatic ||
                    transport.device_route() == DeviceRoute::peer),
      direct_((transport.device_route() == DeviceRoute::automatic ||
               transport.device_route() == DeviceRoute::direct) &&
              transport.takes_device_memory()),
      peers_(static_cast<std::size_t>(transport.size())),
      locations_out_(peers_.size()),
      locations_in_(peers_.size()) {
  const bool processes = peer_allowed_ && !transport.one_process();
  const unsigned flags = cudaEventDisableTiming | (processes ? cudaEventInterprocess : 0u);
  for (cudaEvent_t& event : queued_) {
    check_cuda(cudaEventCreateWithFlags(&event, flags), "making an event");
  }
  Peer& own = peers_[static_cast<std::size_t>(transport.rank())];
  own.reaches = own.own_process = true;
}

DeviceMessages::~DeviceMessages() {
  close();
  // Waits, because other ranks may still have the memory of this rank open.
  try {
    if (any_peer_) transport_.barrier();
  } catch (const Error&) {  // a rank has failed, which ends all ranks
  }
  for (cudaEvent_t event : queued_) {
    if (event != nullptr) cudaEventDestroy(event);
  }
}

void DeviceMessages::close() noexcept {
  cudaSetDevice(device_);
  for (Peer& peer : peers_) {
    if (peer.own_process) continue;
    for (const std::uint8_t* memory : peer.registered) {
      if (memory == nullptr) continue;
      const cudaError_t status = cudaIpcCloseMemHandle(const_cast<std::uint8_t*>(memory));
      if (status != cudaSuccess) {
        std::fprintf(stderr, "rewise: closing a peer's memory: %s\n", cudaGetErrorString(status));
      }
    }
    for (cudaEvent_t event : peer.queued) {
      if (event != nullptr) cudaEventDestroy(event);
    }
  }
}

DeviceMessages::MemoryHandles DeviceMessages::handles_of(std::span<std::uint8_t> memory) const {
  MemoryHandles own{};
  std::strncpy(own.machine, machine().c_str(), sizeof own.machine - 1);
  own.device = device_;
  own.memory = memory.data();
  std::copy_n(queued_, 2, own.queued);
  if (transport_.one_process() || !peer_allowed_) return own;
  own.exported =
      memory.empty() || cudaIpcGetMemHandle(&own.memory_handle, memory.data()) == cudaSuccess;
  for (std::size_t k = 0; k < 2; ++k) {
    own.exported =
        own.exported && cudaIpcGetEventHandle(&own.queued_handle[k], queued_[k]) == cudaSuccess;
  }
  cudaGetLastError();
  return own;
}

// Opens the memory and events of a peer. Returns false if this device cannot access them.
bool DeviceMessages::open(Peer& peer, const MemoryHandles& handles) {
  peer.own_process = transport_.one_process();
  peer.registered.push_back(nullptr);
  if (!peer_allowed_) return false;
  if (peer.own_process) {
    peer.registered.back() = handles.memory;
    std::copy_n(handles.queued, 2, peer.queued);
    return reach_peer(device_, handles.device);
  }
  if (!handles.exported || machine() != handles.machine) return false;
  void* memory = nullptr;
  bool opened = handles.memory == nullptr ||
                cudaIpcOpenMemHandle(&memory, handles.memory_handle,
                                     cudaIpcMemLazyEnablePeerAccess) == cudaSuccess;
  peer.registered.back() = static_cast<const std::uint8_t*>(memory);
  for (std::size_t k = 0; k < 2; ++k) {
    if (peer.queued[k] != nullptr) continue;
    opened =
        opened && cudaIpcOpenEventHandle(&peer.queued[k], handles.queued_handle[k]) == cudaSuccess;
  }
  cudaGetLastError();
  return opened;
}

void DeviceMessages::register_memory(std::span<std::uint8_t> memory) {
  const auto ranks = peers_.size();
  const auto rank = static_cast<std::size_t>(transport_.rank());
  const bool first = registered_.empty();
  registered_.push_back(memory);
  peers_[rank].registered.push_back(memory.data());
  const auto for_others = [&](const auto& f) {
    for (std::size_t r = 0; r < ranks; ++r) {
      if (r != rank) f(r, static_cast<int>(r));
    }
    transport_.wait();
  };
  MemoryHandles own = handles_of(memory);
  std::vector<MemoryHandles> all_handles(ranks);
  for_others([&](std::size_t r, int other) {
    transport_.post_receive(other, kHandles, bytes_of(std::span(&all_handles[r], 1)));
    transport_.post_send(other, kHandles, bytes_of(std::span(&own, 1)));
  });
  std::vector<std::uint8_t> reached(ranks), both(ranks);
  for_others([&](std::size_t r, int other) {
    reached[r] = open(peers_[r], all_handles[r]) && (first || peers_[r].reaches) ? 1 : 0;
    transport_.post_receive(other, kHandles, std::span(&both[r], 1));
    transport_.post_send(other, kHandles, std::span(&reached[r], 1));
  });
  std::uint64_t missing = 0, found = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (r == rank) continue;
    peers_[r].reaches = reached[r] != 0 && both[r] != 0;
    (peers_[r].reaches ? found : missing) += 1;
  }
  std::uint64_t sums[]{found, missing, direct_ ? 0u : 1u};
  transport_.sum(sums);
  transport_.broadcast(bytes_of(std::span<std::uint64_t>(sums)));
  any_peer_ = sums[0] > 0;
  direct_ = sums[2] == 0;
  if (transport_.device_route() == DeviceRoute::direct && !direct_) {
    throw distributed::ErrorOfAll(
        ExitCode::device,
        setting_value("share_route", "direct") +
            ": this MPI does not state that it accepts addresses of device memory (use " +
            setting_value("share_route", "auto") + ")");
  }
  if (transport_.device_route() == DeviceRoute::peer && sums[1] > 0) {
    throw distributed::ErrorOfAll(
        ExitCode::device,
        setting_value("share_route", "peer") +
            ": a rank cannot access the memory of another rank's device; this requires one machine "
            "and devices with peer access (use " +
            setting_value("share_route", "auto") + ")");
  }
}

bool DeviceMessages::staged(int rank) const {
  return !peers_[static_cast<std::size_t>(rank)].reaches && !direct_;
}

bool DeviceMessages::needs_length(const Message& message) const {
  return message.starts_with_length && !peers_[static_cast<std::size_t>(message.rank)].reaches;
}

std::uint64_t DeviceMessages::location(const std::uint8_t* at) const {
  for (std::size_t k = 0; k < registered_.size(); ++k) {
    if (at < registered_[k].data() || at >= registered_[k].data() + registered_[k].size()) continue;
    return std::uint64_t{k} << kOffsetBits | static_cast<std::uint64_t>(at - registered_[k].data());
  }
  throw Error(ExitCode::internal, "a message in memory that was not registered");
}

// Exchanges the lengths that the host must know of messages that start with one, and writes them to
// both lists.
void DeviceMessages::exchange_lengths(std::vector<Message>& out, std::vector<Message>& in,
                                      cudaStream_t stream) {
  const auto count = [&](const std::vector<Message>& messages) {
    return static_cast<std::size_t>(
        std::count_if(messages.begin(), messages.end(),
                      [&](const Message& message) { return needs_length(message); }));
  };
  const std::size_t all = count(out) + count(in);
  if (all == 0) return;
  if (all > lengths_.size()) lengths_ = PinnedBuffer<std::uint64_t>(all);
  std::size_t next = 0;
  const auto each = [&](std::vector<Message>& messages, const auto& f) {
    for (Message& m : messages) {
      if (needs_length(m)) f(m, lengths_.view()[next++]);
    }
  };
  each(out, [&](const Message& m, std::uint64_t& words) {
    check_cuda(cudaMemcpyAsync(&words, m.at, sizeof words, cudaMemcpyDeviceToHost, stream),
               "copying from the device");
  });
  wait(stream);
  each(in, [&](const Message& m, std::uint64_t& words) {
    transport_.post_receive(m.rank, kLocations, bytes_of(std::span(&words, 1)));
  });
  next = 0;
  each(out, [&](const Message& m, std::uint64_t& words) {
    transport_.post_send(m.rank, kLocations, bytes_of(std::span(&words, 1)));
  });
  transport_.wait();
  next = 0;
  const auto take = [](Message& m, std::uint64_t words) {
    m.bytes = std::min(m.bytes, sizeof words * (1 + words));
  };
  each(out, take);
  each(in, take);
}

void DeviceMessages::exchange(std::span<const Message> out, std::span<const Message> in,
                              cudaStream_t stream) {
  const std::vector<const std::uint8_t*> from = exchange_addresses(out, in, stream);
  std::vector<DevicePull> pulls;
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (from[k] != in[k].at)
      pulls.push_back({from[k], in[k].at, in[k].bytes, in[k].starts_with_length});
  }
  launch_pull(pulls, stream);
}

std::vector<const std::uint8_t*> DeviceMessages::exchange_addresses(
    std::span<const Message> all_out, std::span<const Message> all_in, cudaStream_t stream) {
  std::vector<Message> out(all_out.begin(), all_out.end()), in(all_in.begin(), all_in.end());
  exchange_lengths(out, in, stream);
  const int own = transport_.rank();
  const auto peer = [&](int rank) -> Peer& { return peers_[static_cast<std::size_t>(rank)]; };
  for (auto& locations : locations_out_) locations.clear();
  for (auto& locations : locations_in_) locations.clear();
  std::uint64_t staged_out = 0, staged_in = 0;
  bool waits = false;  // the host must wait for the stream
  for (const Message& m : out) {
    if (peer(m.rank).reaches) {
      locations_out_[static_cast<std::size_t>(m.rank)].push_back(m.bytes == 0 ? 0 : location(m.at));
    } else {
      waits = true;
      if (staged(m.rank)) staged_out += m.bytes;
    }
  }
  for (const Message& m : in) {
    if (peer(m.rank).reaches) {
      locations_in_[static_cast<std::size_t>(m.rank)].push_back(0);
    } else {
      waits = true;
      if (staged(m.rank)) staged_in += m.bytes;
    }
  }
  if (staged_out > staged_out_.size()) staged_out_ = PinnedBuffer<std::uint8_t>(staged_out);
  parity_ ^= 1;
  if (any_peer_) check_cuda(cudaEventRecord(queued_[parity_], stream), "recording an event");
  std::uint64_t at = 0;
  for (const Message& m : out) {
    if (!staged(m.rank) || m.bytes == 0) continue;
    check_cuda(cudaMemcpyAsync(staged_out_.view().data() + at, m.at, m.bytes,
                               cudaMemcpyDeviceToHost, stream),
               "copying from the device");
    at += m.bytes;
  }
  if (waits) wait(stream);
  if (staged_in > staged_in_.size()) staged_in_ = PinnedBuffer<std::uint8_t>(staged_in);
  // Between peers only the addresses of messages are sent, otherwise the messages.
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    const auto other = static_cast<int>(r);
    if (other == own || !peers_[r].reaches) continue;
    if (locations_out_[r].empty() && locations_in_[r].empty()) continue;
    transport_.post_receive(other, kLocations, bytes_of(locations_in_[r]));
    transport_.post_send(other, kLocations, bytes_of(locations_out_[r]));
  }
  at = 0;
  for (const Message& m : in) {
    if (peer(m.rank).reaches || m.bytes == 0) continue;
    std::uint8_t* const to = direct_ ? m.at : staged_in_.view().data() + at;
    transport_.post_receive(m.rank, kMessage, {to, m.bytes});
    if (!direct_) at += m.bytes;
  }
  at = 0;
  for (const Message& m : out) {
    if (peer(m.rank).reaches || m.bytes == 0) continue;
    const std::uint8_t* const from = direct_ ? m.at : staged_out_.view().data() + at;
    transport_.post_send(m.rank, kMessage, {from, m.bytes});
    if (!direct_) at += m.bytes;
  }
  transport_.wait();
  // Messages of a rank to itself are received in the order in which they are sent.
  locations_in_[static_cast<std::size_t>(own)] = locations_out_[static_cast<std::size_t>(own)];
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    if (static_cast<int>(r) == own || (locations_out_[r].empty() && locations_in_[r].empty()))
      continue;
    check_cuda(cudaStreamWaitEvent(stream, peers_[r].queued[parity_], 0), "waiting for a peer");
  }
  std::vector<const std::uint8_t*> from;
  std::vector<std::size_t> next(peers_.size());
  at = 0;
  for (const Message& m : in) {
    const auto r = static_cast<std::size_t>(m.rank);
    from.push_back(m.at);
    if (peers_[r].reaches) {
      const std::uint64_t location = locations_in_[r].at(next[r]++);
      if (m.bytes == 0) continue;
      const std::uint8_t* const registered = peers_[r].registered.at(location >> kOffsetBits);
      from.back() = registered + (location & ((std::uint64_t{1} << kOffsetBits) - 1));
    } else if (staged(m.rank) && m.bytes > 0) {
      check_cuda(cudaMemcpyAsync(m.at, staged_in_.view().data() + at, m.bytes,
                                 cudaMemcpyHostToDevice, stream),
                 "copying to the device");
      at += m.bytes;
    }
  }
  return from;
}

void DeviceMessages::wait(cudaStream_t stream) const {
  check_cuda(cudaStreamSynchronize(stream), "waiting for the device");
}

void DeviceMessages::finish(cudaStream_t stream) {
  wait(stream);
  if (any_peer_) transport_.barrier();
}

std::string DeviceMessages::routes() const {
  bool peer = false, other = false;
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    if (static_cast<int>(r) == transport_.rank()) continue;
    (peers_[r].reaches ? peer : other) = true;
  }
  const std::string rest = direct_ ? "direct" : "host";
  if (!peer && !other) return "";
  if (!peer) return rest;
  return other ? "peer+" + rest : "peer";
}

}  // namespace rewise
