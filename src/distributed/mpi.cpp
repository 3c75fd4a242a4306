#include "src/distributed/mpi.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "src/distributed/mpi_module.hpp"

namespace rewise::distributed {
namespace {

struct LoadedModule {
  const MpiModule* module = nullptr;
  std::string why_not;
};

// RTLD_GLOBAL makes the symbols of Open MPI visible to its plug-ins, which need them.
LoadedModule load() {
  std::error_code none;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  for (const auto& file : {folder / kMpiModuleFile, folder / "../lib/rewise" / kMpiModuleFile}) {
    if (!std::filesystem::exists(file, none)) continue;
    void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) return {nullptr, fmt::format("MPI cannot be loaded: {}", ::dlerror())};
    void* const symbol = ::dlsym(library, kMpiModuleSymbol);
    if (symbol == nullptr) {
      return {nullptr, fmt::format("{} belongs to another build of rewise", file.string())};
    }
    return {reinterpret_cast<const MpiModule* (*)()>(symbol)(), ""};
  }
  return {nullptr, "built without MPI (install one, such as libopenmpi-dev, and configure again)"};
}

const LoadedModule& loaded() {
  static const LoadedModule once = load();
  return once;
}

class MpiTransport final : public Transport {
 public:
  MpiTransport() : mpi_(*loaded().module) {
    if (!mpi_.start(&rank_, &size_)) throw Error(ExitCode::device, "MPI does not start");
  }
  ~MpiTransport() override { mpi_.finish(); }

  bool takes_device_memory() const override { return mpi_.takes_device_memory(); }

  void post_send(int to, int tag, std::span<const std::uint8_t> bytes) override {
    mpi_.post_send(to, tag, bytes.data(), bytes.size());
  }
  void post_receive(int from, int tag, std::span<std::uint8_t> bytes) override {
    mpi_.post_receive(from, tag, bytes.data(), bytes.size());
  }

  // Polls first, because most messages arrive at once. Then yields the core between polls, and
  // after 20 ms sleeps between them.
  void wait() override {
    using Clock = std::chrono::steady_clock;
    constexpr int at_once = 1000;
    constexpr std::chrono::microseconds patience(20000), nap(50);
    for (int k = 0; k < at_once; ++k) {
      if (mpi_.done()) return;
    }
    const auto begin = Clock::now();
    while (!mpi_.done()) {
      if (Clock::now() - begin < patience) {
        ::sched_yield();
      } else {
        std::this_thread::sleep_for(nap);
      }
    }
  }

  void abort(const Error& error) override {
    fmt::print(stderr, "rewise: rank {}: {}\n", rank_, error.what());
    mpi_.abort(static_cast<int>(error.exit_code()));
    std::_Exit(static_cast<int>(error.exit_code()));
  }

 private:
  const MpiModule& mpi_;
};

}  // namespace

std::string why_no_mpi() { return loaded().why_not; }

std::unique_ptr<Transport> join_mpi() {
  if (loaded().module == nullptr) throw Error(ExitCode::device, loaded().why_not);
  return std::make_unique<MpiTransport>();
}

}  // namespace rewise::distributed
