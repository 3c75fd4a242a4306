// `rewise graph`: builds or reads a network, prints its properties, writes it to a file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include "experiments/console/commands.hpp"
#include "experiments/console/shared_options.hpp"
#include "graphs/graph_io.hpp"
#include "graphs/metrics.hpp"
#include "src/base/fixed_point.hpp"
#include "src/engine/graph_couplings.hpp"
#include "src/results/json_output.hpp"
#include "src/settings/config.hpp"
#include "src/settings/parse.hpp"
#include "src/settings/task_spec.hpp"
#include "src/store/sealed_file.hpp"

namespace rewise {
namespace {

constexpr std::uint64_t kMetricsUpTo = std::uint64_t{1} << 24;  // sites, by default

constexpr const char* kGraphAbout =
    "Build, inspect, export a network.\n\n"
    "Example: rewise graph --size 64 --p 0.01\n\n"
    "Builds a rewired lattice (or reads a graph) and prints its size, its rewired\n"
    "bonds and its metrics: degrees, components, path lengths, clustering.";
constexpr const char* kGraphExamples = R"(
Modified cells (in files: modified) are sites whose neighbours differ from those of the lattice;
isolated sites have no bonds. Clustering, over up to
10000 sites: the share of pairs of a site's neighbours that are joined (0 for lattices, which
have no triangles). 4-cycle clustering: the share of possible squares through a site that exist
(Zhang et al., Physica A 387, 6869 (2008), eq. 2).

Graphs from elsewhere (--from, 'run --graph', 'tune --graph', 'label'): GraphML, and edge lists
by numbers from 0 (or 1: --first-site 1) or names; columns are separated by blanks and tabs,
by commas or by semicolons; '#' and '%' begin comments. A comment "# sites N", or SNAP's
"# Nodes: N Edges: M", gives the number of sites, those without bonds included.
The third column, or an attribute weight, w, J, Jij, K, strength, sign, signed, coupling,
interaction, exchange or polarity, is the coupling J of a bond: a number, or + or -. A node's
attribute field, h, b or bias (a line "# field SITE H" of an edge list) is its field h. Either
all bonds have a coupling or none. Simulations read couplings and fields only with --couplings
file; without it, such a file is an error. Attributes of unknown meaning are an error that names
them (--ignore NAME skips those that are not part of the model). --merge requires equal couplings
of merged bonds.

With --couplings or --field the graph gets the couplings and fields that 'rewise run' uses with
the same options on the same graph. They are written to --out (weight, field; .h5 then lists
every bond), so that other programs, and 'run --graph FILE --couplings file', can read them.

More examples:
  rewise graph --dim 3 --size 32,32,16 --p 1e-3 --rule swap --json
  rewise graph --dim 2 --size 32 --p 0.1 --out g.graphml
  rewise graph --dim 2 --size 64 --p 0.1 --bare --json
  rewise graph --from friends.edges
  rewise graph --dim 3 --size 8 --couplings pm --coupling-seed 3 --out glass.edges
  rewise graph --from gephi.graphml --ignore r,g,b,degree --merge)";

// The keys of couplings and fields. Model name and q do not change a graph.
constexpr std::span kWeightKeys = std::span(kModelKeys).subspan(2);

struct GraphOptions : LatticeOptions, ModelOptions {
  std::uint64_t sources = 16;
  std::string from, out, metrics = "auto";
  GraphFileOptions reading;
  bool json = false, overwrite = false, full = false, bare = false;
};

Graph make_graph(const GraphOptions& options, const Model& model) {
  if (!options.from.empty()) {
    const bool other =
        !model.is_ferromagnet() && model.interactions.couplings != CouplingKind::file;
    return read_graph_for(model, options.from, options.reading, !other);
  }
  GraphSpec spec = lattice_spec(options, ", or --from FILE");
  spec.p = parse_p(options.p, "--p");
  check_shortcut_couplings(model, spec.p, SettingNames::options());
  spec.bare = options.bare;
  return build_graph(spec);
}

bool wants_metrics(const GraphOptions& options, const Graph& graph) {
  if (options.metrics == "on") return true;
  if (options.metrics == "off") return false;
  if (options.metrics != "auto") {
    throw Error(
        ExitCode::usage,
        fmt::format("--metrics: unknown value '{}' (allowed: auto, on, off)", options.metrics));
  }
  if (graph.sites() <= kMetricsUpTo) return true;
  fmt::print(stderr, "note: no metrics for more than {} sites (--metrics on computes them)\n",
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

// Number of D ends (graphs/bare.hpp).
std::uint64_t d_ends(const Graph& graph) {
  std::uint64_t sum = 0;
  for (const KeptEnds& w : graph.kept_ends()) sum += w.ends;
  return sum;
}

// Least, largest and mean value, and the share below 0, of couplings or fields.
struct Spread {
  double least = 0, most = 0, mean = 0, negative = 0;
};

Spread spread_of(std::span<const std::int32_t> fixed) {
  Spread s{kFixedUnit * *std::ranges::min_element(fixed),
           kFixedUnit * *std::ranges::max_element(fixed)};
  for (const std::int32_t value : fixed) {
    s.mean += value;
    s.negative += value < 0;
  }
  s.mean *= kFixedUnit / static_cast<double>(fixed.size());
  s.negative /= static_cast<double>(fixed.size());
  return s;
}

Json spread_json(std::span<const std::int32_t> fixed) {
  if (fixed.empty()) return nullptr;
  const Spread s = spread_of(fixed);
  return {{"least", s.least}, {"most", s.most}, {"mean", s.mean}, {"negative", s.negative}};
}

void print_spread(const char* title, std::span<const std::int32_t> fixed) {
  if (fixed.empty()) return;
  const Spread s = spread_of(fixed);
  fmt::print("{:21}{:.6g} to {:.6g}, mean {:.4g}, {:.3g} % negative\n", title, s.least, s.most,
             s.mean, 100 * s.negative);
}

Json bare_json(const Graph& graph) {
  return {{"removed", graph.removed_bonds().size()},
          {"d_ends", d_ends(graph)},
          {"sites_with_d_ends", graph.kept_ends().size()}};
}

// Leaves out an error of 0 (the whole graph was measured) and an unknown one (a single sample).
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
  if (!options.out.empty()) {  // check before the work begins
    graph_format(options.out);
    reject_overwriting(options.out, options.overwrite);
  }
  if (options.full && (options.out.empty() || graph_format(options.out) != GraphFormat::h5)) {
    throw Error(ExitCode::usage,
                "--full: requires --out FILE.h5 (.graphml and .edges always list every bond)");
  }
  const Model model = read_model(options);
  if (options.bare && !model.is_ferromagnet()) {
    throw Error(ExitCode::usage, "--bare: a lattice without its shortcuts has no couplings");
  }
  Graph graph = make_graph(options, model);
  graph.validate();
  if (!model.is_ferromagnet()) graph = graph_with_couplings(graph, model);
  if (!options.out.empty()) {
    write_file(options.out, options.overwrite ? Overwrite::yes : Overwrite::no,
               [&](const TextSink& out) {
                 write_graph(graph, graph_format(options.out), out,
                             options.full ? H5Bonds::all : H5Bonds::rewired);
               });
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
    json["graph"] = graph_json(record);
    json["graph"]["isolated"] = isolated;
    json["graph"]["colours"] = graph.colours();
    if (options.bare) json["graph"]["bare"] = bare_json(graph);
    json["graph"]["couplings"] = spread_json(graph.bond_couplings());
    json["graph"]["fields"] = spread_json(graph.site_fields());
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
    const std::uint64_t shortcuts = record.rewired();
    if (base_rule(parse_rule(record.rule)) == Rule::add) {
      fmt::print(", added {} ({:.3g} % of the lattice's bonds)", shortcuts,
                 percent(shortcuts, record.bonds - shortcuts));
    } else {
      fmt::print(", rewired {} ({:.3g} %)", shortcuts, percent(shortcuts, record.bonds));
    }
  }
  if (options.bare) {
    fmt::print(", removed {}\nends that remained   {} (on {} sites)", graph.removed_bonds().size(),
               d_ends(graph), graph.kept_ends().size());
  }
  fmt::print("\n");
  if (!record.extents.empty()) {
    fmt::print("modified cells       {} ({:.3g} %)\n", record.modified,
               percent(record.modified, record.sites));
  }
  fmt::print("colours              {}{}\n", graph.colours(),
             graph.colours() == 2 ? " (bipartite)" : "");
  print_spread("couplings J", graph.bond_couplings());
  print_spread("fields h", graph.site_fields());
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
           "read this graph (.edges, .graphml, .h5, also a file of\n"
           "'rewise run --out') instead of building one");
  add_graph_file_options(app, options->reading, "--from");
  add_integer(app, "--dim", options->dim, 1, kMaxDim, "dimension of the lattice, 1..4");
  add_text(app, "--size", options->size, "L[,L..]",
           "edge, or one extent per direction, such as 64,32:\neven, 4 or more");
  add_text(app, "--p", options->p, "P", "rewiring probability, 0..1");
  add_key(app, "lattice.rule", options->rule);
  add_key(app, "lattice.parity", options->parity);
  add_integer(app, "--seed", options->graph_seed, 0, kMaxSeed,
              "the same seed gives the same graph");
  for (const char* key : kWeightKeys) {
    add_key(app, fmt::format("model.{}", key).c_str(), options->model[key]);
  }
  add_text(app, "--metrics", options->metrics, "auto|on|off", "auto: for up to 2^24 sites");
  add_integer(app, "--sources", options->sources, 0, 0xFFFFFFFFu,
              "sites from which path lengths are measured (0: none)");
  add_text(app, "--out", options->out, "FILE",
           "write the graph; the ending decides: .h5 (read by\n"
           "h5py, and by --from), .graphml, .edges (\"u v\" or\n"
           "\"u v J\" lines)");
  add_flag(app, "--bare", options->bare,
           "the lattice without its shortcuts: rewired bonds are\nremoved and not replaced (rules "
           "rewire, add)");
  add_flag(app, "--full", options->full,
           "list every bond in .h5, too (dataset /graph/ends);\n"
           "without it .h5 holds the lattice's extents and the\n"
           "bonds that were rewired or added");
  add_flag(app, "--overwrite", options->overwrite, "replace FILE if it exists");
  add_flag(app, "--json", options->json, "print one JSON object, nothing else");
  return {&app, [options, &app] {
            reject_beside(app, "--from",
                          {"--dim", "--size", "--p", "--rule", "--parity", "--seed", "--bare"});
            return run_graph(*options);
          }};
}

}  // namespace rewise
