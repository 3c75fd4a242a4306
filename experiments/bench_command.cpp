// `rewise bench`: how fast every engine and update is on every device, beside what the devices
// could do, and beside a saved run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>

#include "experiments/bench.hpp"
#include "experiments/bench_report.hpp"
#include "experiments/commands.hpp"
#include "experiments/config.hpp"
#include "experiments/device.hpp"
#include "experiments/options.hpp"
#include "experiments/progress.hpp"
#include "src/base/words.hpp"
#include "src/bundle/bundle.hpp"

namespace rewise {
namespace {

constexpr const char* kAbout =
    "Speeds of every engine, update and device.\n\n"
    "Times the engines' updates on equilibrated configurations, near Tc(p) unless told\n"
    "otherwise, and prints sites per ns, us per update, the share of what the device could\n"
    "move or compute, and the GPU's speed over the CPU's.";
constexpr const char* kExamples = R"(
Lists make a row of every combination. An engine that a device cannot run is left out,
unless both were named: that ends with status 69.

Examples:
  rewise bench                                     everything here, under a minute
  rewise bench --size 64,256,1024 --p 0.01 --engine bundle --json > before.json
  rewise bench --size 64,256,1024 --p 0.01 --engine bundle --vs before.json
  rewise bench --size 1024 --p 0.01 --temperature 2.38 --update wolff --device cuda
  rewise bench --size 32,64 --p 0.01 --replicas 256 --graphs 1,64 --device cuda
  rewise bench --engine single --wolff-method frontier,ccl --size 1024
  rewise bench --size 256 --schedule 1:16          a mix of both updates as well)";

struct BenchOptions {
  std::uint64_t dim = 2, threads = 0, repeats = 5, cluster_updates = 0, equilibrate = 100;
  std::uint64_t seed = 1;
  std::string engine, update, device = "all", size = "256", p = "0,0.01,0.1", temperature;
  std::string replicas, systems, graphs = "1", schedule, wolff_method, label_method,
                                 seconds = "0.1s", vs;
  bool json = false;
};

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <std::size_t N>
std::vector<std::string> known_words(const std::string& text,
                                     const std::array<std::string_view, N>& known, const char* what,
                                     const std::string& origin) {
  if (text.empty()) return {known.begin(), known.end()};
  std::vector<std::string> words;
  for (const std::string& part : split_list(text)) {
    words.emplace_back(known[parse_word(part, known, what, origin)]);
  }
  return words;
}

std::vector<std::uint32_t> counts_of(const std::string& text, const std::string& origin) {
  std::vector<std::uint32_t> counts;
  if (text.empty()) return counts;
  for (const std::string& part : split_list(text)) {
    counts.push_back(static_cast<std::uint32_t>(parse_whole(part, 1, 1u << 20, origin)));
  }
  return counts;
}

bool holds(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Everything that was asked for, checked.
struct Plan {
  std::vector<std::string> engines, updates, wolff_methods, label_methods;
  std::vector<Device> devices;
  std::vector<GraphSpec> graphs;  // size by size, p by p
  std::vector<double> temperatures;
  std::vector<std::uint32_t> replicas, systems, graphs_together;
  BenchEffort effort;
};

std::vector<Device> all_devices() {
  std::vector<Device> devices{{"cpu", -1}};
  for (const CudaDevice& cuda : cuda_devices()) {
    devices.push_back({fmt::format("cuda:{}", cuda.index), cuda.index});
  }
  return devices;
}

// An engine that was named must run on the devices that were named.
std::vector<Device> devices_of(const BenchOptions& options, const Plan& plan) {
  if (options.device == "all") return all_devices();
  if (!options.engine.empty()) {
    for (const auto& engine : plan.engines) choose_devices(options.device, engine, "--device");
  }
  return choose_devices(options.device, "bundle", "--device").devices;
}

Plan make_plan(const BenchOptions& options) {
  constexpr std::array<std::string_view, 2> engines{"bundle", "single"};
  constexpr std::array<std::string_view, 4> updates{"metropolis", "glauber", "wolff",
                                                    "swendsen-wang"};
  Plan plan;
  plan.engines = known_words(options.engine, engines, "engine", "--engine");
  plan.updates = known_words(options.update, updates, "update", "--update");
  plan.wolff_methods = split_list(options.wolff_method);
  plan.label_methods = split_list(options.label_method);
  plan.devices = devices_of(options, plan);
  for (const std::string& size : split_list(options.size)) {
    const auto extents = parse_extents(size, static_cast<int>(options.dim), "--size");
    check_extents(extents, "--size");
    for (const std::string& p : split_list(options.p)) {
      plan.graphs.push_back({extents, parse_p(p, "--p"), Rule::rewire, options.seed});
    }
  }
  if (!options.temperature.empty()) {
    plan.temperatures = parse_temperatures(options.temperature, "--temperature");
  } else if (!bench_temperature(static_cast<int>(options.dim), 0)) {
    throw Error(ExitCode::usage, fmt::format("--temperature is missing (Tc(p) is known here in two "
                                             "and three dimensions, not in {})",
                                             options.dim));
  }
  plan.replicas = counts_of(options.replicas, "--replicas");
  for (const auto count : plan.replicas) check_replicas("bundle", count, "--replicas");
  plan.systems = counts_of(options.systems, "--systems");
  for (const std::string& part : split_list(options.graphs)) {
    plan.graphs_together.push_back(
        static_cast<std::uint32_t>(parse_whole(part, 1, kMostBatch, "--graphs")));
  }
  plan.effort.threads = thread_count(static_cast<int>(options.threads));
  plan.effort.repeats = static_cast<int>(options.repeats);
  plan.effort.seconds = parse_duration(options.seconds, "--seconds").count();
  plan.effort.equilibrate = options.equilibrate;
  plan.effort.cluster_updates = static_cast<std::uint32_t>(options.cluster_updates);
  plan.effort.seed = options.seed;
  if (!options.schedule.empty()) plan.effort.mix = parse_schedule(options.schedule, "--schedule");
  return plan;
}

std::vector<BenchUpdate> updates_of(const Plan& plan, const std::string& engine) {
  std::vector<BenchUpdate> updates;
  for (const std::string& update : bench_updates(engine)) {
    if (!holds(plan.updates, update)) continue;
    const bool wolff = update == "wolff", labels = update == "swendsen-wang";
    std::vector<std::string> methods{""};
    if (engine == "single" && wolff) methods = plan.wolff_methods;
    if (engine == "single" && labels) methods = plan.label_methods;
    for (const std::string& method : methods) updates.push_back({update, method});
  }
  if (plan.effort.mix) updates.push_back({"mix", ""});
  return updates;
}

// Enough replicas to keep the device busy, unless told how many.
std::vector<std::uint32_t> replicas_of(const Plan& plan, const std::string& engine,
                                       const Device& device) {
  const auto threads = static_cast<std::uint32_t>(plan.effort.threads);
  if (engine == "bundle") {
    if (!plan.replicas.empty()) return plan.replicas;
    return {device.index < 0 ? 32 * threads : 1024};
  }
  if (!plan.systems.empty()) return plan.systems;
  return {device.index < 0 ? threads : 1};
}

std::vector<BenchGroup> groups_of(const Plan& plan, const BenchOptions& options) {
  std::vector<BenchGroup> groups;
  for (const std::string& engine : plan.engines) {
    const auto updates = updates_of(plan, engine);
    if (updates.empty()) {
      if (options.engine.empty()) continue;
      throw Error(ExitCode::usage,
                  fmt::format("--update: the {} engine has no {} (it has {})", engine,
                              options.update, fmt::join(bench_updates(engine), ", ")));
    }
    for (const GraphSpec& graph : plan.graphs) {
      auto temperatures = plan.temperatures;
      if (temperatures.empty()) {
        temperatures = {bench_temperature(static_cast<int>(options.dim), graph.p).value()};
      }
      for (const double temperature : temperatures) {
        for (const Device& device : plan.devices) {
          if (device.index >= 0 && !why_no_cuda(engine).empty()) continue;
          for (const auto replicas : replicas_of(plan, engine, device)) {
            for (const auto together :
                 engine == "bundle" ? plan.graphs_together : std::vector<std::uint32_t>{1}) {
              groups.push_back({engine, device, graph, temperature, replicas, together, updates});
            }
          }
        }
      }
    }
  }
  return groups;
}

BenchResult run_groups(const Plan& plan, const std::vector<BenchGroup>& groups) {
  std::size_t rows = 0;
  for (const BenchGroup& group : groups) rows += group.updates.size();
  const StopToken stop;
  Progress progress("bench", static_cast<double>(rows));
  BenchResult result;
  for (const Device& device : plan.devices) {
    const bool used = std::any_of(groups.begin(), groups.end(), [&](const BenchGroup& group) {
      return group.device.name == device.name;
    });
    if (used) result.devices.push_back(device_limits(device, plan.effort.threads));
  }
  std::exception_ptr failure;
  for (const BenchGroup& group : groups) {
    const std::string name =
        fmt::format("{}, {}, {}, p = {}, {} replicas", group.engine, group.device.name,
                    extents_text(group.graph.extents), number_text(group.graph.p), group.replicas);
    progress.stage(name);
    const auto limits =
        std::find_if(result.devices.begin(), result.devices.end(),
                     [&](const DeviceLimits& l) { return l.device == group.device.name; });
    try {
      const auto done = [&](const BenchRow& row) {
        progress.add(1);
        progress.finished(fmt::format("{}: {}", name, row.update));
      };
      const auto timed = run_bench(group, plan.effort, *limits, stop, done);
      result.rows.insert(result.rows.end(), timed.begin(), timed.end());
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::device) throw;
      progress.line(fmt::format("left out: {}: {}", name, error.what()));
      failure = std::current_exception();
    }
  }
  progress.close();
  if (result.rows.empty() && failure) std::rethrow_exception(failure);
  compare_with_cpu(result.rows);
  return result;
}

ExitCode run_bench_command(const BenchOptions& options) {
  std::vector<BenchRow> then;
  if (!options.vs.empty()) then = bench_rows(read_text_file(options.vs), options.vs);
  const Plan plan = make_plan(options);
  const BenchResult result = run_groups(plan, groups_of(plan, options));
  if (options.json) {
    Json json = bench_json(result);
    if (!options.vs.empty()) {
      json["vs"] = comparison_json(compare_runs(result.rows, then), options.vs);
    }
    fmt::print("{}\n", json.dump(2));
    return ExitCode::done;
  }
  fmt::print("{}", bench_table(result));
  if (!options.vs.empty()) {
    fmt::print("{}", comparison_table(compare_runs(result.rows, then), options.vs));
  }
  return ExitCode::done;
}

void add_what_options(CLI::App& app, BenchOptions& o) {
  app.option_defaults()->group("What");
  add_text(app, "--engine", o.engine, "WORD[,..]", "bundle, single [both]");
  add_text(app, "--update", o.update, "WORD[,..]",
           "metropolis, glauber, wolff, swendsen-wang (single\nengine) [all]");
  add_text(app, "--device", o.device, "DEVICE",
           "all (the CPU and every GPU), auto, cpu, cuda,\ncuda:N or cuda:0,1");
  add_whole(app, "--dim", o.dim, 1, kMaxDim, "dimension of the lattices, 1..4");
  add_text(app, "--size", o.size, "L[,L..]", "edges, each even and 4 or more");
  add_text(app, "--p", o.p, "P[,P..]", "rewiring probabilities");
  add_text(app, "--temperature", o.temperature, "T[,T..]", "temperatures [near Tc(p)]");
  add_text(app, "--replicas", o.replicas, "N[,N..]",
           "of the bundle engine, multiples of 32 [CPU: 32 per\nthread; CUDA: 1024]");
  add_text(app, "--graphs", o.graphs, "N[,N..]",
           "bundle engine: graphs side by side, which share\nevery launch on CUDA");
  add_text(app, "--systems", o.systems, "N[,N..]",
           "of the single engine [CPU: one per thread; CUDA: 1]");
  add_whole(app, "--cluster-updates", o.cluster_updates, 0, 1u << 16,
            "cluster updates per cycle, in one launch where the\n"
            "engine can; 0: 64 of Wolff on CUDA, else 8");
  add_text(app, "--schedule", o.schedule, "M:W", "time this mix of Metropolis and Wolff too");
  add_text(app, "--wolff-method", o.wolff_method, "WORD[,..]", "single engine: a row for each");
  add_text(app, "--label-method", o.label_method, "WORD[,..]", "single engine: a row for each");
}

void add_how_options(CLI::App& app, BenchOptions& o) {
  app.option_defaults()->group("How");
  add_whole(app, "--repeats", o.repeats, 1, 1000, "timed pieces per row");
  add_text(app, "--seconds", o.seconds, "TIME", "of a piece, at least");
  add_whole(app, "--equilibrate", o.equilibrate, 0, 1u << 30,
            "mixed cycles before: sweep and 4 Wolff updates\n"
            "(bundle), sweep and Swendsen-Wang (single)");
  add_whole(app, "--threads", o.threads, 0, 4096, "of the CPU's rows; 0: all cores");
  add_whole(app, "--seed", o.seed, 0, kMostSeed, "of graphs and runs");
  app.option_defaults()->group("Output");
  add_text(app, "--vs", o.vs, "FILE.json", "print ratios to this saved run");
  app.add_flag("--json", o.json, "print one JSON object, nothing else");
}

}  // namespace

AddedCommand add_bench_command(CLI::App& program) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App& app = *program.add_subcommand("bench", kAbout);
  app.footer(kExamples);
  add_what_options(app, *options);
  add_how_options(app, *options);
  return {&app, [options] { return run_bench_command(*options); }};
}

}  // namespace rewise
