// A rank's share on a CUDA device: a device alone that works on a part of every system
// (device_part.hpp), with the kernels of the engine in one process (engine_cuda.cpp). Every system
// has room for all its sites there, so that sites keep their numbers; those beyond the slab, its
// halo and the far ends of its bonds hold nothing that is used. Messages go through page-locked
// memory of the host.
//
// Swendsen-Wang (swendsen_wang_fused.hpp): the slab's tiles are labelled and joined on the device.
// Then, as on CPUs (shared.cpp), ends of bonds go to the slab where the bond begins, which knows
// the labels that it joins; these pairs are united once, and the clusters of several slabs get the
// label of all. From one update of a run to the next the spins stay in the form of that path; halo
// and far ends follow at the end.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "src/base/error.hpp"
#include "src/cuda/device_team.hpp"
#include "src/cuda/pinned_buffer.hpp"
#include "src/single/device_graph.hpp"
#include "src/single/local/local_cuda.hpp"
#include "src/single/local/observe_cuda.hpp"
#include "src/single/share.hpp"
#include "src/single/swendsen_wang/swendsen_wang_fused.hpp"

namespace rewise::single {
namespace {

using ranks::Transport;

// Planes of a tile along the slowest extent.
std::uint32_t tile_planes(const Lattice& lattice) {
  return with_dim(lattice.dim,
                  [&]<int kDim>() { return 1u << (kDim >= 2 ? tile_bits<kDim>(kDim - 1) : 0); });
}

// Slabs end where tiles do if there are enough for all ranks and the updates need it.
std::uint32_t thickness_of(const Plan& plan, const EngineSpec& spec, int ranks) {
  const std::uint32_t tile = tile_planes(plan.lattice);
  const std::uint32_t planes = plan.lattice.extent[static_cast<unsigned>(plan.lattice.dim - 1)];
  const bool fits = FusedSwendsenWang::takes(DeviceGraph::outline(plan)) &&
                    (planes + tile - 1) / tile >= static_cast<std::uint32_t>(ranks);
  return spec.cluster == ClusterUpdate::swendsen_wang && fits ? tile : 1;
}

class CudaShare final : public SingleShare {
 public:
  CudaShare(std::shared_ptr<const Plan> plan, const EngineSpec& spec, Transport& transport,
            int device);
  ~CudaShare() override { team_.finish(); }

  std::string device() const override { return "cuda"; }
  std::string model() const override { return device_model(team_.devices().front()); }
  int threads() const override { return 1; }
  std::string why_no_clusters() const override;

  void fetch(std::uint64_t who) override;
  void advance(const Advance& what) override;
  void count(std::span<std::uint64_t> sums) override;
  void read(std::uint64_t who, std::uint64_t, std::uint64_t first,
            std::span<std::uint8_t> out) const override {
    team_.use(0);
    spins_.copy_out(out, stream(), who * stride_ + first);
    team_.wait();
  }
  void write(std::uint64_t who, std::uint64_t, std::uint64_t first,
             std::span<const std::uint8_t> bytes) override {
    team_.use(0);
    spins_.copy_in(bytes, stream(), who * stride_ + first);
    team_.wait();
  }

 private:
  static constexpr std::uint32_t kBatch = 16;  // updates between two summations

  cudaStream_t stream() const { return team_.stream(0); }
  std::uint8_t* system(std::uint64_t who) { return spins_.data() + who * stride_; }
  DevicePart rows() const;  // of tiles
  void check_memory() const;
  void upload_far_ends();
  void upload_measured_bonds();
  void exchange(Extent systems, int colour);
  void sweep(std::uint64_t step);
  void prepare_clusters();
  void cluster_updates(std::uint64_t step, std::uint64_t updates);
  void cluster_batch(std::uint64_t step, std::uint32_t updates);
  void join_slabs(std::uint64_t who, std::uint32_t update);
  std::vector<LabelPair> border_edges(std::uint64_t who, std::uint32_t update);
  void adopt(std::uint64_t who, std::uint32_t update, const std::vector<LabelPair>& united);
  void ask_sizes(std::uint32_t update);
  void take_sizes(std::uint64_t who);
  void sum_batch(std::uint32_t updates);

  const DeviceTeam team_;  // the device
  const std::uint64_t stride_;
  const Lattice& lattice_;
  std::unique_ptr<DeviceGraph> graph_;
  std::unique_ptr<LocalCuda> local_;
  DeviceBuffer<std::uint8_t> spins_;           // [systems][stride]
  DeviceBuffer<unsigned long long> measured_;  // [systems] unequal, [systems][measured_counts()]
  DeviceBuffer<RewiredSlot> measured_bonds_;
  DeviceSystems on_device_;

  // Of each colour the far ends that go and come, by rank.
  DeviceBuffer<Site> sent_[2], received_[2];
  DeviceBuffer<std::uint8_t> far_bytes_;
  // [systems] of the plane at the slab's begin, at its end, far ends
  PinnedBuffer<std::uint8_t> out_, in_;

  // Clusters
  std::unique_ptr<FusedSwendsenWang> fused_;
  std::vector<Joining> joining_;  // [ranks]
  SlabBorders slab_;
  DeviceBuffer<Site> told_;
  DeviceBuffer<RewiredSlot> asked_;
  DeviceBuffer<std::uint64_t> ends_;  // that go, or have come
  DeviceBuffer<unsigned long long> pairs_, met_;
  DeviceBuffer<std::uint32_t> pair_count_;
  DeviceBuffer<std::uint32_t> nodes_, sizes_;  // [systems][labels]: of clusters of several slabs
  PinnedBuffer<std::uint64_t> ends_out_, ends_in_;
  PinnedBuffer<unsigned long long> host_pairs_;
  PinnedBuffer<std::uint32_t> host_sizes_;  // [systems][labels]
  PinnedBuffer<std::uint32_t> host_count_;
  std::uint64_t most_labels_ = 0;
  std::vector<std::vector<LabelPair>> adopted_;  // [systems] of the update in hand
  // Of a batch's updates the smallest labels of clusters of several slabs and their sites here
  // [kBatch][systems], these once they have come: asked for last were those of asked_update_.
  std::vector<std::vector<LabelPair>> parts_;
  std::uint32_t asked_update_ = 0;
};

CudaShare::CudaShare(std::shared_ptr<const Plan> plan, const EngineSpec& spec, Transport& transport,
                     int device)
    : SingleShare(plan, spec, transport, thickness_of(*plan, spec, transport.size())),
      team_({device}),
      stride_(system_stride(plan_->sites)),
      lattice_(plan_->lattice) {
  check_memory();
  const auto planes = [&](std::uint64_t sites) {
    return static_cast<std::uint32_t>(sites / plane_);
  };
  const DevicePart part{planes(own_.first), static_cast<std::uint32_t>(all_planes_),
                        planes(own_.size()), true};
  graph_ = std::make_unique<DeviceGraph>(*plan_, stream());
  spins_ = DeviceBuffer<std::uint8_t>(systems_ * stride_);
  spins_.clear(stream());
  measured_ = DeviceBuffer<unsigned long long>(systems_ *
                                               (1 + measured_counts(plan_->potts, plan_->states)));
  on_device_ = {spec_.seed,     static_cast<std::uint32_t>(systems_),
                spec_.replicas, 0,
                stride_,        spins_.data(),
                nullptr,        part};
  local_ = std::make_unique<LocalCuda>(*plan_, graph_->plan(), spec_.local, stream(), part);
  upload_far_ends();
  upload_measured_bonds();
  launch_start(graph_->plan(), on_device_, spec_.start, stream());
  team_.wait();
}

DevicePart CudaShare::rows() const {
  const std::uint64_t row = thickness_ * plane_;
  const auto rows_to = [&](std::uint64_t site) {
    return static_cast<std::uint32_t>((site + row - 1) / row);
  };
  return {rows_to(own_.first), rows_to(plan_->sites), rows_to(own_.last) - rows_to(own_.first)};
}

std::string CudaShare::why_no_clusters() const {
  const bool takes = FusedSwendsenWang::takes(DeviceGraph::outline(*plan_));
  const std::uint32_t tile = tile_planes(lattice_);
  if (takes && thickness_ == tile) return "";
  return fmt::format(
      "{} ranks on CUDA devices cannot share swendsen-wang updates of this lattice: they do so of "
      "two to four dimensions whose first extent is a multiple of {}, with a last extent of more "
      "than {} (take --device cpu, which shares any)",
      transport_.size(), kWordSites, tile * static_cast<std::uint32_t>(transport_.size() - 1));
}

void CudaShare::check_memory() const {
  const DevicePlan plan = DeviceGraph::outline(*plan_);
  const auto systems = static_cast<std::uint32_t>(systems_);
  std::uint64_t need = DeviceGraph::bytes(*plan_) + LocalCuda::bytes(*plan_) +
                       systems_ * (stride_ + 8 * (2 + plan_->states)) + (64u << 20);
  if (spec_.cluster == ClusterUpdate::swendsen_wang && why_no_clusters().empty()) {
    need += FusedSwendsenWang::bytes(plan, systems, 1, rows());
  }
  team_.use(0);
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "asking for the device's memory");
  if (need <= free) return;
  const auto gib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / (1ull << 30); };
  throw Error(ExitCode::device,
              fmt::format("cuda:{}: {:.1f} GiB are needed for its planes of {} systems, {:.1f} GiB "
                          "are free (take more devices, or reduce replicas, temperatures or the "
                          "size)",
                          team_.devices().front(), gib(need), systems_, gib(free)));
}

void CudaShare::upload_far_ends() {
  std::uint64_t most = 0;
  for (int colour = 0; colour < 2; ++colour) {
    std::vector<Site> sent, received;
    for (const Far& far : far_) {
      sent.insert(sent.end(), far.sent[colour].begin(), far.sent[colour].end());
      received.insert(received.end(), far.received[colour].begin(), far.received[colour].end());
    }
    most = std::max<std::uint64_t>({most, sent.size(), received.size()});
    sent_[colour] = DeviceBuffer<Site>(sent, stream());
    received_[colour] = DeviceBuffer<Site>(received, stream());
    team_.wait();
  }
  far_bytes_ = DeviceBuffer<std::uint8_t>(most);
  out_ = PinnedBuffer<std::uint8_t>(systems_ * (2 * plane_ + most));
  in_ = PinnedBuffer<std::uint8_t>(systems_ * (2 * plane_ + most));
}

// What rewired bonds change in a count of the lattice: each is counted where it begins, and the
// lattice bond that it was taken off where that begins. An entry of the list does both: here one of
// the two joins nothing, or is none.
void CudaShare::upload_measured_bonds() {
  const BondSlots& slots = plan_->bond_slots;
  std::vector<RewiredSlot> bonds;
  for (const RewiredSlot& r : plan_->rewired) {
    if (has(r.a)) bonds.push_back({slots.lattice_slots, r.a, r.b});
    if (r.slot >= slots.lattice_slots) continue;
    const auto home = static_cast<Site>((r.slot / 32 / slots.dim) << 5 | (r.slot & 31u));
    if (has(home)) bonds.push_back({r.slot, home, home});
  }
  measured_bonds_ = DeviceBuffer<RewiredSlot>(bonds, stream());
  team_.wait();
}

// A plane that is both before and after the slab comes twice, the same.
void CudaShare::exchange(Extent systems, int colour) {
  if (transport_.size() == 1) return;
  DeviceBuffer<Site>&sent = sent_[colour], &received = received_[colour];
  const std::uint64_t each_out = 2 * plane_ + sent.size(), each_in = 2 * plane_ + received.size();
  const auto out = [&](std::uint64_t who, std::uint64_t at, std::uint64_t count) {
    return out_.view().subspan((who - systems.first) * each_out + at, count);
  };
  const auto in = [&](std::uint64_t who, std::uint64_t at, std::uint64_t count) {
    return in_.view().subspan((who - systems.first) * each_in + at, count);
  };
  for (std::uint64_t who = systems.first; who < systems.last; ++who) {
    spins_.copy_out(out(who, 0, plane_), stream(), who * stride_ + own_.first);
    spins_.copy_out(out(who, plane_, plane_), stream(), who * stride_ + own_.last - plane_);
    launch_gather(system(who), sent.data(), sent.size(), far_bytes_.data(), stream());
    far_bytes_.copy_out(out(who, 2 * plane_, sent.size()), stream());
  }
  team_.wait();
  for (std::uint64_t who = systems.first; who < systems.last; ++who) {
    transport_.post_receive(before(), kToAfter, in(who, 0, plane_));
    transport_.post_receive(after(), kToBefore, in(who, plane_, plane_));
    transport_.post_send(after(), kToAfter, out(who, plane_, plane_));
    transport_.post_send(before(), kToBefore, out(who, 0, plane_));
    std::uint64_t at_out = 2 * plane_, at_in = 2 * plane_;
    for (const Far& far : far_) {
      const std::uint64_t go = far.sent[colour].size(), come = far.received[colour].size();
      if (come > 0) transport_.post_receive(far.rank, kFar, in(who, at_in, come));
      if (go > 0) transport_.post_send(far.rank, kFar, out(who, at_out, go));
      at_out += go;
      at_in += come;
    }
  }
  transport_.wait();
  for (std::uint64_t who = systems.first; who < systems.last; ++who) {
    spins_.copy_in(in(who, 0, plane_), stream(), who * stride_ + plane_before(own_.first));
    spins_.copy_in(in(who, plane_, plane_), stream(), who * stride_ + plane_after(own_.last));
    far_bytes_.copy_in(in(who, 2 * plane_, received.size()), stream());
    launch_scatter(far_bytes_.data(), received.data(), received.size(), system(who), stream());
  }
}

void CudaShare::fetch(std::uint64_t who) {
  team_.use(0);
  for (int colour = 0; colour < 2; ++colour) exchange({who, who + 1}, colour);
  team_.wait();
}

void CudaShare::sweep(std::uint64_t step) {
  on_device_.step = static_cast<std::uint32_t>(step);
  for (int colour = 0; colour < 2; ++colour) {
    local_->sweep_colour(colour, on_device_, stream());
    exchange({0, systems_}, colour);
  }
}

// All systems at once, as the engine asks.
void CudaShare::advance(const Advance& what) {
  team_.use(0);
  std::uint64_t step = what.step;
  const Schedule& schedule = what.schedule;
  const std::uint64_t together = schedule.local == 0 ? what.cycles : 1;
  for (std::uint64_t cycle = 0; cycle < what.cycles; cycle += together) {
    for (std::uint32_t m = 0; m < schedule.local; ++m) sweep(step++);
    cluster_updates(step, schedule.cluster * together);
    step += schedule.cluster * together;
  }
  team_.wait();
}

void CudaShare::count(std::span<std::uint64_t> sums) {
  team_.use(0);
  DevicePlan plan = graph_->plan();
  plan.rewired = measured_bonds_.data();
  plan.rewired_count = measured_bonds_.size();
  measured_.clear(stream());
  launch_measure(plan, Geometry::make(lattice_), on_device_, measured_.data(),
                 measured_.data() + systems_, stream());
  const auto counted = measured_.to_host(stream());
  const std::uint64_t counts = measured_counts(plan_->potts, plan_->states);
  for (std::uint64_t who = 0; who < systems_; ++who) {
    const auto of = sums.subspan(who * (1 + plan_->states), 1 + plan_->states);
    const auto* of_system = counted.data() + systems_ + who * counts;
    of[0] = counted[who];
    if (plan_->potts) {
      std::copy_n(of_system, counts, of.begin() + 1);
    } else {
      of[1] = own_.size() - *of_system;
      of[2] = *of_system;
    }
  }
}

// Clusters

void CudaShare::prepare_clusters() {
  if (fused_) return;
  fused_ = std::make_unique<FusedSwendsenWang>(team_, std::vector<DevicePlan>{graph_->plan()},
                                               static_cast<std::uint32_t>(systems_), rows());
  joining_ = joining_bonds();
  std::vector<Site> told;
  std::vector<RewiredSlot> asked;
  for (const Joining& with : joining_) {
    told.insert(told.end(), with.to.begin(), with.to.end());
    asked.insert(asked.end(), with.from.begin(), with.from.end());
  }
  told_ = DeviceBuffer<Site>(told, stream());
  asked_ = DeviceBuffer<RewiredSlot>(asked, stream());
  team_.wait();
  slab_ = {own_.first, own_.last, plane_, told_.data(), told.size(), asked_.data(), asked.size()};
  const std::uint64_t most_ends = std::max(slab_.ends_in(), slab_.ends_out());
  most_labels_ = slab_.ends_in() + slab_.ends_out();
  ends_ = DeviceBuffer<std::uint64_t>(most_ends);
  pairs_ = DeviceBuffer<unsigned long long>(most_labels_);
  met_ = DeviceBuffer<unsigned long long>(
      std::clamp<std::uint64_t>(std::bit_ceil(slab_.ends_in()), 1u << 10, 1u << 20));
  pair_count_ = DeviceBuffer<std::uint32_t>(1);
  nodes_ = DeviceBuffer<std::uint32_t>(systems_ * most_labels_);
  sizes_ = DeviceBuffer<std::uint32_t>(systems_ * most_labels_);
  ends_out_ = PinnedBuffer<std::uint64_t>(slab_.ends_out());
  ends_in_ = PinnedBuffer<std::uint64_t>(slab_.ends_in());
  host_pairs_ = PinnedBuffer<unsigned long long>(most_labels_);
  host_sizes_ = PinnedBuffer<std::uint32_t>(systems_ * most_labels_);
  host_count_ = PinnedBuffer<std::uint32_t>(1);
  adopted_.resize(systems_);
  parts_.resize(kBatch * systems_);
}

void CudaShare::cluster_updates(std::uint64_t step, std::uint64_t updates) {
  if (updates == 0) return;
  prepare_clusters();
  for (std::uint64_t done = 0; done < updates; done += kBatch) {
    cluster_batch(step + done,
                  static_cast<std::uint32_t>(std::min<std::uint64_t>(kBatch, updates - done)));
  }
  for (std::uint64_t who = 0; who < systems_; ++who) fetch(who);
}

void CudaShare::cluster_batch(std::uint64_t step, std::uint32_t updates) {
  const DevicePlan& plan = graph_->plan();
  const FusedLabels& labels = fused_->labels(0);
  DeviceSystems tiles = on_device_;
  tiles.part = rows();
  for (std::uint32_t n = 0; n < updates; ++n) {
    tiles.step = on_device_.step = static_cast<std::uint32_t>(step + n);
    launch_fused_tiles(plan, labels, tiles, n, stream());
    if (n > 0) ask_sizes(n - 1);
    launch_fused_join(plan, labels, on_device_, n, stream());
    for (std::uint64_t who = 0; transport_.size() > 1 && who < systems_; ++who) join_slabs(who, n);
  }
  launch_fused_flip(plan, labels, tiles, updates - 1, stream());
  ask_sizes(updates - 1);
  sum_batch(updates);
}

void CudaShare::join_slabs(std::uint64_t who, std::uint32_t update) {
  adopt(who, update, unite(border_edges(who, update)));
}

std::vector<LabelPair> CudaShare::border_edges(std::uint64_t who, std::uint32_t update) {
  const DevicePlan& plan = graph_->plan();
  const FusedLabels& labels = fused_->labels(0);
  const auto of_system = static_cast<std::uint32_t>(who);
  launch_border_ends(plan, labels, on_device_, slab_, update, of_system, ends_.data(), stream());
  ends_.copy_out(ends_out_.view(), stream());
  team_.wait();
  if (update > 0) take_sizes(who);
  const auto out = bytes_of(ends_out_.view()), in = bytes_of(ends_in_.view());
  transport_.post_receive(after(), kLabels, in.first(8 * plane_));
  transport_.post_send(before(), kLabels, out.first(8 * plane_));
  std::uint64_t at_out = 8 * plane_, at_in = 8 * plane_;
  for (std::size_t r = 0; r < joining_.size(); ++r) {
    const std::uint64_t go = 8 * joining_[r].to.size(), come = 8 * joining_[r].from.size();
    const auto rank = static_cast<int>(r);
    if (come > 0) transport_.post_receive(rank, kFarLabels, in.subspan(at_in, come));
    if (go > 0) transport_.post_send(rank, kFarLabels, out.subspan(at_out, go));
    at_out += go;
    at_in += come;
  }
  transport_.wait();
  ends_.copy_in(ends_in_.view(), stream());
  met_.clear(stream());
  pair_count_.clear(stream());
  launch_border_edges(
      plan, labels, on_device_, slab_, update, of_system, ends_.data(),
      {pairs_.data(), pair_count_.data(), met_.data(), static_cast<std::uint32_t>(met_.size())},
      stream());
  pair_count_.copy_out(host_count_.view(), stream());
  team_.wait();
  const auto pairs = host_pairs_.view().first(host_count_.view()[0]);
  pairs_.copy_out(pairs, stream());
  team_.wait();
  std::vector<LabelPair> edges;
  edges.reserve(pairs.size());
  for (const unsigned long long pair : pairs) {
    edges.push_back({static_cast<Site>(pair >> 32), static_cast<Site>(pair)});
  }
  return edges;
}

// Own labels get the smallest of their clusters; their sizes are asked for later.
void CudaShare::adopt(std::uint64_t who, std::uint32_t update,
                      const std::vector<LabelPair>& united) {
  const auto from = [&](std::uint64_t site) {
    return std::partition_point(united.begin(), united.end(),
                                [&](const LabelPair& pair) { return pair.label < site; });
  };
  std::vector<LabelPair>& own = adopted_[who];
  own.assign(from(own_.first), from(own_.last));
  const auto pairs = host_pairs_.view().first(own.size());
  for (std::size_t k = 0; k < own.size(); ++k) {
    pairs[k] = static_cast<unsigned long long>(own[k].label) << 32 | own[k].other;
  }
  pairs_.copy_in(pairs, stream());
  launch_border_adopt(graph_->plan(), fused_->labels(0), update, static_cast<std::uint32_t>(who),
                      pairs_.data(), static_cast<std::uint32_t>(own.size()),
                      nodes_.data() + who * most_labels_, stream());
}

// Queued for all systems.
void CudaShare::ask_sizes(std::uint32_t update) {
  asked_update_ = update;
  for (std::uint64_t who = 0; who < systems_; ++who) {
    const std::uint64_t at = who * most_labels_, count = adopted_[who].size();
    launch_border_sizes(fused_->labels(0), update, static_cast<std::uint32_t>(who),
                        nodes_.data() + at, static_cast<std::uint32_t>(count), sizes_.data() + at,
                        stream());
    sizes_.copy_out(host_sizes_.view().subspan(at, count), stream(), at);
    std::vector<LabelPair>& parts = parts_[update * systems_ + who];
    parts.clear();
    for (const LabelPair& pair : adopted_[who]) parts.push_back({pair.other, 0});
  }
}

// When they are there.
void CudaShare::take_sizes(std::uint64_t who) {
  std::vector<LabelPair>& parts = parts_[asked_update_ * systems_ + who];
  const auto sizes = host_sizes_.view().subspan(who * most_labels_, parts.size());
  for (std::size_t k = 0; k < parts.size(); ++k) parts[k].other = sizes[k];
}

// The device has summed up all clusters' parts as if each were a cluster.
void CudaShare::sum_batch(std::uint32_t updates) {
  const DeviceLabels& labels = fused_->labels(0).common;
  std::vector<unsigned long long> sums(updates * systems_ * labels.copies * 3);
  const std::size_t bytes = sums.size() * sizeof sums[0];
  check_cuda(cudaMemcpyAsync(sums.data(), labels.sums, bytes, cudaMemcpyDeviceToHost, stream()),
             "copying from the device");
  check_cuda(cudaMemsetAsync(labels.sums, 0, bytes, stream()), "clearing");
  team_.wait();
  for (std::uint64_t who = 0; who < systems_; ++who) take_sizes(who);
  const unsigned long long* sum = sums.data();
  for (std::uint64_t row = 0; row < updates * systems_; ++row) {
    SlabClusters::Sums own;
    for (std::uint32_t copy = 0; copy < labels.copies; ++copy, sum += 3) {
      own.square += sum[0];
      own.fourth += WideSum{sum[2]} << 64 | sum[1];
    }
    for (const LabelPair& part : parts_[row]) {
      const std::uint64_t square = std::uint64_t{part.other} * part.other;
      own.square -= square;
      own.fourth -= WideSum{square} * square;
    }
    sum_up(row % systems_, own, parts_[row]);
  }
}

}  // namespace

std::unique_ptr<SingleShare> make_cuda_share(std::shared_ptr<const Plan> plan,
                                             const EngineSpec& spec, Transport& transport,
                                             int device) {
  return std::make_unique<CudaShare>(std::move(plan), spec, transport, device);
}

}  // namespace rewise::single
