#include "experiments/commands/bench_limits.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/cuda/devices.hpp"
#include "src/study/build_info.hpp"

namespace rewise {
namespace {

// 7 rounds of two wide products and two three-way exclusive ors give four random words.
constexpr double kPhilox = 7 * 4;

double triad_rate(int threads) {
  constexpr std::int64_t size = std::int64_t{1} << 23;  // 64 MiB each
  const auto a = std::make_unique_for_overwrite<double[]>(size);
  const auto b = std::make_unique_for_overwrite<double[]>(size);
  const auto c = std::make_unique_for_overwrite<double[]>(size);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t i = 0; i < size; ++i) a[i] = b[i] = c[i] = static_cast<double>(i);
  double best = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double begin = now();
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::int64_t i = 0; i < size; ++i) a[i] = b[i] + 3 * c[i];
    best = std::min(best, now() - begin);
    std::swap(b[0], a[static_cast<std::size_t>(size) - 1]);  // no loop can be left out
  }
  return 24.0 * static_cast<double>(size) / best;
}

}  // namespace

DeviceLimits device_limits(const Device& device, int threads) {
  DeviceLimits limits;
  limits.device = device.name;
  if (device.index < 0) {
    limits.title = fmt::format("{}, {} thread(s)", cpu_name(), threads);
    limits.copy_rate = triad_rate(threads);
    return limits;
  }
  for (const CudaDevice& cuda : cuda_devices()) {
    const auto& team = device.team;
    if (cuda.index != device.index && std::count(team.begin(), team.end(), cuda.index) == 0)
      continue;
    const double rate = integer_rate(cuda);
    limits.title += (limits.title.empty() ? "" : " + ") + cuda.name;
    limits.copy_rate += copy_rate(cuda);
    limits.integer_rate += rate;
    limits.integer_rate_from +=
        fmt::format("{}{} multiprocessors x {:.3g} GHz x {:.0f} lanes",
                    limits.integer_rate_from.empty() ? "" : " + ", cuda.multiprocessors,
                    1e-9 * cuda.clock, rate / (cuda.multiprocessors * cuda.clock));
  }
  return limits;
}

double least_bytes(EngineKind engine, Update update, const Graph& graph, std::uint32_t replicas) {
  const auto sites = static_cast<double>(graph.sites());
  // Neighbours of modified cells, one 32-bit index each, read once for all replicas.
  const double lists =
      4.0 * static_cast<double>(graph.offsets().empty() ? 0 : graph.offsets().back());
  const double words = traits(engine).bytes_of_spin * replicas;  // bytes of a site
  if (update == ClusterUpdate::wolff || update == ClusterUpdate::few_cluster) return 0;
  // Swendsen-Wang: spins read and written, labels (16 bit in tiles, else 32) written and read.
  const double label = traits(engine).word > 1 ? 2 : 4;
  if (update == ClusterUpdate::swendsen_wang)
    return sites * (2 * words + 2 * label * replicas) + lists;
  // Colour by colour: the half that is updated read and written, the other half read.
  return 3 * sites * words + lists;
}

double least_instructions(EngineKind engine, Update update, const Graph& graph) {
  const double degree =
      2.0 * static_cast<double>(graph.bonds()) / static_cast<double>(graph.sites());
  // Of 32 fractions compared digit by digit with thresholds some nine digits are read before the
  // last one has settled: two calls, a tenth of the words a third and fourth; two instructions per
  // digit.
  constexpr double kDigits = 2.2 * kPhilox + 2 * 2.2 * 4;
  if (update == ClusterUpdate::swendsen_wang) {
    return kDigits * degree / 2 / 32 + 8;  // bonds 32 at a time; a find and a union per site
  }
  if (traits(engine).word > 1 && update != ClusterUpdate::wolff)
    return (kDigits + 2.5 * degree) / 32;
  // One fraction of 32 bits per site, or per bond of a cluster's tree, is a quarter of a call; the
  // sum of the neighbours or the tests of the bonds.
  return kPhilox / 4 + 2 * degree;
}

double least_bitlattice_bytes(const std::vector<std::uint32_t>& extents, std::uint32_t replicas) {
  double sites = replicas;
  for (const auto extent : extents) sites *= extent;
  return 3 * sites / 8;
}

double least_bitlattice_instructions(int dim) {
  // A word's eight digits in two calls, a quarter of a call for what is left of four words; calls
  // at one item share products, which leaves nine, as many exclusive ors and one more for each.
  constexpr double kCalls = 2.25, kCall = 2 * 9 + 1;
  return (kCalls * (kCall + 2 * 4) + 2.5 * 2 * dim) / 32;
}

}  // namespace rewise
