#include "src/bundle/wolff_dense_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "src/base/error.hpp"

namespace rewise::bundle {
namespace {

constexpr std::uint32_t kLine = 32;           // words between counters
constexpr std::uint64_t kLeastQueue = 65536;  // above the warps that a device can hold
constexpr std::uint64_t kMostQueue = 1ull << 30;

template <class T>
DeviceBuffer<T> upload(const std::vector<T>& host, cudaStream_t stream) {
  return DeviceBuffer<T>(std::span<const T>(host), stream);
}

// Working memory of one bundle: reached, open, ends, state and two places in the queue.
std::uint64_t bytes_of_bundle(const WolffTiles& tiles, int dim) {
  return std::uint64_t{tiles.count} *
             ((1 + static_cast<unsigned>(dim)) * std::uint64_t{kTileSites} * 4 + 4 + 16) +
         tiles.end.size() * 4 + 4;
}

std::uint32_t fitting_group(const WolffTiles& tiles, int dim, std::uint32_t bundles, int vec,
                            int device) {
  const auto pack = static_cast<std::uint32_t>(vec);
  const std::uint64_t tables = tiles.bonds.size() * 4 + tiles.end_first.size() * 4 +
                               tiles.end.size() * 8 + tiles.listed.size() * sizeof(ListedBond);
  const std::uint64_t each = bytes_of_bundle(tiles, dim);
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "asking for the device's memory");
  const std::uint64_t fixed = tables + kLeastQueue * 4 + (64ull << 20);  // and some for the driver
  const std::uint64_t room = free > fixed ? (free - fixed) / each : 0;
  const std::uint64_t queue_room = kMostQueue / 2 / tiles.count;
  const std::uint64_t most = std::min<std::uint64_t>({bundles, room, queue_room}) / pack * pack;
  if (most == 0) {
    throw Error(ExitCode::device,
                fmt::format("cuda:{}: {:.1f} GiB are needed for the dense Wolff update of {} "
                            "replicas, {:.1f} GiB are free (reduce replicas, temperatures or the "
                            "size, or take the sparse form)",
                            device, static_cast<double>(fixed + each * pack) / (1ull << 30),
                            pack * 32, static_cast<double>(free) / (1ull << 30)));
  }
  return static_cast<std::uint32_t>(most);
}

}  // namespace

DenseWolffDevice::DenseWolffDevice(const Graph& graph, const Layout& layout,
                                   const DeviceLattice& lattice, std::uint32_t bundles, int vec,
                                   int device, cudaStream_t stream) {
  const WolffTiles host(graph, layout);
  group_ = fitting_group(host, lattice.dim, bundles, vec, device);
  tiles_.lattice = lattice;
  tiles_.along0 = host.along[0];
  tiles_.along1 = host.along[1];
  tiles_.along2 = host.along[2];
  tiles_.along3 = host.along[3];
  tiles_.count = host.count;
  tiles_.listed_count = static_cast<std::uint32_t>(host.listed.size());
  tiles_.ends = static_cast<std::uint32_t>(host.end.size());
  bonds_ = upload(host.bonds, stream);
  end_first_ = upload(host.end_first, stream);
  end_ = upload(host.end, stream);
  listed_ = upload(host.listed, stream);
  tiles_.bonds = bonds_.data();
  tiles_.end_first = end_first_.data();
  tiles_.end = end_.data();
  tiles_.listed = listed_.data();
  const std::size_t items = std::size_t{group_} * host.count;
  const auto dim = static_cast<std::size_t>(lattice.dim);
  seed_spin_ = DeviceBuffer<std::uint32_t>(group_);
  reached_ = DeviceBuffer<std::uint32_t>(items * kTileSites);
  open_ = DeviceBuffer<std::uint32_t>(items * kTileSites * dim);
  open_end_ = DeviceBuffer<std::uint32_t>(std::size_t{group_} * tiles_.ends);
  state_ = DeviceBuffer<std::uint32_t>(items);
  entry_ =
      DeviceBuffer<std::uint32_t>(std::max<std::size_t>(kLeastQueue, std::bit_ceil(2 * items)));
  counters_ = DeviceBuffer<std::uint32_t>(3 * kLine);
  queue_ = {entry_.data(), static_cast<std::uint32_t>(entry_.size() - 1), counters_.data(),
            counters_.data() + kLine, counters_.data() + 2 * kLine};
  reached_.clear(stream);
  state_.clear(stream);
  entry_.clear(stream);
  check_cuda(cudaStreamSynchronize(stream), "copying to the device");
}

DeviceDenseRun DenseWolffDevice::run_of(const DeviceBundles& bundles, std::uint32_t first) {
  DeviceDenseRun run;
  run.seed = bundles.seed;
  run.threshold = bundles.threshold;
  run.first = first;
  run.bundles = std::min(group_, bundles.count - first);
  run.vec = bundles.vec;
  run.spins = bundles.spins;
  run.seed_spin = seed_spin_.data();
  run.reached = reached_.data();
  run.open = open_.data();
  run.open_end = open_end_.data();
  run.state = state_.data();
  run.queue = queue_;
  run.flipped = bundles.flipped;
  return run;
}

void DenseWolffDevice::update(const DeviceBundles& bundles, std::uint32_t step,
                              std::uint32_t updates, cudaStream_t stream) {
  for (std::uint32_t first = 0; first < bundles.count; first += group_) {
    DeviceDenseRun run = run_of(bundles, first);
    for (std::uint32_t u = 0; u < updates; ++u) {
      run.step = step + u;
      launch_dense_wolff(tiles_, run, stream);
    }
  }
}

void DenseWolffDevice::update_some(const DeviceBundles& bundles, const std::uint32_t* steps,
                                   const std::uint32_t* active, cudaStream_t stream) {
  for (std::uint32_t first = 0; first < bundles.count; first += group_) {
    DeviceDenseRun run = run_of(bundles, first);
    run.steps = steps;
    run.active = active;
    launch_dense_wolff(tiles_, run, stream);
  }
}

}  // namespace rewise::bundle
