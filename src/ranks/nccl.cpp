// The few functions of NCCL that are used, as its library has them (nccl.h; their ABI is that of
// the library's major version), and their words.
#include "src/ranks/nccl.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>

#include <chrono>
#include <climits>
#include <cstdio>
#include <exception>
#include <map>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/clock.hpp"
#include "src/base/error.hpp"

namespace rewise::ranks {
namespace {

constexpr const char* kFile = "libnccl.so.2";

// ncclResult_t, ncclDataType_t
constexpr int kSuccess = 0, kInProgress = 7, kUint8 = 1;

struct UniqueId {
  char bytes[128];
};

// ncclConfig_t as of 2.14: later libraries take it by its size.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef, version = 21400;
  int blocking = 0;
  int undefined = INT_MIN;
};

struct Api {
  int (*get_version)(int*);
  int (*get_unique_id)(UniqueId*);
  int (*init)(void**, int, UniqueId, int, Config*);
  int (*get_async_error)(void*, int*);
  int (*finalize)(void*);
  int (*destroy)(void*);
  int (*abort)(void*);
  int (*group_start)();
  int (*group_end)();
  int (*send)(const void*, std::size_t, int, int, void*, void*);
  int (*receive)(void*, std::size_t, int, int, void*, void*);
  const char* (*error_string)(int);
  const char* (*last_error)(void*);
};

struct Loaded {
  NcclLibrary about;
  Api api{};
};

Loaded load() {
  Loaded loaded;
  void* const library = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    loaded.about.why_not = fmt::format("NCCL cannot be loaded: {}", ::dlerror());
    return loaded;
  }
  bool all = true;
  const auto find = [&]<class F>(const char* name, F*& function) {
    function = reinterpret_cast<F*>(::dlsym(library, name));
    all = all && function != nullptr;
  };
  Api& api = loaded.api;
  find("ncclGetVersion", api.get_version);
  find("ncclGetUniqueId", api.get_unique_id);
  find("ncclCommInitRankConfig", api.init);
  find("ncclCommGetAsyncError", api.get_async_error);
  find("ncclCommFinalize", api.finalize);
  find("ncclCommDestroy", api.destroy);
  find("ncclCommAbort", api.abort);
  find("ncclGroupStart", api.group_start);
  find("ncclGroupEnd", api.group_end);
  find("ncclSend", api.send);
  find("ncclRecv", api.receive);
  find("ncclGetErrorString", api.error_string);
  find("ncclGetLastError", api.last_error);
  int version = 0;
  if (!all || api.get_version(&version) != kSuccess) {
    loaded.about.why_not = fmt::format("NCCL cannot be loaded: this {} is older than 2.14", kFile);
    return loaded;
  }
  loaded.about.version =
      fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  return loaded;
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

const Api& api() { return loaded().api; }

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// The first rank's words that are not empty, of all ranks, to all.
std::string first_of(Transport& transport, const std::string& own) {
  std::vector<std::uint8_t> first;
  for (const auto& text : transport.gather(bytes_of(own))) {
    if (first.empty()) first = text;
  }
  first = transport.broadcast(std::move(first));
  return {first.begin(), first.end()};
}

// Why these ranks cannot, as far as that is known before they try: at rank 0.
std::string objection(Transport& transport, const std::string& device) {
  const NcclLibrary& library = nccl_library();
  const auto all = transport.gather(
      bytes_of(fmt::format("{}\n{}\n{}", library.version, device, library.why_not)));
  std::map<std::string, std::size_t> on;  // which rank is on a device
  for (std::size_t r = 0; r < all.size(); ++r) {
    std::istringstream lines(std::string(all[r].begin(), all[r].end()));
    std::string version, its_device, why_not;
    std::getline(lines, version);
    std::getline(lines, its_device);
    std::getline(lines, why_not);
    if (!why_not.empty()) return fmt::format("rank {}: {}", r, why_not);
    if (version != library.version) {
      return fmt::format("rank {} has NCCL {}, rank 0 {}", r, version, library.version);
    }
    const auto [other, is_new] = on.emplace(its_device, r);
    if (!is_new) {
      return fmt::format("ranks {} and {} are on one GPU, and NCCL takes one rank on each",
                         other->second, r);
    }
  }
  return "";
}

}  // namespace

const NcclLibrary& nccl_library() { return loaded().about; }

// A group of messages of a communicator that does not block has a thread made for it, which takes
// longer than most messages; and one that blocks may do so for ever where it is made. So one of the
// former shows that all ranks can be reached, and one of the latter takes the messages.
std::unique_ptr<Nccl> Nccl::join(Transport& transport, const std::string& device,
                                 std::string& why_not, double patience) {
  why_not = first_of(transport, objection(transport, device));
  std::unique_ptr<Nccl> own;
  for (const bool blocks : {false, true}) {
    if (!why_not.empty()) return nullptr;
    own.reset(new Nccl());
    why_not = own->meet(transport, blocks, patience);
  }
  return why_not.empty() ? std::move(own) : nullptr;
}

// Returns why not; then nothing is left to be done.
std::string Nccl::meet(Transport& transport, bool blocks, double patience) {
  const auto of_this = [&](bool has, const std::string& reason) {
    return has ? fmt::format("rank {}: {}", transport.rank(), reason) : std::string();
  };
  UniqueId id{};
  int status = transport.rank() == 0 ? api().get_unique_id(&id) : kSuccess;
  std::string why_not = first_of(transport, of_this(status != kSuccess, why(status)));
  if (!why_not.empty()) return why_not;
  transport.broadcast({reinterpret_cast<std::uint8_t*>(&id), sizeof id});
  Config config;
  config.blocking = blocks ? 1 : 0;
  const double begin = now();
  status = api().init(&comm_, transport.size(), id, transport.rank(), &config);
  while (status == kInProgress && now() - begin < patience) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    status = state();
  }
  const bool late = status == kInProgress;
  why_not = first_of(transport, of_this(status != kSuccess && !late, why(status)));
  if (why_not.empty()) {  // ranks that failed are why others are late
    const std::string reason = fmt::format("NCCL does not reach all ranks within {} s", patience);
    why_not = first_of(transport, of_this(late, reason));
  }
  if (!why_not.empty() && comm_ != nullptr) api().abort(std::exchange(comm_, nullptr));
  return why_not;
}

Nccl::~Nccl() {
  if (comm_ == nullptr) return;
  if (std::uncaught_exceptions() > 0) {
    api().abort(comm_);
    return;
  }
  int status = api().finalize(comm_);
  for (; status == kInProgress; status = state()) ::sched_yield();
  if (status == kSuccess) status = api().destroy(comm_);
  if (status != kSuccess) fmt::print(stderr, "rewise: leaving {}\n", why(status));
}

std::string Nccl::why(int status) const {
  const std::string last = api().last_error(comm_);
  return fmt::format("NCCL: {}{}{}", api().error_string(status), last.empty() ? "" : ": ",
                     last.substr(0, last.find('\n')));
}

// What is under way may still go well.
void Nccl::pass(int status) const {
  if (status != kSuccess && status != kInProgress) throw Error(ExitCode::device, why(status));
}

int Nccl::state() const {
  int status = kSuccess;
  const int asked = api().get_async_error(comm_, &status);
  return asked != kSuccess ? asked : status;
}

void Nccl::begin() { pass(api().group_start()); }

void Nccl::send(int to, std::span<const std::uint8_t> bytes, void* stream) {
  pass(api().send(bytes.data(), bytes.size(), kUint8, to, comm_, stream));
}

void Nccl::receive(int from, std::span<std::uint8_t> bytes, void* stream) {
  pass(api().receive(bytes.data(), bytes.size(), kUint8, from, comm_, stream));
}

// Ranks that meet for the first time are connected here, and nothing may be queued before they are.
void Nccl::end() {
  int status = api().group_end();
  for (; status == kInProgress; status = state()) ::sched_yield();  // NCCL_COMM_BLOCKING=0
  pass(status);
}

void Nccl::check() const { pass(state()); }

}  // namespace rewise::ranks
