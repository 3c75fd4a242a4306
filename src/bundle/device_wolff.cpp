#include "src/bundle/device_wolff.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.hpp"
#include "src/bundle/wolff.hpp"

namespace rewise::bundle {

DeviceWolffBatch::DeviceWolffBatch(std::span<const BooksView> books, const DeviceGraphs& graphs,
                                   int device, cudaStream_t stream)
    : graphs_(graphs), replicas_(graphs.graphs() * graphs.bundles() * kReplicas) {
  lay_graphs(books, stream);
  make_room(device, stream);
}

void DeviceWolffBatch::lay_graphs(std::span<const BooksView> books, cudaStream_t stream) {
  std::vector<uint2> special, link;
  std::vector<std::uint64_t> offset;
  std::vector<std::uint32_t> bond;
  struct Start {
    std::size_t special, offset, link;
  };
  std::vector<Start> starts;
  std::uint64_t bonds = 0;
  for (const BooksView& b : books) {
    const WolffGeometry host(b.graph, b.layout);
    wolff_.plane_words = host.plane_words;
    starts.push_back({special.size(), offset.size(), link.size()});
    for (std::size_t w = 0; w < host.special.size(); ++w) {
      special.push_back(make_uint2(host.special[w], host.special_before[w]));
    }
    offset.insert(offset.end(), host.offset.begin(), host.offset.end());
    for (const Link& l : host.link) link.push_back(make_uint2(l.site, l.bond));
    for (std::uint32_t k = 0; k < b.bundles; ++k) {
      bond.push_back(static_cast<std::uint32_t>(b.bond[k / b.groups]));
    }
    bonds = std::max(bonds, b.graph.bonds());
  }
  special_ = DeviceBuffer<uint2>(std::span<const uint2>(special), stream);
  offset_ = DeviceBuffer<std::uint64_t>(std::span<const std::uint64_t>(offset), stream);
  link_ = DeviceBuffer<uint2>(std::span<const uint2>(link), stream);
  bond_threshold_ = DeviceBuffer<std::uint32_t>(std::span<const std::uint32_t>(bond), stream);
  std::vector<DeviceWolffGraph> graphs;
  for (std::size_t k = 0; k < books.size(); ++k) {
    graphs.push_back({books[k].spec.seed, special_.data() + starts[k].special,
                      offset_.data() + starts[k].offset, link_.data() + starts[k].link});
  }
  wolff_graphs_ = DeviceBuffer<DeviceWolffGraph>(std::span<const DeviceWolffGraph>(graphs), stream);
  check_cuda(cudaStreamSynchronize(stream), "copying graphs to the device");
  wolff_.lattice = graphs_.lattice({});
  plan_ = plan_wolff(wolff_.lattice.dim, wolff_.plane_words, replicas_, bonds);
}

// The pool of a block may have to hold every bond; large lattices get fewer blocks for it.
void DeviceWolffBatch::make_room(int device, cudaStream_t stream) {
  planes_ = DeviceBuffer<std::uint32_t>(std::size_t{replicas_} * wolff_.plane_words);
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "asking for the device's memory");
  const std::size_t pool_bytes = std::size_t{plan_.pool_chunks} * kChunk * sizeof(uint2);
  if (free < pool_bytes) {
    throw Error(
        ExitCode::device,
        fmt::format("cuda:{}: {:.1f} GiB are needed for a Wolff cluster's candidates, {:.1f} GiB "
                    "are free (reduce replicas, temperatures or the size)",
                    device, static_cast<double>(pool_bytes) / (1ull << 30),
                    static_cast<double>(free) / (1ull << 30)));
  }
  plan_.blocks = static_cast<unsigned>(
      std::min<std::size_t>(plan_.blocks, std::max<std::size_t>(1, free / 4 / pool_bytes)));
  pool_ = DeviceBuffer<uint2>(plan_.pool_size());
  check_cuda(cudaMemsetAsync(pool_.data(), 0xFF, pool_.bytes(), stream), "clearing");
  flipped_ = DeviceBuffer<unsigned long long>(replicas_);
  flipped_.clear(stream);
  progress_ = DeviceBuffer<unsigned>(1 + std::size_t{replicas_});
}

void DeviceWolffBatch::queue(const GraphRange& range, const std::uint32_t* first_step,
                             std::uint32_t step, std::uint32_t updates, std::uint32_t* spins,
                             cudaStream_t stream) {
  const std::uint32_t per_graph = graphs_.bundles() * kReplicas;
  const std::uint32_t bundles = range.count * graphs_.bundles();
  const std::size_t replica = std::size_t{range.first} * per_graph;
  std::uint32_t* words = spins + range.first * graphs_.words();
  std::uint32_t* planes = planes_.data() + replica * wolff_.plane_words;
  launch_words_to_planes(wolff_, bundles, graphs_.vec(), words, planes, stream);
  progress_.clear(stream);
  DeviceWolffRun run{};
  run.graphs = wolff_graphs_.data() + range.first;
  run.replicas_per_graph = per_graph;
  run.replicas = range.count * per_graph;
  run.first_step = first_step;
  run.step = step;
  run.updates = updates;
  run.threshold = bond_threshold_.data() + std::size_t{range.first} * graphs_.bundles();
  run.planes = planes;
  run.pool = pool_.data();
  run.pool_chunks = plan_.pool_chunks;
  run.flipped = flipped_.data() + replica;
  run.progress = progress_.data();
  launch_wolff(wolff_, run, plan_, stream);
  launch_planes_to_words(wolff_, bundles, graphs_.vec(), planes, words, stream);
}

}  // namespace rewise::bundle
