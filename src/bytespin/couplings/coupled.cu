#include <cuda/atomic>

#include "src/bytespin/couplings/coupled_cuda.hpp"
#include "src/cuda/launch.hpp"

namespace rewise::bytespin {
namespace {

constexpr unsigned kThreads = 256;

// A thread's item of one system, of a launch with `per_system` items in blocks of kThreads.
struct Item {
  std::uint32_t who;
  std::uint64_t index;
};
__device__ __forceinline__ Item item_of(std::uint32_t blocks_per_system) {
  return {blockIdx.x / blocks_per_system,
          std::uint64_t{blockIdx.x % blocks_per_system} * kThreads + threadIdx.x};
}
std::uint32_t blocks_for(std::uint64_t items) {
  return static_cast<std::uint32_t>((items + kThreads - 1) / kThreads);
}
LaunchShape shape_of(std::uint64_t systems, std::uint32_t blocks_per_system) {
  LaunchShape shape;
  shape.blocks = static_cast<unsigned>(systems * blocks_per_system);
  shape.threads = kThreads;
  return shape;
}

template <int kDim>
__global__ void local_sites(const __grid_constant__ CoupledPlan c,
                            const __grid_constant__ DeviceSystems systems, std::uint64_t first,
                            std::uint64_t last, int colour, std::uint32_t blocks) {
  const Item item = item_of(blocks);
  if (first + item.index >= last) return;
  const Site site = c.of_colour[first + item.index];
  const DrawKey key = systems.key(item.who);
  const std::uint64_t slot = c.plan.site_slots.slot(site, colour);
  std::uint8_t* const spins = systems.system(item.who);
  const std::uint32_t draw = slot_draw(key, Stream::bytespin_local, slot);
  const std::uint32_t proposal = c.plan.potts ? slot_draw(key, Stream::bytespin_proposal, slot) : 0;
  spins[site] =
      c.next_spin<kDim>(c.boltzmann[systems.temperature(item.who)], spins, site, draw, proposal);
}

// One block per system.
template <int kDim>
__global__ void wolff_clusters(const __grid_constant__ CoupledPlan c,
                               const __grid_constant__ DeviceSystems systems,
                               const __grid_constant__ CoupledScratch scratch,
                               std::uint32_t updates) {
  __shared__ unsigned size, fixed;
  const std::uint32_t who = blockIdx.x;
  const Boltzmann factors = c.boltzmann[systems.temperature(who)];
  std::uint8_t* const spins = systems.system(who);
  Site* const queue = scratch.queue + who * c.plan.sites;
  std::uint32_t* const bits = scratch.bits + who * CoupledScratch::words(c.plan.sites);
  for (std::uint32_t n = 0; n < updates; ++n) {
    const DrawKey key = systems.key(who, n);
    const Words4 words = random_words(key.seed, Stream::bytespin_seed, 0, key.who, 0, key.step);
    const Site seed = wolff_seed(words, c.plan.sites);
    const std::uint8_t state = wolff_state(words, spins[seed], c.plan.states);
    if (threadIdx.x == 0) {
      queue[0] = seed;
      atomicOr(&bits[seed / 32], 1u << seed % 32);
      size = 1;
      fixed = c.is_fixed(factors, key, seed, spins[seed]) ? 1 : 0;
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
          if (c.is_fixed(factors, key, neighbour, spins[neighbour])) atomicOr(&fixed, 1u);
        });
      }
      __syncthreads();
      begin = end;
      end = size;
      __syncthreads();
    }
    const bool flips = fixed == 0;
    for (unsigned k = threadIdx.x; k < end; k += kThreads) {
      const Site site = queue[k];
      atomicAnd(&bits[site / 32], ~(1u << site % 32));
      if (flips) {
        spins[site] = c.plan.potts ? state : static_cast<std::uint8_t>(spins[site] ^ 1);
      }
    }
    if (threadIdx.x == 0) scratch.visited[who] += end;
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

__global__ void start_trees(const __grid_constant__ CoupledPlan c,
                            const __grid_constant__ CoupledScratch scratch, std::uint32_t blocks) {
  const Item item = item_of(blocks);
  if (item.index >= c.plan.sites) return;
  scratch.queue[item.who * c.plan.sites + item.index] = static_cast<Site>(item.index);
  if (item.index < CoupledScratch::words(c.plan.sites)) {
    scratch.bits[item.who * CoupledScratch::words(c.plan.sites) + item.index] = 0;
  }
}

template <int kDim>
__global__ void join_trees(const __grid_constant__ CoupledPlan c,
                           const __grid_constant__ DeviceSystems systems,
                           const __grid_constant__ CoupledScratch scratch, std::uint32_t blocks) {
  const Item item = item_of(blocks);
  if (item.index >= c.plan.sites) return;
  const auto site = static_cast<Site>(item.index);
  const DrawKey key = systems.key(item.who);
  const Boltzmann factors = c.boltzmann[systems.temperature(item.who)];
  const std::uint8_t* const spins = systems.system(item.who);
  Site* const parents = scratch.queue + item.who * c.plan.sites;
  c.plan.for_each_neighbour<kDim>(site, [&](Site neighbour, std::uint64_t slot) {
    if (neighbour > site && c.joins(factors, key, slot, spins[site], spins[neighbour])) {
      unite(parents, site, neighbour);
    }
  });
}

// Replaces each site's parent by its root. A site bound to the ghost spin sets the bit of its root.
__global__ void mark_fixed(const __grid_constant__ CoupledPlan c,
                           const __grid_constant__ DeviceSystems systems,
                           const __grid_constant__ CoupledScratch scratch, std::uint32_t blocks) {
  const Item item = item_of(blocks);
  if (item.index >= c.plan.sites) return;
  const auto site = static_cast<Site>(item.index);
  Site* const parents = scratch.queue + item.who * c.plan.sites;
  const Site root = find_root(parents, site);
  Parent(parents[site]).store(root, cuda::memory_order_relaxed);
  const Boltzmann factors = c.boltzmann[systems.temperature(item.who)];
  if (c.is_fixed(factors, systems.key(item.who), site, systems.system(item.who)[site])) {
    atomicOr(&scratch.bits[item.who * CoupledScratch::words(c.plan.sites) + root / 32],
             1u << root % 32);
  }
}

__global__ void flip_trees(const __grid_constant__ CoupledPlan c,
                           const __grid_constant__ DeviceSystems systems,
                           const __grid_constant__ CoupledScratch scratch, std::uint32_t blocks) {
  const Item item = item_of(blocks);
  if (item.index >= c.plan.sites) return;
  const Site root = scratch.queue[item.who * c.plan.sites + item.index];
  const std::uint32_t* const bits = scratch.bits + item.who * CoupledScratch::words(c.plan.sites);
  if ((bits[root / 32] >> root % 32 & 1u) != 0) return;
  std::uint8_t* const spins = systems.system(item.who);
  spins[item.index] = c.flipped(systems.key(item.who), root, spins[item.index]);
}

// The first system of a couple of replicas, numbered through all temperatures.
__device__ __forceinline__ std::uint32_t couple_system(const DeviceSystems& systems,
                                                       std::uint32_t couple) {
  const std::uint32_t of_temperature = couples_of(systems.replicas);
  return couple / of_temperature * systems.replicas + first_of_couple(couple % of_temperature);
}

// Houdayer moves; item.who: the couple.
template <int kDim>
__global__ void join_couples(const __grid_constant__ CoupledPlan c,
                             const __grid_constant__ DeviceSystems systems,
                             const __grid_constant__ CoupledScratch scratch, std::uint32_t blocks) {
  const Item item = item_of(blocks);
  if (item.index >= c.plan.sites) return;
  const auto site = static_cast<Site>(item.index);
  const std::uint32_t who = couple_system(systems, item.who);
  const std::uint8_t* const a = systems.system(who);
  const std::uint8_t* const b = systems.system(who + kPartnerDistance);
  Site* const parents = scratch.queue + item.who * c.plan.sites;
  c.plan.for_each_neighbour<kDim>(site, [&](Site neighbour, std::uint64_t) {
    if (neighbour > site && CoupledPlan::couples_join(a, b, site, neighbour)) {
      unite(parents, site, neighbour);
    }
  });
}

__global__ void flip_couples(const __grid_constant__ CoupledPlan c,
                             const __grid_constant__ DeviceSystems systems,
                             const __grid_constant__ CoupledScratch scratch, std::uint32_t blocks) {
  const Item item = item_of(blocks);
  if (item.index >= c.plan.sites) return;
  const std::uint32_t who = couple_system(systems, item.who);
  std::uint8_t* const a = systems.system(who) + item.index;
  std::uint8_t* const b = systems.system(who + kPartnerDistance) + item.index;
  const Site root =
      find_root(scratch.queue + item.who * c.plan.sites, static_cast<Site>(item.index));
  if (!c.couple_flips(systems.key(who), root, *a == *b)) return;
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
__global__ void sum_energies(const __grid_constant__ CoupledPlan c,
                             const __grid_constant__ DeviceSystems systems,
                             unsigned long long* energy, std::uint32_t blocks) {
  const Item item = item_of(blocks);
  long long sum = 0;
  if (item.index < c.plan.sites) {
    sum = c.energy_of<kDim>(systems.system(item.who), static_cast<Site>(item.index));
  }
  add_to(energy + item.who, sum);
}

__global__ void sum_staggered(const __grid_constant__ CoupledPlan c,
                              const __grid_constant__ DeviceSystems systems,
                              unsigned long long* staggered, std::uint32_t blocks) {
  const Item item = item_of(blocks);
  long long sum = 0;
  if (item.index < c.plan.sites) {
    sum = c.staggered_of(systems.system(item.who), static_cast<Site>(item.index));
  }
  add_to(staggered + item.who, sum);
}

template <int kDim>
__global__ void sum_overlaps(const __grid_constant__ CoupledPlan c,
                             const __grid_constant__ DeviceSystems systems,
                             unsigned long long* overlaps, std::uint32_t blocks) {
  const Item item = item_of(blocks);  // item.who: the pair
  const std::uint32_t of_temperature = systems.replicas / 2;
  const std::uint32_t first =
      item.who / of_temperature * systems.replicas + 2 * (item.who % of_temperature);
  const std::uint8_t* const a = systems.system(first);
  const std::uint8_t* const b = systems.system(first + 1);
  long long overlap = 0, link = 0;
  if (item.index < c.plan.sites) {
    const auto site = static_cast<Site>(item.index);
    overlap = a[site] == b[site] ? 1 : -1;
    link = c.link_overlap_of<kDim>(a, b, site);
  }
  add_to(overlaps + 2 * item.who, overlap);
  add_to(overlaps + 2 * item.who + 1, link);
}

// A thread per replica and pair of temperatures.
__global__ void decide_exchanges(const __grid_constant__ CoupledPlan c,
                                 const __grid_constant__ DeviceSystems systems,
                                 const unsigned long long* energy,
                                 const __grid_constant__ ExchangeSpace space, std::uint32_t pairs,
                                 std::uint32_t first) {
  const std::uint32_t index = blockIdx.x * kThreads + threadIdx.x;
  if (index >= pairs * systems.replicas) return;
  const std::uint32_t t = first + 2 * (index / systems.replicas);
  const std::uint32_t who = t * systems.replicas + index % systems.replicas;
  const std::uint32_t next = who + systems.replicas;
  const bool accepted = c.exchange[t].accepts(static_cast<std::int64_t>(energy[who]),
                                              static_cast<std::int64_t>(energy[next]),
                                              exchange_draw(systems.seed, who, systems.step));
  space.accepted[who] = accepted ? 1 : 0;
  atomicAdd(space.attempts + t, 1ull);
  if (!accepted) return;
  atomicAdd(space.exchanges + t, 1ull);
  const std::uint32_t walker = space.walker[who];
  space.walker[who] = space.walker[next];
  space.walker[next] = walker;
}

__global__ void exchange_spins(const __grid_constant__ DeviceSystems systems,
                               const std::uint8_t* accepted, std::uint32_t first,
                               std::uint32_t blocks) {
  const Item item = item_of(blocks);
  const std::uint32_t t = first + 2 * (item.who / systems.replicas);
  const std::uint32_t who = t * systems.replicas + item.who % systems.replicas;
  if (item.index >= systems.stride / 4 || accepted[who] == 0) return;  // strides are 256 x n
  auto* const own = reinterpret_cast<std::uint32_t*>(systems.system(who)) + item.index;
  auto* const other =
      reinterpret_cast<std::uint32_t*>(systems.system(who + systems.replicas)) + item.index;
  const std::uint32_t word = *own;
  *own = *other;
  *other = word;
}

}  // namespace

void launch_exchange(const CoupledPlan& coupled, const DeviceSystems& systems,
                     const unsigned long long* energy, const ExchangeSpace& space,
                     std::uint32_t temperatures, std::uint32_t first, cudaStream_t stream) {
  const std::uint32_t pairs = temperatures > first ? (temperatures - first) / 2 : 0;
  if (pairs == 0) return;
  const std::uint32_t couples = pairs * systems.replicas;
  launch(decide_exchanges, shape_of(1, blocks_for(couples)), stream, coupled, systems, energy,
         space, pairs, first);
  const std::uint32_t blocks = blocks_for(systems.stride / 4);
  launch(exchange_spins, shape_of(couples, blocks), stream, systems, space.accepted, first, blocks);
}

void launch_coupled_energies(const CoupledPlan& coupled, const DeviceSystems& systems,
                             unsigned long long* energy, cudaStream_t stream) {
  const std::uint32_t blocks = blocks_for(coupled.plan.sites);
  with_dim(coupled.plan.lattice.dim, [&]<int kDim>() {
    launch(sum_energies<kDim>, shape_of(systems.systems, blocks), stream, coupled, systems, energy,
           blocks);
  });
}

void launch_coupled_staggered(const CoupledPlan& coupled, const DeviceSystems& systems,
                              unsigned long long* staggered, cudaStream_t stream) {
  const std::uint32_t blocks = blocks_for(coupled.plan.sites);
  launch(sum_staggered, shape_of(systems.systems, blocks), stream, coupled, systems, staggered,
         blocks);
}

void launch_coupled_local(const CoupledPlan& coupled, const DeviceSystems& systems,
                          std::uint64_t first, std::uint64_t last, int colour,
                          cudaStream_t stream) {
  const std::uint32_t blocks = blocks_for(last - first);
  if (blocks == 0) return;
  with_dim(coupled.plan.lattice.dim, [&]<int kDim>() {
    launch(local_sites<kDim>, shape_of(systems.systems, blocks), stream, coupled, systems, first,
           last, colour, blocks);
  });
}

void launch_coupled_wolff(const CoupledPlan& coupled, const DeviceSystems& systems,
                          const CoupledScratch& scratch, std::uint32_t updates,
                          cudaStream_t stream) {
  with_dim(coupled.plan.lattice.dim, [&]<int kDim>() {
    launch(wolff_clusters<kDim>, shape_of(systems.systems, 1), stream, coupled, systems, scratch,
           updates);
  });
}

void launch_coupled_swendsen_wang(const CoupledPlan& coupled, const DeviceSystems& systems,
                                  const CoupledScratch& scratch, cudaStream_t stream) {
  const std::uint32_t blocks = blocks_for(coupled.plan.sites);
  const LaunchShape shape = shape_of(systems.systems, blocks);
  launch(start_trees, shape, stream, coupled, scratch, blocks);
  with_dim(coupled.plan.lattice.dim, [&]<int kDim>() {
    launch(join_trees<kDim>, shape, stream, coupled, systems, scratch, blocks);
  });
  launch(mark_fixed, shape, stream, coupled, systems, scratch, blocks);
  launch(flip_trees, shape, stream, coupled, systems, scratch, blocks);
}

void launch_coupled_houdayer(const CoupledPlan& coupled, const DeviceSystems& systems,
                             const CoupledScratch& scratch, cudaStream_t stream) {
  const std::uint32_t blocks = blocks_for(coupled.plan.sites);
  const LaunchShape shape =
      shape_of(systems.systems / systems.replicas * couples_of(systems.replicas), blocks);
  launch(start_trees, shape, stream, coupled, scratch, blocks);
  with_dim(coupled.plan.lattice.dim, [&]<int kDim>() {
    launch(join_couples<kDim>, shape, stream, coupled, systems, scratch, blocks);
  });
  launch(flip_couples, shape, stream, coupled, systems, scratch, blocks);
}

void launch_coupled_measure(const CoupledPlan& coupled, const DeviceSystems& systems,
                            unsigned long long* energy, unsigned long long* overlaps,
                            cudaStream_t stream) {
  const std::uint32_t blocks = blocks_for(coupled.plan.sites);
  const std::uint32_t pairs = systems.systems / systems.replicas * (systems.replicas / 2);
  launch_coupled_energies(coupled, systems, energy, stream);
  with_dim(coupled.plan.lattice.dim, [&]<int kDim>() {
    if (pairs == 0) return;
    launch(sum_overlaps<kDim>, shape_of(pairs, blocks), stream, coupled, systems, overlaps, blocks);
  });
}

}  // namespace rewise::bytespin
