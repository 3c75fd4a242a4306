// A slab on a CUDA device, with two streams. Half-sweep h, of one colour:
//
//   urgent stream   waits for the inner planes of h - 1; updates the outer planes and exchanges
//                   them with the neighbours (engine/device_messages_cuda.hpp), which fills the
//                   halo
//   main stream     waits for the outer planes of h - 1; updates the inner planes
//
// The exchange therefore costs no time if the inner planes take longer than the outer planes and
// the messages (about 50 us if these pass through the host). Planes of h are overwritten in h + 2.
#include <memory>
#include <vector>

#include "src/bitlattice/bitlattice_engine.hpp"
#include "src/bitlattice/kernels_cuda.hpp"
#include "src/bitlattice/slab.hpp"
#include "src/cuda/device_buffer.hpp"
#include "src/cuda/device_stream.hpp"
#include "src/cuda/graph.hpp"
#include "src/cuda/stream.hpp"
#include "src/engine/device_messages_cuda.hpp"

namespace rewise::bitlattice {
namespace {

class CudaSlab final : public Slab {
 public:
  CudaSlab(const Layout& lattice, const EngineSpec& spec, distributed::Transport& transport,
           int device);
  ~CudaSlab() override {
    device_.finish();
    cudaStreamSynchronize(urgent_.get());
  }

  std::string device() const override { return "cuda"; }
  std::string model() const override { return device_model(device_.device()); }
  int threads() const override { return 1; }
  std::string route() const override { return messages_ ? messages_->routes() : ""; }
  void sweep(std::size_t first, std::size_t last, std::uint64_t step, std::uint64_t steps) override;
  void count(std::span<std::uint64_t> sums) override;
  void read_words(std::size_t replica, int colour, std::uint64_t first,
                  std::span<std::uint32_t> out) const override;
  void write_words(std::size_t replica, int colour, std::uint64_t first,
                   std::span<const std::uint32_t> words) override;
  void fetch(std::uint64_t replica) override;

 private:
  cudaStream_t stream() const { return device_.get(); }
  std::uint32_t* spins_of(std::size_t replica) { return spins_.data() + replica * layout_.words(); }
  // Index of a colour of a replica in spins_.
  std::size_t place(std::size_t replica, int colour) const {
    return replica * layout_.words() + (colour == 0 ? 0 : layout_.colour_words());
  }
  Rows planes(std::uint32_t first, std::uint32_t last) const {
    return {first * layout_.plane_rows(), last * layout_.plane_rows()};
  }
  void exchange(std::size_t first, std::size_t last, int colour);
  void half_sweep(std::size_t first, std::size_t last, int colour, const std::vector<Draws>& draws);

  const DeviceStream device_;  // with the main stream
  CudaStream urgent_;
  CudaEvent inside_done_, outer_done_;
  DeviceBuffer<std::uint32_t> spins_;          // [replicas][words]
  DeviceBuffer<unsigned long long> measured_;  // [replicas][2] unequal bonds, sites up
  std::unique_ptr<DeviceMessages> messages_;   // destroyed first
};

// Streams and events belong to the current device, which device_ chooses.
CudaSlab::CudaSlab(const Layout& lattice, const EngineSpec& spec, distributed::Transport& transport,
                   int device)
    : Slab(lattice, spec, transport), device_(device), urgent_(CudaStream::urgent()) {
  check_device_memory(layout_, rules_.count(), device);
  const std::size_t replicas = rules_.count();
  spins_ = DeviceBuffer<std::uint32_t>(replicas * layout_.words());
  measured_ = DeviceBuffer<unsigned long long>(2 * replicas);
  for (std::size_t replica = 0; replica < replicas; ++replica) {
    launch_start(layout_, planes(1, own_planes() + 1), spec.seed,
                 static_cast<std::uint32_t>(replica), rules_.hot(replica), spins_of(replica),
                 stream());
  }
  device_.wait();
}

// Queues the halo exchange of a colour on the urgent stream.
void CudaSlab::exchange(std::size_t first, std::size_t last, int colour) {
  const std::uint64_t plane = layout_.plane_words();
  std::vector<DeviceMessages::Message> out, in;
  for (std::size_t replica = first; replica < last; ++replica) {
    const auto message = [&](int rank, std::uint64_t planes_before) -> DeviceMessages::Message {
      return {rank,
              reinterpret_cast<std::uint8_t*>(spins_.data() + place(replica, colour) +
                                              planes_before * plane),
              4 * plane};
    };
    out.push_back(message(previous_rank(), 1));
    out.push_back(message(next_rank(), own_planes()));
    in.push_back(message(next_rank(), own_planes() + 1));
    in.push_back(message(previous_rank(), 0));
  }
  messages_->exchange(out, in, urgent_.get());
}

void CudaSlab::half_sweep(std::size_t first, std::size_t last, int colour,
                          const std::vector<Draws>& draws) {
  const std::uint32_t own = own_planes();
  const auto update = [&](std::size_t replica, Rows rows, cudaStream_t stream) {
    launch_update(layout_, rows, draws[replica - first], rules_.spec().local, colour,
                  spins_of(replica), stream);
  };
  outer_done_.make_stream_wait(stream());  // of the previous half-sweep
  inside_done_.make_stream_wait(urgent_.get());
  for (std::size_t replica = first; replica < last; ++replica) {
    update(replica, planes(1, 2), urgent_.get());
    if (own > 1) update(replica, planes(own, own + 1), urgent_.get());
  }
  outer_done_.record(urgent_.get());
  for (std::size_t replica = first; replica < last && own > 2; ++replica) {
    update(replica, planes(2, own), stream());
  }
  inside_done_.record(stream());
  exchange(first, last, colour);
}

void CudaSlab::sweep(std::size_t first, std::size_t last, std::uint64_t step, std::uint64_t steps) {
  device_.use();
  std::vector<Draws> draws(last - first);
  for (std::uint64_t n = 0; n < steps; ++n) {
    for (std::size_t replica = first; replica < last; ++replica) {
      draws[replica - first] = rules_.draws(replica, static_cast<std::uint32_t>(step + n));
    }
    for (int colour = 0; colour < 2; ++colour) half_sweep(first, last, colour, draws);
  }
  messages_->finish(urgent_.get());
  device_.wait();
}

void CudaSlab::count(std::span<std::uint64_t> sums) {
  device_.use();
  measured_.clear(stream());
  for (std::size_t replica = 0; replica < rules_.count(); ++replica) {
    launch_count(layout_, planes(1, own_planes() + 1), spins_of(replica),
                 measured_.data() + 2 * replica, stream());
  }
  const auto counted = measured_.to_host(stream());
  std::copy(counted.begin(), counted.end(), sums.begin());
}

void CudaSlab::read_words(std::size_t replica, int colour, std::uint64_t first,
                          std::span<std::uint32_t> out) const {
  device_.use();
  spins_.copy_out(out, stream(), place(replica, colour) + layout_.plane_words() + first);
  device_.wait();
}

void CudaSlab::write_words(std::size_t replica, int colour, std::uint64_t first,
                           std::span<const std::uint32_t> words) {
  device_.use();
  spins_.copy_in(words, stream(), place(replica, colour) + layout_.plane_words() + first);
  device_.wait();
}

void CudaSlab::fetch(std::uint64_t replica) {
  device_.use();
  if (!messages_) {
    messages_ = std::make_unique<DeviceMessages>(transport_, device_.device());
    messages_->register_memory({reinterpret_cast<std::uint8_t*>(spins_.data()), spins_.bytes()});
  }
  for (int colour = 0; colour < 2; ++colour) exchange(replica, replica + 1, colour);
  messages_->finish(urgent_.get());
}

}  // namespace

std::unique_ptr<Slab> make_cuda_slab(const Layout& lattice, const EngineSpec& spec,
                                     distributed::Transport& transport, int device) {
  return std::make_unique<CudaSlab>(lattice, spec, transport, device);
}

}  // namespace rewise::bitlattice
