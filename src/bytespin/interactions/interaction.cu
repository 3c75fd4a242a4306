#include "src/bytespin/interactions/interaction_cuda.hpp"
#include "src/cuda/forest.cuh"
#include "src/cuda/replica_items.cuh"
#include "src/cuda/warp_sum.cuh"

namespace rewise::bytespin {
namespace {

template <int kDim>
__global__ void local_sites(const __grid_constant__ InteractionRules c,
                            const __grid_constant__ DeviceReplicas replicas, std::uint64_t first,
                            int colour, ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index >= items.items) return;
  const Site site = c.sites_by_colour[first + item.index];
  const DrawKey key = replicas.key(item.replica);
  const std::uint64_t draw_index = c.graph.site_draw_index.at(site, colour);
  std::uint8_t* const spins = replicas.spins_of(item.replica);
  const std::uint32_t draw = draw_at(key, Stream::bytespin_local, draw_index);
  const std::uint32_t proposal =
      c.graph.potts ? draw_at(key, Stream::bytespin_proposal, draw_index) : 0;
  spins[site] = c.next_spin<kDim>(c.boltzmann[replicas.temperature(item.replica)], spins, site,
                                  draw, proposal);
}

// One block per replica.
template <int kDim>
__global__ void wolff_clusters(const __grid_constant__ InteractionRules c,
                               const __grid_constant__ DeviceReplicas replicas, Site* queues,
                               std::uint32_t* all_bits, std::uint32_t updates) {
  __shared__ unsigned size, bound;
  const std::uint32_t replica = blockIdx.x;
  const Boltzmann factors = c.boltzmann[replicas.temperature(replica)];
  std::uint8_t* const spins = replicas.spins_of(replica);
  Site* const queue = queues + replica * c.graph.sites;
  std::uint32_t* const bits = all_bits + replica * ((c.graph.sites + 31) / 32);
  for (std::uint32_t n = 0; n < updates; ++n) {
    const DrawKey key = replicas.key(replica, n);
    const Words4 words = seed_words(key);
    const Site seed = wolff_seed(words, c.graph.sites);
    const std::uint8_t state = wolff_state(words, spins[seed], c.graph.states);
    if (threadIdx.x == 0) {
      queue[0] = seed;
      atomicOr(&bits[seed / 32], 1u << seed % 32);
      size = 1;
      bound = c.binds_to_ghost(factors, key, seed, spins[seed]) ? 1 : 0;
    }
    __syncthreads();
    unsigned begin = 0, end = 1;
    while (begin < end) {
      for (unsigned k = begin + threadIdx.x; k < end; k += kItemThreads) {
        const Site site = queue[k];
        c.graph.for_each_neighbour<kDim>(site, [&](Site neighbour, std::uint64_t draw_index) {
          if (!c.joins(factors, key, draw_index, spins[site], spins[neighbour])) return;
          const std::uint32_t bit = 1u << neighbour % 32;
          if ((atomicOr(&bits[neighbour / 32], bit) & bit) != 0) return;
          queue[atomicAdd(&size, 1u)] = neighbour;
          if (c.binds_to_ghost(factors, key, neighbour, spins[neighbour])) atomicOr(&bound, 1u);
        });
      }
      __syncthreads();
      begin = end;
      end = size;
      __syncthreads();
    }
    const bool flips = bound == 0;
    for (unsigned k = threadIdx.x; k < end; k += kItemThreads) {
      const Site site = queue[k];
      atomicAnd(&bits[site / 32], ~(1u << site % 32));
      if (flips) {
        spins[site] = c.graph.potts ? state : static_cast<std::uint8_t>(spins[site] ^ 1);
      }
    }
    if (threadIdx.x == 0) replicas.pending[replica] += end;
    __syncthreads();
  }
}

// Trees of sites, one set for each replica or pair of replicas, and a bit for each site.
struct Trees {
  Site* parents;        // [sets][sites]
  std::uint32_t* bits;  // [sets][words]
  std::uint64_t sites, words;

  __device__ __forceinline__ ParentForest forest(std::uint32_t set) const {
    return {parents + set * sites};
  }
  __device__ __forceinline__ std::uint32_t& bits_of(std::uint32_t set, Site site) const {
    return bits[set * words + site / 32];
  }
};

__global__ void plant_trees(Trees trees, ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index >= items.items) return;
  trees.parents[item.replica * trees.sites + item.index] = static_cast<Site>(item.index);
  if (item.index < trees.words) trees.bits[item.replica * trees.words + item.index] = 0;
}

template <int kDim>
__global__ void join_trees(const __grid_constant__ InteractionRules c,
                           const __grid_constant__ DeviceReplicas replicas, Trees trees,
                           ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index >= items.items) return;
  const auto site = static_cast<Site>(item.index);
  const DrawKey key = replicas.key(item.replica);
  const Boltzmann factors = c.boltzmann[replicas.temperature(item.replica)];
  const std::uint8_t* const spins = replicas.spins_of(item.replica);
  const ParentForest forest = trees.forest(item.replica);
  c.graph.for_each_neighbour<kDim>(site, [&](Site neighbour, std::uint64_t draw_index) {
    if (neighbour > site && c.joins(factors, key, draw_index, spins[site], spins[neighbour])) {
      forest.unite(site, neighbour);
    }
  });
}

// Replaces each site's parent by its root. A site bound to the ghost spin sets the bit of its root.
__global__ void mark_fixed(const __grid_constant__ InteractionRules c,
                           const __grid_constant__ DeviceReplicas replicas, Trees trees,
                           ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index >= items.items) return;
  const auto site = static_cast<Site>(item.index);
  const ParentForest forest = trees.forest(item.replica);
  const Site root = forest.climb(site);
  forest.store(site, root);
  if (c.binds_to_ghost(c.boltzmann[replicas.temperature(item.replica)], replicas.key(item.replica),
                       site, replicas.spins_of(item.replica)[site])) {
    atomicOr(&trees.bits_of(item.replica, root), 1u << root % 32);
  }
}

__global__ void flip_trees(const __grid_constant__ InteractionRules c,
                           const __grid_constant__ DeviceReplicas replicas, Trees trees,
                           ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index >= items.items) return;
  const Site root = trees.parents[item.replica * trees.sites + item.index];
  if ((trees.bits_of(item.replica, root) >> root % 32 & 1u) != 0) return;
  std::uint8_t* const spins = replicas.spins_of(item.replica);
  spins[item.index] = c.flipped(replicas.key(item.replica), root, spins[item.index]);
}

// The first replica of a pair of replicas, numbered through all temperatures.
__device__ __forceinline__ std::uint32_t first_replica_of_pair(const DeviceReplicas& replicas,
                                                               std::uint32_t pair) {
  const std::uint32_t pairs_per_temperature = houdayer_pairs(replicas.per_temperature);
  return pair / pairs_per_temperature * replicas.per_temperature +
         first_of_houdayer_pair(pair % pairs_per_temperature);
}

// Houdayer moves; item.replica: the pair of replicas.
template <int kDim>
__global__ void join_houdayer_pairs(const __grid_constant__ InteractionRules c,
                                    const __grid_constant__ DeviceReplicas replicas, Trees trees,
                                    ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index >= items.items) return;
  const auto site = static_cast<Site>(item.index);
  const std::uint32_t replica = first_replica_of_pair(replicas, item.replica);
  const std::uint8_t* const a = replicas.spins_of(replica);
  const std::uint8_t* const b = replicas.spins_of(replica + kPartnerDistance);
  const ParentForest forest = trees.forest(item.replica);
  c.graph.for_each_neighbour<kDim>(site, [&](Site neighbour, std::uint64_t) {
    if (neighbour > site && InteractionRules::couples_join(a, b, site, neighbour)) {
      forest.unite(site, neighbour);
    }
  });
}

__global__ void flip_houdayer_pairs(const __grid_constant__ InteractionRules c,
                                    const __grid_constant__ DeviceReplicas replicas, Trees trees,
                                    ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index >= items.items) return;
  const std::uint32_t replica = first_replica_of_pair(replicas, item.replica);
  std::uint8_t* const a = replicas.spins_of(replica) + item.index;
  std::uint8_t* const b = replicas.spins_of(replica + kPartnerDistance) + item.index;
  const Site root = trees.forest(item.replica).climb(static_cast<Site>(item.index));
  if (!c.pair_flips(replicas.key(replica), root, *a == *b)) return;
  *a ^= 1;
  *b ^= 1;
}

__device__ __forceinline__ void add_to(unsigned long long* sum, long long value) {
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0 && value != 0) atomicAdd(sum, static_cast<unsigned long long>(value));
}

template <int kDim>
__global__ void sum_bonds(const __grid_constant__ InteractionRules c,
                          const __grid_constant__ DeviceReplicas replicas,
                          unsigned long long* bond_sums, ReplicaItems items) {
  const Item item = item_of(items);
  long long sum = 0;
  if (item.index < items.items) {
    sum = c.bond_sum_of<kDim>(replicas.spins_of(item.replica), static_cast<Site>(item.index));
  }
  add_to(bond_sums + item.replica, sum);
}

__global__ void sum_staggered(const __grid_constant__ InteractionRules c,
                              const __grid_constant__ DeviceReplicas replicas,
                              unsigned long long* staggered, ReplicaItems items) {
  const Item item = item_of(items);
  long long sum = 0;
  if (item.index < items.items) {
    sum = c.staggered_of(replicas.spins_of(item.replica), static_cast<Site>(item.index));
  }
  add_to(staggered + item.replica, sum);
}

template <int kDim>
__global__ void sum_overlaps(const __grid_constant__ InteractionRules c,
                             const __grid_constant__ DeviceReplicas replicas,
                             unsigned long long* overlaps, ReplicaItems items) {
  const Item item = item_of(items);  // item.replica: the pair
  const std::uint32_t pairs_per_temperature = replicas.per_temperature / 2;
  const std::uint32_t first = item.replica / pairs_per_temperature * replicas.per_temperature +
                              2 * (item.replica % pairs_per_temperature);
  const std::uint8_t* const a = replicas.spins_of(first);
  const std::uint8_t* const b = replicas.spins_of(first + 1);
  long long overlap = 0, link = 0;
  if (item.index < items.items) {
    const auto site = static_cast<Site>(item.index);
    overlap = a[site] == b[site] ? 1 : -1;
    link = c.link_overlap_of<kDim>(a, b, site);
  }
  add_to(overlaps + 2 * item.replica, overlap);
  add_to(overlaps + 2 * item.replica + 1, link);
}

// A thread per replica and pair of temperatures.
__global__ void decide_exchanges(const __grid_constant__ InteractionRules c,
                                 const __grid_constant__ DeviceReplicas replicas,
                                 const unsigned long long* bond_sums,
                                 const __grid_constant__ ExchangeSpace space, std::uint32_t first,
                                 ReplicaItems items) {
  const auto index = static_cast<std::uint32_t>(item_of(items).index);
  if (index >= items.items) return;
  const std::uint32_t t = first + 2 * (index / replicas.per_temperature);
  const std::uint32_t replica = t * replicas.per_temperature + index % replicas.per_temperature;
  const std::uint32_t next = replica + replicas.per_temperature;
  const bool accepted = c.exchange[t].accepts(static_cast<std::int64_t>(bond_sums[replica]),
                                              static_cast<std::int64_t>(bond_sums[next]),
                                              exchange_draw(replicas.seed, replica, replicas.step));
  space.accepted[replica] = accepted ? 1 : 0;
  atomicAdd(space.attempts + t, 1ull);
  if (!accepted) return;
  atomicAdd(space.exchanges + t, 1ull);
  const std::uint32_t walker = space.walker[replica];
  space.walker[replica] = space.walker[next];
  space.walker[next] = walker;
}

__global__ void exchange_spins(const __grid_constant__ DeviceReplicas replicas,
                               const std::uint8_t* accepted, std::uint32_t first,
                               ReplicaItems items) {
  const Item item = item_of(items);
  const std::uint32_t t = first + 2 * (item.replica / replicas.per_temperature);
  const std::uint32_t replica =
      t * replicas.per_temperature + item.replica % replicas.per_temperature;
  if (item.index >= items.items || accepted[replica] == 0) return;
  auto* const own = reinterpret_cast<std::uint32_t*>(replicas.spins_of(replica)) + item.index;
  auto* const other =
      reinterpret_cast<std::uint32_t*>(replicas.spins_of(replica + replicas.per_temperature)) +
      item.index;
  const std::uint32_t word = *own;
  *own = *other;
  *other = word;
}

}  // namespace

InteractionClustersCuda::InteractionClustersCuda(const InteractionRules& rules,
                                                 const DeviceReplicas& replicas, bool wolff,
                                                 cudaStream_t stream)
    : rules_(rules),
      wolff_(wolff),
      queue_(replicas.count * rules.graph.sites),
      bits_(replicas.count * words(rules.graph.sites)) {
  bits_.clear(stream);
}

void InteractionClustersCuda::run(const DeviceReplicas& replicas, std::uint32_t updates,
                                  cudaStream_t stream) {
  const std::uint64_t sites = rules_.graph.sites;
  const ReplicaItems items(sites, replicas.count);
  const Trees trees{queue_.data(), bits_.data(), sites, words(sites)};
  DeviceReplicas now = replicas;
  with_dim(rules_.graph.lattice.dim, [&]<int kDim>() {
    if (wolff_) {
      launch(wolff_clusters<kDim>, LaunchShape{replicas.count, kItemThreads}, stream, rules_,
             replicas, queue_.data(), bits_.data(), updates);
      return;
    }
    for (std::uint32_t n = 0; n < updates; ++n, ++now.step) {
      launch(plant_trees, items, stream, trees);
      launch(join_trees<kDim>, items, stream, rules_, now, trees);
      launch(mark_fixed, items, stream, rules_, now, trees);
      launch(flip_trees, items, stream, rules_, now, trees);
    }
  });
}

void InteractionClustersCuda::houdayer_move(const DeviceReplicas& replicas, cudaStream_t stream) {
  const std::uint64_t sites = rules_.graph.sites;
  const std::uint32_t pairs =
      replicas.count / replicas.per_temperature * houdayer_pairs(replicas.per_temperature);
  const ReplicaItems items(sites, pairs);
  const Trees trees{queue_.data(), bits_.data(), sites, words(sites)};
  launch(plant_trees, items, stream, trees);
  with_dim(rules_.graph.lattice.dim, [&]<int kDim>() {
    launch(join_houdayer_pairs<kDim>, items, stream, rules_, replicas, trees);
  });
  launch(flip_houdayer_pairs, items, stream, rules_, replicas, trees);
}

void launch_interaction_local(const InteractionRules& rules, const DeviceReplicas& replicas,
                              std::uint64_t first, std::uint64_t last, int colour,
                              cudaStream_t stream) {
  with_dim(rules.graph.lattice.dim, [&]<int kDim>() {
    launch(local_sites<kDim>, ReplicaItems(last - first, replicas.count), stream, rules, replicas,
           first, colour);
  });
}

void launch_exchange(const InteractionRules& rules, const DeviceReplicas& replicas,
                     const unsigned long long* bond_sums, const ExchangeSpace& space,
                     std::uint32_t temperatures, std::uint32_t first, cudaStream_t stream) {
  if (temperatures < first + 2) return;
  const std::uint32_t pairs = (temperatures - first) / 2 * replicas.per_temperature;
  launch(decide_exchanges, ReplicaItems(pairs, 1), stream, rules, replicas, bond_sums, space,
         first);
  // A stride is a multiple of 256 bytes.
  launch(exchange_spins, ReplicaItems(replicas.stride / 4, pairs), stream, replicas, space.accepted,
         first);
}

void launch_interaction_bond_sums(const InteractionRules& rules, const DeviceReplicas& replicas,
                                  unsigned long long* bond_sums, cudaStream_t stream) {
  with_dim(rules.graph.lattice.dim, [&]<int kDim>() {
    launch(sum_bonds<kDim>, ReplicaItems(rules.graph.sites, replicas.count), stream, rules,
           replicas, bond_sums);
  });
}

void launch_interaction_measure(const InteractionRules& rules, const DeviceReplicas& replicas,
                                unsigned long long* bond_sums, unsigned long long* overlaps,
                                unsigned long long* staggered, cudaStream_t stream) {
  const std::uint32_t pairs =
      replicas.count / replicas.per_temperature * (replicas.per_temperature / 2);
  launch_interaction_bond_sums(rules, replicas, bond_sums, stream);
  if (rules.sublattice != nullptr) {
    launch(sum_staggered, ReplicaItems(rules.graph.sites, replicas.count), stream, rules, replicas,
           staggered);
  }
  with_dim(rules.graph.lattice.dim, [&]<int kDim>() {
    launch(sum_overlaps<kDim>, ReplicaItems(rules.graph.sites, pairs), stream, rules, replicas,
           overlaps);
  });
}

}  // namespace rewise::bytespin
