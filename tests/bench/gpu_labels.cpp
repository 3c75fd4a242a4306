// Swendsen-Wang by the papers' labelling methods on CUDA device 0, step by step, for RESULTS.md:
//   bench_labels_gpu [--edges 512,8192] [--methods a,b] [--q 2,3,4] [--ratios 0.6,1,1.4]
//                    [--tiles 0,16] [--updates 20]
// ns per site of each step: means over updates after a warm-up. q = 2, 3, 4 at beta / beta_c; Potts
// units, beta_c = ln(1 + sqrt q) (Weigel 2011, table 1 and figures 2, 8 to 12).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "graphs/graph.hpp"
#include "src/bytespin/device_graph.hpp"
#include "src/bytespin/swendsen_wang/swendsen_wang_fused.hpp"
#include "src/bytespin/swendsen_wang/swendsen_wang_labels_cuda.hpp"
#include "src/cuda/device_stream.hpp"

namespace {

using namespace rewise;
using namespace rewise::bytespin;

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

// One system on the device, all spins equal at first.
class Bench {
 public:
  Bench(const Graph& graph, const EngineSpec& spec)
      : plan_(graph, spec),
        device_(plan_, queue_.get()),
        stride_((plan_.sites + 255) / 256 * 256),
        spins_(stride_),
        sums_(3) {
    spins_.clear(queue_.get());
    sums_.clear(queue_.get());
    systems_ = {1, 1, 1, 0, stride_, spins_.data(), sums_.data()};
  }

  // By the fast path, into equilibrium. Returns ns per site of the last half.
  double equilibrate(std::uint32_t updates) {
    FusedSwendsenWang fast(queue_, device_.plan(), 1);
    const CudaEvent begin(true), end(true);
    for (const bool timed : {false, true}) {
      if (timed) begin.record(queue_.get());
      fast.run(systems_, updates, sums_.data() + 1);
      systems_.step += updates;
    }
    end.record(queue_.get());
    queue_.wait();
    return end.seconds_since(begin) * per_site(updates);
  }

  void print(LabelMethod method, std::uint32_t asked, std::uint32_t updates) {
    const std::uint32_t tile = tile_edge(method, plan_.lattice.dim, asked, "--tiles");
    SwendsenWangLabelsCuda update(queue_, device_.plan(), 1, stride_, method, tile);
    for (const std::uint32_t count : {2u, updates}) {
      update.take_times();
      update.run(systems_, count, sums_.data() + 1);
      systems_.step += count;
    }
    const LabelTimes times = update.take_times();
    const double unit = per_site(updates);
    const ClusterSteps& s = times.steps;
    fmt::print("{:<18}{:>3}{:>8.4f}{:>9.4f}{:>9.4f}{:>8.4f}{:>9.4f}{:>8.4f}{:>8.1f}\n",
               to_string(method), is_tiled(method) ? tile : 0, s.activate * unit, s.label * unit,
               s.merge * unit, s.flip * unit, (s.activate + s.label + s.merge + s.flip) * unit,
               times.sums * unit,
               static_cast<double>(times.passes) / static_cast<double>(times.updates));
  }

 private:
  double per_site(std::uint32_t updates) const {
    return 1e9 / (static_cast<double>(plan_.sites) * updates);
  }

  const DeviceStream queue_{0};
  const Plan plan_;
  const DeviceGraph device_;
  const std::uint64_t stride_;
  DeviceBuffer<std::uint8_t> spins_;
  DeviceBuffer<unsigned long long> sums_;
  DeviceSystems systems_;
};

// One table: a size, a q, a temperature.
void table(std::uint32_t edge, std::uint32_t q, double ratio,
           const std::map<std::string, std::string>& o) {
  const Graph graph = build_graph({{edge, edge}, 0, Rule::rewire, 1});
  EngineSpec spec;
  const double critical = std::log(1 + std::sqrt(static_cast<double>(q)));
  spec.model = {q == 2 ? ModelKind::ising : ModelKind::potts, q};
  spec.betas = {ratio * (q == 2 ? critical / 2 : critical)};
  spec.replicas = 1;
  Bench bench(graph, spec);
  const auto updates = static_cast<std::uint32_t>(std::atoi(o.at("--updates").c_str()));
  const double fast = bench.equilibrate(std::clamp((1u << 26) / (edge * edge), 16u, 100u));
  fmt::print(
      "L {} q {} beta/beta_c {}; ns per site: activate label merge flip total sums, passes\n", edge,
      q, ratio);
  fmt::print("{:<18}{:>3}{:>42.4f}\n", "the engine's fast", 0, fast);
  for (const std::string& word : split(o.at("--methods"))) {
    const LabelMethod method = parse_label_method(word, "--methods");
    for (const std::string& tile : split(is_tiled(method) ? o.at("--tiles") : "0")) {
      bench.print(method, static_cast<std::uint32_t>(std::atoi(tile.c_str())), updates);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> o{
      {"--edges", "512,1024,4096,8192"},
      {"--q", "2"},
      {"--ratios", "1"},
      {"--tiles", "0"},
      {"--updates", "20"},
      {"--methods",
       "fast,label-equivalence,kalentev,bfs+relax,bfs+sew,union-find+relax,union-find+sew,"
       "self-label+relax,self-label+sew"}};
  for (int i = 1; i + 1 < argc; i += 2) o.at(argv[i]) = argv[i + 1];
  use_device(0);
  for (const std::string& edge : split(o["--edges"])) {
    for (const std::string& q : split(o["--q"])) {
      for (const std::string& ratio : split(o["--ratios"])) {
        table(static_cast<std::uint32_t>(std::atoi(edge.c_str())),
              static_cast<std::uint32_t>(std::atoi(q.c_str())), std::atof(ratio.c_str()), o);
      }
    }
  }
}
