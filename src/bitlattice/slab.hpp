// The bitlattice engine over several ranks: a rank has consecutive planes of the slowest extent of
// every replica, and a halo, which is a copy of the two planes beyond them (layout.hpp).
//
// Every update of a colour ends with a halo exchange: a rank updates its two outer planes, sends
// them without waiting, updates the planes between them, and waits for the messages. The halo is
// therefore current whenever no call is in progress.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "src/bitlattice/replica_rules.hpp"
#include "src/distributed/transport.hpp"
#include "src/engine/subdomain.hpp"

namespace rewise::bitlattice {

class Slab : public Subdomain {
 public:
  Slab(const Layout& lattice, const EngineSpec& spec, distributed::Transport& transport)
      : planes_(planes_of(lattice.planes(), transport.rank(), transport.size())),
        layout_(lattice.slab(static_cast<std::uint32_t>(planes_.first),
                             static_cast<std::uint32_t>(planes_.last))),
        rules_(lattice.dim, spec),
        transport_(transport),
        all_planes_(lattice.planes()) {}

  std::uint64_t replicas() const final { return rules_.count(); }
  // Makes a sweep for each cycle.
  void advance(const AdvanceOrder& what) final {
    sweep(what.replicas.first, what.replicas.last, what.step, what.cycles);
  }
  // Per replica: the bonds between unequal spins that end at own sites of colour 0, and the own
  // sites that point up: [replicas][2].
  std::uint64_t sums() const final { return 2 * replicas(); }

  // The bytes of a rank's planes in a colour. Blocks of read() and write() are colours.
  IndexRange part(int rank) const final {
    const IndexRange planes = planes_of(all_planes_, rank, transport_.size());
    return {planes.first * plane_bytes(), planes.last * plane_bytes()};
  }
  void read(std::uint64_t replica, std::uint64_t colour, std::uint64_t first,
            std::span<std::uint8_t> out) const final {
    read_words(replica, static_cast<int>(colour), word(first),
               {reinterpret_cast<std::uint32_t*>(out.data()), out.size() / 4});
  }
  void write(std::uint64_t replica, std::uint64_t colour, std::uint64_t first,
             std::span<const std::uint8_t> bytes) final {
    write_words(replica, static_cast<int>(colour), word(first),
                {reinterpret_cast<const std::uint32_t*>(bytes.data()), bytes.size() / 4});
  }

 protected:
  // Makes `steps` sweeps of replicas [first, last), starting at step `step`.
  virtual void sweep(std::size_t first, std::size_t last, std::uint64_t step,
                     std::uint64_t steps) = 0;
  // Copy words of a colour to the host and back. `first` counts from the first word of the slab,
  // without the halo.
  virtual void read_words(std::size_t replica, int colour, std::uint64_t first,
                          std::span<std::uint32_t> out) const = 0;
  virtual void write_words(std::size_t replica, int colour, std::uint64_t first,
                           std::span<const std::uint32_t> words) = 0;
  int previous_rank() const {
    return (transport_.rank() + transport_.size() - 1) % transport_.size();
  }
  int next_rank() const { return (transport_.rank() + 1) % transport_.size(); }
  std::uint32_t own_planes() const { return static_cast<std::uint32_t>(planes_.size()); }

  const IndexRange planes_;
  const Layout layout_;  // with the halo
  const ReplicaRules rules_;
  distributed::Transport& transport_;

 private:
  std::uint64_t plane_bytes() const { return 4 * layout_.plane_words(); }
  // Converts an offset in bytes within a colour of the whole lattice to an offset in words within
  // the slab, without the halo.
  std::uint64_t word(std::uint64_t byte) const {
    return byte / 4 - planes_.first * layout_.plane_words();
  }

  const std::uint64_t all_planes_;
};

// Message tags of planes sent to the next and the previous rank.
inline constexpr int kToNext = distributed::kFirstTag, kToPrevious = distributed::kFirstTag + 1;

// On the CPU. Throws Error(device) if the memory is too small.
std::unique_ptr<Slab> make_cpu_slab(const Layout& lattice, const EngineSpec& spec,
                                    distributed::Transport& transport, int threads);
// On a CUDA device, which several ranks may share. Throws Error(device) if there is no such device
// or its memory is too small.
std::unique_ptr<Slab> make_cuda_slab(const Layout& lattice, const EngineSpec& spec,
                                     distributed::Transport& transport, int device);

}  // namespace rewise::bitlattice
