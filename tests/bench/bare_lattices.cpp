// Measures bare lattices of rule `rewire` at given temperatures, where `rewise tc` would need too
// large lattices (analysis/README.md, "Small p in three dimensions"):
//
//   bench_bare_lattices DIM EDGE P GRAPHS FIRST EQUILIBRATE MEASURE PAIRS DEVICE SEED T..
//
// FIRST: number of the first lattice; PAIRS: 1 with sums over pairs of clusters, else 0; DEVICE: -1
// for the CPU. Writes a CSV line for every lattice and temperature. bond: per bond; m2 = <M^2>/N^2
// and m4 = <M^4>/N^4 by their improved estimators; hot, cold: m2 of the replicas of each start;
// plain: m2 of the spins; mm, md, dd: X2_MM, X2_MD, X2_DD per site, as in TreeTable. The
// columns from `removed` on, minus their known means (the line with graph = -1), are control
// variates (control_counts()).
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "graphs/bare.hpp"
#include "src/search/tc/tree_criterion.hpp"
#include "src/study/task_group.hpp"

namespace {

using namespace rewise;

struct Request {
  TaskSpec spec;
  std::uint32_t first = 0, graphs = 1;
};

Request request_of(int argc, char** argv) {
  Request request;
  const auto whole = [&](int at) { return std::strtoull(argv[at], nullptr, 10); };
  TaskSpec& spec = request.spec;
  spec.graph.extents.assign(whole(1), static_cast<std::uint32_t>(whole(2)));
  spec.graph.p = std::strtod(argv[3], nullptr);
  spec.graph.rule = Rule::rewire;
  spec.graph.bare = true;
  request.graphs = static_cast<std::uint32_t>(whole(4));
  request.first = static_cast<std::uint32_t>(whole(5));
  spec.cluster = ClusterUpdate::swendsen_wang;
  spec.schedule = {2, 1};
  spec.equilibrate = whole(6);
  spec.measure = whole(7);
  spec.cluster_pairs = whole(8) == 1;
  spec.seed = whole(10);
  for (int k = 11; k < argc; ++k) spec.temperatures.push_back(std::strtod(argv[k], nullptr));
  return request;
}

void write(const TaskSpec& spec, std::uint32_t graph, const TaskData& data,
           const Eigen::VectorXd& counts) {
  const double sites = static_cast<double>(data.graph.sites);
  const std::size_t replicas = data.replicas, times = data.bond_sum.time();
  const double each = 1 / static_cast<double>(replicas * times);
  for (std::size_t t = 0; t < data.temperature.size(); ++t) {
    double bond = 0, m2 = 0, m4 = 0, plain = 0, hot = 0, cold = 0, mm = 0, md = 0, dd = 0;
    for (std::size_t n = 0; n < times; ++n) {
      for (std::size_t r = 0; r < replicas; ++r) {
        const double square =
            static_cast<double>(data.cluster_size.at(t, n, r)) / (sites * sites) * each;
        m2 += square;
        (r % 2 == 1 ? hot : cold) += 2 * square;
        m4 += std::ldexp(static_cast<double>(data.cluster_quartic_high.at(t, n, r)), 64) * each;
        m4 += static_cast<double>(data.cluster_quartic_low.at(t, n, r)) * each;
        bond += static_cast<double>(data.bond_sum.at(t, n, r)) /
                static_cast<double>(data.graph.bonds) * each;
        const double m = static_cast<double>(data.magnetisation.at(t, n, r)) / sites;
        plain += m * m * each;
      }
      for (std::size_t r = 0; spec.cluster_pairs && r < replicas / 2; ++r) {
        const double of_pair = 2 * each / sites;
        mm += static_cast<double>(data.pair_size.at(t, n, r)) * of_pair;
        if (data.pair_cross.empty()) continue;
        md += static_cast<double>(data.pair_cross.at(t, n, r)) * of_pair;
        dd += static_cast<double>(data.pair_weight.at(t, n, r)) * of_pair;
      }
    }
    m4 /= std::pow(sites, 4);
    if (spec.cluster_pairs) dd -= counts[2] / sites;
    fmt::print(
        "{},{:.12g},{},{:.12g},{:.12g},{:.12g},{:.12g},{:.12g},{:.12g},{:.12g},{:.12g},"
        "{:.12g},{:.12g}",
        spec.graph.extents[0], spec.graph.p, graph, data.temperature[t], bond, m2, m4, plain, hot,
        cold, mm, md, dd);
    for (Eigen::Index k = 0; k < counts.size(); ++k) fmt::print(",{:.12g}", counts[k]);
    fmt::print("\n");
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 12) {
    fmt::print(stderr,
               "usage: {} DIM EDGE P GRAPHS FIRST EQUILIBRATE MEASURE PAIRS DEVICE SEED T..\n",
               argv[0]);
    return 2;
  }
  const Request request = request_of(argc, argv);
  TaskRunOptions run;
  run.engine.device = std::atoi(argv[9]);
  const Eigen::VectorXd mean = control_counts(mean_bare_counts(request.spec.graph));
  fmt::print(
      "edge,p,graph,temperature,bond,m2,m4,plain,hot,cold,mm,md,dd,removed,removed_pairs,"
      "d_ends,d_pairs,d_removed,removed_beside_removed,d_beside_removed,d_beside_d\n");
  // The line of the known means.
  fmt::print("{},{:.12g},-1,0,0,0,0,0,0,0,0,0,0", request.spec.graph.extents[0],
             request.spec.graph.p);
  for (Eigen::Index k = 0; k < mean.size(); ++k) fmt::print(",{:.12g}", mean[k]);
  fmt::print("\n");
  const std::size_t together =
      run.engine.device < 0 ? 1 : std::max<std::size_t>(1, group_size(request.spec).max_tasks);
  for (std::uint32_t done = 0; done < request.graphs;) {
    std::vector<TaskJob> jobs;
    std::vector<Eigen::VectorXd> counts;
    for (; done + jobs.size() < request.graphs && jobs.size() < together;) {
      const std::uint32_t graph = request.first + done + static_cast<std::uint32_t>(jobs.size());
      TaskJob job;
      job.spec = request.spec;
      job.spec.graph.seed = (request.spec.seed << 32) + graph;
      job.spec.seed = (request.spec.seed << 32) + graph;
      job.final_state = FinalState::none;
      jobs.push_back(job);
    }
    counts.resize(jobs.size());
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      jobs[k].on_graph = [&counts, k](const Graph& bare) {
        counts[k] = control_counts(bare_counts(bare));
      };
    }
    const std::size_t count = jobs.size();
    const std::vector<TaskResult> results = run_tasks(std::move(jobs), run);
    for (std::size_t k = 0; k < count; ++k) {
      if (results[k].error) std::rethrow_exception(results[k].error);
      write(request.spec, request.first + done + static_cast<std::uint32_t>(k), results[k].data,
            counts[k]);
    }
    done += static_cast<std::uint32_t>(count);
  }
}
