// Stands for libnccl.so.2, whose name it has: the functions that rewise calls, with NCCL's
// signatures (nccl.h), between ranks that are threads of the test. "Devices" are memory of the
// host, and nothing waits for streams: a group is done when its call returns. Of a communicator
// that does not block, as in NCCL, it is under way until the communicator says so.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tests/ranks/fake_nccl.hpp"

namespace {

using rewise::fake_nccl::Controls;

constexpr int kSuccess = 0, kSystemError = 2, kInvalidArgument = 4, kInvalidUsage = 5,
              kRemoteError = 6, kInProgress = 7;

struct UniqueId {
  char bytes[128];
};
struct Config {  // of 2.14
  std::size_t size;
  unsigned magic, version;
  int blocking;
};

// The ranks of one id.
struct Room {
  int size = 0, came = 0;
  std::map<std::pair<int, int>, std::deque<std::vector<std::uint8_t>>> boxes;  // to, from
};

struct Receive {
  int from;
  std::uint8_t* to;
  std::size_t count;
};

struct Comm {
  std::shared_ptr<Room> room;
  int rank = 0;
  bool blocks = true, joined = false, failed = false, finalized = false;
  std::deque<Receive> awaited;
};

std::mutex guard;
Controls controls;
std::map<int, std::shared_ptr<Room>> rooms;
int ids = 0;

struct Operation {
  Comm* comm;
  int peer;
  std::vector<std::uint8_t> sent;
  Receive received;
};
thread_local std::vector<Operation> group;
thread_local bool in_group = false;

int state(Comm& comm) {
  if (comm.failed) return kSystemError;
  if (!comm.joined) {
    if (comm.room->came < comm.room->size) return kInProgress;
    comm.joined = true;
  }
  if (controls.broken) return kRemoteError;
  while (!comm.awaited.empty()) {
    const Receive& next = comm.awaited.front();
    auto& box = comm.room->boxes[{comm.rank, next.from}];
    if (box.empty()) return kInProgress;
    if (box.front().size() != next.count) return kInvalidUsage;
    std::copy(box.front().begin(), box.front().end(), next.to);
    box.pop_front();
    comm.awaited.pop_front();
  }
  return kSuccess;
}

int settled(Comm& comm, std::unique_lock<std::mutex>& lock) {
  int status = kInProgress;
  while (comm.blocks && (status = state(comm)) == kInProgress) {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
  return status;
}

}  // namespace

extern "C" {

Controls* fake_nccl_controls() { return &controls; }

int ncclGetVersion(int* version) {
  *version = 22703;
  return kSuccess;
}

const char* ncclGetErrorString(int status) {
  return status == kRemoteError ? "remote process exited or there was a network error"
                                : "unhandled system error (run with NCCL_DEBUG=INFO for details)";
}

const char* ncclGetLastError(void*) { return "no socket\nand more"; }

int ncclGetUniqueId(UniqueId* id) {
  const std::lock_guard lock(guard);
  std::memset(id, 0x5a, sizeof *id);
  std::memcpy(id->bytes, &++ids, sizeof ids);
  return kSuccess;
}

int ncclCommInitRankConfig(void** comm, int size, UniqueId id, int rank, Config* config) {
  if (config->magic != 0xcafebeef || config->size < sizeof(Config) || config->version < 21400 ||
      config->blocking < 0 || config->blocking > 1 || id.bytes[127] != 0x5a) {
    return kInvalidArgument;
  }
  std::unique_lock lock(guard);
  int number = 0;
  std::memcpy(&number, id.bytes, sizeof number);
  auto& room = rooms[number];
  if (!room) room = std::make_shared<Room>();
  room->size = size;
  auto* const made = new Comm{room, rank, config->blocking == 1, false, false, false, {}};
  *comm = made;
  made->failed = rank == controls.fails;
  room->came += rank == controls.fails || rank == controls.absent ? 0 : 1;
  return settled(*made, lock);
}

int ncclCommGetAsyncError(void* comm, int* status) {
  const std::lock_guard lock(guard);
  *status = state(*static_cast<Comm*>(comm));
  return kSuccess;
}

int ncclCommFinalize(void* comm) {
  const std::lock_guard lock(guard);
  static_cast<Comm*>(comm)->finalized = true;
  return static_cast<Comm*>(comm)->blocks ? kSuccess : kInProgress;
}

int ncclCommDestroy(void* comm) {
  const std::lock_guard lock(guard);
  const std::unique_ptr<Comm> own(static_cast<Comm*>(comm));
  controls.left += own->joined ? 1 : 0;
  return own->finalized && own->awaited.empty() ? kSuccess : kInvalidUsage;
}

int ncclCommAbort(void* comm) {
  const std::lock_guard lock(guard);
  const std::unique_ptr<Comm> own(static_cast<Comm*>(comm));
  controls.aborted += own->joined ? 1 : 0;
  return kSuccess;
}

int ncclGroupStart() {
  if (in_group) return kInvalidUsage;
  in_group = true;
  return kSuccess;
}

int ncclSend(const void* from, std::size_t count, int type, int peer, void* comm, void*) {
  if (!in_group || type != 1 || count == 0) return kInvalidUsage;
  const auto* bytes = static_cast<const std::uint8_t*>(from);
  group.push_back({static_cast<Comm*>(comm), peer, {bytes, bytes + count}, {}});
  return kSuccess;
}

int ncclRecv(void* to, std::size_t count, int type, int peer, void* comm, void*) {
  if (!in_group || type != 1 || count == 0) return kInvalidUsage;
  group.push_back(
      {static_cast<Comm*>(comm), peer, {}, {peer, static_cast<std::uint8_t*>(to), count}});
  return kSuccess;
}

int ncclGroupEnd() {
  if (!in_group) return kInvalidUsage;
  in_group = false;
  std::unique_lock lock(guard);
  Comm* last = nullptr;
  for (Operation& operation : std::exchange(group, {})) {
    Comm& comm = *operation.comm;
    last = &comm;
    if (operation.received.count > 0) {
      comm.awaited.push_back(operation.received);
    } else {
      comm.room->boxes[{operation.peer, comm.rank}].push_back(std::move(operation.sent));
    }
  }
  return last == nullptr ? kSuccess : settled(*last, lock);
}

}  // extern "C"
