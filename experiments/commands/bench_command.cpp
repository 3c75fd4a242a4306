// `rewise bench`: times engines and updates on devices, compared with a saved run.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "experiments/commands/bench.hpp"
#include "experiments/commands/bench_plan.hpp"
#include "experiments/commands/bench_report.hpp"
#include "experiments/console/commands.hpp"
#include "src/base/count_text.hpp"
#include "src/cuda/devices.hpp"
#include "src/settings/parse.hpp"
#include "src/study/build_info.hpp"
#include "src/study/progress.hpp"
#include "src/study/shared_ranks.hpp"

namespace rewise {
namespace {

constexpr const char* kBenchAbout =
    "Speeds of every engine, update and device.\n\n"
    "Example: rewise bench\n\n"
    "Times the updates of all engines on equilibrated configurations, by default near "
    "Tc(p).\nPrints sites per ns, us per update, and the speed of the GPU relative to the CPU.";
constexpr const char* kBenchExamples = R"(
Lists give a row for every combination. An engine that a device cannot run is skipped,
unless both are given: that ends with status 69.

More examples:
  rewise bench --size 64,256,1024 --p 0.01 --engine multispin --json > before.json
  rewise bench --size 1024 --p 0.01 --temperature 2.38 --update wolff --device cuda
  rewise bench --size 32,64 --p 0.01 --replicas 256 --graphs 1,64 --device cuda
  rewise bench --engine bytespin --wolff-method frontier,ccl --size 1024
  rewise bench --model potts --q 3 --size 1024 --device cuda
  rewise bench --model potts --q 4 --update swendsen-wang --label-method fast,kalentev
  rewise bench --engine bitlattice --size 1024,16384,131072 --p 0
  mpirun -n 2 rewise bench --share-ranks --size 131072 --p 0 --device cuda
  rewise bench --size 256 --schedule 1:16          a mix of both updates as well)";

std::string device_title(const Device& device, int threads) {
  if (device.index < 0) return fmt::format("{}, {}", cpu_name(), count_text(threads, "thread"));
  std::string title;
  for (const CudaDevice& cuda : cuda_devices()) {
    if (cuda.index != device.index && std::ranges::count(device.team, cuda.index) == 0) continue;
    title += (title.empty() ? "" : " + ") + cuda.name;
  }
  return title;
}

BenchResult run_groups(const BenchPlan& plan, const std::vector<BenchGroup>& groups) {
  std::size_t rows = 0;
  for (const BenchGroup& group : groups) rows += group.updates.size();
  const StopToken stop;
  Progress progress("bench", static_cast<double>(rows));
  BenchResult result;
  for (const Device& device : plan.devices) {
    const bool used = std::any_of(groups.begin(), groups.end(), [&](const BenchGroup& group) {
      return group.device.name == device.name;
    });
    if (!used) continue;
    std::string title = device_title(device, plan.effort.threads);
    if (shared_ranks() != nullptr) title = fmt::format("{} x {}", shared_ranks()->size(), title);
    result.devices.push_back({device.name, title});
  }
  std::exception_ptr failure;
  for (const BenchGroup& group : groups) {
    const std::string name =
        fmt::format("{}, {}, {}, p = {}, {}", to_string(group.engine), group.device.name,
                    extents_text(group.graph.extents), number_text(group.graph.p),
                    count_text(group.replicas, "replica"));
    progress.stage(name);
    try {
      const auto done = [&](const BenchRow&) {
        progress.finished();
        progress.add(1);
      };
      const auto timed = run_bench(group, plan.effort, stop, done);
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
  const BenchPlan plan = make_bench_plan(options);
  const BenchResult result = run_groups(plan, bench_groups(plan, options));
  if (options.json) {
    fmt::print("{}\n", bench_json(result).dump(2));
    return ExitCode::done;
  }
  fmt::print("{}", bench_table(result));
  return ExitCode::done;
}

void add_what_options(CLI::App& app, BenchOptions& o) {
  begin_group(app, "What");
  add_text(app, "--engine", o.engine, "WORD[,..]", engine_names() + " [all]");
  add_text(app, "--update", o.update, "WORD[,..]",
           names_of(all_updates()) +
               "\n[all]; of Potts, glauber is the heat bath; few-cluster\nrequires the bytespin "
               "engine");
  add_model_options(app, o);
  add_text(app, "--device", o.device, "DEVICE",
           "all (the CPU and every GPU), auto, cpu, cuda,\ncuda:N, cuda:0,1 (each), or cuda:0+1 "
           "(GPUs that share\nevery lattice: bytespin and bitlattice engine)");
  add_integer(app, "--dim", o.dim, 1, kMaxDim, "dimension of the lattices, 1..4");
  add_text(app, "--size", o.size, "L[,L..]", "edges, one lattice each: even, 4 or more");
  add_text(app, "--p", o.p, "P[,P..]", "rewiring probabilities");
  add_text(app, "--temperature", o.temperature, "T[,T..]",
           "such as 2.2,2.3; or FROM:TO:COUNT, such as 2:3:11; or\nFROM:TO:STEP, such as 2:3:0.1 "
           "[near Tc(p)]");
  add_text(app, "--replicas", o.replicas, "N[,N..]",
           "of the multispin engine, multiples of 32 [CPU: 32 per\nthread; CUDA: 1024]");
  add_text(app, "--graphs", o.graphs, "N[,N..]",
           "multispin engine: graphs at once, which share every\nkernel launch on CUDA");
  add_text(app, "--systems", o.systems, "N[,N..]",
           "of the bytespin engine [CPU: one per thread; CUDA: 2^24\n"
           "sites in all] and of bitlattice [1]; --replicas is\n"
           "the same where --engine names these alone");
  add_integer(app, "--cluster-updates", o.cluster_updates, 0, 1u << 16,
              "cluster updates per cycle, in one kernel launch if the\nengine supports it; 0: 64 "
              "for Wolff on CUDA, else 8");
  add_text(app, "--schedule", o.schedule, "M:W", "also time this mix of Metropolis and Wolff");
  add_method_options(app, o.methods, MethodHelp::lists);
}

void add_how_options(CLI::App& app, BenchOptions& o) {
  begin_group(app, "How");
  add_integer(app, "--repeats", o.repeats, 1, 1000, "timed intervals per row");
  add_text(app, "--seconds", o.seconds, "TIME",
           "duration of an interval, such as 0.5s; half of it at least");
  add_integer(
      app, "--equilibrate", o.equilibrate, 0, 1u << 30,
      "cycles before the timing. multispin: a sweep and 4 Wolff\nupdates, but with couplings "
      "or fields a sweep alone;\nbytespin: a sweep and a Swendsen-Wang update;\nbitlattice: a "
      "sweep");
  add_threads(app, o.threads, "CPU threads; 0: all cores");
  add_share_ranks(app, o.share_ranks, o.share_route);
  add_integer(app, "--seed", o.seed, 0, kMaxSeed, "seed of graphs and runs");
  begin_group(app, "Output");
  add_flag(app, "--json", o.json, "print one JSON object, nothing else");
}

}  // namespace

AddedCommand add_bench_command(CLI::App& program) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App& app = add_command(program, "bench", kBenchAbout, kBenchExamples);
  add_what_options(app, *options);
  add_how_options(app, *options);
  return {&app, [options] {
            return with_ranks(
                {options->share_ranks, options->share_route, options->device, options->threads},
                [&] { return run_bench_command(*options); });
          }};
}

}  // namespace rewise
