#include "src/bitlattice/distributed_engine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/bitlattice/bitlattice_engine.hpp"
#include "src/bitlattice/slab.hpp"
#include "src/cuda/devices.hpp"
#include "src/engine/registry.hpp"

namespace rewise {
namespace {

using namespace bitlattice;
using distributed::Transport;

// The data from which slabs are made.
struct SlabSpec {
  std::vector<std::uint32_t> extents;
  EngineSpec spec;
  bool cuda = false;

  template <class Stream>
  void pass(Stream& stream) {
    stream(extents)(spec.betas)(spec.replicas)(spec.seed)(spec.local)(spec.start)(cuda);
  }
};

std::unique_ptr<Slab> make_slab(const SlabSpec& slab, Transport& transport,
                                const EngineOptions& options) {
  const Layout lattice = Layout::make(slab.extents);
  if (!slab.cuda) return make_cpu_slab(lattice, slab.spec, transport, options.threads);
#if defined(REWISE_HAVE_CUDA)
  return make_cuda_slab(lattice, slab.spec, transport, options.device);
#else
  no_cuda();
#endif
}

class DistributedEngine final : public BitlatticeEngine, public SavesInParts {
 public:
  DistributedEngine(Transport& transport, SlabSpec slab, const EngineOptions& options,
                    std::unique_ptr<FollowerThreads> followers = nullptr)
      : BitlatticeEngine(Layout::make(slab.extents), slab.spec),
        followers_(std::move(followers)),
        options_(options),
        subdomains_(transport, written(EngineKind::bitlattice, slab),
                    [&](std::span<const std::uint8_t> bytes) {
                      return make_bitlattice_subdomain(bytes, transport,
                                                       [&](bool) { return options; });
                    }),
        device_(followers_ ? fmt::format("cuda:{}", fmt::join(options.devices, "+"))
                           : subdomains_.device()) {}

  std::string_view device() const override { return device_; }
  int threads() const override { return subdomains_.threads(); }

  bool has_ranks() const override { return !followers_; }
  StateInParts save_in_parts(const std::string& name, const FileWriter& write) const override {
    return subdomains_.save(2, name, write, save_state(false));
  }
  void restore_in_parts(const EngineState& rest, std::uint64_t spin_bytes,
                        const SpinReader& read) override {
    restore_without_spins(rest, spin_bytes);
    subdomains_.restore(2, 4 * layout_.stride(), read, [this](Bytes rows) { check_spins(rows); });
  }

  bool advance(const Schedule& schedule, std::uint64_t cycles) override {
    return advance_replicas(
        options_, schedule, cycles,
        [&](std::size_t first, std::size_t last, std::uint64_t step, std::uint64_t steps) {
          subdomains_.advance({{first, last}, step, steps, {1, 0}});
        });
  }

  void measure(Observation& out) override {
    const double begin = now();
    fill_observation(subdomains_.count(), out);
    work_.measure_seconds += now() - begin;
  }

 private:
  // Calls f(colour, its first byte, words in all) for words [first, first + count).
  template <class F>
  void for_colours(std::uint64_t first, std::uint64_t count, const F& f) const {
    const std::uint64_t all = layout_.colour_words();
    for (std::uint64_t at = first; at < first + count;) {
      const std::uint64_t from = at % all, words = std::min(all - from, first + count - at);
      f(at / all, 4 * from, Words{at - first, at - first + words});
      at += words;
    }
  }

  void read_words(std::size_t replica, std::uint64_t first,
                  std::span<std::uint32_t> out) const override {
    for_colours(first, out.size(), [&](std::uint64_t colour, std::uint64_t byte, Words words) {
      const auto part = out.subspan(words.first, words.last - words.first);
      subdomains_.read(replica, colour, byte,
                       {reinterpret_cast<std::uint8_t*>(part.data()), part.size_bytes()});
    });
  }

  void write_words(std::size_t replica, std::uint64_t first,
                   std::span<const std::uint32_t> from) override {
    for_colours(first, from.size(), [&](std::uint64_t colour, std::uint64_t byte, Words words) {
      const auto part = from.subspan(words.first, words.last - words.first);
      subdomains_.write(replica, colour, byte,
                        {reinterpret_cast<const std::uint8_t*>(part.data()), part.size_bytes()});
    });
  }

  const std::unique_ptr<FollowerThreads> followers_;  // destroyed last
  const EngineOptions options_;
  Subdomains subdomains_;
  const std::string device_;
};

}  // namespace

std::unique_ptr<Subdomain> make_bitlattice_subdomain(std::span<const std::uint8_t> bytes,
                                                     Transport& transport,
                                                     const RankOptionsOf& options) {
  const auto slab = read_spec<SlabSpec>(bytes);
  return make_slab(slab, transport, options(slab.cuda));
}

std::unique_ptr<Engine> make_distributed_bitlattice_engine(
    Transport& transport, const std::vector<std::uint32_t>& extents, const EngineSpec& spec,
    const EngineOptions& options) {
  Layout::make(extents);
  check_spec(EngineKind::bitlattice, spec);
  check_subdomains(extents, transport.size());
  return std::make_unique<DistributedEngine>(transport,
                                             SlabSpec{extents, spec, options.device >= 0}, options);
}

std::unique_ptr<Engine> make_bitlattice_on_threads(const std::vector<std::uint32_t>& extents,
                                                   const EngineSpec& spec,
                                                   const EngineOptions& options) {
  Layout::make(extents);
  check_spec(EngineKind::bitlattice, spec);
  check_subdomains(extents, rank_count(options));
  auto followers = follower_threads(options, make_bitlattice_subdomain);
  Transport& first = followers->first();
  return std::make_unique<DistributedEngine>(first, SlabSpec{extents, spec, true},
                                             options_of_rank(options, 0), std::move(followers));
}

}  // namespace rewise
