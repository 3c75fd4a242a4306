// A rank's part of the systems of a packed engine that ranks share: consecutive planes of the
// slowest extent, with copies of the two planes beyond them, the halo (layout.hpp).
//
// A colour of the halo is fetched from the neighbours after every update of that colour: a rank
// updates its two outer planes, posts them, updates its inside meanwhile, and waits. So halos are
// those of the present spins whenever no call is under way.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "src/packed/systems.hpp"
#include "src/ranks/transport.hpp"

namespace rewise::packed {

// Planes [begin, end) of rank r among `size`.
struct Planes {
  std::uint32_t begin, end;
};
inline Planes planes_of(const Layout& lattice, int rank, int size) {
  const auto at = [&](int r) {
    return static_cast<std::uint32_t>(std::uint64_t{lattice.planes()} *
                                      static_cast<std::uint64_t>(r) /
                                      static_cast<std::uint64_t>(size));
  };
  return {at(rank), at(rank + 1)};
}

class Slab {
 public:
  Slab(const Layout& lattice, const EngineSpec& spec, ranks::Transport& transport)
      : planes_(planes_of(lattice, transport.rank(), transport.size())),
        layout_(lattice.slab(planes_.begin, planes_.end)),
        systems_(lattice.dim, spec),
        transport_(transport) {}
  virtual ~Slab() = default;

  virtual std::string device() const = 0;  // "cpu", "cuda"
  virtual int threads() const = 0;

  // `steps` sweeps of systems [first, last) from step `step` on.
  virtual void sweep(std::size_t first, std::size_t last, std::uint64_t step,
                     std::uint64_t steps) = 0;
  // Of every system the bonds between unequal spins that end at its own sites of colour 0, and its
  // own sites that are up: [systems][2].
  virtual void count(std::span<std::uint64_t> sums) = 0;
  // Words of a colour, counted from the first of the slab's own, to the host and back.
  virtual void read(std::size_t who, int colour, std::uint64_t first,
                    std::span<std::uint32_t> out) const = 0;
  virtual void write(std::size_t who, int colour, std::uint64_t first,
                     std::span<const std::uint32_t> words) = 0;
  // Both colours of a system's halo, after the first spins or write(). All ranks call it.
  virtual void fetch_halo(std::size_t who) = 0;

 protected:
  int before() const { return (transport_.rank() + transport_.size() - 1) % transport_.size(); }
  int after() const { return (transport_.rank() + 1) % transport_.size(); }
  std::uint32_t own_planes() const { return planes_.end - planes_.begin; }

  const Planes planes_;
  const Layout layout_;  // with the halo
  const Systems systems_;
  ranks::Transport& transport_;
};

// Tags of planes on their way to the rank after and before.
inline constexpr int kToAfter = ranks::kFirstTag, kToBefore = ranks::kFirstTag + 1;

// On the CPU. Error(device) where the machine's memory is too small.
std::unique_ptr<Slab> make_cpu_slab(const Layout& lattice, const EngineSpec& spec,
                                    ranks::Transport& transport, int threads);

}  // namespace rewise::packed
