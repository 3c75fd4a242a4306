// The bitlattice engine on a CUDA device: owns the device's memory and queues the kernels of its
// replicas one after the other on one stream. Waits only if the caller needs numbers.
#include <fmt/format.h>

#include "src/base/clock.hpp"
#include "src/bitlattice/bitlattice_engine.hpp"
#include "src/bitlattice/kernels_cuda.hpp"
#include "src/cuda/device_buffer.hpp"
#include "src/cuda/device_stream.hpp"
#include "src/engine/device_spins.hpp"
#include "src/engine/device_sums_cuda.hpp"

namespace rewise::bitlattice {
namespace {

class CudaEngine final : public BitlatticeEngine, public HasDeviceSpins {
 public:
  CudaEngine(const Layout& layout, const EngineSpec& spec, const EngineOptions& options);

  std::string_view device() const override { return device_name_; }
  int threads() const override { return 1; }
  bool advance(const Schedule& schedule, std::uint64_t cycles) override;
  void measure(Observation& out) override;

  DeviceSpins device_spins() override;
  std::int64_t* measure_on_device() override;
  void wait_for_readers() override { device_.wait_for_readers(); }

 private:
  cudaStream_t stream() const { return device_.get(); }
  void sweep(std::size_t replica, std::uint32_t step);  // queued
  void count_replicas();                                // queued
  std::uint32_t* spins_of(std::size_t replica) { return spins_.data() + replica * layout_.words(); }
  void read_words(std::size_t replica, std::uint64_t first,
                  std::span<std::uint32_t> out) const override;
  void write_words(std::size_t replica, std::uint64_t first,
                   std::span<const std::uint32_t> words) override;

  const EngineOptions options_;
  const DeviceStream device_;
  const std::string device_name_;
  DeviceBuffer<std::uint32_t> spins_;          // [replicas][words]
  DeviceBuffer<unsigned long long> measured_;  // [replicas][2] unequal bonds, sites up
  DeviceBuffer<std::int64_t> sums_;            // allocated by the first measure_on_device()
};

CudaEngine::CudaEngine(const Layout& layout, const EngineSpec& spec, const EngineOptions& options)
    : BitlatticeEngine(layout, spec),
      options_(options),
      device_(options.device),
      device_name_(fmt::format("cuda:{}", options.device)) {
  check_device_memory(layout_, replicas_, options.device);
  spins_ = DeviceBuffer<std::uint32_t>(replicas_ * layout_.words());
  measured_ = DeviceBuffer<unsigned long long>(2 * replicas_);
  for (std::size_t replica = 0; replica < replicas_; ++replica) {
    launch_start(layout_, layout_.all_rows(), spec_.seed, static_cast<std::uint32_t>(replica),
                 hot(replica), spins_of(replica), stream());
  }
  device_.wait();
}

bool CudaEngine::advance(const Schedule& schedule, std::uint64_t cycles) {
  device_.use();
  return advance_replicas(
      options_, schedule, cycles,
      [&](std::size_t begin, std::size_t end, std::uint64_t step, std::uint64_t steps) {
        for (std::uint64_t n = 0; n < steps; ++n) {
          for (std::size_t replica = begin; replica < end; ++replica) {
            sweep(replica, static_cast<std::uint32_t>(step + n));
          }
        }
        device_.wait();
      });
}

void CudaEngine::sweep(std::size_t replica, std::uint32_t step) {
  const Draws drawn = draws(replica, step);
  for (const int colour : {0, 1}) {
    launch_update(layout_, layout_.all_rows(), drawn, spec_.local, colour, spins_of(replica),
                  stream());
  }
}

void CudaEngine::count_replicas() {
  measured_.clear(stream());
  for (std::size_t replica = 0; replica < replicas_; ++replica) {
    launch_count(layout_, layout_.all_rows(), spins_of(replica), measured_.data() + 2 * replica,
                 stream());
  }
}

void CudaEngine::measure(Observation& out) {
  device_.use();
  const double start = now();
  count_replicas();
  fill_observation(measured_.to_host(stream()), out);
  work_.measure_seconds += now() - start;
}

std::int64_t* CudaEngine::measure_on_device() {
  device_.use();
  if (sums_.empty()) sums_ = DeviceBuffer<std::int64_t>(2 * replicas_);
  count_replicas();
  launch_report({measured_.data(), 2, measured_.data() + 1, 2}, sum_units(),
                static_cast<std::uint32_t>(replicas_), sums_.data(), stream());
  device_.wait();
  return sums_.data();
}

DeviceSpins CudaEngine::device_spins() {
  const auto row = static_cast<std::int64_t>(layout_.stride());
  const auto colour = static_cast<std::int64_t>(layout_.colour_words());
  const std::uint64_t replicas = spec_.replicas;
  return {spins_.data(),
          device_.device(),
          true,
          {spec_.betas.size(), replicas, 2, layout_.rows, layout_.stride()},
          {static_cast<std::int64_t>(replicas) * 2 * colour, 2 * colour, colour, row, 1}};
}

void CudaEngine::read_words(std::size_t replica, std::uint64_t first,
                            std::span<std::uint32_t> out) const {
  device_.use();
  spins_.copy_out(out, stream(), replica * layout_.words() + first);
  device_.wait();
}

void CudaEngine::write_words(std::size_t replica, std::uint64_t first,
                             std::span<const std::uint32_t> words) {
  device_.use();
  spins_.copy_in(words, stream(), replica * layout_.words() + first);
  device_.wait();
}

}  // namespace

std::unique_ptr<Engine> make_cuda_engine(const Layout& layout, const EngineSpec& spec,
                                         const EngineOptions& options) {
  return std::make_unique<CudaEngine>(layout, spec, options);
}

}  // namespace rewise::bitlattice
