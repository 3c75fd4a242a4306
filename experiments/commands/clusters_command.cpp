// `rewise clusters`: the size distribution of Wolff clusters.
#include <memory>

#include "experiments/commands/curve_options.hpp"
#include "src/curves/clusters.hpp"

namespace rewise {
namespace {

constexpr const char* kClustersAbout =
    "Sizes of Wolff clusters over temperatures.\n\n"
    "Example: rewise clusters --size 64 --temperature 2.15,2.269185,2.4 --measure 2000\n\n"
    "Measures the sizes of Wolff clusters in equilibrium: their distribution in "
    "logarithmic\nbins, the power law that it follows at Tc, and the mean size.";
constexpr const char* kClustersExamples = R"(
The exponent describes the density of clusters that grow from a random site. It is meaningful
only at Tc and if fit_q (the probability of a worse fit) is not tiny. The multispin engine
grows one cluster in each replica, too, and is equally exact.

Another example:
  rewise clusters --size 64 --p 0.01 --temperature 2.434 --schedule 0:1 --fit 10:500 --out c)";

}  // namespace

AddedCommand add_clusters_command(CLI::App& program) {
  auto options = std::make_shared<CurveOptions>();
  CLI::App& app = add_command(program, "clusters", kClustersAbout, kClustersExamples);
  add_curve_options(app, *options, "1:1");
  add_prepare_options(app, *options);
  add_integer(app, "--measure", options->measure, 8, std::uint64_t{1} << 40,
              "clusters per replica");
  add_text(app, "--fit", options->fit, "FROM:TO",
           "fit the power law to these sizes, such as 10:500; TO 0:\nN/50, with N sites");
  return curve_command(app, options, "clusters", measure_clusters);
}

}  // namespace rewise
