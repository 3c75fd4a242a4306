// `rewise graph`: builds or reads a network, says what it looks like, writes it to a file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "experiments/console/commands.hpp"
#include "experiments/console/shared_options.hpp"
#include "graphs/graph_io.hpp"
#include "graphs/metrics.hpp"
#include "src/study/config.hpp"
#include "src/study/json_output.hpp"
#include "src/study/parse.hpp"
#include "src/study/task.hpp"

namespace rewise {
namespace {

constexpr std::uint64_t kMetricsUpTo = std::uint64_t{1} << 24;  // sites, where nothing was said

constexpr const char* kGraphAbout =
    "Build, inspect, export a network.\n\n"
    "Builds a rewired lattice (or reads a graph) and prints its size, its rewired\n"
    "bonds and its metrics: degrees, components, path lengths, clustering.";
constexpr const char* kGraphExamples = R"(
Modified cells are sites whose neighbours are not those of the lattice. Clustering, over up to
10000 sites: the pairs of a site's neighbours that are joined, over all pairs (lattices have no
triangles: 0). 4-cycle clustering: the squares that a site is on over those it could be on
(Zhang et al., Physica A 387, 6869 (2008), eq. 2).

Graphs from elsewhere (--from, 'run --graph', 'tune --graph', 'label'): GraphML, and edge lists
by numbers from 0 (or 1: --first-site 1) or names; columns are separated by blanks and tabs,
by commas or by semicolons; '#' and '%' begin comments. A comment "# sites N", or SNAP's
"# Nodes: N Edges: M", gives the number of sites, those without bonds included.
All bonds are alike (J = 1) and no site has a field: couplings that are not +1 (numbers or
texts of weight, J, sign, ferro, ..), fields other than 0 and numbers of unknown meaning are an
error that names them (--ignore passes over those that are no part of the model).

Examples:
  rewise graph --dim 2 --size 64 --p 0.01 --seed 1
  rewise graph --dim 3 --size 32,32,16 --p 1e-3 --rule swap --json
  rewise graph --dim 2 --size 32 --p 0.1 --out g.graphml
  rewise graph --dim 2 --size 64 --p 0.1 --bare --json
  rewise graph --from friends.edges
  rewise graph --from gephi.graphml --ignore r,g,b,degree --merge)";

struct GraphOptions {
  std::uint64_t dim = 2, seed = 1, sources = 16;
  std::string size, p = "0", rule = "rewire", parity = "checkerboard", from, out, metrics = "auto";
  GraphFileOptions reading;
  bool json = false, overwrite = false, full = false, bare = false;
};

Graph make_graph(const GraphOptions& options) {
  if (!options.from.empty()) {
    return read_graph(options.from, read_options(options.reading));
  }
  if (options.size.empty()) {
    throw Error(ExitCode::usage, "--size is missing (an even edge such as 64, or --from FILE)");
  }
  GraphSpec spec;
  spec.extents = parse_extents(options.size, static_cast<int>(options.dim), "--size");
  check_extents(spec.extents, "--size");
  spec.p = parse_p(options.p, "--p");
  spec.rule =
      with_parity(choose_rule(options.rule, "--rule"), parse_parity(options.parity, "--parity"));
  spec.seed = options.seed;
  spec.bare = options.bare;
  return build_graph(spec);
}

bool wants_metrics(const GraphOptions& options, const Graph& graph) {
  if (options.metrics == "on") return true;
  if (options.metrics == "off") return false;
  if (options.metrics != "auto") {
    throw Error(ExitCode::usage,
                fmt::format("--metrics: unknown word '{}' (auto, on or off)", options.metrics));
  }
  if (graph.sites() <= kMetricsUpTo) return true;
  fmt::print(stderr, "rewise graph: no metrics for more than {} sites (--metrics on forces them)\n",
             kMetricsUpTo);
  return false;
}

Json metrics_json(const GraphMetrics& m, bool lattice) {
  Json json;
  json["mean_degree"] = m.mean_degree;
  json["degree_variance"] = m.degree_variance;
  json["degree_counts"] = m.degree_counts;
  json["modified_share"] = lattice ? Json(m.modified_share) : Json(nullptr);
  json["rewired_share"] = lattice ? Json(m.rewired_share) : Json(nullptr);
  json["components"] = m.components;
  json["largest_component"] = m.largest_component;
  json["path_sources"] = m.path_sources;
  const Value no_path{std::nan(""), std::nan("")};
  json["mean_path"] = value_json(m.mean_path > 0 ? Value{m.mean_path, m.mean_path_error} : no_path);
  json["diameter"] = m.diameter;
  json["clustering_sites"] = m.clustering_sites;
  json["clustering"] = value_json({m.clustering, m.clustering_error});
  json["square_clustering"] = value_json({m.square_clustering, m.square_clustering_error});
  return json;
}

// D ends: those of removed bonds that kept their places (graphs/bare.hpp).
std::uint64_t d_ends(const Graph& graph) {
  std::uint64_t sum = 0;
  for (const SiteWeight& w : graph.weights()) sum += w.weight;
  return sum;
}

Json bare_json(const Graph& graph) {
  return {{"removed", graph.removed_bonds().size()},
          {"d_ends", d_ends(graph)},
          {"sites_with_d_ends", graph.weights().size()}};
}

// Without an error where all of the graph was seen, where sites are all alike, and of one sample.
std::string metric_text(double value, double error) {
  const bool plain = error == 0 || !std::isfinite(error);
  return plain ? fmt::format("{:.6g}", value) : format_value({value, error});
}

std::uint64_t isolated_sites(const Graph& graph) {
  const auto sites = graph.modified_sites();
  return static_cast<std::uint64_t>(std::count_if(
      sites.begin(), sites.end(), [&](Site site) { return graph.degree(site) == 0; }));
}

void print_metrics(const GraphMetrics& m, std::uint64_t sites) {
  fmt::print("degree               mean {:.6g}, variance {:.4g}\n", m.mean_degree,
             m.degree_variance);
  fmt::print("  degree: sites     ");
  for (std::size_t k = 0; k < m.degree_counts.size(); ++k) {
    if (m.degree_counts[k] > 0) fmt::print("  {}: {}", k, m.degree_counts[k]);
  }
  fmt::print("\ncomponents           {} (the largest has {} sites)\n", m.components,
             m.largest_component);
  if (m.path_sources > 0) {
    const bool exact = m.path_sources == sites;
    fmt::print("mean path length     {} ({})\n",
               m.mean_path > 0 ? metric_text(m.mean_path, m.mean_path_error) : "-",
               exact ? "exact"
                     : fmt::format("from {} sampled {}", m.path_sources,
                                   m.path_sources == 1 ? "site" : "sites"));
    fmt::print("diameter             {}{}\n", exact ? "" : "at least ", m.diameter);
  }
  if (m.clustering_sites > 0) {
    fmt::print("clustering           {}\n", metric_text(m.clustering, m.clustering_error));
    fmt::print("4-cycle clustering   {}\n",
               metric_text(m.square_clustering, m.square_clustering_error));
  }
}

ExitCode run_graph(const GraphOptions& options) {
  if (!options.out.empty()) graph_format(options.out);  // complain before the work
  if (options.full && (options.out.empty() || graph_format(options.out) != GraphFormat::h5)) {
    throw Error(ExitCode::usage,
                "--full: is for --out FILE.h5 (.graphml and .edges hold every bond anyway)");
  }
  const Graph graph = make_graph(options);
  graph.validate();
  if (!options.out.empty()) {
    write_graph(graph, options.out, options.overwrite ? Overwrite::yes : Overwrite::no,
                options.full ? H5Bonds::all : H5Bonds::rewired);
  }
  const GraphRecord record = graph_record(graph);
  MetricsOptions wanted;
  wanted.path_sources = options.sources;
  const bool with_metrics = wants_metrics(options, graph);
  const GraphMetrics metrics = with_metrics ? metrics_of(graph, wanted) : GraphMetrics{};
  const std::string hash = graph_hash(graph);
  const std::uint64_t isolated = isolated_sites(graph);

  if (options.json) {
    Json json;
    json["graph"] = graph_json(record, record.rewired());
    json["graph"]["isolated"] = isolated;
    json["graph"]["colours"] = graph.colours();
    if (options.bare) json["graph"]["bare"] = bare_json(graph);
    json["graph"]["hash"] = hash;
    json["metrics"] = with_metrics ? metrics_json(metrics, !record.extents.empty()) : Json(nullptr);
    fmt::print("{}\n", json.dump(2));
    return ExitCode::done;
  }
  const auto percent = [](std::uint64_t part, std::uint64_t all) {
    return all == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
  };
  fmt::print("{}\n", graph_title(record));
  fmt::print("sites                {}\nisolated sites       {}\n", record.sites, isolated);
  fmt::print("bonds                {}", record.bonds);
  if (!record.extents.empty()) {
    fmt::print(", rewired {} ({:.3g} %)", record.rewired(),
               percent(record.rewired(), record.bonds));
  }
  if (options.bare) {
    fmt::print(", removed {}\nends that stayed     {} (on {} sites)", graph.removed_bonds().size(),
               d_ends(graph), graph.weights().size());
  }
  fmt::print("\n");
  if (!record.extents.empty()) {
    fmt::print("modified cells       {} ({:.3g} %)\n", record.modified,
               percent(record.modified, record.sites));
  }
  fmt::print("colours              {}{}\n", graph.colours(),
             graph.colours() == 2 ? " (bipartite)" : "");
  if (with_metrics) print_metrics(metrics, record.sites);
  fmt::print("hash                 {}\n", hash);
  if (!options.out.empty()) fmt::print(stderr, "written to {}\n", options.out);
  return ExitCode::done;
}

}  // namespace

AddedCommand add_graph_command(CLI::App& program) {
  auto options = std::make_shared<GraphOptions>();
  CLI::App& app = add_command(program, "graph", kGraphAbout, kGraphExamples);
  add_text(app, "--from", options->from, "FILE",
           "read this graph (.edges, .graphml, .h5 or a\n"
           "task file) instead of building one");
  add_graph_file_options(app, options->reading, "--from");
  add_whole(app, "--dim", options->dim, 1, kMaxDim, "dimension of the lattice, 1..4");
  add_text(app, "--size", options->size, "L[,L..]",
           "edge, or one extent per direction: even, 4 or more");
  add_text(app, "--p", options->p, "P", "rewiring probability, 0..1");
  add_text(app, "--rule", options->rule, "RULE",
           "rewire: ends of bonds move with probability p/2;\n"
           "swap: bonds exchange ends, every degree stays 2d;\n"
           "add: with probability p per bond one more bond");
  add_key(app, "lattice.parity", options->parity);
  add_whole(app, "--seed", options->seed, 0, kMostSeed, "seed: same seed, same graph");
  add_text(app, "--metrics", options->metrics, "auto|on|off", "auto: for up to 2^24 sites");
  add_whole(app, "--sources", options->sources, 0, 0xFFFFFFFFu,
            "sites from which path lengths are measured (0: none)");
  add_text(app, "--out", options->out, "FILE",
           "write the graph; the ending decides: .h5 (read by\n"
           "h5py, and by --from), .graphml, .edges (\"u v\" lines)");
  add_flag(app, "--bare", options->bare,
           "the lattice without its shortcuts: rewired bonds are\n"
           "removed, none is put in their place (rewire, add)");
  add_flag(app, "--full", options->full,
           "list every bond in .h5, too (dataset /graph/ends);\n"
           "without it .h5 holds the lattice's extents and the\n"
           "bonds that were rewired or added");
  add_flag(app, "--overwrite", options->overwrite, "replace FILE if it exists");
  add_flag(app, "--json", options->json, "print one JSON object, nothing else");
  return {&app, [options, &app] {
            refuse_beside(app, "--from",
                          {"--dim", "--size", "--p", "--rule", "--parity", "--seed", "--bare"});
            return run_graph(*options);
          }};
}

}  // namespace rewise
