// Where a Swendsen-Wang update on CUDA spends its time: bench_bytespin_steps_gpu [row ...]
// us per step of swendsen_wang_fused.hpp or, for other lattices, of swendsen_wang_cuda.hpp (medians
// of 20 updates after 40, events between the steps, so a step that is shorter than its launch shows
// the launch), and the bare update's.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "graphs/graph.hpp"
#include "src/bytespin/device_graph.hpp"
#include "src/bytespin/local/local_cuda.hpp"
#include "src/bytespin/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/bytespin/swendsen_wang/swendsen_wang_fused.hpp"
#include "src/cuda/device_stream.hpp"
#include "src/cuda/graph.hpp"
#include "src/cuda/use_device.hpp"

namespace {

using namespace rewise;
using namespace rewise::bytespin;

struct Row {
  std::vector<std::uint32_t> extents;
  double p, temperature;
  std::uint32_t systems;
  std::uint32_t q = 0;  // of Potts; 0: Ising
};

constexpr double kPottsTc = 0.994972861;  // q = 3, square lattice

const std::vector<Row> kRows{{{4096, 4096}, 0.0, 2.269185, 1},    {{4096, 4096}, 0.01, 2.43, 1},
                             {{4096, 4096}, 0.1, 2.78, 1},        {{1024, 1024}, 0.0, 2.269185, 1},
                             {{1024, 1024}, 0.01, 2.43, 1},       {{1024, 1024}, 0.0, 2.269185, 64},
                             {{32, 32}, 0.0, 2.269185, 4096},     {{128, 128, 128}, 0.0, 4.5115, 1},
                             {{4096, 4096}, 0.0, kPottsTc, 1, 3}, {{4096, 4096}, 0.01, 1.06, 1, 3},
                             {{1024, 1024}, 0.0, kPottsTc, 1, 3}, {{1024, 1024}, 0.01, 1.06, 1, 3}};
constexpr std::array<const char*, 5> kSteps{"draw", "tiles", "join", "roots", "flip"};
constexpr std::array<const char*, 2> kFusedSteps{"tiles", "join"};
constexpr std::uint32_t kUpdates = 20;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Systems on the device, cold.
class Bench {
 public:
  explicit Bench(const Row& row)
      : graph_(build_graph({row.extents, row.p, Rule::rewire, 1})),
        plan_(graph_, spec(row)),
        device_(plan_, stream()),
        stride_((plan_.sites + 255) / 256 * 256),
        spins_(row.systems * stride_),
        pending_(3 * std::size_t{row.systems}),
        now_{1, row.systems, row.systems, 0, stride_, spins_.data(), pending_.data()} {
    spins_.clear(stream());
    pending_.clear(stream());
  }

  // Seconds per update; run(systems, count, quartic) makes some.
  template <class Run>
  double updates(const Run& run, std::uint32_t count) {
    const CudaEvent start(true), end(true);
    start.record(stream());
    run(now_, count, pending_.data() + now_.systems);
    end.record(stream());
    queue_.wait();
    now_.step += count;
    return end.seconds_since(start) / count;
  }

  // Seconds of each step: update(systems, number, mark) calls mark() after each.
  template <class F>
  std::vector<double> steps(std::size_t count, F&& update) {
    std::vector<CudaEvent> events;
    for (std::size_t n = 0; n < kUpdates * (count + 1); ++n) events.emplace_back(true);
    auto event = events.begin();
    const auto mark = [&] { (event++)->record(stream()); };
    for (std::uint32_t n = 0; n < kUpdates; ++n, ++now_.step) {
      mark();
      update(now_, n, mark);
    }
    queue_.wait();
    std::vector<double> medians;
    for (std::size_t step = 0; step < count; ++step) {
      std::vector<double> seconds;
      for (std::size_t n = step; n + 1 < events.size(); n += count + 1) {
        seconds.push_back(events[n + 1].seconds_since(events[n]));
      }
      medians.push_back(median(seconds));
    }
    return medians;
  }

  const DevicePlan& plan() const { return device_.plan(); }
  const DeviceSystems& systems() const { return now_; }
  cudaStream_t stream() const { return queue_.get(); }
  const DeviceStream& queue() const { return queue_; }

 private:
  static EngineSpec spec(const Row& row) {
    EngineSpec spec;
    spec.betas = {1 / row.temperature};
    spec.replicas = row.systems;
    if (row.q > 0) {
      spec.model.kind = ModelKind::potts;
      spec.model.q = row.q;
    }
    return spec;
  }

  const DeviceStream queue_{0};
  Graph graph_;
  Plan plan_;
  DeviceGraph device_;
  std::uint64_t stride_;
  DeviceBuffer<std::uint8_t> spins_;
  DeviceBuffer<unsigned long long> pending_;
  DeviceSystems now_;
};

std::vector<double> time_fused(Bench& bench, double& update) {
  FusedSwendsenWang all(bench.queue(), bench.plan(), bench.systems().systems);
  const auto run = [&](const DeviceSystems& now, std::uint32_t count, unsigned long long* quartic) {
    all.run(now, count, quartic);
  };
  bench.updates(run, 40);
  update = bench.updates(run, kUpdates);
  return bench.steps(kFusedSteps.size(), [&](const DeviceSystems& now, std::uint32_t n, auto mark) {
    launch_fused_tiles(bench.plan(), all.labels(), now, n, bench.stream());
    mark();
    launch_fused_join(bench.plan(), all.labels(), now, n, bench.stream());
    mark();
  });
}

std::vector<double> time_apart(Bench& bench, double& update) {
  SwendsenWangCuda all(bench.plan(), bench.systems(), bench.stream());
  const auto run = [&](const DeviceSystems& now, std::uint32_t count, unsigned long long* quartic) {
    all.run(now, count, quartic, bench.stream());
  };
  bench.updates(run, 40);
  update = bench.updates(run, kUpdates);
  const DeviceLabels& labels = all.labels();
  return bench.steps(kSteps.size(), [&](const DeviceSystems& now, std::uint32_t n, auto mark) {
    launch_draw(bench.plan(), labels, now, bench.stream());
    mark();
    launch_label_tiles(bench.plan(), labels, now, n, bench.stream());
    mark();
    launch_join(bench.plan(), labels, now, bench.stream());
    mark();
    launch_find_roots(bench.plan(), labels, now, bench.stream());
    mark();
    launch_flip(bench.plan(), labels, now, n, bench.stream());
    mark();
  });
}

void time_steps(const Row& row) {
  Bench bench(row);
  fmt::print("d={} L={:<5} p={:<5} systems={:<5} q={}", row.extents.size(), row.extents[0], row.p,
             row.systems, row.q);
  const bool fused = FusedSwendsenWang::takes(bench.plan());
  double update = 0;
  const std::vector<double> steps = fused ? time_fused(bench, update) : time_apart(bench, update);
  for (std::size_t step = 0; step < steps.size(); ++step) {
    fmt::print(" {} {:.1f}", fused ? kFusedSteps[step] : kSteps[step], 1e6 * steps[step]);
  }
  fmt::print("  update {:.1f} us\n", 1e6 * update);
}

}  // namespace

int main(int argc, char** argv) {
  use_device(0);
  for (int n = 1; n < argc; ++n) time_steps(kRows.at(std::strtoul(argv[n], nullptr, 10)));
  if (argc > 1) return 0;
  for (const Row& row : kRows) time_steps(row);
}
