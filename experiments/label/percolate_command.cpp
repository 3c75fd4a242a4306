// `rewise percolate`: site and bond percolation on regular and rewired lattices.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>

#include "experiments/configuration/config.hpp"
#include "experiments/console/commands.hpp"
#include "experiments/console/device.hpp"
#include "experiments/console/options.hpp"
#include "experiments/console/progress.hpp"
#include "experiments/console/python.hpp"
#include "experiments/console/shared_options.hpp"
#include "experiments/label/percolate_report.hpp"
#include "src/base/clock.hpp"
#include "src/base/words.hpp"
#include "src/store/signals.hpp"

namespace rewise {
namespace {

constexpr const char* kAbout =
    "Site and bond percolation: wrapping, clusters, p_c.\n\n"
    "Occupies bonds or sites of a regular or rewired lattice with given probabilities\n"
    "and measures how often a cluster wraps around the lattice, the largest cluster, and\n"
    "the mean size of the others; where curves of two sizes cross, percolation sets in.";
constexpr const char* kExamples = R"(
All occupations of a sample share its draws, so that curves are smooth. Wrapping is not
defined on rewired lattices (--p): their sizes are compared by <s_max>^2/<s_max^2>, and
each has --blocks graphs. The numbers do not depend on --threads.

Errors are one standard error, by jackknife over blocks. Where none or all of n samples wrap, the
error of 0 or 1 is that of a share about which no more is known (uniform prior): some 1/n.

Examples:
  rewise percolate --kind bond
  rewise percolate --kind site --size 64,128,256 --samples 10000 --out site-2d
  rewise percolate --dim 3 --size 8,16,32 --occupied 0.23:0.27:9
  rewise percolate --p 0.1 --rule swap --occupied 0.4,0.45,0.475,0.5)";

struct PercolateOptions : LatticeOptions {
  PercolateOptions() { size = "16,32,64"; }
  std::uint64_t samples = 1024, blocks = 32, seed = 1, threads = 0;
  std::string kind = "bond", occupied, time_limit, out;
  bool plots = true, json = false, overwrite = false;
};

void check_share(double share) {
  if (share >= 0 && share <= 1) return;
  throw Error(ExitCode::usage, fmt::format("--occupied: {} is out of range (0..1)", share));
}

// "0.4,0.5", "0.4:0.6:11", or nothing: around the known threshold, as wide as the transition of the
// largest size (L^(-1/nu) to both sides).
std::vector<double> occupations(const PercolateOptions& options, const PercolationSpec& spec) {
  if (!options.occupied.empty()) {
    if (options.occupied.find(':') != std::string::npos) {
      auto range = parse_steps(options.occupied, "--occupied");
      for (const double share : range) check_share(share);
      return range;
    }
    std::vector<double> shares;
    for (const auto& part : split_list(options.occupied)) {
      append_once(shares, parse_number(part, "--occupied"), "--occupied", part);
      check_share(shares.back());
    }
    std::sort(shares.begin(), shares.end());
    return shares;
  }
  const auto known = known_percolation(spec.kind, static_cast<int>(options.dim));
  if (!known || spec.sizes.front().p > 0) {
    throw Error(ExitCode::usage,
                "--occupied is missing (probabilities such as 0.4,0.5, or "
                "0.4:0.6:11; the threshold is known for --dim 2..4, --p 0 only)");
  }
  std::uint32_t longest = 0;
  for (const GraphSpec& size : spec.sizes) {
    longest = std::max(longest, *std::max_element(size.extents.begin(), size.extents.end()));
  }
  const double width = std::min(std::pow(longest, -1 / known->nu), 0.5 * known->threshold);
  std::vector<double> shares = equal_steps(known->threshold - width, known->threshold + width, 9);
  for (std::size_t k = 0; k < shares.size(); ++k) {
    shares[k] = k == 4 ? known->threshold : std::round(1e5 * shares[k]) / 1e5;  // short numbers
  }
  return shares;
}

PercolationSpec make_spec(const PercolateOptions& options) {
  PercolationSpec spec;
  constexpr std::array<std::string_view, 2> kinds{"bond", "site"};
  spec.kind = parse_word(options.kind, kinds, "kind", "--kind") == 0 ? PercolationKind::bond
                                                                     : PercolationKind::site;
  const double p = parse_p(options.p, "--p");
  const Rule rule = choose_rule(options.rule, "--rule");
  for (const std::string& edge : split_list(options.size)) {
    const auto extents = parse_extents(edge, static_cast<int>(options.dim), "--size");
    check_extents(extents, "--size");
    for (const GraphSpec& other : spec.sizes) {
      if (other.extents == extents) given_twice("--size", edge);
    }
    spec.sizes.push_back({extents, p, rule, options.graph_seed});
  }
  // Neighbouring sizes are what crosses.
  std::sort(spec.sizes.begin(), spec.sizes.end(),
            [](const GraphSpec& a, const GraphSpec& b) { return a.extents < b.extents; });
  spec.occupation = occupations(options, spec);
  spec.blocks = static_cast<std::uint32_t>(options.blocks);
  const std::uint64_t per_block = (options.samples + options.blocks - 1) / options.blocks;
  if (per_block * options.blocks > 0xFFFFFFFFull) {
    throw Error(ExitCode::usage,
                fmt::format("--samples: {} are too many (up to 2^32 - 1)", options.samples));
  }
  spec.samples = static_cast<std::uint32_t>(per_block);
  spec.seed = options.seed;
  spec.threads = thread_count(static_cast<int>(options.threads));
  return spec;
}

PercolationRun run_of(const PercolateOptions& options) {
  PercolationRun run{make_spec(options), {}, {}, 0};
  std::optional<std::chrono::duration<double>> limit;
  if (!options.time_limit.empty()) limit = parse_duration(options.time_limit, "--time-limit");
  const StopToken stop(limit);
  if (!options.out.empty()) {
    make_output_folder(options.out);
    refuse_overwriting(std::filesystem::path(options.out) / "percolation.json", options.overwrite);
  }
  Progress progress("percolate", 1);
  const double begin = now();
  auto curves = sample_percolation(run.spec, [&](double share) {
    progress.add(share);
    return !stop.stop_requested();
  });
  progress.close();
  if (!curves) {
    throw Error(ExitCode::interrupted,
                fmt::format("stopped by {}; nothing was kept", stop.reason()));
  }
  run.curves = std::move(*curves);
  if (run.spec.occupation.size() >= 4) run.crossings = percolation_crossings(run.curves);
  run.seconds = now() - begin;
  return run;
}

// Status of the plots, as draw_plots().
ExitCode write_run(const PercolationRun& run, const std::string& folder, bool plots) {
  const std::filesystem::path path(folder);
  write_text_file(path / "percolation.json", percolation_json(run).dump(2) + "\n");
  write_text_file(path / "percolation.csv", percolation_csv(run));
  return plots ? draw_plots({folder, "--quiet"}) : ExitCode::done;
}

ExitCode run_percolate(const PercolateOptions& options) {
  const PercolationRun run = run_of(options);
  ExitCode status = ExitCode::done;
  if (!options.out.empty()) status = write_run(run, options.out, options.plots);
  if (options.json) {
    fmt::print("{}\n", percolation_json(run).dump(2));
  } else {
    fmt::print("{}", percolation_table(run));
  }
  if (!options.out.empty()) fmt::print(stderr, "written to {}\n", options.out);
  return status;
}

}  // namespace

AddedCommand add_percolate_command(CLI::App& program) {
  auto options = std::make_shared<PercolateOptions>();
  PercolateOptions& o = *options;
  CLI::App& app = add_command(program, "percolate", kAbout, kExamples);
  begin_group(app, "Lattice");
  add_text(app, "--kind", o.kind, "bond|site", "what is occupied");
  LatticeHelp help;
  help.size = "edges, each even and 4 or more";
  help.seed = "seed of the first graph of a size";
  help.most_seed = kMostSeed - (1u << 20);
  add_lattice_options(app, o, help);
  begin_group(app, "Sampling");
  add_text(app, "--occupied", o.occupied, "P[,P..]",
           "probabilities, or FROM:TO:COUNT [around the known\nthreshold]");
  add_whole(app, "--samples", o.samples, 2, 0xFFFFFFFFu,
            "per size and probability; rounded up to whole\nblocks");
  add_whole(app, "--blocks", o.blocks, 2, 1u << 20,
            "of samples, for errors; rewired lattices: graphs per\nsize");
  add_whole(app, "--seed", o.seed, 0, kMostSeed, "seed: same seed, same numbers");
  begin_group(app, "Machine");
  add_threads(app, o.threads, "0: all cores");
  add_text(app, "--time-limit", o.time_limit, "TIME", "stop with status 75 after this time");
  begin_group(app, "Output");
  add_text(app, "--out", o.out, "DIR", "percolation.json, percolation.csv and plots go here");
  add_flag(app, "--overwrite", o.overwrite, "replace DIR/percolation.json if it exists");
  add_off_flag(app, "--no-plots", o.plots, "do not draw plots");
  add_flag(app, "--json", o.json, "print one JSON object, nothing else");
  return {&app, [options] { return run_percolate(*options); }};
}

}  // namespace rewise
