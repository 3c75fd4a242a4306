#include "src/multispin/measured_sums_cuda.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/cuda/device_memory.hpp"
#include "src/cuda/pinned_stock.hpp"

namespace rewise::multispin {
namespace {

// Limits of the number of measurements of a shelf, which is kManySums / replicas.
constexpr std::size_t kMinMeasurements = 16, kMaxMeasurements = 64, kManySums = 1 << 19;

std::size_t measurements_for(std::uint64_t replicas) {
  return std::clamp<std::size_t>(kManySums / replicas, kMinMeasurements, kMaxMeasurements);
}

// Page-locked memory for sums. Never destroyed, because the driver may have ended before static
// destructors run.
PinnedStock& pinned_stock() {
  static PinnedStock& stock = *new PinnedStock(16, 1u << 30);
  return stock;
}

}  // namespace

std::uint64_t MeasuredSums::bytes(std::uint64_t replicas) {
  return replicas * 2 * measurements_for(replicas) * SumLayout::kMaxKinds * 16;
}

MeasuredSums::MeasuredSums(std::span<const EngineView> engines, const DeviceGraphs& graphs,
                           cudaStream_t stream)
    : engines_(engines),
      graphs_(graphs),
      stream_(stream),
      replicas_(graphs.graphs() * graphs.replicas()),
      measurements_(measurements_for(replicas_)) {
  std::vector<std::int64_t> bonds;
  for (const EngineView& e : engines) bonds.push_back(static_cast<std::int64_t>(e.graph.bonds()));
  most_bonds_ = *std::max_element(bonds.begin(), bonds.end());
  bonds_ = DeviceBuffer<std::int64_t>(bonds, stream);
  check_cuda(cudaStreamSynchronize(stream), "copying numbers of bonds");
}

MeasuredSums::~MeasuredSums() {
  for (Shelf& shelf : shelves_) pinned_stock().give(std::move(shelf.fetched));
}

bool MeasuredSums::make_room(std::size_t kinds) {
  if (kinds_ >= kinds) return false;
  const PooledMemory pooled;
  check_cuda(cudaStreamSynchronize(stream_), "waiting for measurements");
  kinds_ = kinds;
  for (Shelf& shelf : shelves_) {
    shelf.counts = DeviceBuffer<unsigned long long>(measurements_ * kinds_ * replicas_);
    shelf.counts.clear(stream_);
  }
  return true;
}

void MeasuredSums::end(std::size_t shelf, std::size_t measurements, std::uint64_t updates,
                       bool energies) {
  Shelf& on = shelves_[shelf];
  on.ended.record(stream_);
  on.layout = layout(measurements, updates);
  const std::size_t bytes = on.layout.bytes_in_all();
  if (on.sums.size() < bytes) {
    const PooledMemory pooled;
    check_cuda(cudaStreamSynchronize(stream_), "waiting for measurements");
    on.sums = DeviceBuffer<std::byte>(bytes);
  }
  if (on.fetched.size() < bytes) {
    pinned_stock().give(std::move(on.fetched));
    on.fetched = pinned_stock().take(bytes);
  }
  const Model model = energies ? engines_.front().spec.model : Model{};
  const SumUnits units = model.sum_units(0, graphs_.sites());
  launch_lay_out(on.layout, units, bonds_.data(), on.counts.data(), on.sums.data(), stream_);
  on.sums.copy_out(on.fetched.view().first(bytes), stream_);
  on.copied.record(stream_);
}

// The width of a kind is that of its largest possible value.
SumLayout MeasuredSums::layout(std::size_t measurements, std::uint64_t updates) const {
  const auto at_most = [](double most) {
    return narrow_bytes<std::uint64_t>(
        0, most < 1.8e19 ? static_cast<std::uint64_t>(most * (1 + 1e-9)) : UINT64_MAX);
  };
  const auto either_sign = [](std::int64_t most) {
    return narrow_bytes<std::int64_t>(-most, most);
  };
  const EngineSpec& spec = engines_.front().spec;
  const auto sites = static_cast<double>(graphs_.sites()), many = static_cast<double>(updates);
  const bool squares = spec.cluster == ClusterUpdate::swendsen_wang;
  const SumUnits units = spec.model.sum_units(0, graphs_.sites());
  const std::int64_t most_energy =
      units.unit * most_bonds_ + std::abs(units.field) * static_cast<std::int64_t>(graphs_.sites());
  SumLayout sums{graphs_.graphs(),
                 graphs_.replicas(),
                 static_cast<std::uint32_t>(measurements),
                 static_cast<std::uint32_t>(kinds_),
                 kPairSize,
                 {either_sign(most_energy), either_sign(static_cast<std::int64_t>(graphs_.sites())),
                  at_most(many * (squares ? sites * sites : sites)), 8,
                  at_most(3 * many * std::ldexp(std::pow(sites, 4), -64)), 8, 8, 8, 8, 8},
                 {}};
  for (std::size_t kind = 0; kind < kinds_; ++kind) {
    sums.bytes_before[kind + 1] =
        sums.bytes_before[kind] + sums.bytes[kind] * sums.values(kind) / sums.replicas;
  }
  return sums;
}

MeasuredSums::Sums MeasuredSums::take(std::size_t shelf) const {
  shelves_[shelf].copied.wait();
  return {shelves_[shelf].fetched.view().data(), shelves_[shelf].layout};
}

}  // namespace rewise::multispin
