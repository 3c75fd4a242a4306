// What the nodes of a tile learn when the forest is complete (swendsen_wang_fused.hpp): their
// draws. The sizes of their clusters and the sums over clusters come on the way: when a size grows
// from a to b, sum n^2 grows by b^2 - a^2, so no second pass over the roots is needed.
#pragma once

#include "src/single/swendsen_wang/fused_models.cuh"

namespace rewise::single::device {

// In shared memory.
template <unsigned kWarps, class Model>
struct SettleMemory {
  typename Model::LabelDraws draws;
  std::uint32_t favourite[kWarps], favourite_size[kWarps];
};

// By a block of kWarps warps, which has a tile.
template <unsigned kWarps, class Model>
class NodeSettler {
 public:
  using Memory = SettleMemory<kWarps, Model>;

  __device__ __forceinline__ NodeSettler(const Model& model, const FusedSystem& system,
                                         const DrawKey& key, std::uint32_t first, Memory& memory)
      : model_(model), system_(system), key_(key), first_(first), memory_(memory) {}

  // By all threads of the block; between this and finish() they wait for each other, and after it
  // for memory.draws. Near and below Tc most nodes of a tile belong to one large cluster, its
  // favourite: their sizes are summed up by the block before they are added to the root's.
  __device__ __forceinline__ void run(std::uint32_t count) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    Model::set_closed(memory_.draws);
    std::uint32_t favourite = kNone, sum = 0;
    for (std::uint32_t begin = 32 * warp; begin < count; begin += 32 * kWarps) {
      std::uint32_t size = 0;
      typename Model::Draw draw{};
      const std::uint32_t root = begin + lane < count ? look_up(begin + lane, size, draw) : kNone;
      Model::set(memory_.draws, begin, draw);
      const std::uint32_t peers = __match_any_sync(~0u, root);
      size = __reduce_add_sync(peers, size);
      const bool leads = root != kNone && lane == lowest(peers);
      if (begin == 32 * warp) {
        const std::uint32_t most = __reduce_max_sync(~0u, leads ? size : 0);
        const std::uint32_t who = __ballot_sync(~0u, leads && size == most);
        favourite = __shfl_sync(~0u, root, static_cast<int>(lowest(who)));
      }
      if (leads && root == favourite) sum += size;
      if (leads && root != favourite) grow(root, size);
    }
    sum = __reduce_add_sync(~0u, sum);
    if (lane == 0) {
      memory_.favourite[warp] = favourite;
      memory_.favourite_size[warp] = sum;
    }
  }

  __device__ __forceinline__ void finish() {
    const unsigned lane = threadIdx.x % 32;
    if (threadIdx.x >= 32) return;
    const std::uint32_t root = lane < kWarps ? memory_.favourite[lane] : kNone;
    const std::uint32_t peers = __match_any_sync(~0u, root);
    const std::uint32_t size =
        __reduce_add_sync(peers, root != kNone ? memory_.favourite_size[lane] : 0);
    if (root != kNone && lane == lowest(peers)) grow(root, size);
  }

  // Adds the sums to those of an update; by whole warps.
  __device__ __forceinline__ void add_up(const DeviceLabels& labels, std::uint32_t systems,
                                         std::uint32_t update, std::uint32_t who,
                                         std::uint32_t tile) {
    if (!__any_sync(~0u, square_ != 0)) return;
    const std::uint64_t square = warp_sum(square_);
    const WideSum fourth = warp_sum(fourth_);
    if (threadIdx.x % 32 == 0) add_sums(labels, systems, update, who, tile, square, fourth);
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  // The root of a node and what it has to add to the root's size: a root nothing, since it starts
  // with its own.
  __device__ __forceinline__ std::uint32_t look_up(std::uint32_t number, std::uint32_t& size,
                                                   typename Model::Draw& draw) {
    const std::uint32_t node = first_ + number;
    const std::uint32_t own = system_.own[node];
    KeyedForest::Word word;
    const std::uint32_t root = system_.forest.root(node, word);
    draw = model_.draw(key_, KeyedForest::key(word));
    if (root == node) {
      const std::uint64_t n2 = static_cast<std::uint64_t>(own) * own;
      square_ += n2;
      fourth_ += n2 * n2;
      return kNone;
    }
    size = own;
    return root;
  }

  __device__ __forceinline__ void grow(std::uint32_t root, std::uint32_t size) {
    const std::uint64_t before = atomicAdd_system(system_.size + root, size), after = before + size;
    const std::uint64_t before2 = before * before, after2 = after * after;
    square_ += after2 - before2;
    fourth_ += static_cast<WideSum>(after2) * after2 - static_cast<WideSum>(before2) * before2;
  }

  const Model& model_;
  const FusedSystem system_;
  const DrawKey key_;
  const std::uint32_t first_;  // the tile's first node
  Memory& memory_;
  std::uint64_t square_ = 0;
  WideSum fourth_ = 0;
};

}  // namespace rewise::single::device
