// The bitlattice engine on the CPU.
#include <omp.h>

#include <algorithm>

#include "src/base/clock.hpp"
#include "src/bitlattice/bitlattice_engine.hpp"
#include "src/bitlattice/host_replicas.hpp"

namespace rewise::bitlattice {
namespace {

class CpuEngine final : public BitlatticeEngine {
 public:
  CpuEngine(const Layout& layout, const EngineSpec& spec, const EngineOptions& options)
      : BitlatticeEngine(layout, spec),
        options_(options),
        threads_(options.threads > 0 ? options.threads : omp_get_max_threads()),
        all_{0, layout_.colour_words()},
        spins_(layout_, rules_, all_, threads_now(options_, threads_)) {}

  std::string_view device() const override { return "cpu"; }
  int threads() const override { return threads_; }

  bool advance(const Schedule& schedule, std::uint64_t cycles) override {
    return advance_replicas(
        options_, schedule, cycles,
        [&](std::size_t first, std::size_t last, std::uint64_t step, std::uint64_t steps) {
          const int threads = threads_now(options_, threads_);
          for (std::uint64_t n = 0; n < steps; ++n) {
            spins_.make_draws(first, last, step + n);
            for (const int colour : {0, 1}) spins_.update(first, last, colour, {&all_, 1}, threads);
          }
        });
  }

  void measure(Observation& out) override {
    const double begin = now();
    std::vector<std::uint64_t> sums(2 * replicas_);
    spins_.count(sums, threads_now(options_, threads_));
    fill_observation(sums, out);
    work_.measure_seconds += now() - begin;
  }

 private:
  void read_words(std::size_t replica, std::uint64_t first,
                  std::span<std::uint32_t> out) const override {
    std::copy_n(spins_.words(replica, 0) + first, out.size(), out.begin());
  }
  void write_words(std::size_t replica, std::uint64_t first,
                   std::span<const std::uint32_t> words) override {
    std::copy(words.begin(), words.end(), spins_.words(replica, 0) + first);
  }

  const EngineOptions options_;
  const int threads_;
  const Words all_;  // of a colour
  HostReplicas spins_;
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(const Layout& layout, const EngineSpec& spec,
                                        const EngineOptions& options) {
  return std::make_unique<CpuEngine>(layout, spec, options);
}

}  // namespace rewise::bitlattice
