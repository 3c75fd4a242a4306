// The bitlattice engine on the CPU: the strips of all replicas are spread over the threads, colour
// by colour.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>

#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/bitlattice/bitlattice.hpp"
#include "src/bitlattice/bitlattice_engine.hpp"
#include "src/bitlattice/distributed_engine.hpp"
#include "src/bitlattice/local.hpp"
#include "src/cuda/devices.hpp"

namespace rewise {
namespace {

using namespace bitlattice;

class CpuEngine final : public BitlatticeEngine {
 public:
  CpuEngine(const Layout& layout, const EngineSpec& spec, const EngineOptions& options);

  std::string_view device() const override { return "cpu"; }
  int threads() const override { return threads_; }
  bool advance(const Schedule& schedule, std::uint64_t cycles) override;
  void measure(Observation& out) override;

 private:
  std::uint32_t* spins_of(std::size_t replica) { return spins_.get() + replica * layout_.words(); }
  void read_words(std::size_t replica, std::uint64_t first,
                  std::span<std::uint32_t> out) const override {
    std::copy_n(spins_.get() + replica * layout_.words() + first, out.size(), out.begin());
  }
  void write_words(std::size_t replica, std::uint64_t first,
                   std::span<const std::uint32_t> words) override {
    std::copy(words.begin(), words.end(), spins_of(replica) + first);
  }
  void start();

  const EngineOptions options_;
  int threads_;
  std::unique_ptr<std::uint32_t[]> spins_;  // [replicas][words]
  std::vector<Draws> draws_;                // [replicas], of the current step
};

CpuEngine::CpuEngine(const Layout& layout, const EngineSpec& spec, const EngineOptions& options)
    : BitlatticeEngine(layout, spec),
      options_(options),
      threads_(options.threads > 0 ? options.threads : omp_get_max_threads()) {
  check_machine_memory(layout_, replicas_);
  spins_ = std::make_unique_for_overwrite<std::uint32_t[]>(replicas_ * layout_.words());
  draws_.resize(replicas_);
  start();
}

// The thread that initialises a strip usually updates it, so its memory is local (NUMA).
void CpuEngine::start() {
  const Words all{0, layout_.colour_words()};
  const std::uint64_t each = strips(all);
  const int threads = threads_now(options_, threads_);
  for (int colour = 0; colour < 2; ++colour) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::uint64_t k = 0; k < replicas_ * each; ++k) {
      start_strip(layout_, rules_, k / each, colour, strip_of(all, k % each), spins_of(k / each));
    }
  }
}

bool CpuEngine::advance(const Schedule& schedule, std::uint64_t cycles) {
  const Words all{0, layout_.colour_words()};
  const std::uint64_t each = strips(all);
  return advance_replicas(
      options_, schedule, cycles,
      [&](std::size_t begin, std::size_t end, std::uint64_t step, std::uint64_t steps) {
#pragma omp parallel num_threads(threads_now(options_, threads_))
        for (std::uint64_t n = 0; n < steps; ++n) {
#pragma omp for schedule(static)
          for (std::size_t replica = begin; replica < end; ++replica) {
            draws_[replica] = draws(replica, static_cast<std::uint32_t>(step + n));
          }
          for (int colour = 0; colour < 2; ++colour) {
#pragma omp for schedule(static)
            for (std::uint64_t k = begin * each; k < end * each; ++k) {
              update_strip(layout_, draws_[k / each], spec_.local, colour, strip_of(all, k % each),
                           spins_of(k / each));
            }
          }
        }
      });
}

void CpuEngine::measure(Observation& out) {
  const double begin = now();
  const int threads = threads_now(options_, threads_);
  std::vector<unsigned long long> unequal(replicas_), up(replicas_);
  const Words all{0, layout_.colour_words()};
  const std::uint64_t each = strips(all);
  for (std::size_t replica = 0; replica < replicas_; ++replica) {
    unsigned long long bonds = 0, sites = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : bonds, sites)
    for (std::uint64_t k = 0; k < each; ++k) {
      const Counts counts = count_strip(layout_, strip_of(all, k), spins_of(replica));
      bonds += counts.unequal;
      sites += counts.up;
    }
    unequal[replica] = bonds;
    up[replica] = sites;
  }
  EngineBase::fill_observation(unequal.data(), up.data(), out);
  work_.measure_seconds += now() - begin;
}

}  // namespace

std::uint64_t packed_bytes(const std::vector<std::uint32_t>& extents) {
  return 4 * Layout::make(extents).words();
}

std::vector<std::uint32_t> regular_extents(const Graph& graph) {
  const Lattice& lattice = graph.lattice();
  if (lattice.dim == 0 || !graph.modified_sites().empty()) {
    throw Error(
        ExitCode::usage,
        "the bitlattice engine supports regular lattices only, not rewired or imported graphs "
        "(use the multispin or bytespin engine)");
  }
  return {lattice.extent.begin(), lattice.extent.begin() + lattice.dim};
}

std::unique_ptr<Engine> make_bitlattice_engine(const std::vector<std::uint32_t>& extents,
                                               const EngineSpec& spec,
                                               const EngineOptions& options) {
  const Layout layout = Layout::make(extents);
  check_bitlattice_spec(spec, options);
  if (!options.devices.empty()) return make_bitlattice_team(extents, spec, options);
  if (options.device >= 0) {
#if defined(REWISE_HAVE_CUDA)
    return make_cuda_engine(layout, spec, options);
#else
    no_cuda();
#endif
  }
  return std::make_unique<CpuEngine>(layout, spec, options);
}

std::unique_ptr<Engine> make_bitlattice_engine(const Graph& graph, const EngineSpec& spec,
                                               const EngineOptions& options) {
  return make_bitlattice_engine(regular_extents(graph), spec, options);
}

}  // namespace rewise
