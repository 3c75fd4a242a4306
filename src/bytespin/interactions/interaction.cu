#include <cuda/atomic>

#include "src/bytespin/interactions/interaction_cuda.hpp"
#include "src/cuda/launch.hpp"

namespace rewise::bytespin {
namespace {

constexpr unsigned kThreads = 256;

// The item of a thread: each replica has blocks_per_replica blocks, and each thread one item.
struct Item {
  std::uint32_t replica;
  std::uint64_t index;
};
__device__ __forceinline__ Item item_of(std::uint32_t blocks_per_replica) {
  return {blockIdx.x / blocks_per_replica,
          std::uint64_t{blockIdx.x % blocks_per_replica} * kThreads + threadIdx.x};
}
std::uint32_t blocks_for(std::uint64_t items) {
  return static_cast<std::uint32_t>((items + kThreads - 1) / kThreads);
}
LaunchShape shape_of(std::uint64_t replicas, std::uint32_t blocks_per_replica) {
  LaunchShape shape;
  shape.blocks = static_cast<unsigned>(replicas * blocks_per_replica);
  shape.threads = kThreads;
  return shape;
}

template <int kDim>
__global__ void local_sites(const __grid_constant__ InteractionPlan c,
                            const __grid_constant__ DeviceReplicas replicas, std::uint64_t first,
                            std::uint64_t last, int colour, std::uint32_t blocks) {
  const Item item = item_of(blocks);
  if (first + item.index >= last) return;
  const Site site = c.of_colour[first + item.index];
  const DrawKey key = replicas.key(item.replica);
  const std::uint64_t slot = c.plan.site_slots.slot(site, colour);
  std::uint8_t* const spins = replicas.spins_of(item.replica);
  const std::uint32_t draw = slot_draw(key, Stream::bytespin_local, slot);
  const std::uint32_t proposal = c.plan.potts ? slot_draw(key, Stream::bytespin_proposal, slot) : 0;
  spins[site] = c.next_spin<kDim>(c.boltzmann[replicas.temperature(item.replica)], spins, site,
                                  draw, proposal);
}

// One block per replica.
template <int kDim>
__global__ void wolff_clusters(const __grid_constant__ InteractionPlan c,
                               const __grid_constant__ DeviceReplicas replicas,
                               const __grid_constant__ InteractionScratch scratch,
                               std::uint32_t updates) {
  __shared__ unsigned size, bound;
  const std::uint32_t replica = blockIdx.x;
  const Boltzmann factors = c.boltzmann[replicas.temperature(replica)];
  std::uint8_t* const spins = replicas.spins_of(replica);
  Site* const queue = scratch.queue + replica * c.plan.sites;
  std::uint32_t* const bits = scratch.bits + replica * InteractionScratch::words(c.plan.sites);
  for (std::uint32_t n = 0; n < updates; ++n) {
    const DrawKey key = replicas.key(replica, n);
    const Words4 words = random_words(key.seed, Stream::bytespin_seed, 0, key.replica, 0, key.step);
    const Site seed = wolff_seed(words, c.plan.sites);
    const std::uint8_t state = wolff_state(words, spins[seed], c.plan.states);
    if (threadIdx.x == 0) {
      queue[0] = seed;
      atomicOr(&bits[seed / 32], 1u << seed % 32);
      size = 1;
      bound = c.binds_to_ghost(factors, key, seed, spins[seed]) ? 1 : 0;
    }
    __syncthreads();
    unsigned begin = 0, end = 1;
    while (begin < end) {
      for (unsigned k = begin + threadIdx.x; k < end; k += kThreads) {
        const Site site = queue[k];
        c.plan.for_each_neighbour<kDim>(site, [&](Site neighbour, std::uint64_t slot) {
          if (!c.joins(factors, key, slot, spins[site], spins[neighbour])) return;
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
    for (unsigned k = threadIdx.x; k < end; k += kThreads) {
      const Site site = queue[k];
      atomicAnd(&bits[site / 32], ~(1u << site % 32));
      if (flips) {
        spins[site] = c.plan.potts ? state : static_cast<std::uint8_t>(spins[site] ^ 1);
      }
    }
    if (threadIdx.x == 0) scratch.visited[replica] += end;
    __syncthreads();
  }
}

using Parent = cuda::atomic_ref<Site, cuda::thread_scope_device>;

__device__ __forceinline__ Site load(Site* parents, Site site) {
  return Parent(parents[site]).load(cuda::memory_order_relaxed);
}
__device__ __forceinline__ Site find_root(Site* parents, Site site) {
  for (Site above = load(parents, site); above != site; above = load(parents, site)) site = above;
  return site;
}
__device__ void unite(Site* parents, Site a, Site b) {
  a = find_root(parents, a);
  b = find_root(parents, b);
  while (a != b) {
    if (a < b) {
      const Site swap = a;
      a = b;
      b = swap;
    }
    Site expected = a;  // the larger root goes under the smaller one, if it still is a root
    if (Parent(parents[a]).compare_exchange_strong(expected, b, cuda::memory_order_relaxed)) return;
    a = find_root(parents, expected);
    b = find_root(parents, b);
  }
}

__global__ void start_trees(const __grid_constant__ InteractionPlan c,
                            const __grid_constant__ InteractionScratch scratch,
                            std::uint32_t blocks) {
  const Item item = item_of(blocks);
  if (item.index >= c.plan.sites) return;
  scratch.queue[item.replica * c.plan.sites + item.index] = static_cast<Site>(item.index);
  if (item.index < InteractionScratch::words(c.plan.sites)) {
    scratch.bits[item.replica * InteractionScratch::words(c.plan.sites) + item.index] = 0;
  }
}

template <int kDim>
__global__ void join_trees(const __grid_constant__ InteractionPlan c,
                           const __grid_constant__ DeviceReplicas replicas,
                           const __grid_constant__ InteractionScratch scratch,
                           std::uint32_t blocks) {
  const Item item = item_of(blocks);
  if (item.index >= c.plan.sites) return;
  const auto site = static_cast<Site>(item.index);
  const DrawKey key = replicas.key(item.replica);
  const Boltzmann factors = c.boltzmann[replicas.temperature(item.replica)];
  const std::uint8_t* const spins = replicas.spins_of(item.replica);
  Site* const parents = scratch.queue + item.replica * c.plan.sites;
  c.plan.for_each_neighbour<kDim>(site, [&](Site neighbour, std::uint64_t slot) {
    if (neighbour > site && c.joins(factors, key, slot, spins[site], spins[neighbour])) {
      unite(parents, site, neighbour);
    }
  });
}

// Replaces each site's parent by its root. A site bound to the ghost spin sets the bit of its root.
__global__ void mark_fixed(const __grid_constant__ InteractionPlan c,
                           const __grid_constant__ DeviceReplicas replicas,
                           const __grid_constant__ InteractionScratch scratch,
                           std::uint32_t blocks) {
  const Item item = item_of(blocks);
  if (item.index >= c.plan.sites) return;
  const auto site = static_cast<Site>(item.index);
  Site* const parents = scratch.queue + item.replica * c.plan.sites;
  const Site root = find_root(parents, site);
  Parent(parents[site]).store(root, cuda::memory_order_relaxed);
  const Boltzmann factors = c.boltzmann[replicas.temperature(item.replica)];
  if (c.binds_to_ghost(factors, replicas.key(item.replica), site,
                       replicas.spins_of(item.replica)[site])) {
    atomicOr(&scratch.bits[item.replica * InteractionScratch::words(c.plan.sites) + root / 32],
             1u << root % 32);
  }
}

__global__ void flip_trees(const __grid_constant__ InteractionPlan c,
                           const __grid_constant__ DeviceReplicas replicas,
                           const __grid_constant__ InteractionScratch scratch,
                           std::uint32_t blocks) {
  const Item item = item_of(blocks);
  if (item.index >= c.plan.sites) return;
  const Site root = scratch.queue[item.replica * c.plan.sites + item.index];
  const std::uint32_t* const bits =
      scratch.bits + item.replica * InteractionScratch::words(c.plan.sites);
  if ((bits[root / 32] >> root % 32 & 1u) != 0) return;
  std::uint8_t* const spins = replicas.spins_of(item.replica);
  spins[item.index] = c.flipped(replicas.key(item.replica), root, spins[item.index]);
}

// The first replica of a couple of replicas, numbered through all temperatures.
__device__ __forceinline__ std::uint32_t couple_replica(const DeviceReplicas& replicas,
                                                        std::uint32_t couple) {
  const std::uint32_t of_temperature = houdayer_pairs(replicas.per_temperature);
  return couple / of_temperature * replicas.per_temperature +
         first_of_houdayer_pair(couple % of_temperature);
}

// Houdayer moves; item.replica: the couple.
template <int kDim>
__global__ void join_couples(const __grid_constant__ InteractionPlan c,
                             const __grid_constant__ DeviceReplicas replicas,
                             const __grid_constant__ InteractionScratch scratch,
                             std::uint32_t blocks) {
  const Item item = item_of(blocks);
  if (item.index >= c.plan.sites) return;
  const auto site = static_cast<Site>(item.index);
  const std::uint32_t replica = couple_replica(replicas, item.replica);
  const std::uint8_t* const a = replicas.spins_of(replica);
  const std::uint8_t* const b = replicas.spins_of(replica + kPartnerDistance);
  Site* const parents = scratch.queue + item.replica * c.plan.sites;
  c.plan.for_each_neighbour<kDim>(site, [&](Site neighbour, std::uint64_t) {
    if (neighbour > site && InteractionPlan::couples_join(a, b, site, neighbour)) {
      unite(parents, site, neighbour);
    }
  });
}

__global__ void flip_couples(const __grid_constant__ InteractionPlan c,
                             const __grid_constant__ DeviceReplicas replicas,
                             const __grid_constant__ InteractionScratch scratch,
                             std::uint32_t blocks) {
  const Item item = item_of(blocks);
  if (item.index >= c.plan.sites) return;
  const std::uint32_t replica = couple_replica(replicas, item.replica);
  std::uint8_t* const a = replicas.spins_of(replica) + item.index;
  std::uint8_t* const b = replicas.spins_of(replica + kPartnerDistance) + item.index;
  const Site root =
      find_root(scratch.queue + item.replica * c.plan.sites, static_cast<Site>(item.index));
  if (!c.couple_flips(replicas.key(replica), root, *a == *b)) return;
  *a ^= 1;
  *b ^= 1;
}

__device__ __forceinline__ void add_to(unsigned long long* sum, long long value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  if (threadIdx.x % 32 == 0 && value != 0) atomicAdd(sum, static_cast<unsigned long long>(value));
}

template <int kDim>
__global__ void sum_bonds(const __grid_constant__ InteractionPlan c,
                          const __grid_constant__ DeviceReplicas replicas,
                          unsigned long long* bond_sums, std::uint32_t blocks) {
  const Item item = item_of(blocks);
  long long sum = 0;
  if (item.index < c.plan.sites) {
    sum = c.bond_sum_of<kDim>(replicas.spins_of(item.replica), static_cast<Site>(item.index));
  }
  add_to(bond_sums + item.replica, sum);
}

__global__ void sum_staggered(const __grid_constant__ InteractionPlan c,
                              const __grid_constant__ DeviceReplicas replicas,
                              unsigned long long* staggered, std::uint32_t blocks) {
  const Item item = item_of(blocks);
  long long sum = 0;
  if (item.index < c.plan.sites) {
    sum = c.staggered_of(replicas.spins_of(item.replica), static_cast<Site>(item.index));
  }
  add_to(staggered + item.replica, sum);
}

template <int kDim>
__global__ void sum_overlaps(const __grid_constant__ InteractionPlan c,
                             const __grid_constant__ DeviceReplicas replicas,
                             unsigned long long* overlaps, std::uint32_t blocks) {
  const Item item = item_of(blocks);  // item.replica: the pair
  const std::uint32_t of_temperature = replicas.per_temperature / 2;
  const std::uint32_t first = item.replica / of_temperature * replicas.per_temperature +
                              2 * (item.replica % of_temperature);
  const std::uint8_t* const a = replicas.spins_of(first);
  const std::uint8_t* const b = replicas.spins_of(first + 1);
  long long overlap = 0, link = 0;
  if (item.index < c.plan.sites) {
    const auto site = static_cast<Site>(item.index);
    overlap = a[site] == b[site] ? 1 : -1;
    link = c.link_overlap_of<kDim>(a, b, site);
  }
  add_to(overlaps + 2 * item.replica, overlap);
  add_to(overlaps + 2 * item.replica + 1, link);
}

// A thread per replica and pair of temperatures.
__global__ void decide_exchanges(const __grid_constant__ InteractionPlan c,
                                 const __grid_constant__ DeviceReplicas replicas,
                                 const unsigned long long* bond_sums,
                                 const __grid_constant__ ExchangeSpace space, std::uint32_t pairs,
                                 std::uint32_t first) {
  const std::uint32_t index = blockIdx.x * kThreads + threadIdx.x;
  if (index >= pairs * replicas.per_temperature) return;
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
                               std::uint32_t blocks) {
  const Item item = item_of(blocks);
  const std::uint32_t t = first + 2 * (item.replica / replicas.per_temperature);
  const std::uint32_t replica =
      t * replicas.per_temperature + item.replica % replicas.per_temperature;
  if (item.index >= replicas.stride / 4 || accepted[replica] == 0) return;  // strides are 256 x n
  auto* const own = reinterpret_cast<std::uint32_t*>(replicas.spins_of(replica)) + item.index;
  auto* const other =
      reinterpret_cast<std::uint32_t*>(replicas.spins_of(replica + replicas.per_temperature)) +
      item.index;
  const std::uint32_t word = *own;
  *own = *other;
  *other = word;
}

}  // namespace

void launch_exchange(const InteractionPlan& interactions, const DeviceReplicas& replicas,
                     const unsigned long long* bond_sums, const ExchangeSpace& space,
                     std::uint32_t temperatures, std::uint32_t first, cudaStream_t stream) {
  const std::uint32_t pairs = temperatures > first ? (temperatures - first) / 2 : 0;
  if (pairs == 0) return;
  const std::uint32_t couples = pairs * replicas.per_temperature;
  launch(decide_exchanges, shape_of(1, blocks_for(couples)), stream, interactions, replicas,
         bond_sums, space, pairs, first);
  const std::uint32_t blocks = blocks_for(replicas.stride / 4);
  launch(exchange_spins, shape_of(couples, blocks), stream, replicas, space.accepted, first,
         blocks);
}

void launch_interaction_bond_sums(const InteractionPlan& interactions,
                                  const DeviceReplicas& replicas, unsigned long long* bond_sums,
                                  cudaStream_t stream) {
  const std::uint32_t blocks = blocks_for(interactions.plan.sites);
  with_dim(interactions.plan.lattice.dim, [&]<int kDim>() {
    launch(sum_bonds<kDim>, shape_of(replicas.count, blocks), stream, interactions, replicas,
           bond_sums, blocks);
  });
}

void launch_interaction_staggered(const InteractionPlan& interactions,
                                  const DeviceReplicas& replicas, unsigned long long* staggered,
                                  cudaStream_t stream) {
  const std::uint32_t blocks = blocks_for(interactions.plan.sites);
  launch(sum_staggered, shape_of(replicas.count, blocks), stream, interactions, replicas, staggered,
         blocks);
}

void launch_interaction_local(const InteractionPlan& interactions, const DeviceReplicas& replicas,
                              std::uint64_t first, std::uint64_t last, int colour,
                              cudaStream_t stream) {
  const std::uint32_t blocks = blocks_for(last - first);
  if (blocks == 0) return;
  with_dim(interactions.plan.lattice.dim, [&]<int kDim>() {
    launch(local_sites<kDim>, shape_of(replicas.count, blocks), stream, interactions, replicas,
           first, last, colour, blocks);
  });
}

void launch_interaction_wolff(const InteractionPlan& interactions, const DeviceReplicas& replicas,
                              const InteractionScratch& scratch, std::uint32_t updates,
                              cudaStream_t stream) {
  with_dim(interactions.plan.lattice.dim, [&]<int kDim>() {
    launch(wolff_clusters<kDim>, shape_of(replicas.count, 1), stream, interactions, replicas,
           scratch, updates);
  });
}

void launch_interaction_swendsen_wang(const InteractionPlan& interactions,
                                      const DeviceReplicas& replicas,
                                      const InteractionScratch& scratch, cudaStream_t stream) {
  const std::uint32_t blocks = blocks_for(interactions.plan.sites);
  const LaunchShape shape = shape_of(replicas.count, blocks);
  launch(start_trees, shape, stream, interactions, scratch, blocks);
  with_dim(interactions.plan.lattice.dim, [&]<int kDim>() {
    launch(join_trees<kDim>, shape, stream, interactions, replicas, scratch, blocks);
  });
  launch(mark_fixed, shape, stream, interactions, replicas, scratch, blocks);
  launch(flip_trees, shape, stream, interactions, replicas, scratch, blocks);
}

void launch_interaction_houdayer(const InteractionPlan& interactions,
                                 const DeviceReplicas& replicas, const InteractionScratch& scratch,
                                 cudaStream_t stream) {
  const std::uint32_t blocks = blocks_for(interactions.plan.sites);
  const LaunchShape shape = shape_of(
      replicas.count / replicas.per_temperature * houdayer_pairs(replicas.per_temperature), blocks);
  launch(start_trees, shape, stream, interactions, scratch, blocks);
  with_dim(interactions.plan.lattice.dim, [&]<int kDim>() {
    launch(join_couples<kDim>, shape, stream, interactions, replicas, scratch, blocks);
  });
  launch(flip_couples, shape, stream, interactions, replicas, scratch, blocks);
}

void launch_interaction_measure(const InteractionPlan& interactions, const DeviceReplicas& replicas,
                                unsigned long long* bond_sums, unsigned long long* overlaps,
                                cudaStream_t stream) {
  const std::uint32_t blocks = blocks_for(interactions.plan.sites);
  const std::uint32_t pairs =
      replicas.count / replicas.per_temperature * (replicas.per_temperature / 2);
  launch_interaction_bond_sums(interactions, replicas, bond_sums, stream);
  with_dim(interactions.plan.lattice.dim, [&]<int kDim>() {
    if (pairs == 0) return;
    launch(sum_overlaps<kDim>, shape_of(pairs, blocks), stream, interactions, replicas, overlaps,
           blocks);
  });
}

}  // namespace rewise::bytespin
