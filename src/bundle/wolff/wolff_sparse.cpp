// The sparse form of wolff.hpp: one replica's cluster in its plane, or in the bundle's words.
#include <algorithm>

#include "src/bundle/wolff/wolff.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/bundle/wolff/wolff_sparse.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "src/bundle/wolff/growth-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise::bundle {
namespace HWY_NAMESPACE {

template <class Spins>
std::uint64_t grow(const WolffGeometry& g, Growth<Spins>& growth, Site seed, int colour,
                   std::uint64_t limit) {
  switch (g.lattice.dim) {
    case 0:
      return growth.template run<0>(seed, 0, limit);
    case 1:
      return growth.template run<1>(seed, colour, limit);
    case 2:
      return growth.template run<2>(seed, colour, limit);
    case 3:
      return growth.template run<3>(seed, colour, limit);
    default:
      return growth.template run<4>(seed, colour, limit);
  }
}

std::uint64_t WolffInPlane(const WolffGeometry& g, const Address& at, Threshold bond,
                           unsigned replica, StopWatch& watch, std::uint32_t* plane,
                           WolffQueue& queue) {
  const Site seed = wolff_seed_site(at, replica, g.sites);
  Growth<PlaneSpins> growth(g, at, bond, replica, PlaneSpins{plane}, watch, queue);
  return grow(g, growth, seed, 0, g.sites);
}

std::uint64_t WolffInWords(const WolffGeometry& g, const Address& at, Threshold bond,
                           unsigned replica, std::uint32_t* words, bool shared, std::uint64_t limit,
                           StopWatch& watch, WolffQueue& queue, std::uint32_t* reached) {
  const Layout& layout = g.layout;
  const bool lattice = layout.lattice.dim > 0;
  const Site seed = wolff_seed_site(at, replica, g.sites);
  const WordSpins spins{words,
                        static_cast<std::uint32_t>(layout.colour_base[0]),
                        static_cast<std::uint32_t>(layout.colour_base[1] - layout.colour_base[0]),
                        lattice ? 1u : 0u,
                        1u << replica,
                        shared};
  Growth<WordSpins> growth(g, at, bond, replica, spins, watch, queue);
  const std::uint64_t size =
      grow(g, growth, seed, lattice ? layout.lattice.colour(seed) : 0, limit);
  if (size <= limit) return size;
  growth.take_back();
  for (std::size_t i = 0; i < size; ++i) {
    std::uint32_t* word = reached + spins.slot(queue.key[i]);
    if (shared) {
      __atomic_fetch_or(word, spins.bit, __ATOMIC_RELAXED);
    } else {
      *word |= spins.bit;
    }
  }
  return size;
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise::bundle
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise::bundle {
HWY_EXPORT(WolffInPlane);
HWY_EXPORT(WolffInWords);

std::uint64_t wolff_in_plane(const WolffGeometry& geometry, const Address& at, Threshold bond,
                             unsigned replica, StopWatch& watch, std::uint32_t* plane,
                             WolffQueue& queue) {
  return HWY_DYNAMIC_DISPATCH(WolffInPlane)(geometry, at, bond, replica, watch, plane, queue);
}
std::uint64_t wolff_in_words(const WolffGeometry& geometry, const Address& at, Threshold bond,
                             unsigned replica, std::uint32_t* words, bool shared,
                             std::uint64_t limit, StopWatch& watch, WolffQueue& queue,
                             std::uint32_t* reached) {
  return HWY_DYNAMIC_DISPATCH(WolffInWords)(geometry, at, bond, replica, words, shared, limit,
                                            watch, queue, reached);
}
}  // namespace rewise::bundle
#endif
