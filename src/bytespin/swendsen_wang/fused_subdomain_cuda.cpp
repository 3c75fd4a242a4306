// Swendsen-Wang updates of a rank's subdomain on a CUDA device (swendsen_wang_fused_cuda.hpp):
//   1. The slab's tiles are labelled and joined on the device.
//   2. Each bond between two slabs belongs to the slab where it begins. The rank of that slab
//      receives the label and spin of the other end and lists the pairs of labels that occupied
//      bonds join (as on CPUs, distributed_engine.cpp).
//   3. All ranks receive all pairs, and each unites them on its device. A cluster of several slabs
//      gets its smallest label.
//   4. The number of sites of such a cluster in each slab (a "part") is sent with the pairs of the
//      next update. A rank chosen by the cluster's label sums the parts on the urgent stream, while
//      the next tiles are labelled.
// Between peers (device_messages_cuda.hpp) kernels read the memory of other ranks, and the host
// does not wait for a device within a batch of updates. The spins keep the format of
// FusedSwendsenWang within a batch. Halo and far ends are fetched after the last batch.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "src/base/setting_name.hpp"
#include "src/bytespin/subdomain_cuda.hpp"
#include "src/bytespin/swendsen_wang/slab_borders_cuda.hpp"

namespace rewise::bytespin {
namespace {

// Planes of a tile along the slowest extent.
std::uint32_t tile_planes(const Lattice& lattice) {
  return with_dim(lattice.dim,
                  [&]<int kDim>() { return 1u << (kDim >= 2 ? tile_bits<kDim>(kDim - 1) : 0); });
}

// Slab borders are multiples of this number of planes: the height of a tile of
// FusedSwendsenWang, if there are enough tiles for all ranks, else 1.
std::uint32_t thickness_of(const GraphTables& tables, const EngineSpec& spec, int ranks) {
  const std::uint32_t tile = tile_planes(tables.lattice);
  const std::uint32_t planes = tables.lattice.extent[static_cast<unsigned>(tables.lattice.dim - 1)];
  const bool fits = FusedSwendsenWang::takes(tables.view()) &&
                    (planes + tile - 1) / tile >= static_cast<std::uint32_t>(ranks);
  return spec.cluster == ClusterUpdate::swendsen_wang && fits ? tile : 1;
}

class FusedSubdomain final : public CudaSubdomain {
 public:
  FusedSubdomain(const std::shared_ptr<const GraphTables>& tables, const EngineSpec& spec,
                 distributed::Transport& transport, int device)
      : CudaSubdomain(tables, spec, transport, thickness_of(*tables, spec, transport.size()),
                      device) {
    start(cluster_bytes());
  }
  ~FusedSubdomain() override { finish(); }

  std::string why_no_clusters() const override;

 private:
  using Message = DeviceMessages::Message;

  void cluster_updates(std::uint64_t step, std::uint64_t updates) override;
  DevicePart rows() const;  // the rows of tiles of this slab
  std::uint64_t cluster_bytes() const;
  void prepare_clusters();
  void cluster_batch(std::uint64_t step, std::uint32_t updates);
  void join_slabs(std::uint64_t replica, std::uint32_t update);
  RankEnds exchange_ends();
  void exchange_lists(std::uint64_t replica, std::uint32_t update, bool pairs);
  void add_parts(std::uint64_t replica, std::uint32_t update);
  AdoptedLabels adopted(std::uint64_t replica);
  unsigned long long* pairs();
  unsigned long long* parts(std::uint64_t replica, std::uint32_t update);
  void size_parts(std::uint32_t update);
  void sum_batch(std::uint32_t updates);

  std::unique_ptr<FusedSwendsenWang> fused_;
  SlabBorders slab_;
  DeviceBuffer<IndexedBond> inside_, incoming_, outgoing_;  // inside_: both ends here
  DeviceBuffer<std::uint32_t> incoming_places_;
  GraphView joined_;  // with the bonds of inside_ only
  DeviceBuffer<unsigned long long> ends_out_, ends_in_;
  DeviceBuffer<std::uint64_t> ends_first_;  // as RankEnds
  DeviceBuffer<unsigned long long> pairs_,
      met_;  // as in SlabEdges; pairs_ holds two lists, used alternately
  std::uint32_t pairs_parity_ = 0;
  // Memory for copies of the lists of all ranks, for devices that cannot read them in place.
  struct GatheredLists {
    std::vector<std::uint64_t> first;  // [ranks + 1] index in `words` where each list begins
    DeviceBuffer<unsigned long long> words;
    std::uint64_t most = 0;  // maximum length of a list, without its first word (the count)
  };
  GatheredLists all_pairs_, all_parts_;
  GatheredLists gathered(std::uint64_t own_most);
  // Addresses of the data of all ranks. Rows: ends, pairs [2], parts [2][replicas].
  using Address = const unsigned long long*;
  std::vector<Address> addresses_;  // [rows][1 + ranks]
  DeviceBuffer<Address> addresses_on_device_;
  const Address* on_device(std::uint64_t row, std::span<const Address> addresses);
  std::vector<Address> reached(std::span<const Message> out, std::span<const Message> in);
  RankLists pairs_lists_, parts_lists_;  // of the current update
  DeviceBuffer<unsigned long long> table_;
  // Clusters of several slabs in the current update.
  DeviceBuffer<std::uint32_t> nodes_, adopted_count_;  // [replicas][labels], [replicas]
  DeviceBuffer<Site> smallest_;                        // [replicas][labels]
  DeviceBuffer<unsigned long long> parts_;  // [2][replicas][1 + labels], alternating by update
  // [batch][replicas][3] n^2 and n^4 of parts, as if each part were a cluster
  DeviceBuffer<unsigned long long> part_sums_;
  DeviceBuffer<unsigned long long> border_sums_;  // likewise, of whole clusters of several slabs
  std::uint64_t most_labels_ = 0;
};

DevicePart FusedSubdomain::rows() const {
  const std::uint64_t row = thickness_ * plane_;
  const auto rows_to = [&](std::uint64_t site) {
    return static_cast<std::uint32_t>((site + row - 1) / row);
  };
  return {rows_to(own_.first), rows_to(tables_->sites), rows_to(own_.last) - rows_to(own_.first)};
}

std::string FusedSubdomain::why_no_clusters() const {
  const bool takes = FusedSwendsenWang::takes(tables_->view());
  const std::uint32_t tile = tile_planes(lattice_);
  if (takes && thickness_ == tile) return "";
  return fmt::format(
      "{} ranks on CUDA devices cannot share swendsen-wang updates of this lattice: they require "
      "two to four dimensions, a first extent that is a multiple of {} and a last extent above {} "
      "({} and {} support any lattice)",
      transport_.size(), kWordSites, tile * static_cast<std::uint32_t>(transport_.size() - 1),
      setting_value("label_method", "kalentev"), setting_value("device", "cpu"));
}

std::uint64_t FusedSubdomain::cluster_bytes() const {
  if (spec_.cluster != ClusterUpdate::swendsen_wang || !why_no_clusters().empty()) return 0;
  // The exchange between slabs, in words of 8 bytes per end. Most of it is the label table.
  std::uint64_t ends = 2 * plane_;
  for (const IndexedBond& r : tables_->rewired) ends += has(r.a) != has(r.b) ? 1 : 0;
  return FusedSwendsenWang::bytes(tables_->view(), static_cast<std::uint32_t>(replicas_), rows()) +
         8 * ends * (3 + 8 * static_cast<std::uint64_t>(transport_.size()) + 3 * replicas_);
}

void FusedSubdomain::prepare_clusters() {
  if (fused_) return;
  fused_ = std::make_unique<FusedSwendsenWang>(
      graph_->view(), static_cast<std::uint32_t>(replicas_), stream(), rows());
  const std::vector<IndexedBond> incoming = this->incoming(), outgoing = this->outgoing();
  std::vector<std::uint32_t> places(incoming.size());
  std::iota(places.begin(), places.end(), 0u);
  std::sort(places.begin(), places.end(), [&](std::uint32_t x, std::uint32_t y) {
    return std::pair(incoming[x].b, x) < std::pair(incoming[y].b, y);
  });
  std::vector<IndexedBond> by_end;
  for (const std::uint32_t place : places) by_end.push_back(incoming[place]);
  std::vector<IndexedBond> inside;
  for (const IndexedBond& r : tables_->rewired) {
    if (has(r.a) && has(r.b)) inside.push_back(r);
  }
  inside_ = DeviceBuffer<IndexedBond>(inside, stream());
  joined_ = graph_->view();
  joined_.rewired = inside_.data();
  joined_.rewired_count = inside.size();
  incoming_ = DeviceBuffer<IndexedBond>(by_end, stream());
  incoming_places_ = DeviceBuffer<std::uint32_t>(places, stream());
  outgoing_ = DeviceBuffer<IndexedBond>(outgoing, stream());
  device_.wait();
  part_sums_ = DeviceBuffer<unsigned long long>(3 * kUpdatesPerBatch * replicas_);
  border_sums_ = DeviceBuffer<unsigned long long>(3 * kUpdatesPerBatch * replicas_);
  slab_ = {
      own_.first,      own_.last,        plane_,         incoming_.data(), incoming_places_.data(),
      incoming.size(), outgoing_.data(), outgoing.size()};
  most_labels_ = slab_.ends_in() + slab_.ends_out();
  if (transport_.size() == 1) return;
  ends_out_ = DeviceBuffer<unsigned long long>(slab_.ends_out());
  ends_in_ = DeviceBuffer<unsigned long long>(slab_.ends_in());
  std::vector<std::uint64_t> first{0, plane_};
  for (const JoiningBonds& with : joining()) first.push_back(first.back() + with.from.size());
  ends_first_ = DeviceBuffer<std::uint64_t>(first, stream());
  pairs_ = DeviceBuffer<unsigned long long>(2 * (1 + slab_.ends_in()));
  pairs_.clear(stream());
  met_ = DeviceBuffer<unsigned long long>(
      std::clamp<std::uint64_t>(std::bit_ceil(slab_.ends_in()), 1u << 10, 1u << 15));
  met_.clear(stream());
  all_pairs_ = gathered(slab_.ends_in());
  all_parts_ = gathered(most_labels_);
  table_ = DeviceBuffer<unsigned long long>(
      label_table_slots(std::max(all_pairs_.first.back(), all_parts_.first.back())));
  check_cuda(cudaMemsetAsync(table_.data(), 0xFF, table_.bytes(), stream()), "emptying a table");
  addresses_.resize((3 + 2 * replicas_) * (1 + joining().size()));
  addresses_on_device_ = DeviceBuffer<Address>(addresses_.size());
  nodes_ = DeviceBuffer<std::uint32_t>(replicas_ * most_labels_);
  smallest_ = DeviceBuffer<Site>(replicas_ * most_labels_);
  parts_ = DeviceBuffer<unsigned long long>(2 * replicas_ * (1 + most_labels_));
  adopted_count_ = DeviceBuffer<std::uint32_t>(replicas_);
  adopted_count_.clear(stream());
  device_.wait();
  const auto register_buffer = [&](auto& buffer) {
    messages_->register_memory({reinterpret_cast<std::uint8_t*>(buffer.data()), buffer.bytes()});
  };
  register_buffer(ends_out_);
  register_buffer(pairs_);
  register_buffer(parts_);
}

FusedSubdomain::GatheredLists FusedSubdomain::gathered(std::uint64_t own_most) {
  std::vector<std::uint64_t> most(static_cast<std::size_t>(transport_.size()));
  most[static_cast<std::size_t>(transport_.rank())] = own_most;
  transport_.sum(most);
  transport_.broadcast(bytes_of(most));
  GatheredLists all;
  all.first.push_back(0);
  for (const std::uint64_t of_rank : most) all.first.push_back(all.first.back() + 1 + of_rank);
  all.most = *std::max_element(most.begin(), most.end());
  all.words = DeviceBuffer<unsigned long long>(all.first.back());
  return all;
}

// Copies the addresses only if they have changed, which is rare because buffers are reused.
const FusedSubdomain::Address* FusedSubdomain::on_device(std::uint64_t row,
                                                         std::span<const Address> addresses) {
  const std::uint64_t first = row * (1 + joining().size());
  const auto there = std::span(addresses_).subspan(first, addresses.size());
  if (!std::equal(addresses.begin(), addresses.end(), there.begin())) {
    std::copy(addresses.begin(), addresses.end(), there.begin());
    addresses_on_device_.copy_in(there, stream(), first);
    device_.wait();
  }
  return addresses_on_device_.data() + first;
}

void FusedSubdomain::cluster_updates(std::uint64_t step, std::uint64_t updates) {
  prepare_clusters();
  for (std::uint64_t done = 0; done < updates; done += kUpdatesPerBatch) {
    cluster_batch(step + done, static_cast<std::uint32_t>(
                                   std::min<std::uint64_t>(kUpdatesPerBatch, updates - done)));
  }
  for (std::uint64_t replica = 0; replica < replicas_; ++replica) fetch(replica);
}

void FusedSubdomain::cluster_batch(std::uint64_t step, std::uint32_t updates) {
  const GraphView& graph = graph_->view();
  const FusedLabels& labels = fused_->labels();
  DeviceReplicas tiles = on_device_;
  tiles.part = rows();
  part_sums_.clear(stream());
  border_sums_.clear(stream());
  const std::uint64_t replicas = transport_.size() > 1 ? replicas_ : 0;  // if there are other slabs
  for (std::uint32_t n = 0; n < updates; ++n) {
    tiles.step = on_device_.step = static_cast<std::uint32_t>(step + n);
    launch_fused_tiles(graph, labels, tiles, n, stream());
    launch_fused_join(joined_, labels, on_device_, n, stream());
    if (n > 0 && replicas > 0) size_parts(n - 1);
    for (std::uint64_t replica = 0; replica < replicas; ++replica) join_slabs(replica, n);
  }
  launch_fused_flip(graph, labels, tiles, updates - 1, stream());
  if (replicas > 0) size_parts(updates - 1);
  for (std::uint64_t replica = 0; replica < replicas; ++replica) {
    follow_urgent();
    exchange_lists(replica, updates, false);
    urgent_follows();
    add_parts(replica, updates);
  }
  follow_urgent();
  sum_batch(updates);
}

void FusedSubdomain::join_slabs(std::uint64_t replica, std::uint32_t update) {
  const GraphView& graph = graph_->view();
  const FusedLabels& labels = fused_->labels();
  const auto of_replica = static_cast<std::uint32_t>(replica);
  launch_border_ends(graph, labels, on_device_, slab_, update, of_replica, ends_out_.data(),
                     stream());
  follow_urgent();
  const RankEnds ends = exchange_ends();
  launch_border_edges(graph, labels, on_device_, slab_, update, of_replica, ends,
                      {pairs(), met_.data(), static_cast<std::uint32_t>(met_.size())}, stream());
  exchange_lists(replica, update, true);
  launch_border_unite(graph, labels, slab_, update, of_replica, pairs_lists_, {table_.data()},
                      adopted(replica), stream());
  urgent_follows();
  launch_clear_table(pairs_lists_, {table_.data()}, urgent_.get());
  met_.clear(urgent_.get());
  pairs_parity_ ^= 1;
  check_cuda(cudaMemsetAsync(pairs(), 0, sizeof(unsigned long long), urgent_.get()), "clearing");
  add_parts(replica, update);
}

AdoptedLabels FusedSubdomain::adopted(std::uint64_t replica) {
  return {nodes_.data() + replica * most_labels_, smallest_.data() + replica * most_labels_,
          adopted_count_.data() + replica, most_labels_};
}

unsigned long long* FusedSubdomain::pairs() {
  return pairs_.data() + pairs_parity_ * (1 + slab_.ends_in());
}

unsigned long long* FusedSubdomain::parts(std::uint64_t replica, std::uint32_t update) {
  return parts_.data() + (update % 2 * replicas_ + replica) * (1 + most_labels_);
}

RankEnds FusedSubdomain::exchange_ends() {
  std::vector<Message> out, in;
  auto* at_out = reinterpret_cast<std::uint8_t*>(ends_out_.data());
  auto* at_in = reinterpret_cast<std::uint8_t*>(ends_in_.data());
  const auto add = [&](int to, std::uint64_t sent, int from, std::uint64_t received) {
    out.push_back({to, at_out, 8 * sent});
    in.push_back({from, at_in, 8 * received});
    at_out += 8 * sent;
    at_in += 8 * received;
  };
  add(previous_rank(), plane_, next_rank(), plane_);
  for (int rank = 0; rank < transport_.size(); ++rank) {
    const JoiningBonds& with = joining()[static_cast<std::size_t>(rank)];
    add(rank, with.to.size(), rank, with.from.size());
  }
  return {on_device(0, reached(out, in)), ends_first_.data()};
}

// Exchanges the lists of all ranks: if `pairs`, those of this update; if update > 0, also the parts
// of the previous update.
void FusedSubdomain::exchange_lists(std::uint64_t replica, std::uint32_t update, bool pairs) {
  std::vector<Message> out, in;
  const auto add = [&](unsigned long long* own, GatheredLists& all) {
    const auto bytes = [&](int rank) {
      const auto* first = all.first.data() + rank;
      return 8 * (first[1] - first[0]);
    };
    for (int rank = 0; rank < transport_.size(); ++rank) {
      auto* const at = all.words.data() + all.first[static_cast<std::size_t>(rank)];
      out.push_back({rank, reinterpret_cast<std::uint8_t*>(own), bytes(transport_.rank()), true});
      in.push_back({rank, reinterpret_cast<std::uint8_t*>(at), bytes(rank), true});
    }
  };
  if (pairs) add(this->pairs(), all_pairs_);
  if (update > 0) add(parts(replica, update + 1), all_parts_);
  const std::vector<Address> at = reached(out, in);
  const std::size_t ranks = joining().size();
  const auto lists = [&](std::uint64_t row, std::size_t first,
                         const GatheredLists& all) -> RankLists {
    return {on_device(row, std::span(at).subspan(first, ranks)), static_cast<std::uint32_t>(ranks),
            all.most};
  };
  if (pairs) pairs_lists_ = lists(1 + pairs_parity_, 0, all_pairs_);
  if (update > 0) {
    parts_lists_ = lists(3 + (update + 1) % 2 * replicas_ + replica, pairs ? ranks : 0, all_parts_);
  }
}

std::vector<FusedSubdomain::Address> FusedSubdomain::reached(std::span<const Message> out,
                                                             std::span<const Message> in) {
  std::vector<Address> at;
  for (const std::uint8_t* from : messages_->exchange_addresses(out, in, stream())) {
    at.push_back(reinterpret_cast<Address>(from));
  }
  return at;
}

// Adds the clusters of several slabs of the previous update, from the lists just received.
void FusedSubdomain::add_parts(std::uint64_t replica, std::uint32_t update) {
  if (update == 0) return;
  launch_border_sums(static_cast<std::uint32_t>(transport_.rank()), parts_lists_, {table_.data()},
                     border_sums_.data() + 3 * ((update - 1) * replicas_ + replica), urgent_.get());
  launch_clear_table(parts_lists_, {table_.data()}, urgent_.get());
}

// Queues the computation of the parts of all replicas, after the work now on the main stream.
void FusedSubdomain::size_parts(std::uint32_t update) {
  urgent_follows();
  for (std::uint64_t replica = 0; replica < replicas_; ++replica) {
    launch_border_sizes(fused_->labels(), update, static_cast<std::uint32_t>(replica),
                        adopted(replica), parts(replica, update),
                        part_sums_.data() + 3 * (update * replicas_ + replica), urgent_.get());
  }
  adopted_count_.clear(urgent_.get());
}

// The device sums count every part of a cluster of several slabs as a cluster. Here these parts are
// subtracted (part_sums_), and the whole clusters are added (border_sums_). Rank 0 gets the total.
void FusedSubdomain::sum_batch(std::uint32_t updates) {
  if (messages_) messages_->wait(stream());
  const FusedLabels& labels = fused_->labels();
  const std::uint64_t rows = updates * replicas_;
  std::vector<unsigned long long> sums(rows * labels.copies * 3);
  const std::size_t bytes = sums.size() * sizeof sums[0];
  check_cuda(cudaMemcpyAsync(sums.data(), labels.sums, bytes, cudaMemcpyDeviceToHost, stream()),
             "copying from the device");
  check_cuda(cudaMemsetAsync(labels.sums, 0, bytes, stream()), "clearing");
  const auto of_parts = part_sums_.to_host(stream()), joined = border_sums_.to_host(stream());
  const auto wide = [](const unsigned long long* sum) { return WideSum{sum[2]} << 64 | sum[1]; };
  std::vector<std::uint64_t> message;  // [rows] n^2, n^4 low and high
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::uint64_t square = joined[3 * row] - of_parts[3 * row];
    WideSum fourth = wide(&joined[3 * row]) - wide(&of_parts[3 * row]);
    for (std::uint32_t copy = 0; copy < labels.copies; ++copy) {
      const unsigned long long* sum = &sums[3 * (row * labels.copies + copy)];
      square += sum[0];
      fourth += wide(sum);
    }
    const std::uint64_t of_row[]{square, static_cast<std::uint64_t>(fourth),
                                 static_cast<std::uint64_t>(fourth >> 64)};
    message.insert(message.end(), of_row, of_row + 3);
  }
  const auto all = transport_.gather(bytes_of(message));
  if (transport_.rank() > 0) return;
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::uint64_t square = 0;
    WideSum fourth = 0;
    for (const auto& of_rank : all) {
      const auto* sum = reinterpret_cast<const std::uint64_t*>(of_rank.data()) + 3 * row;
      square += sum[0];
      fourth += WideSum{sum[2]} << 64 | sum[1];
    }
    add_update(row % replicas_, square, fourth);
  }
}

}  // namespace

std::unique_ptr<BytespinSubdomain> make_fused_subdomain(std::shared_ptr<const GraphTables> tables,
                                                        const EngineSpec& spec,
                                                        distributed::Transport& transport,
                                                        int device) {
  return std::make_unique<FusedSubdomain>(tables, spec, transport, device);
}

}  // namespace rewise::bytespin
