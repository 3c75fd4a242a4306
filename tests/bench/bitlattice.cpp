// Speeds of the bitlattice engine, for RESULTS.md: bench_bitlattice [cpu|cuda [seconds [L]]]
// Attempted updates per ns, a cold start and a warm-up at Tc first; medians of five pieces.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "src/base/clock.hpp"
#include "src/bitlattice/bitlattice.hpp"

namespace {

using namespace rewise;

struct Setting {
  int device, threads;
  double seconds;  // of a piece, about
};

struct Rates {
  double sweep;        // s
  double measurement;  // s
};

Rates time_engine(const std::vector<std::uint32_t>& extents, double temperature, LocalUpdate local,
                  const Setting& setting) {
  EngineSpec spec;
  spec.betas = {1 / temperature};
  spec.replicas = 1;
  spec.local = local;
  spec.start = Start::cold;
  EngineOptions options;
  options.device = setting.device;
  options.threads = setting.threads;
  const auto engine = make_bitlattice_engine(extents, spec, options);
  engine->advance({1, 0}, 20);
  const double begin = now();
  engine->advance({1, 0}, 10);
  const double sweep = (now() - begin) / 10;
  const auto sweeps = static_cast<std::uint64_t>(std::max(1.0, setting.seconds / sweep));
  std::vector<double> seconds;
  for (int piece = 0; piece < 5; ++piece) {
    const double start = now();
    engine->advance({1, 0}, sweeps);
    seconds.push_back((now() - start) / static_cast<double>(sweeps));
  }
  std::sort(seconds.begin(), seconds.end());
  Observation seen;
  engine->measure(seen);
  const double start = now();
  for (int n = 0; n < 5; ++n) engine->measure(seen);
  return {seconds[2], (now() - start) / 5};
}

void row(const std::vector<std::uint32_t>& extents, double temperature, LocalUpdate local,
         const Setting& setting) {
  const Rates rates = time_engine(extents, temperature, local, setting);
  double sites = 1;
  for (const auto extent : extents) sites *= extent;
  fmt::print(
      "  {}D L={:<6} {:<10} T={:<8.6f} {:8.1f} updates per ns, {:10.1f} us per sweep, "
      "measurement {:.2f} of a sweep\n",
      extents.size(), extents[0], to_string(local), temperature, sites / rates.sweep * 1e-9,
      rates.sweep * 1e6, rates.measurement / rates.sweep);
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const bool cuda = argc < 2 || std::string(argv[1]) == "cuda";
  const double seconds = argc > 2 ? std::atof(argv[2]) : 0.1;
  const double square = 2.269185314213022, cubic = 4.5115232;
  const auto metropolis = LocalUpdate::metropolis, glauber = LocalUpdate::glauber;
  if (cuda) {
    const Setting setting{0, 1, seconds};
    if (argc > 3) {
      const auto L = static_cast<std::uint32_t>(std::atoi(argv[3]));
      row({L, L}, square, metropolis, setting);
      return 0;
    }
    for (const std::uint32_t L : {1024u, 2048u, 4096u, 8192u, 16384u, 32768u, 65536u, 131072u}) {
      row({L, L}, square, metropolis, setting);
    }
    row({131072, 131072}, square, glauber, setting);
    row({131072, 131072}, 1.5, metropolis, setting);
    row({131072, 131072}, 4, metropolis, setting);
    row({16000, 16000}, square, metropolis, setting);
    row({1024, 1024, 1024}, cubic, metropolis, setting);
    row({1024, 1024, 1024}, cubic, glauber, setting);
    row({2048, 2048, 2048}, cubic, metropolis, setting);
    return 0;
  }
  for (const int threads : {1, 0}) {
    fmt::print("{} thread(s)\n", threads == 0 ? "all" : "1");
    const Setting setting{-1, threads, seconds};
    for (const std::uint32_t L : {256u, 1024u, 4096u, 16384u}) {
      row({L, L}, square, metropolis, setting);
    }
    row({4096, 4096}, square, glauber, setting);
    row({256, 256, 256}, cubic, metropolis, setting);
  }
}
