#include "src/bundle/wolff/wolff_dense_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "src/base/error.hpp"

namespace rewise::bundle {
namespace {

constexpr std::uint32_t kLine = 16;           // numbers between counters
constexpr std::uint64_t kLeastQueue = 65536;  // above the warps that a device can hold
constexpr std::uint64_t kMostQueue = 1ull << 30;

// Working memory of one bundle: reached and open words, columns at the edges, state, up to four
// places in the queue; three words per end.
std::uint64_t bytes_of_bundle(std::uint32_t tiles, int dim, std::uint64_t ends) {
  const std::uint64_t words = (1 + static_cast<unsigned>(dim)) * std::uint64_t{kTileSites} + 69;
  return tiles * words * 4 + ends * 12 + 4;
}

double gib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1ull << 30); }

}  // namespace

std::uint64_t DenseWolffBatch::least_bytes(const EngineView& engine, int vec) {
  const WolffTiles tiles(engine.graph, engine.layout);
  return static_cast<unsigned>(vec) *
         bytes_of_bundle(tiles.count, engine.layout.lattice.dim, tiles.end.size());
}

DenseWolffBatch::DenseWolffBatch(std::span<const EngineView> engines, const DeviceGraphs& graphs,
                                 int device, cudaStream_t stream)
    : graphs_(graphs) {
  lay_graphs(engines, stream);
  make_room(device, stream);
}

void DenseWolffBatch::lay_graphs(std::span<const EngineView> engines, cudaStream_t stream) {
  std::vector<WolffTiles> hosts;
  for (const EngineView& e : engines) {
    hosts.emplace_back(e.graph, e.layout);
    seeds_.push_back(e.spec.seed);
    tiles_.ends = std::max(tiles_.ends, static_cast<std::uint32_t>(hosts.back().end.size()));
    tiles_.listed_most =
        std::max(tiles_.listed_most, static_cast<std::uint32_t>(hosts.back().listed.size()));
  }
  std::vector<std::uint32_t> bonds, end_first, listed_count;
  std::vector<TileEnd> end;
  std::vector<ListedBond> listed;
  for (const WolffTiles& host : hosts) {
    bonds.insert(bonds.end(), host.bonds.begin(), host.bonds.end());
    end_first.insert(end_first.end(), host.end_first.begin(), host.end_first.end());
    listed_count.push_back(static_cast<std::uint32_t>(host.listed.size()));
    end.insert(end.end(), host.end.begin(), host.end.end());
    end.resize(listed_count.size() * tiles_.ends, {0, 0, 0});
    listed.insert(listed.end(), host.listed.begin(), host.listed.end());
    listed.resize(listed_count.size() * tiles_.listed_most, {0, 0, 0, 0, 0});
  }
  const auto upload = [&]<class T>(const std::vector<T>& host) {
    return DeviceBuffer<T>(std::span<const T>(host), stream);
  };
  bonds_ = upload(bonds);
  end_first_ = upload(end_first);
  listed_count_ = upload(listed_count);
  end_ = upload(end);
  listed_ = upload(listed);
  check_cuda(cudaStreamSynchronize(stream), "copying tiles to the device");
  const WolffTiles& first = hosts.front();
  tiles_.lattice = graphs_.lattice({});
  tiles_.bundles = graphs_.bundles();
  tiles_.along0 = first.along[0];
  tiles_.along1 = first.along[1];
  tiles_.along2 = first.along[2];
  tiles_.along3 = first.along[3];
  tiles_.count = first.count;
  tiles_.bonds = bonds_.data();
  tiles_.end_first = end_first_.data();
  tiles_.end = end_.data();
  tiles_.listed_count = listed_count_.data();
  tiles_.listed = listed_.data();
}

void DenseWolffBatch::make_room(int device, cudaStream_t stream) {
  const auto pack = static_cast<std::uint32_t>(graphs_.vec());
  const std::uint32_t all = graphs_.graphs() * graphs_.bundles();
  const std::uint64_t each = bytes_of_bundle(tiles_.count, tiles_.lattice.dim, tiles_.ends);
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "asking for the device's memory");
  const std::uint64_t fixed = kLeastQueue * 4 + (64ull << 20);  // and some for the driver
  // A quarter stays for others, unless one pack needs it.
  const std::uint64_t room_of_all = free > fixed ? (free - fixed) / each : 0;
  const std::uint64_t room =
      std::max<std::uint64_t>(room_of_all * 3 / 4, std::min<std::uint64_t>(room_of_all, pack));
  const std::uint64_t queue_room = kMostQueue / 2 / tiles_.count;
  group_ =
      static_cast<std::uint32_t>(std::min<std::uint64_t>({all, room, queue_room}) / pack * pack);
  if (group_ == 0) {
    throw Error(ExitCode::device,
                fmt::format("cuda:{}: {:.1f} GiB are needed for the dense Wolff update of {} "
                            "replicas, {:.1f} GiB are free (reduce replicas, temperatures or the "
                            "size, or take the sparse form)",
                            device, gib(fixed + each * pack), pack * kReplicas, gib(free)));
  }
  const std::size_t items = std::size_t{group_} * tiles_.count;
  const auto dim = static_cast<std::size_t>(tiles_.lattice.dim);
  using Words = DeviceBuffer<std::uint32_t>;
  seed_spin_ = Words(group_);
  reached_ = Words(items * kTileSites);
  edge_ = Words(items * 64);
  open_ = Words(items * kTileSites * dim);
  open_end_ = Words(std::size_t{group_} * tiles_.ends);
  sent_ = Words(open_end_.size());
  mail_ = Words(open_end_.size());
  state_ = Words(items);
  entry_ = Words(std::max<std::size_t>(kLeastQueue, std::bit_ceil(2 * items)));
  counters_ = DeviceBuffer<unsigned long long>(2 * kLine);
  for (Words* zero : {&reached_, &edge_, &state_, &entry_}) zero->clear(stream);
  run_.vec = graphs_.vec();
  run_.grow_blocks = dense_grow_blocks(tiles_.lattice.dim);
  run_.seed_spin = seed_spin_.data();
  run_.reached = reached_.data();
  run_.edge = edge_.data();
  run_.open = open_.data();
  run_.open_end = open_end_.data();
  run_.sent = sent_.data();
  run_.mail = mail_.data();
  run_.state = state_.data();
  run_.queue = {entry_.data(), static_cast<std::uint32_t>(entry_.size() - 1),
                reinterpret_cast<std::uint32_t*>(counters_.data()), counters_.data() + kLine};
  check_cuda(cudaStreamSynchronize(stream), "clearing");
}

void DenseWolffBatch::queue(const GraphRange& range, const DenseUpdates& updates,
                            cudaStream_t stream) {
  const std::size_t from = std::size_t{range.first} * graphs_.bundles();
  const std::uint32_t all = range.count * graphs_.bundles();
  DeviceTiles tiles = tiles_;
  tiles.bonds += bonds_.size() / seeds_.size() * range.first;
  tiles.end_first += end_first_.size() / seeds_.size() * range.first;
  tiles.end += std::size_t{tiles_.ends} * range.first;
  tiles.listed_count += range.first;
  tiles.listed += std::size_t{tiles_.listed_most} * range.first;
  for (std::uint32_t k = 0; k < range.count; ++k) {
    tiles.seeds.low[k] = static_cast<std::uint32_t>(seeds_[range.first + k]);
    tiles.seeds.high[k] = static_cast<std::uint32_t>(seeds_[range.first + k] >> 32);
  }
  DeviceDenseRun run = run_;
  run.first_step = updates.first_step;
  run.later = updates.later == nullptr ? nullptr : updates.later + from;
  run.active = updates.active == nullptr ? nullptr : updates.active + from;
  run.threshold = updates.threshold + from;
  run.spins = updates.spins + range.first * graphs_.words();
  run.flipped = updates.flipped + from * kReplicas;
  for (std::uint32_t first = 0; first < all; first += group_) {
    run.first = first;
    run.bundles = std::min(group_, all - first);
    for (std::uint32_t u = 0; u < updates.updates; ++u) {
      run.step = updates.step + u;
      launch_dense_wolff(tiles, run, stream);
    }
  }
}

}  // namespace rewise::bundle
