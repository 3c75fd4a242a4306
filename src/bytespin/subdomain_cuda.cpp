#include "src/bytespin/subdomain_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/bytespin/local/observe_cuda.hpp"
#include "src/cuda/require_memory.hpp"

namespace rewise::bytespin {

CudaSubdomain::CudaSubdomain(std::shared_ptr<const GraphTables> tables, const EngineSpec& spec,
                             distributed::Transport& transport, std::uint32_t thickness, int device)
    : BytespinSubdomain(std::move(tables), spec, transport, thickness),
      device_(device),
      stride_(replica_stride(tables_->sites)),
      lattice_(tables_->lattice),
      urgent_(CudaStream::urgent()) {}

void CudaSubdomain::start(std::uint64_t more_bytes) {
  const std::uint64_t need = DeviceGraph::bytes(*tables_) + LocalCuda::bytes(*tables_) +
                             replicas_ * (stride_ + 8 * (2 + tables_->states)) + kDriverBytes +
                             more_bytes;
  require_device_memory(device_.device(),
                        fmt::format("the planes of this device for {} replicas", replicas_), need,
                        "use more devices, or reduce replicas, temperatures or the size");
  const auto planes = [&](std::uint64_t sites) {
    return static_cast<std::uint32_t>(sites / plane_);
  };
  const DevicePart part{planes(own_.first), static_cast<std::uint32_t>(all_planes_),
                        planes(own_.size()), true};
  graph_ = std::make_unique<DeviceGraph>(*tables_, stream());
  spins_ = DeviceBuffer<std::uint8_t>(replicas_ * stride_);
  spins_.clear(stream());
  measured_ = DeviceBuffer<unsigned long long>(
      replicas_ * (1 + measured_counts(tables_->potts, tables_->states)));
  on_device_ = {.seed = spec_.seed,
                .count = static_cast<std::uint32_t>(replicas_),
                .per_temperature = spec_.replicas,
                .stride = stride_,
                .spins = spins_.data(),
                .part = part};
  local_ = std::make_unique<LocalCuda>(*tables_, graph_->view(), spec_.local, stream(), part);
  upload_exchanged();
  upload_measured_bonds();
  launch_start(graph_->view(), on_device_, spec_.start, stream());
  device_.wait();
}

void CudaSubdomain::finish() noexcept {
  device_.finish();
  cudaStreamSynchronize(urgent_.get());
  messages_.reset();
}

// Sender and receiver sort the exchanged sites, so both use the same order.
void CudaSubdomain::upload_exchanged() {
  if (transport_.size() == 1) return;
  std::vector<FarSites> all(static_cast<std::size_t>(transport_.size()));
  const auto with_rank = [&](int rank) -> FarSites& { return all[static_cast<std::size_t>(rank)]; };
  for (const FarSites& far : far_) with_rank(far.rank) = far;
  const auto add_plane = [&](std::vector<Site>(&sites)[2], std::uint64_t first) {
    for (std::uint64_t site = first; site < first + plane_; ++site) {
      sites[lattice_.colour(static_cast<Site>(site))].push_back(static_cast<Site>(site));
    }
  };
  add_plane(with_rank(previous_rank()).sent, own_.first);
  add_plane(with_rank(previous_rank()).received, previous_plane(own_.first));
  add_plane(with_rank(next_rank()).sent, own_.last - plane_);
  add_plane(with_rank(next_rank()).received, next_plane(own_.last));
  for (int rank = 0; rank < transport_.size(); ++rank) {
    const bool next_to = rank == previous_rank() || rank == next_rank();
    const bool is_far = std::any_of(far_.begin(), far_.end(),
                                    [&](const FarSites& far) { return far.rank == rank; });
    if (next_to || is_far) with_.push_back(rank);
  }
  const auto upload = [&](int colour, bool sent) {
    ColourExchange& exchanged = (sent ? sent_ : received_)[colour];
    std::vector<Site> sites;
    for (const int rank : with_) {
      std::vector<Site>& rank_sites =
          (sent ? with_rank(rank).sent : with_rank(rank).received)[colour];
      std::sort(rank_sites.begin(), rank_sites.end());
      rank_sites.erase(std::unique(rank_sites.begin(), rank_sites.end()), rank_sites.end());
      rank_sites.resize((rank_sites.size() + 127) / 128 * 128, kNoSite);
      sites.insert(sites.end(), rank_sites.begin(), rank_sites.end());
      exchanged.count.push_back(rank_sites.size());
    }
    exchanged.sites = DeviceBuffer<Site>(sites, stream());
    exchanged.spins =
        DeviceBuffer<std::uint8_t>(replicas_ * (tables_->potts ? sites.size() : sites.size() / 8));
    device_.wait();
  };
  for (int colour = 0; colour < 2; ++colour) {
    upload(colour, true);
    upload(colour, false);
  }
}

// Measurements count the bonds of the bare lattice, then add rewired bonds and subtract the lattice
// bonds that they replaced. Each bond is counted on the rank where it begins. These may be two
// ranks, so an entry of `bonds` has only one of the two: a rewired bond with a draw index that is
// no lattice bond, or a removed lattice bond with a pair of equal sites, which adds nothing.
void CudaSubdomain::upload_measured_bonds() {
  const BondDrawIndex& indices = tables_->bond_draw_index;
  std::vector<IndexedBond> bonds;
  for (const IndexedBond& r : tables_->rewired) {
    if (has(r.a)) bonds.push_back({indices.lattice_draws, r.a, r.b});
    if (r.draw_index >= indices.lattice_draws) continue;
    const auto home =
        static_cast<Site>((r.draw_index / 32 / indices.dim) << 5 | (r.draw_index & 31u));
    if (has(home)) bonds.push_back({r.draw_index, home, home});
  }
  measured_bonds_ = DeviceBuffer<IndexedBond>(bonds, stream());
  device_.wait();
}

// Queues the exchange of one colour on the urgent stream.
void CudaSubdomain::exchange(IndexRange replicas, int colour) {
  if (transport_.size() == 1) return;
  const bool bits = !tables_->potts;
  ColourExchange &sent = sent_[colour], &received = received_[colour];
  const auto bytes = [&](std::uint64_t sites) { return bits ? sites / 8 : sites; };
  const auto message_spins = [&](ColourExchange& exchanged, std::uint64_t replica) {
    return exchanged.spins.data() + (replica - replicas.first) * bytes(exchanged.sites.size());
  };
  const auto list = [&](ColourExchange& exchanged) {
    std::vector<DeviceMessages::Message> messages;
    for (std::uint64_t replica = replicas.first; replica < replicas.last; ++replica) {
      std::uint8_t* at = message_spins(exchanged, replica);
      for (std::size_t k = 0; k < with_.size(); ++k) {
        messages.push_back({with_[k], at, bytes(exchanged.count[k])});
        at += bytes(exchanged.count[k]);
      }
    }
    return messages;
  };
  for (std::uint64_t replica = replicas.first; replica < replicas.last; ++replica) {
    launch_gather(spins_of(replica), sent.sites.data(), sent.sites.size(), bits,
                  message_spins(sent, replica), urgent_.get());
  }
  messages_->exchange(list(sent), list(received), urgent_.get());
  for (std::uint64_t replica = replicas.first; replica < replicas.last; ++replica) {
    launch_scatter(message_spins(received, replica), received.sites.data(), received.sites.size(),
                   bits, spins_of(replica), urgent_.get());
  }
}

void CudaSubdomain::fetch(std::uint64_t replica) {
  device_.use();
  device_.wait();
  if (transport_.size() == 1) return;
  if (!messages_) {
    messages_ = std::make_unique<DeviceMessages>(transport_, device_.device());
    for (ColourExchange& sent : sent_)
      messages_->register_memory({sent.spins.data(), sent.spins.size()});
  }
  for (int colour = 0; colour < 2; ++colour) exchange({replica, replica + 1}, colour);
  messages_->finish(urgent_.get());
}

// The outer and the inner planes of a colour both read outer and inner planes of the other colour.
void CudaSubdomain::sweep(std::uint64_t step) {
  on_device_.step = static_cast<std::uint32_t>(step);
  for (int colour = 0; colour < 2; ++colour) {
    urgent_done_.make_stream_wait(stream());
    done_.make_stream_wait(urgent_.get());
    local_->sweep_outer(colour, on_device_, plane_, urgent_.get());
    urgent_done_.record(urgent_.get());
    local_->sweep_inner(colour, on_device_, plane_, stream());
    done_.record(stream());
    exchange({0, replicas_}, colour);
  }
}

// Ignores what.replicas: the engine always advances all replicas together (distributed_engine.cpp).
void CudaSubdomain::advance(const AdvanceOrder& what) {
  device_.use();
  std::uint64_t step = what.step;
  const Schedule& schedule = what.schedule;
  const std::uint64_t together = schedule.local == 0 ? what.cycles : 1;
  for (std::uint64_t cycle = 0; cycle < what.cycles; cycle += together) {
    for (std::uint32_t m = 0; m < schedule.local; ++m) sweep(step++);
    messages_ ? messages_->wait(urgent_.get()) : urgent_.wait();
    if (schedule.cluster > 0) cluster_updates(step, schedule.cluster * together);
    step += schedule.cluster * together;
  }
  device_.wait();
  if (schedule.cluster == 0 && messages_) messages_->finish(urgent_.get());
}

void CudaSubdomain::count(std::span<std::uint64_t> sums) {
  device_.use();
  GraphView graph = graph_->view();
  graph.rewired = measured_bonds_.data();
  graph.rewired_count = measured_bonds_.size();
  measured_.clear(stream());
  launch_measure(graph, Geometry::make(lattice_), on_device_, measured_.data(),
                 measured_.data() + replicas_, stream());
  const auto counted = measured_.to_host(stream());
  const std::uint64_t counts = measured_counts(tables_->potts, tables_->states);
  for (std::uint64_t replica = 0; replica < replicas_; ++replica) {
    const auto sums_of_replica = sums.subspan(replica * (1 + tables_->states), 1 + tables_->states);
    const auto* replica_counts = counted.data() + replicas_ + replica * counts;
    sums_of_replica[0] = counted[replica];
    if (tables_->potts) {
      std::copy_n(replica_counts, counts, sums_of_replica.begin() + 1);
    } else {
      sums_of_replica[1] = own_.size() - *replica_counts;
      sums_of_replica[2] = *replica_counts;
    }
  }
}

std::unique_ptr<BytespinSubdomain> make_cuda_subdomain(std::shared_ptr<const GraphTables> tables,
                                                       const EngineSpec& spec,
                                                       distributed::Transport& transport,
                                                       LabelMethod method, int device) {
  const auto make = method == LabelMethod::kalentev ? make_labels_subdomain : make_fused_subdomain;
  return make(std::move(tables), spec, transport, device);
}

}  // namespace rewise::bytespin
