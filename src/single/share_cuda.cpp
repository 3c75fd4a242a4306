// A rank's share on a CUDA device: a device alone that works on a part of every system
// (device_part.hpp), with the kernels of the engine in one process (engine_cuda.cpp). Every system
// has room for all its sites there, so that sites keep their numbers; those beyond the slab, its
// halo and the far ends of its bonds hold nothing that is used. Messages go through page-locked
// memory of the host. Of a colour of a sweep the modified cells and the slab's outer planes go
// first, on a stream of their own, and are exchanged while those between are updated.
//
// Swendsen-Wang (swendsen_wang_fused.hpp): the slab's tiles are labelled and joined on the device.
// Then, as on CPUs (shared.cpp), ends of bonds go to the slab where the bond begins, which knows
// the labels that it joins. These pairs go to all ranks, each of which unites all of them on its
// device, the quicker way where rewired bonds make millions of them: its clusters of several slabs
// get the smallest label of all. Sites of their parts are added up on rank 0's device, batch by
// batch. From one update of a run to the next the spins stay in the form of that path; halo and far
// ends follow at the end.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "src/base/error.hpp"
#include "src/cuda/device_team.hpp"
#include "src/cuda/graph.hpp"
#include "src/cuda/pinned_buffer.hpp"
#include "src/cuda/stream.hpp"
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
  ~CudaShare() override {
    team_.finish();
    cudaStreamSynchronize(urgent_.get());
  }

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
  static constexpr std::uint64_t kChunk = 4096;  // pairs, or parts, that are copied before it is
                                                 // known how many there are

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
  void exchange_ends();
  std::uint64_t gather_pairs();
  AdoptedLabels adopted(std::uint64_t who);
  void ask_sizes(std::uint32_t update);
  void take_sizes(std::uint64_t who);
  void sum_batch(std::uint32_t updates);
  void sum_up_all(const std::vector<std::vector<std::uint8_t>>& all, std::uint32_t updates);

  const DeviceTeam team_;  // the device
  const std::uint64_t stride_;
  const Lattice& lattice_;
  const CudaStream urgent_;
  const CudaEvent outer_done_, inner_done_;
  const std::uint32_t batch_;  // updates between two summations: rewired bonds make many parts
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
  PinnedBuffer<std::uint64_t> ends_out_, ends_in_;
  // How many pairs the slab's borders join, then these; of all ranks as far as they are in a
  // chunk, one after the other, then the others.
  DeviceBuffer<unsigned long long> pairs_, met_;
  PinnedBuffer<unsigned long long> host_pairs_;
  PinnedBuffer<unsigned long long> chunks_;             // [ranks][1 + kChunk]
  std::vector<std::vector<unsigned long long>> rests_;  // [ranks]
  DeviceBuffer<unsigned long long> all_pairs_;          // of all ranks; parts of an update likewise
  DeviceBuffer<std::uint32_t> parent_, adopted_bits_;
  // Of clusters of several slabs, of the update in hand.
  DeviceBuffer<std::uint32_t> nodes_, adopted_count_;  // [systems][labels], [systems]
  DeviceBuffer<Site> smallest_;                        // [systems][labels]
  DeviceBuffer<unsigned long long> sized_;             // [systems][labels]
  PinnedBuffer<std::uint32_t> host_count_;             // [systems]
  PinnedBuffer<unsigned long long> host_sized_;        // [systems][kChunk]
  DeviceBuffer<unsigned long long> border_sums_;       // [batch][systems][3]
  std::uint64_t most_labels_ = 0;
  std::vector<std::uint64_t> most_adopted_;  // [systems] labels in pairs, at most
  // [batch][systems] smallest labels and sites, label << 32 | sites; those of asked_update_ when
  // they have come.
  std::vector<std::vector<unsigned long long>> parts_;
  std::uint32_t asked_update_ = 0;
};

CudaShare::CudaShare(std::shared_ptr<const Plan> plan, const EngineSpec& spec, Transport& transport,
                     int device)
    : SingleShare(plan, spec, transport, thickness_of(*plan, spec, transport.size())),
      team_({device}),
      stride_(system_stride(plan_->sites)),
      lattice_(plan_->lattice),
      urgent_(CudaStream::urgent()),
      batch_(plan_->rewired.empty() ? kUpdatesPerBatch : 16) {
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
    need += FusedSwendsenWang::bytes(plan, systems, 1, rows()) + 5 * plan_->sites;
  }
  team_.use(0);
  const std::size_t free = free_device_memory();
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

// On the urgent stream. A plane that is both before and after the slab comes twice, the same.
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
    spins_.copy_out(out(who, 0, plane_), urgent_.get(), who * stride_ + own_.first);
    spins_.copy_out(out(who, plane_, plane_), urgent_.get(), who * stride_ + own_.last - plane_);
    launch_gather(system(who), sent.data(), sent.size(), far_bytes_.data(), urgent_.get());
    far_bytes_.copy_out(out(who, 2 * plane_, sent.size()), urgent_.get());
  }
  urgent_.wait();
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
    spins_.copy_in(in(who, 0, plane_), urgent_.get(), who * stride_ + plane_before(own_.first));
    spins_.copy_in(in(who, plane_, plane_), urgent_.get(), who * stride_ + plane_after(own_.last));
    far_bytes_.copy_in(in(who, 2 * plane_, received.size()), urgent_.get());
    launch_scatter(far_bytes_.data(), received.data(), received.size(), system(who), urgent_.get());
  }
}

void CudaShare::fetch(std::uint64_t who) {
  team_.use(0);
  team_.wait();
  for (int colour = 0; colour < 2; ++colour) exchange({who, who + 1}, colour);
  urgent_.wait();
}

// Either half of a colour reads what both have done of the other.
void CudaShare::sweep(std::uint64_t step) {
  on_device_.step = static_cast<std::uint32_t>(step);
  for (int colour = 0; colour < 2; ++colour) {
    outer_done_.hold(stream());
    inner_done_.hold(urgent_.get());
    local_->sweep_outer(colour, on_device_, plane_, urgent_.get());
    outer_done_.record(urgent_.get());
    local_->sweep_inner(colour, on_device_, plane_, stream());
    inner_done_.record(stream());
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
    urgent_.wait();
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
  most_labels_ = std::max(slab_.ends_in() + slab_.ends_out(), kChunk);
  std::uint64_t of_all = most_labels_;
  transport_.sum(std::span(&of_all, 1));
  transport_.broadcast(bytes_of(std::span(&of_all, 1)));
  ends_ = DeviceBuffer<std::uint64_t>(std::max(slab_.ends_in(), slab_.ends_out()));
  ends_out_ = PinnedBuffer<std::uint64_t>(slab_.ends_out());
  ends_in_ = PinnedBuffer<std::uint64_t>(slab_.ends_in());
  pairs_ = DeviceBuffer<unsigned long long>(1 + most_labels_);
  host_pairs_ = PinnedBuffer<unsigned long long>(1 + most_labels_);
  met_ = DeviceBuffer<unsigned long long>(
      std::clamp<std::uint64_t>(std::bit_ceil(slab_.ends_in()), 1u << 10, 1u << 20));
  const auto ranks = static_cast<std::uint64_t>(transport_.size());
  chunks_ = PinnedBuffer<unsigned long long>(ranks * (1 + kChunk));
  rests_.resize(ranks);
  all_pairs_ = DeviceBuffer<unsigned long long>(of_all);
  parent_ = DeviceBuffer<std::uint32_t>(plan_->sites);
  adopted_bits_ = DeviceBuffer<std::uint32_t>(plan_->sites / 32 + 1);
  adopted_bits_.clear(stream());
  nodes_ = DeviceBuffer<std::uint32_t>(systems_ * most_labels_);
  smallest_ = DeviceBuffer<Site>(systems_ * most_labels_);
  sized_ = DeviceBuffer<unsigned long long>(systems_ * most_labels_);
  adopted_count_ = DeviceBuffer<std::uint32_t>(systems_);
  adopted_count_.clear(stream());
  host_count_ = PinnedBuffer<std::uint32_t>(systems_);
  host_sized_ = PinnedBuffer<unsigned long long>(systems_ * kChunk);
  border_sums_ = DeviceBuffer<unsigned long long>(3 * batch_ * systems_);
  most_adopted_.assign(systems_, 0);
  parts_.resize(batch_ * systems_);
}

void CudaShare::cluster_updates(std::uint64_t step, std::uint64_t updates) {
  if (updates == 0) return;
  prepare_clusters();
  for (std::uint64_t done = 0; done < updates; done += batch_) {
    cluster_batch(step + done,
                  static_cast<std::uint32_t>(std::min<std::uint64_t>(batch_, updates - done)));
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
  const DevicePlan& plan = graph_->plan();
  const FusedLabels& labels = fused_->labels(0);
  const auto of_system = static_cast<std::uint32_t>(who);
  launch_border_ends(plan, labels, on_device_, slab_, update, of_system, ends_.data(), stream());
  ends_.copy_out(ends_out_.view(), stream());
  team_.wait();
  if (update > 0) take_sizes(who);
  exchange_ends();
  ends_.copy_in(ends_in_.view(), stream());
  met_.clear(stream());
  check_cuda(cudaMemsetAsync(pairs_.data(), 0, sizeof(unsigned long long), stream()), "clearing");
  launch_border_edges(plan, labels, on_device_, slab_, update, of_system, ends_.data(),
                      {pairs_.data() + 1, reinterpret_cast<std::uint32_t*>(pairs_.data()),
                       met_.data(), static_cast<std::uint32_t>(met_.size())},
                      stream());
  const std::uint64_t pairs = gather_pairs();
  check_cuda(cudaMemsetAsync(adopted_count_.data() + who, 0, sizeof(std::uint32_t), stream()),
             "clearing");
  launch_border_unite(plan, labels, slab_, update, of_system, all_pairs_.data(), pairs,
                      {parent_.data(), adopted_bits_.data()}, adopted(who), stream());
  most_adopted_[who] = std::min(2 * pairs, most_labels_);
}

AdoptedLabels CudaShare::adopted(std::uint64_t who) {
  return {nodes_.data() + who * most_labels_, smallest_.data() + who * most_labels_,
          adopted_count_.data() + who};
}

void CudaShare::exchange_ends() {
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
}

// The pairs of all ranks, in all_pairs_; how many.
std::uint64_t CudaShare::gather_pairs() {
  const auto head = host_pairs_.view().first(1 + kChunk);
  pairs_.copy_out(head, stream());
  team_.wait();
  const std::uint64_t own = head[0];
  if (own > kChunk) {
    pairs_.copy_out(host_pairs_.view().subspan(1 + kChunk, own - kChunk), stream(), 1 + kChunk);
    team_.wait();
  }
  const auto chunk = [&](int r) {
    return chunks_.view().subspan(static_cast<std::uint64_t>(r) * (1 + kChunk), 1 + kChunk);
  };
  const auto for_others = [&](const auto& f) {
    for (int r = 0; r < transport_.size(); ++r) {
      if (r != transport_.rank()) f(r);
    }
    transport_.wait();
  };
  for_others([&](int r) {
    transport_.post_receive(r, kEdges, bytes_of(chunk(r)));
    transport_.post_send(r, kEdges, bytes_of(head));
  });
  for_others([&](int r) {
    auto& rest = rests_[static_cast<std::size_t>(r)];
    rest.resize(std::max<std::uint64_t>(chunk(r)[0], kChunk) - kChunk);
    if (!rest.empty()) transport_.post_receive(r, kEdges, bytes_of(rest));
    if (own > kChunk) {
      transport_.post_send(r, kEdges,
                           bytes_of(host_pairs_.view().subspan(1 + kChunk, own - kChunk)));
    }
  });
  std::uint64_t pairs = own;
  all_pairs_.copy_in(host_pairs_.view().subspan(1, own), stream());
  for_others([&](int r) {
    const std::uint64_t count = chunk(r)[0], first = std::min(count, kChunk);
    all_pairs_.copy_in(chunk(r).subspan(1, first), stream(), pairs);
    all_pairs_.copy_in(rests_[static_cast<std::size_t>(r)], stream(), pairs + first);
    pairs += count;
  });
  return pairs;
}

// Queued for all systems.
void CudaShare::ask_sizes(std::uint32_t update) {
  asked_update_ = update;
  for (std::uint64_t who = 0; who < systems_; ++who) {
    const std::uint64_t at = who * most_labels_;
    launch_border_sizes(fused_->labels(0), update, static_cast<std::uint32_t>(who), adopted(who),
                        most_adopted_[who], sized_.data() + at, stream());
    sized_.copy_out(host_sized_.view().subspan(who * kChunk, std::min(kChunk, most_adopted_[who])),
                    stream(), at);
  }
  adopted_count_.copy_out(host_count_.view(), stream());
}

// When they are there.
void CudaShare::take_sizes(std::uint64_t who) {
  std::vector<unsigned long long>& parts = parts_[asked_update_ * systems_ + who];
  const std::uint64_t count = host_count_.view()[who], first = std::min(count, kChunk);
  parts.resize(count);
  std::copy_n(host_sized_.view().begin() + static_cast<std::ptrdiff_t>(who * kChunk), first,
              parts.begin());
  if (count == first) return;
  sized_.copy_out(std::span(parts).subspan(first), stream(), who * most_labels_ + first);
  team_.wait();
}

// The device has summed up all clusters' parts as if each were a cluster: of clusters of several
// slabs they are taken out, and go to rank 0.
void CudaShare::sum_batch(std::uint32_t updates) {
  const DeviceLabels& labels = fused_->labels(0).common;
  const std::uint64_t rows = updates * systems_;
  std::vector<unsigned long long> sums(rows * labels.copies * 3);
  const std::size_t bytes = sums.size() * sizeof sums[0];
  check_cuda(cudaMemcpyAsync(sums.data(), labels.sums, bytes, cudaMemcpyDeviceToHost, stream()),
             "copying from the device");
  check_cuda(cudaMemsetAsync(labels.sums, 0, bytes, stream()), "clearing");
  team_.wait();
  std::vector<std::uint64_t> message(4 * rows);  // n^2, n^4 low and high, parts; then all parts
  const unsigned long long* sum = sums.data();
  for (std::uint64_t who = 0; who < systems_; ++who) take_sizes(who);
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::uint64_t square = 0;
    WideSum fourth = 0;
    for (std::uint32_t copy = 0; copy < labels.copies; ++copy, sum += 3) {
      square += sum[0];
      fourth += WideSum{sum[2]} << 64 | sum[1];
    }
    for (const unsigned long long part : parts_[row]) {
      const std::uint64_t size = part & 0xFFFFFFFFu;
      square -= size * size;
      fourth -= WideSum{size * size} * (size * size);
    }
    const std::uint64_t of_row[]{square, static_cast<std::uint64_t>(fourth),
                                 static_cast<std::uint64_t>(fourth >> 64), parts_[row].size()};
    std::copy_n(of_row, 4, message.begin() + static_cast<std::ptrdiff_t>(4 * row));
  }
  for (std::uint64_t row = 0; row < rows; ++row) {
    message.insert(message.end(), parts_[row].begin(), parts_[row].end());
  }
  const auto all = transport_.gather(bytes_of(message));
  if (transport_.rank() == 0) sum_up_all(all, updates);
}

void CudaShare::sum_up_all(const std::vector<std::vector<std::uint8_t>>& all,
                           std::uint32_t updates) {
  const std::uint64_t rows = updates * systems_;
  std::vector<std::uint64_t> square(rows), at(all.size(), 4 * rows);
  std::vector<WideSum> fourth(rows);
  border_sums_.clear(stream());
  const auto word = [&](std::size_t r) {
    return reinterpret_cast<const std::uint64_t*>(all[r].data());
  };
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::uint64_t parts = 0;
    for (std::size_t r = 0; r < all.size(); ++r) {
      const std::uint64_t* of_row = word(r) + 4 * row;
      square[row] += of_row[0];
      fourth[row] += WideSum{of_row[2]} << 64 | of_row[1];
      const auto* of_rank = reinterpret_cast<const unsigned long long*>(word(r) + at[r]);
      all_pairs_.copy_in({of_rank, of_row[3]}, stream(), parts);
      parts += of_row[3];
      at[r] += of_row[3];
    }
    launch_border_sums(all_pairs_.data(), parts, parent_.data(), border_sums_.data() + 3 * row,
                       stream());
  }
  const auto joined = border_sums_.to_host(stream());
  for (std::uint64_t row = 0; row < rows; ++row) {
    const unsigned long long* sum = joined.data() + 3 * row;
    add_update(row % systems_, square[row] + sum[0],
               fourth[row] + (WideSum{sum[2]} << 64 | sum[1]));
  }
}

}  // namespace

std::unique_ptr<SingleShare> make_cuda_share(std::shared_ptr<const Plan> plan,
                                             const EngineSpec& spec, Transport& transport,
                                             int device) {
  return std::make_unique<CudaShare>(std::move(plan), spec, transport, device);
}

}  // namespace rewise::single
