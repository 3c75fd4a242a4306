// Swendsen-Wang of one lattice on several CUDA devices, for RESULTS.md:
//   bench_team_gpu [--edges 4096,8192] [--p 0,0.01] [--q 2] [--teams 0/0,0/0,1] [--updates 40]
//                  [--methods fast,kalentev]
// Flips per ns at Tc (of p = 0; at p = 0.01: T = 2.4343), of updates alone and with a measurement
// after each (Komura & Okabe 2013, table 1); the hash says that all teams made the same moves.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "graphs/graph.hpp"
#include "src/base/clock.hpp"
#include "src/single/single.hpp"

namespace {

using namespace rewise;

std::vector<std::string> split(const std::string& list, char at) {
  std::vector<std::string> words;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, at);) words.push_back(word);
  return words;
}

double beta_of(double p, std::uint32_t q) {
  if (q > 2) return std::log(1 + std::sqrt(q));
  return p > 0 ? 1 / 2.4343 : std::log(1 + std::sqrt(2.0)) / 2;
}

void time_team(const Graph& graph, double p, std::uint32_t q, const std::vector<int>& team,
               const std::string& method, std::uint32_t updates) {
  EngineSpec spec;
  spec.model = q > 2 ? ModelKind::potts : ModelKind::ising;
  spec.q = q;
  spec.betas = {beta_of(p, q)};
  spec.replicas = 1;
  spec.cluster = ClusterUpdate::swendsen_wang;
  EngineOptions options;
  options.label_method = parse_label_method(method, "--methods");
  if (team.size() == 1) options.device = team.front();
  if (team.size() > 1) options.devices = team;
  const auto engine = make_single_engine(graph, spec, options);
  Observation sums;
  engine->advance({0, 1}, updates);  // warm-up
  engine->measure(sums);
  double best[2] = {1e30, 1e30};
  for (int repeat = 0; repeat < 3; ++repeat) {
    double start = now();
    engine->advance({0, 1}, updates);
    best[0] = std::min(best[0], (now() - start) / updates);
    start = now();
    for (std::uint32_t n = 0; n < updates / 2; ++n) {
      engine->advance({0, 1}, 1);
      engine->measure(sums);
    }
    best[1] = std::min(best[1], (now() - start) / (updates / 2));
  }
  const auto sites = static_cast<double>(graph.sites());
  fmt::print(
      "L {:5} p {:4} q {} {:8} cuda:{:4} {:8.1f} us {:6.2f} per ns, measured too {:6.2f}  "
      "{:016x}\n",
      graph.lattice().extent[0], p, q, method, fmt::format("{}", fmt::join(team, "+")),
      1e6 * best[0], sites / best[0] * 1e-9, sites / best[1] * 1e-9, engine->trajectory_hash());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> given{
      {"--edges", "4096,8192"}, {"--p", "0"},        {"--q", "2"},
      {"--teams", "0/0,0"},     {"--updates", "40"}, {"--methods", "fast"}};
  for (int n = 1; n + 1 < argc; n += 2) given[argv[n]] = argv[n + 1];
  const auto updates = static_cast<std::uint32_t>(std::stoul(given["--updates"]));
  for (const std::string& edge : split(given["--edges"], ',')) {
    for (const std::string& p : split(given["--p"], ',')) {
      const auto length = static_cast<std::uint32_t>(std::stoul(edge));
      const Graph graph = build_graph({{length, length}, std::stod(p), Rule::rewire, 1});
      for (const std::string& q : split(given["--q"], ',')) {
        for (const std::string& names : split(given["--teams"], '/')) {
          std::vector<int> team;
          for (const std::string& name : split(names, ',')) team.push_back(std::stoi(name));
          for (const std::string& method : split(given["--methods"], ',')) {
            time_team(graph, std::stod(p), static_cast<std::uint32_t>(std::stoul(q)), team, method,
                      updates);
          }
        }
      }
    }
  }
}
