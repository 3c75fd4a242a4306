#include "src/search/tc/tc_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "src/base/error.hpp"
#include "src/search/tc/glass_criterion.hpp"
#include "src/search/tc/tree_criterion.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

// Potts models whose transition may be of first order, where U does not cross: q >= 3, except q = 3
// and 4 on the plain square lattice.
bool by_peaks(const StudyConfig& config) {
  const bool plain_square = config.dim() == 2 && config.p == std::vector<double>{0};
  return config.model.q > 2 && !(config.model.q <= 4 && plain_square);
}

// Throws Error(usage), with the name of the study's file.
using Fail = std::function<void(const std::string& what)>;

void check_no_sweep_keys(const StudyConfig& config, const Fail& fail) {
  const auto one = [&](std::size_t count, const char* key) {
    if (count <= 1) return;
    fail(fmt::format("{}: tc supports one value, not {} (sweep supports lists)", key, count));
  };
  one(config.dims().size(), "lattice.dim");
  one(config.rules.size(), "lattice.rule");
  if (!config.temperature_tasks.empty()) fail("sampling.temperature_tasks: sweep only");
  if (!config.target_observables.empty()) {
    fail("sampling.target_observables: sweep only (the target of tc is Tc)");
  }
}

// With couplings, `tc` uses one method: the tree condition where it applies.
void check_couplings(const StudyConfig& config, const Fail& fail) {
  const std::string tree = why_no_tree(config), crossings = why_no_glass_crossings(config);
  if (config.method == TcMethodWord::both) {
    fail("sampling.method: with couplings, tc uses a single method (allowed: tree, crossings)");
  }
  if (config.method == TcMethodWord::crossings && !crossings.empty()) {
    fail(fmt::format("[model]: tc by crossings does not support {}: {}", to_string(config.model),
                     crossings));
  }
  if (!config.method && !tree.empty() && !crossings.empty()) {
    fail(fmt::format("[model]: tc does not support {}: by the tree condition: {}; by crossings: {}",
                     to_string(config.model), tree, crossings));
  }
}

// The spread of the graphs gives the error.
void check_graphs(const StudyConfig& config, const Fail& fail) {
  if (*std::ranges::min_element(config.graphs) >= 2) return;
  fail(
      "lattice.graphs: tc requires at least two graphs of each size; their spread gives the error");
}

void check_glass(const StudyConfig& config, const Fail& fail) {
  if (config.sizes.size() < 3) {
    fail("lattice.sizes: crossings of overlaps require at least three sizes, to extrapolate");
  }
  check_graphs(config, fail);
  if (config.temperatures.empty() && !config.temperature_range) {
    fail(
        "sampling.temperatures: \"auto\" does not support spin glasses: give a list or, with "
        "exchange = true, a range {from, to} that contains T_SG");
  }
  if (!config.temperatures.empty() && config.temperatures.size() < 4) {
    fail("sampling.temperatures: crossings of overlaps require at least four temperatures");
  }
  if (config.schedules.size() != 1) {
    fail("sampling.schedule: crossings of overlaps require a single schedule, such as 1:0");
  }
  if (config.clusters.size() > 1) {
    fail("sampling.cluster: crossings of overlaps require a single cluster update");
  }
}

void check_peaks(const StudyConfig& config, const Fail& fail) {
  if (config.sizes.size() < 3) {
    fail(
        fmt::format("lattice.sizes: {}; tc with {} states requires at least three sizes, to "
                    "extrapolate the peaks",
                    config.sizes.size(), config.model.q));
  }
  if (config.target_error) {
    fail(
        fmt::format("sampling.target_error: not supported by tc with {} states, which uses "
                    "peaks instead of crossings",
                    config.model.q));
  }
  if (config.method) {
    fail(fmt::format(
        "sampling.method: not supported by tc with {} states, which uses peaks of C and "
        "chi (remove the key)",
        config.model.q));
  }
  if (config.dim() == 1 && config.p.front() == 0) {
    fail("lattice.p: p = 0 in one dimension has no transition (give p > 0)");
  }
}

void check_tree(const StudyConfig& config, const Fail& fail) {
  if (const std::string why = why_no_tree(config); !why.empty()) {
    fail(fmt::format("sampling.method: the tree condition does not apply: {} (allowed: crossings)",
                     why));
  }
}

// Of crossings of U, and of peaks.
void check_windows(const StudyConfig& config, const Fail& fail) {
  if (config.sizes.size() < 2) {
    fail("lattice.sizes: tc requires at least two sizes, whose curves cross");
  }
  check_graphs(config, fail);
  if (config.temperatures.size() == 1) {
    fail("sampling.temperatures: tc requires at least two temperatures, or \"auto\"");
  }
}

void check_tc_config(const StudyConfig& config, const std::string& file) {
  const Fail fail = [&](const std::string& what) {
    throw Error(ExitCode::usage, file + ": " + what);
  };
  if (!config.files.empty()) {
    fail(
        "lattice.files: sweep only; tc requires lattices of several sizes (dim, sizes and p), to "
        "extrapolate Tc");
  }
  if (!config.model.is_ferromagnet()) check_couplings(config, fail);
  check_no_sweep_keys(config, fail);
  const TcMethod method = tc_method(config);
  if (method == TcMethod::glass) return check_glass(config, fail);
  if (config.temperature_range) {
    fail(
        "sampling.temperatures: only sweep, and tc by crossings of overlaps, support a range "
        "without a count (give a count, or \"auto\")");
  }
  if (method == TcMethod::tree) return check_tree(config, fail);
  if (method == TcMethod::peaks) check_peaks(config, fail);
  check_windows(config, fail);
}

}  // namespace

TcMethod tc_method(const StudyConfig& config) {
  if (by_peaks(config)) return TcMethod::peaks;
  if (!config.model.is_ferromagnet() && config.method != TcMethodWord::tree) {
    const bool glass = config.method || !why_no_tree(config).empty();
    return glass ? TcMethod::glass : TcMethod::tree;
  }
  constexpr double precise = 1e-3;
  if (!config.method) {
    const bool both = config.target_error && *config.target_error <= precise;
    return both ? TcMethod::both : TcMethod::crossings;
  }
  return *config.method == TcMethodWord::tree   ? TcMethod::tree
         : *config.method == TcMethodWord::both ? TcMethod::both
                                                : TcMethod::crossings;
}

StudyConfig tc_config(const StudyConfig& given, const std::string& file) {
  StudyConfig config = one_per_p(given, file);
  check_tc_config(config, file);
  if (tc_method(config) == TcMethod::tree) config.method = TcMethodWord::tree;
  return config;
}

}  // namespace rewise
