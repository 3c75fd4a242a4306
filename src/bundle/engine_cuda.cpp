// The bundle engine on a CUDA device: owns the device's memory, queues the kernels of a cycle on
// one stream, waits only where a caller needs numbers. Kernels: local.cu, wolff.cu, measure.cu.
#include "src/bundle/engine_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "src/base/error.hpp"
#include "src/bundle/books.hpp"
#include "src/bundle/local_cuda.hpp"
#include "src/bundle/measure_cuda.hpp"
#include "src/bundle/wolff.hpp"
#include "src/bundle/wolff_cuda.hpp"
#include "src/cuda/device_buffer.hpp"
#include "src/cuda/devices.hpp"
#include "src/cuda/stream.hpp"

namespace rewise::bundle {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class T>
DeviceBuffer<T> upload(const std::vector<T>& host, cudaStream_t stream) {
  return DeviceBuffer<T>(std::span<const T>(host), stream);
}

int use_device(int device) {
  const auto devices = cuda_devices();
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [&](const CudaDevice& d) { return d.index == device; });
  if (found == devices.end()) {
    throw Error(ExitCode::device, fmt::format("--device cuda:{}: no such device ({} usable here)",
                                              device, devices.size()));
  }
  check_cuda(cudaSetDevice(device), "choosing the device");
  return device;
}

}  // namespace

class CudaEngine final : public Books {
 public:
  CudaEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options)
      : Books(graph, spec),
        device_(use_device(options.device)),
        device_name_(fmt::format("cuda:{}", device_)),
        vec_(bundles_ % 4 == 0 ? 4 : 1) {
    check_memory();
    spins_ = DeviceBuffer<std::uint32_t>(std::size_t{bundles_} * layout_.words);
    lay_lattice();
    lay_cells();
    lay_thresholds();
    lay_measurement();
    spins_.clear(stream_.get());
    for (std::uint32_t b = 0; b < bundles_; ++b) write_words(b, start_words(b));
    stream_.wait();
  }

  std::string_view device() const override { return device_name_; }
  int threads() const override { return 1; }

  void advance(const Schedule& schedule, std::uint64_t cycles) override {
    check_steps(schedule, cycles);
    check_cuda(cudaSetDevice(device_));
    if (schedule.cluster > 0 && wolff_.plane_words == 0) lay_wolff();
    auto step = static_cast<std::uint32_t>(step_);
    const double start = now();
    double cluster_seconds = 0;
    for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
      for (std::uint32_t m = 0; m < schedule.local; ++m, ++step) sweep(step);
      if (schedule.cluster > 0) {
        wolff(step, schedule.cluster);
        step += schedule.cluster;
      }
    }
    std::uint64_t sites = 0;
    if (schedule.cluster > 0) {
      // A pure cluster schedule times itself; in a mix the share is measured by the benchmark.
      const auto flipped = flipped_.to_host(stream_.get());
      for (std::size_t k = 0; k < flipped.size(); ++k) {
        sites += flipped[k];
        cluster_size_[k] += flipped[k];
      }
      flipped_.clear(stream_.get());
    }
    stream_.wait();
    const double seconds = now() - start;
    if (schedule.local == 0) cluster_seconds = seconds;
    work_.local_seconds += seconds - cluster_seconds;
    work_.cluster_seconds += cluster_seconds;
    book(schedule, cycles, sites);
  }

  void measure(Observation& out) override {
    check_cuda(cudaSetDevice(device_));
    const double start = now();
    const std::size_t replicas = std::size_t{bundles_} * kReplicas;
    sums_.clear(stream_.get());
    DeviceMeasurement m = pairs_;
    m.bundles = bundles_;
    m.vec = vec_;
    m.spins = spins_.data();
    m.disagreeing = sums_.data();
    m.up = sums_.data() + replicas;
    launch_measure(lattice_, m, stream_.get());
    const auto sums = sums_.to_host(stream_.get());
    out.bond_sum.resize(replicas);
    out.magnetisation.resize(replicas);
    for (std::size_t k = 0; k < replicas; ++k) {
      out.bond_sum[k] =
          static_cast<std::int64_t>(graph_.bonds()) - 2 * static_cast<std::int64_t>(sums[k]);
      out.magnetisation[k] = 2 * static_cast<std::int64_t>(sums[replicas + k]) -
                             static_cast<std::int64_t>(layout_.sites);
    }
    close_sums(out);
    work_.measure_seconds += now() - start;
  }

 private:
  void sweep(std::uint32_t step) {
    DeviceSweep sweep{};
    sweep.thresholds = thresholds_;
    sweep.spins = spins_.data();
    sweep.first_step = step_zero_.data();
    sweep.step = step;
    sweep.stream = static_cast<std::uint32_t>(tables_.front().stream);
    sweep.graphs = 1;
    sweep.bundles = bundles_;
    sweep.vec = vec_;
    sweep.seeds.low[0] = static_cast<std::uint32_t>(spec_.seed);
    sweep.seeds.high[0] = static_cast<std::uint32_t>(spec_.seed >> 32);
    for (int colour = 0; colour < layout_.colours; ++colour) {
      const auto c = static_cast<std::size_t>(colour);
      launch_regular(lattice_, sweep, colour, stream_.get());
      launch_modified(lattice_, cells_, sweep, colour, colour_first_[c + 1] - colour_first_[c],
                      stream_.get());
    }
  }

  void wolff(std::uint32_t step, std::uint32_t updates) {
    cudaStream_t stream = stream_.get();
    launch_words_to_planes(wolff_, bundles_, vec_, spins_.data(), planes_.data(), stream);
    progress_.clear(stream);
    DeviceWolffRun run{};
    run.graphs = wolff_graph_.data();
    run.replicas_per_graph = run.replicas = bundles_ * kReplicas;
    run.first_step = step_zero_.data();
    run.step = step;
    run.updates = updates;
    run.threshold = bond_threshold_.data();
    run.planes = planes_.data();
    run.pool = pool_.data();
    run.pool_chunks = plan_.pool_chunks;
    run.flipped = flipped_.data();
    run.progress = progress_.data();
    launch_wolff(wolff_, run, plan_, stream);
    launch_planes_to_words(wolff_, bundles_, vec_, planes_.data(), spins_.data(), stream);
  }

  void read_words(std::uint32_t bundle, Words& out) const override {
    out.resize(layout_.words);
    const auto v = static_cast<std::size_t>(vec_);
    check_cuda(cudaSetDevice(device_));
    check_cuda(cudaMemcpy2DAsync(out.data(), 4,
                                 spins_.data() + bundle / v * layout_.words * v + bundle % v, 4 * v,
                                 4, layout_.words, cudaMemcpyDeviceToHost, stream_.get()),
               "copying spins from the device");
    stream_.wait();
  }

  void write_words(std::uint32_t bundle, const Words& words) override {
    const auto v = static_cast<std::size_t>(vec_);
    check_cuda(cudaSetDevice(device_));
    check_cuda(
        cudaMemcpy2DAsync(spins_.data() + bundle / v * layout_.words * v + bundle % v, 4 * v,
                          words.data(), 4, 4, layout_.words, cudaMemcpyHostToDevice, stream_.get()),
        "copying spins to the device");
    stream_.wait();
  }

  // Spins, planes, graph; before anything is allocated.
  void check_memory() const {
    const std::uint64_t spins = std::uint64_t{bundles_} * layout_.words * 4;
    const std::uint64_t graph = layout_.modified_cells * 64 + layout_.rewired.count() * 24 +
                                layout_.sites / 4 + layout_.rows * 32ull;
    const std::uint64_t need = 2 * spins + graph + layout_.sites * 4;
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "asking for the device's memory");
    if (need > free) {
      throw Error(
          ExitCode::device,
          fmt::format("cuda:{}: {:.1f} GiB are needed for {} sites x {} replicas, {:.1f} GiB "
                      "are free (reduce replicas, temperatures or the size)",
                      device_, static_cast<double>(need) / (1ull << 30), layout_.sites,
                      bundles_ * kReplicas, static_cast<double>(free) / (1ull << 30)));
    }
  }

  void lay_lattice() {
    const Lattice& host = layout_.lattice;
    lattice_.dim = host.dim;
    lattice_.extent0 = host.extent[0];
    lattice_.extent1 = host.extent[1];
    lattice_.extent2 = host.extent[2];
    lattice_.extent3 = host.extent[3];
    lattice_.sites = static_cast<std::uint32_t>(layout_.sites);
    lattice_.half_row = layout_.half_row;
    lattice_.rows = layout_.rows;
    lattice_.words = static_cast<std::uint32_t>(layout_.words);
    for (int c = 0; c < 2; ++c) {
      lattice_.colour_base[c] = static_cast<std::uint32_t>(layout_.colour_base[c]);
    }
    if (host.dim == 0) return;
    row_neighbour_ = upload(layout_.row_neighbour, stream_.get());
    row_parity_ = upload(layout_.row_parity, stream_.get());
    lattice_.row_neighbour = row_neighbour_.data();
    lattice_.row_parity = row_parity_.data();
    std::vector<std::uint8_t> modified(layout_.sites / 2 * 2, 0);
    for (const Site site : graph_.modified_sites()) {
      modified[static_cast<std::size_t>(host.colour(site)) * (layout_.sites / 2) + site / 2] = 1;
    }
    for (std::size_t c = 0; c < 2; ++c) {
      const auto half = static_cast<std::uint32_t>(layout_.sites / 2);
      lattice_.regular_most[c] = half;
      if (layout_.modified_cells == 0) continue;
      std::vector<std::uint32_t> places;
      for (std::uint32_t i = 0; i < half; ++i) {
        if (!modified[c * half + i]) places.push_back(i);
      }
      lattice_.regular_most[c] = static_cast<std::uint32_t>(places.size());
      regular_[c] = upload(places, stream_.get());
      stream_.wait();
      lattice_.regular[c] = regular_[c].data();
    }
  }

  void lay_cells() {
    std::vector<DeviceGroup> groups;
    std::vector<std::uint32_t> group_of_warp;
    std::vector<std::uint32_t> slot, site, neighbour;
    colour_first_.assign(static_cast<std::size_t>(layout_.colours) + 1, 0);
    std::uint32_t threshold_offset = 0;
    std::vector<std::uint32_t> offset_of_degree(tables_.front().by_degree.size());
    for (std::size_t k = 0; k < offset_of_degree.size(); ++k) {
      offset_of_degree[k] = threshold_offset;
      threshold_offset += tables_.front().by_degree[k].classes;
    }
    thresholds_.stride = threshold_offset;
    thresholds_.regular = offset_of_degree[static_cast<std::size_t>(2 * layout_.lattice.dim)];
    for (const ModifiedGroup& host : layout_.modified) {
      DeviceGroup group{};
      group.degree = host.degree;
      group.first = static_cast<std::uint32_t>(slot.size());
      group.cells = host.cells;
      group.padded = (host.cells + 31) / 32 * 32;
      group.neighbour = neighbour.size();
      group.thresholds = offset_of_degree[host.degree];
      group.classes = tables_.front().by_degree[host.degree].classes;
      for (std::uint32_t i = 0; i < group.padded; ++i) {
        slot.push_back(host.slot[i < host.cells ? i : 0]);
        site.push_back(host.site[i < host.cells ? i : 0]);
      }
      for (std::uint32_t j = 0; j < host.degree; ++j) {
        const std::uint32_t* column = host.neighbour.data() + std::size_t{j} * host.padded;
        neighbour.insert(neighbour.end(), column, column + host.cells);
        neighbour.insert(neighbour.end(), group.padded - group.cells, column[0]);
      }
      group_of_warp.insert(group_of_warp.end(), group.padded / 32,
                           static_cast<std::uint32_t>(groups.size()));
      for (auto c = static_cast<std::size_t>(host.colour) + 1; c < colour_first_.size(); ++c) {
        colour_first_[c] = static_cast<std::uint32_t>(slot.size());
      }
      groups.push_back(group);
    }
    groups_on_device_ = upload(groups, stream_.get());
    first_cell_ = upload(colour_first_, stream_.get());
    step_zero_ = upload(std::vector{0u}, stream_.get());
    group_of_warp_ = upload(group_of_warp, stream_.get());
    cell_slot_ = upload(slot, stream_.get());
    cell_site_ = upload(site, stream_.get());
    cell_neighbour_ = upload(neighbour, stream_.get());
    stream_.wait();
    cells_ = {groups_on_device_.data(),
              group_of_warp_.data(),
              cell_slot_.data(),
              cell_site_.data(),
              cell_neighbour_.data(),
              first_cell_.data(),
              static_cast<std::uint32_t>(layout_.colours)};
  }

  void lay_thresholds() {
    std::vector<std::uint32_t> table, bond, digits;
    for (std::uint32_t b = 0; b < bundles_; ++b) {
      for (const DegreeTable& degree : tables_[b / groups_].by_degree) {
        for (std::uint32_t c = 0; c < degree.classes; ++c) {
          table.push_back(static_cast<std::uint32_t>(degree.acceptance[c]));
          for (unsigned n = 0; n < 32; ++n) {
            digits.push_back(threshold_digit(degree.acceptance[c], n) ? ~0u : 0u);
          }
        }
      }
      bond.push_back(static_cast<std::uint32_t>(bond_[b / groups_]));
    }
    threshold_table_ = upload(table, stream_.get());
    digit_table_ = upload(digits, stream_.get());
    bond_threshold_ = upload(bond, stream_.get());
    stream_.wait();
    thresholds_.table = threshold_table_.data();
    thresholds_.digit_table = digit_table_.data();
  }

  void lay_measurement() {
    sums_ = DeviceBuffer<unsigned long long>(std::size_t{bundles_} * kReplicas * 2);
    for (const int kind : {0, 1}) {
      const BondList& list = kind == 0 ? layout_.removed : layout_.rewired;
      const auto count = static_cast<std::uint32_t>(list.count());
      pairs_a_[kind] = upload(list.a, stream_.get());
      pairs_b_[kind] = upload(list.b, stream_.get());
      pairs_first_[kind] = upload(std::vector<std::uint32_t>{0, count}, stream_.get());
      stream_.wait();
      pairs_.pairs[kind] = {pairs_a_[kind].data(), pairs_b_[kind].data(),
                            pairs_first_[kind].data()};
      pairs_.most = std::max(pairs_.most, count);
    }
  }

  void lay_wolff() {
    const WolffGeometry host(graph_, layout_);
    wolff_.lattice = lattice_;
    wolff_.plane_words = host.plane_words;
    std::vector<uint2> special, link;
    special.reserve(host.special.size());
    for (std::size_t w = 0; w < host.special.size(); ++w) {
      special.push_back(make_uint2(host.special[w], host.special_before[w]));
    }
    special_ = upload(special, stream_.get());
    offset_ = upload(host.offset, stream_.get());
    link.reserve(host.link.size());
    for (const Link& l : host.link) link.push_back(make_uint2(l.site, l.bond));
    link_ = upload(link, stream_.get());
    wolff_graph_ = upload(
        std::vector{DeviceWolffGraph{spec_.seed, special_.data(), offset_.data(), link_.data()}},
        stream_.get());
    stream_.wait();
    planes_ = DeviceBuffer<std::uint32_t>(std::size_t{bundles_} * kReplicas * host.plane_words);
    plan_ =
        plan_wolff(graph_.lattice().dim, host.plane_words, bundles_ * kReplicas, graph_.bonds());
    // The pool of a block may have to hold every bond; large lattices get fewer blocks for it.
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "asking for the device's memory");
    const std::size_t pool_bytes = std::size_t{plan_.pool_chunks} * kChunk * sizeof(uint2);
    if (free < pool_bytes) {
      throw Error(
          ExitCode::device,
          fmt::format("cuda:{}: {:.1f} GiB are needed for a Wolff cluster's candidates, {:.1f} GiB "
                      "are free (reduce replicas, temperatures or the size)",
                      device_, static_cast<double>(pool_bytes) / (1ull << 30),
                      static_cast<double>(free) / (1ull << 30)));
    }
    plan_.blocks = static_cast<unsigned>(
        std::min<std::size_t>(plan_.blocks, std::max<std::size_t>(1, free / 4 / pool_bytes)));
    pool_ = DeviceBuffer<uint2>(plan_.pool_size());
    check_cuda(cudaMemsetAsync(pool_.data(), 0xFF, pool_.bytes(), stream_.get()));
    flipped_ = DeviceBuffer<unsigned long long>(std::size_t{bundles_} * kReplicas);
    flipped_.clear(stream_.get());
    progress_ = DeviceBuffer<unsigned>(1 + std::size_t{bundles_} * kReplicas);
  }

  const int device_;
  const std::string device_name_;
  const int vec_;
  CudaStream stream_;
  std::vector<std::uint32_t> colour_first_;  // [colours + 1] cells, on the host
  DeviceLattice lattice_;
  DeviceCells cells_;
  DeviceThresholds thresholds_{};
  DeviceWolff wolff_;
  WolffLaunch plan_;
  DeviceMeasurement pairs_;
  DeviceBuffer<std::uint32_t> spins_, row_neighbour_, regular_[2], cell_slot_, cell_site_,
      cell_neighbour_, threshold_table_, digit_table_, bond_threshold_, pairs_a_[2], pairs_b_[2],
      pairs_first_[2], first_cell_, group_of_warp_, planes_, step_zero_;
  DeviceBuffer<std::uint8_t> row_parity_;
  DeviceBuffer<DeviceGroup> groups_on_device_;
  DeviceBuffer<std::uint64_t> offset_;
  DeviceBuffer<uint2> special_, link_, pool_;
  DeviceBuffer<DeviceWolffGraph> wolff_graph_;
  DeviceBuffer<unsigned long long> sums_, flipped_;
  DeviceBuffer<unsigned> progress_;
};

std::unique_ptr<Engine> make_cuda_engine(const Graph& graph, const EngineSpec& spec,
                                         const EngineOptions& options) {
  return std::make_unique<CudaEngine>(graph, spec, options);
}

}  // namespace rewise::bundle
