// The bitlattice engine on the CPU: the strips of all systems are spread over the threads, colour
// by colour.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <optional>

#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/bitlattice/bitlattice.hpp"
#include "src/bitlattice/bitlattice_engine.hpp"
#include "src/bitlattice/local.hpp"
#include "src/bitlattice/shared.hpp"

namespace rewise {
namespace {

using namespace bitlattice;

class CpuEngine final : public BitlatticeEngine {
 public:
  CpuEngine(const Layout& layout, std::optional<RewiredLattice> rewired, const EngineSpec& spec,
            const EngineOptions& options);

  std::string_view device() const override { return "cpu"; }
  int threads() const override { return threads_; }
  bool advance(const Schedule& schedule, std::uint64_t cycles) override;
  void measure(Observation& out) override;

 private:
  std::uint32_t* system(std::size_t who) { return spins_.get() + who * layout_.words(); }
  void read_words(std::size_t who, std::uint64_t first,
                  std::span<std::uint32_t> out) const override {
    std::copy_n(spins_.get() + who * layout_.words() + first, out.size(), out.begin());
  }
  void write_words(std::size_t who, std::uint64_t first,
                   std::span<const std::uint32_t> words) override {
    std::copy(words.begin(), words.end(), system(who) + first);
  }
  void start();
  const std::uint32_t* regular(int colour) const {
    return rewired_ ? rewired_->regular(colour) : nullptr;
  }
  ModifiedUpdate modified_update(std::size_t who, std::uint32_t step, int colour) const {
    const std::size_t row = who / spec_.replicas * rewired_->fields() + rewired_->no_field();
    return {flip_.data() + row, spec_.seed, static_cast<std::uint32_t>(who), step, colour};
  }

  const EngineOptions options_;
  const std::optional<RewiredLattice> rewired_;
  ModifiedCells cells_[2]{};     // of rewired_
  std::vector<Threshold> flip_;  // likewise, [T][fields]
  int threads_;
  std::unique_ptr<std::uint32_t[]> spins_;  // [systems][words]
  std::vector<Draws> draws_;                // [systems], of the current step
};

CpuEngine::CpuEngine(const Layout& layout, std::optional<RewiredLattice> rewired,
                     const EngineSpec& spec, const EngineOptions& options)
    : BitlatticeEngine(layout, rewired ? rewired->bonds() : layout.bonds(), spec),
      options_(options),
      rewired_(std::move(rewired)),
      threads_(options.threads > 0 ? options.threads : omp_get_max_threads()) {
  check_machine_memory(layout_, systems_);
  spins_ = std::make_unique_for_overwrite<std::uint32_t[]>(systems_ * layout_.words());
  draws_.resize(systems_);
  if (rewired_) {
    for (const int colour : {0, 1}) cells_[colour] = rewired_->cells(colour);
    flip_ = rewired_->thresholds(spec);
  }
  start();
}

// The thread that starts a strip is mostly the one that updates it: its memory lies near.
void CpuEngine::start() {
  const Words all{0, layout_.colour_words()};
  const std::uint64_t each = strips(all);
  const int threads = threads_now(options_, threads_);
  for (int colour = 0; colour < 2; ++colour) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::uint64_t k = 0; k < systems_ * each; ++k) {
      start_strip(layout_, rules_, k / each, colour, strip_of(all, k % each), system(k / each));
    }
  }
}

bool CpuEngine::advance(const Schedule& schedule, std::uint64_t cycles) {
  const Words all{0, layout_.colour_words()};
  const std::uint64_t each = strips(all);
  return advance_systems(
      options_, schedule, cycles,
      [&](std::size_t begin, std::size_t end, std::uint64_t step, std::uint64_t steps) {
#pragma omp parallel num_threads(threads_now(options_, threads_))
        for (std::uint64_t n = 0; n < steps; ++n) {
#pragma omp for schedule(static)
          for (std::size_t who = begin; who < end; ++who) {
            draws_[who] = draws(who, static_cast<std::uint32_t>(step + n));
          }
          for (int colour = 0; colour < 2; ++colour) {
#pragma omp for schedule(static)
            for (std::uint64_t k = begin * each; k < end * each; ++k) {
              update_strip(layout_, draws_[k / each], spec_.local, colour, strip_of(all, k % each),
                           system(k / each), regular(colour));
            }
            const std::uint64_t more = pieces(cells_[colour]);
#pragma omp for schedule(static)
            for (std::uint64_t k = begin * more; k < end * more; ++k) {
              update_piece(layout_, cells_[colour], k % more,
                           modified_update(k / more, static_cast<std::uint32_t>(step + n), colour),
                           system(k / more));
            }
          }
        }
      });
}

void CpuEngine::measure(Observation& out) {
  const double begin = now();
  const int threads = threads_now(options_, threads_);
  std::vector<unsigned long long> unequal(systems_), up(systems_);
  const Words all{0, layout_.colour_words()};
  const std::uint64_t each = strips(all), more = pieces(cells_[0]);
  for (std::size_t who = 0; who < systems_; ++who) {
    unsigned long long bonds = 0, sites = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : bonds, sites)
    for (std::uint64_t k = 0; k < each; ++k) {
      const Counts counts = count_strip(layout_, strip_of(all, k), system(who), regular(0));
      bonds += counts.unequal;
      sites += counts.up;
    }
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : bonds)
    for (std::uint64_t k = 0; k < more; ++k)
      bonds += unequal_in_piece(layout_, cells_[0], k, system(who));
    unequal[who] = bonds;
    up[who] = sites;
  }
  report(unequal.data(), up.data(), out);
  work_.measure_seconds += now() - begin;
}

}  // namespace

std::uint64_t packed_bytes(const std::vector<std::uint32_t>& extents) {
  return 4 * Layout::make(extents).words();
}

namespace {

// Error(usage) where there is no lattice.
std::vector<std::uint32_t> extents_of(const Graph& graph) {
  const Lattice& lattice = graph.lattice();
  if (lattice.dim == 0) {
    throw Error(ExitCode::usage, "the bitlattice engine takes lattices, not imported graphs");
  }
  return {lattice.extent.begin(), lattice.extent.begin() + lattice.dim};
}

std::unique_ptr<Engine> make_engine(const Layout& layout, std::optional<RewiredLattice> rewired,
                                    const EngineSpec& spec, const EngineOptions& options) {
  if (options.device >= 0) {
#if defined(REWISE_HAVE_CUDA)
    return make_cuda_engine(layout, rewired ? &*rewired : nullptr, spec, options);
#else
    throw Error(ExitCode::device, "this build has no CUDA engines");
#endif
  }
  return std::make_unique<CpuEngine>(layout, std::move(rewired), spec, options);
}

}  // namespace

std::unique_ptr<Engine> make_bitlattice_engine(const std::vector<std::uint32_t>& extents,
                                               const EngineSpec& spec,
                                               const EngineOptions& options) {
  const Layout layout = Layout::make(extents);
  check_bitlattice_spec(spec, options);
  if (!options.devices.empty()) return make_bitlattice_team(extents, spec, options);
  return make_engine(layout, std::nullopt, spec, options);
}

std::unique_ptr<Engine> make_bitlattice_engine(const Graph& graph, const EngineSpec& spec,
                                               const EngineOptions& options) {
  if (graph.modified_sites().empty()) {
    return make_bitlattice_engine(extents_of(graph), spec, options);
  }
  const Layout layout = Layout::make(extents_of(graph));
  check_bitlattice_spec(spec, options);
  if (!options.devices.empty()) {
    throw Error(ExitCode::usage,
                "several devices: the bitlattice engine shares regular lattices alone (take one "
                "device, or the bytespin engine)");
  }
  return make_engine(layout, RewiredLattice(layout, graph), spec, options);
}

}  // namespace rewise
