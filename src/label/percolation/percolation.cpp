#include "src/label/percolation/percolation.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>

#include "analysis/series/jackknife.hpp"
#include "src/label/percolation/cluster_counts.hpp"
#include "src/label/percolation/occupy.hpp"

namespace rewise {
namespace {

// What is averaged over samples.
enum Column { kOne, kEither, kAll, kLargest, kLargestSquare, kOthers, kOccupied, kClusters };
constexpr Eigen::Index kColumns = 8;

void add_sample(const ClusterCounts& counts, int dim, double sites,
                Eigen::Ref<Eigen::ArrayXd> row) {
  const auto wrapped = std::count(counts.wraps.begin(), counts.wraps.end(), true);
  const double largest = static_cast<double>(counts.largest) / sites;
  row[kOne] += static_cast<double>(wrapped) / dim;
  row[kEither] += wrapped > 0;
  row[kAll] += wrapped == dim;
  row[kLargest] += largest;
  row[kLargestSquare] += largest * largest;
  row[kOthers] += counts.square / sites - largest * static_cast<double>(counts.largest);
  row[kOccupied] += static_cast<double>(counts.sites) / sites;
  row[kClusters] += static_cast<double>(counts.clusters) / sites;
}

// One block of one size: averages over its samples, [occupation, column].
Eigen::ArrayXXd sample_block(const PercolationSpec& spec, std::uint32_t size, std::uint32_t block) {
  GraphSpec graph_spec = spec.sizes[size];
  graph_spec.seed += block;
  const Graph graph = build_graph(graph_spec);
  BondConfiguration configuration(graph.lattice());
  ClusterCounter counter(graph.lattice(), graph.sites());
  const auto occupations = static_cast<Eigen::Index>(spec.occupation.size());
  Eigen::ArrayXXd sums = Eigen::ArrayXXd::Zero(kColumns, occupations);
  for (std::uint32_t n = 0; n < spec.samples; ++n) {
    const SampleKey key{spec.seed, block * spec.samples + n, size};
    for (Eigen::Index k = 0; k < occupations; ++k) {
      const Threshold share = threshold(spec.occupation[static_cast<std::size_t>(k)]);
      if (spec.kind == PercolationKind::bond) {
        draw_bonds(graph, share, key, configuration);
      } else {
        draw_sites(graph, share, key, configuration);
      }
      Eigen::ArrayXd column = sums.col(k);
      add_sample(counter.count(configuration), graph.lattice().dim,
                 static_cast<double>(graph.sites()), column);
      sums.col(k) = column;
    }
  }
  return (sums / spec.samples).transpose();
}

double ratio_of(const Eigen::VectorXd& x) {
  return x[kLargestSquare] > 0 ? x[kLargest] * x[kLargest] / x[kLargestSquare] : 0;
}

// A share of `samples` that wrap, with an error where none or all do (percolation.hpp).
Value wrapping_share(Value share, double samples, double occupation) {
  const bool certain = occupation == 0 || occupation == 1;
  if (certain || (share.value != 0 && share.value != 1)) return share;
  return {share.value, std::sqrt((samples + 1) / (samples + 3)) / (samples + 2)};
}

// Samples that are all alike do not tell how far they may lie off.
Value unless_alike(Value v, double occupation) {
  const bool certain = occupation == 0 || occupation == 1;
  if (certain || v.error != 0) return v;
  return {v.value, std::numeric_limits<double>::quiet_NaN()};
}

// `rows` [block, column] of one occupation; `samples` in all.
PercolationPoint point_of(const Eigen::ArrayXXd& rows, double samples, double occupation) {
  const Estimates e = jackknife(rows, [](const Eigen::VectorXd& x) {
    Eigen::VectorXd y(7);
    y << x[kOne], x[kEither], x[kAll], x[kLargest], ratio_of(x),
        x[kOccupied] > 0 ? x[kOthers] / x[kOccupied] : 0.0, x[kClusters];
    return y;
  });
  const auto wrapping = [&](Value share) { return wrapping_share(share, samples, occupation); };
  const auto other = [&](Value v) { return unless_alike(v, occupation); };
  return {wrapping(e[0]), wrapping(e[1]), wrapping(e[2]), other(e[3]),
          other(e[4]),    other(e[5]),    other(e[6])};
}

// `blocks` [block][occupation, column]
PercolationCurves curves_of(const PercolationSpec& spec, std::size_t size,
                            const std::vector<Eigen::ArrayXXd>& blocks) {
  const auto count = static_cast<Eigen::Index>(spec.occupation.size());
  const auto members = static_cast<Eigen::Index>(blocks.size());
  const bool rewired = spec.sizes[size].p > 0;
  PercolationCurves curves;
  curves.extents = spec.sizes[size].extents;
  curves.crossing.sample = static_cast<int>(size);
  curves.crossing.sites = 1;
  for (const auto extent : curves.extents) curves.crossing.sites *= extent;
  curves.crossing.temperature.resize(count);
  curves.crossing.value.resize(count);
  curves.crossing.left_out.resize(members, count);
  const auto observable = [rewired](const Eigen::VectorXd& x) {
    return rewired ? ratio_of(x) : x[kEither];
  };
  for (Eigen::Index k = 0; k < count; ++k) {
    Eigen::ArrayXXd rows(members, kColumns);
    for (Eigen::Index b = 0; b < members; ++b)
      rows.row(b) = blocks[static_cast<std::size_t>(b)].row(k);
    const double samples = static_cast<double>(members) * spec.samples;
    curves.points.push_back(point_of(rows, samples, spec.occupation[static_cast<std::size_t>(k)]));
    const Eigen::Index at = count - 1 - k;  // -occupation ascends
    const Eigen::ArrayXXd left = leave_one_out_means(rows);
    curves.crossing.temperature[at] = -spec.occupation[static_cast<std::size_t>(k)];
    curves.crossing.value[at] = observable(rows.colwise().mean().matrix().transpose());
    for (Eigen::Index b = 0; b < members; ++b) {
      curves.crossing.left_out(b, at) = observable(left.row(b).matrix().transpose());
    }
  }
  return curves;
}

}  // namespace

std::optional<std::vector<PercolationCurves>> sample_percolation(
    const PercolationSpec& spec, const std::function<bool(double)>& done) {
  const std::size_t sizes = spec.sizes.size();
  std::vector<std::vector<Eigen::ArrayXXd>> blocks(sizes,
                                                   std::vector<Eigen::ArrayXXd>(spec.blocks));
  double work = 0;
  std::vector<double> cost(sizes, 1);
  for (std::size_t size = 0; size < sizes; ++size) {
    for (const auto extent : spec.sizes[size].extents) cost[size] *= extent;
    work += cost[size] * spec.blocks;
  }
  bool stopped = false;
  std::exception_ptr failure;
  const std::size_t jobs = sizes * spec.blocks;
#pragma omp parallel for schedule(dynamic, 1) num_threads(spec.threads)
  for (std::size_t job = 0; job < jobs; ++job) {
    bool skip = false;
#pragma omp atomic read
    skip = stopped;
    if (skip) continue;
    const std::size_t size = sizes - 1 - job / spec.blocks;  // the largest first
    const std::size_t block = job % spec.blocks;
    try {
      blocks[size][block] =
          sample_block(spec, static_cast<std::uint32_t>(size), static_cast<std::uint32_t>(block));
    } catch (...) {
#pragma omp critical(percolation)
      failure = std::current_exception();
    }
#pragma omp critical(percolation)
    {
      const bool go_on = done(cost[size] / work) && !failure;
      if (!go_on) {
#pragma omp atomic write
        stopped = true;
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
  if (stopped) return std::nullopt;
  std::vector<PercolationCurves> curves;
  for (std::size_t size = 0; size < sizes; ++size) {
    curves.push_back(curves_of(spec, size, blocks[size]));
  }
  return curves;
}

std::vector<PercolationCrossing> percolation_crossings(
    const std::vector<PercolationCurves>& curves) {
  std::vector<PercolationCrossing> crossings;
  for (std::size_t k = 0; k + 1 < curves.size(); ++k) {
    PercolationCrossing c{k, k + 1, CrossingStatus::none, {}, {}};
    const Crossing found = find_crossing(curves[k].crossing, curves[k + 1].crossing);
    c.status = found.status;
    if (found.status == CrossingStatus::found) {
      c.occupation = estimate(found.temperature);
      c.occupation.value = -c.occupation.value;
      c.height = estimate(found.height);
      // Noise: both are probabilities, or ratios of such means.
      const Eigen::ArrayXd& shares = curves[k].crossing.temperature;
      const bool inside =
          -c.occupation.value >= shares.minCoeff() && -c.occupation.value <= shares.maxCoeff();
      if (!inside || c.height.value < 0 || c.height.value > 1) {
        c.status = CrossingStatus::unstable;
      }
    }
    crossings.push_back(c);
  }
  return crossings;
}

std::optional<KnownPercolation> known_percolation(PercolationKind kind, int dim) {
  const bool bond = kind == PercolationKind::bond;
  switch (dim) {
    case 2:  // bonds exact (Kesten 1980); sites: Jacobsen, J. Phys. A 48, 454003 (2015)
      return KnownPercolation{bond ? 0.5 : 0.59274605, 4.0 / 3};
    case 3:  // Wang, Zhou, Zhang, Garoni & Deng, PRE 87, 052107 (2013)
      return KnownPercolation{bond ? 0.24881185 : 0.31160768, 0.8764};
    case 4:  // Xun & Ziff, PRR 2, 013067 (2020); Mertens & Moore, PRE 98, 022120 (2018)
      return KnownPercolation{bond ? 0.1601312 : 0.19688561, 0.6845};
    default:
      return std::nullopt;
  }
}

}  // namespace rewise
