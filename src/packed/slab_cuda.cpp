// A slab on a CUDA device, with two streams. Half-sweep h, of one colour:
//
//   urgent stream   waits for the inside of h - 1; updates the outer planes, copies them to the
//                   host; what has come from the neighbours goes to the halo
//   main stream     waits for the outer planes of h - 1; updates the inside
//   host            waits for the copies, exchanges them with the neighbours
//
// So a half-sweep takes as long as its inside where that takes longer than outer planes, copies and
// messages together, some 50 us.
//
// Ranks of one process whose devices reach each other's memory fetch the planes themselves: the
// host only says that the outer planes of h are queued, then the urgent stream waits for those of
// the neighbours (their events) and copies from there. Planes of h are overwritten in h + 2 at the
// earliest, whose outer planes wait for the neighbours' of h + 1, which come after their copies
// of h.
#include <fmt/format.h>

#include <vector>

#include "src/base/error.hpp"
#include "src/cuda/device_buffer.hpp"
#include "src/cuda/graph.hpp"
#include "src/cuda/pinned_buffer.hpp"
#include "src/cuda/stream.hpp"
#include "src/cuda/use_device.hpp"
#include "src/packed/kernels.hpp"
#include "src/packed/slab.hpp"

namespace rewise::packed {
namespace {

class CudaSlab final : public Slab {
 public:
  CudaSlab(const Layout& lattice, const EngineSpec& spec, ranks::Transport& transport, int device);
  ~CudaSlab() override {
    cudaSetDevice(device_);
    cudaStreamSynchronize(urgent_.get());
    cudaStreamSynchronize(main_.get());
  }

  std::string device() const override { return "cuda"; }
  std::string model() const override { return device_model(device_); }
  int threads() const override { return 1; }
  void sweep(std::size_t first, std::size_t last, std::uint64_t step, std::uint64_t steps) override;
  void count(std::span<std::uint64_t> sums) override;
  void read_words(std::size_t who, int colour, std::uint64_t first,
                  std::span<std::uint32_t> out) const override;
  void write_words(std::size_t who, int colour, std::uint64_t first,
                   std::span<const std::uint32_t> words) override;
  void fetch(std::uint64_t who) override;

 private:
  void use() const { check_cuda(cudaSetDevice(device_), "choosing the device"); }
  void check_memory() const;
  std::uint32_t* system(std::size_t who) { return spins_.data() + who * layout_.words(); }
  // Of a colour of a system, in spins_.
  std::size_t place(std::size_t who, int colour) const {
    return who * layout_.words() + (colour == 0 ? 0 : layout_.colour_words());
  }
  Rows planes(std::uint32_t first, std::uint32_t last) const {
    return {first * layout_.plane_rows(), last * layout_.plane_rows()};
  }
  // Of a system's four planes on the host: to the rank before, after, from before, after.
  std::span<std::uint32_t> staged(std::size_t who, std::size_t which) {
    return staged_.view().subspan((4 * who + which) * layout_.plane_words(), layout_.plane_words());
  }
  void copy_outer(std::size_t who, int colour);
  void meet();
  void fetch_planes(std::size_t first, std::size_t last, int colour);
  void exchange(std::size_t first, std::size_t last, int colour);
  void half_sweep(std::size_t first, std::size_t last, int colour, const std::vector<Draws>& draws);

  const int device_;
  CudaStream main_, urgent_;
  CudaEvent inside_done_, copied_;
  CudaEvent outer_done_[2];                    // in turns
  std::size_t turn_ = 0;                       // of the last half-sweep
  DeviceBuffer<std::uint32_t> spins_;          // [systems][words]
  DeviceBuffer<unsigned long long> measured_;  // [systems][2] unequal bonds, sites up
  PinnedBuffer<std::uint32_t> staged_;         // [systems][4][plane words]

  // Of a rank of this process.
  struct Peer {
    const std::uint32_t* spins;
    const CudaEvent* outer_done;
    int device;
    std::uint32_t planes;  // its own
  };
  bool met_ = false, reaches_ = false;  // whether the ranks have met, and reach each other's memory
  Peer before_{}, after_{};
};

// Streams and events belong to the device that is current when they are made: use_device() first.
CudaSlab::CudaSlab(const Layout& lattice, const EngineSpec& spec, ranks::Transport& transport,
                   int device)
    : Slab(lattice, spec, transport), device_(use_device(device)), urgent_(CudaStream::urgent()) {
  check_memory();
  const std::size_t systems = systems_.count();
  spins_ = DeviceBuffer<std::uint32_t>(systems * layout_.words());
  measured_ = DeviceBuffer<unsigned long long>(2 * systems);
  staged_ = PinnedBuffer<std::uint32_t>(4 * systems * layout_.plane_words());
  for (std::size_t who = 0; who < systems; ++who) {
    launch_start(layout_, planes(1, own_planes() + 1), spec.seed, static_cast<std::uint32_t>(who),
                 systems_.hot(who), system(who), main_.get());
  }
  main_.wait();
}

void CudaSlab::check_memory() const {
  const std::uint64_t need = systems_.count() * (4 * layout_.words() + 16) + (64u << 20);
  const std::size_t free = free_device_memory();
  if (need <= free) return;
  constexpr double kGiB = 1u << 30;
  throw Error(ExitCode::device,
              fmt::format("cuda:{}: {:.1f} GiB are needed for its planes of {} systems, {:.1f} GiB "
                          "are free (take more devices, or reduce replicas, temperatures or the "
                          "size)",
                          device_, static_cast<double>(need) / kGiB, systems_.count(),
                          static_cast<double>(free) / kGiB));
}

// Once, when all ranks have their slabs: whether they reach each other's memory, and where it is.
void CudaSlab::meet() {
  if (met_) return;
  met_ = true;
  if (!transport_.one_process()) return;
  Peer own{spins_.data(), outer_done_, device_, own_planes()};
  const auto bytes = [](Peer& peer) {
    return std::span(reinterpret_cast<std::uint8_t*>(&peer), sizeof peer);
  };
  transport_.post_receive(before(), kToAfter, bytes(before_));
  transport_.post_receive(after(), kToBefore, bytes(after_));
  transport_.post_send(after(), kToAfter, bytes(own));
  transport_.post_send(before(), kToBefore, bytes(own));
  transport_.wait();
  std::uint64_t far = 0;  // ranks that do not reach a neighbour
  for (const Peer& peer : {before_, after_}) far += reach_peer(device_, peer.device) ? 0 : 1;
  transport_.sum(std::span(&far, 1));
  transport_.broadcast({reinterpret_cast<std::uint8_t*>(&far), sizeof far});
  reaches_ = far == 0;
}

// Queued, when the outer planes are: the neighbours' to the halo.
void CudaSlab::fetch_planes(std::size_t first, std::size_t last, int colour) {
  std::uint8_t queued = 0, by_before = 0, by_after = 0;
  transport_.post_receive(before(), kToAfter, std::span(&by_before, 1));
  transport_.post_receive(after(), kToBefore, std::span(&by_after, 1));
  transport_.post_send(after(), kToAfter, std::span(&queued, 1));
  transport_.post_send(before(), kToBefore, std::span(&queued, 1));
  transport_.wait();
  before_.outer_done[turn_].hold(urgent_.get());
  after_.outer_done[turn_].hold(urgent_.get());
  const std::uint64_t plane = layout_.plane_words();
  // A peer's plane of a system, its halo counted.
  const auto plane_of = [&](const Peer& peer, std::size_t who, std::uint64_t at) {
    const std::uint64_t planes = (2 * who + static_cast<unsigned>(colour)) * (peer.planes + 2) + at;
    return peer.spins + planes * plane;
  };
  for (std::size_t who = first; who < last; ++who) {
    std::uint32_t* const own = spins_.data() + place(who, colour);
    launch_copy({plane_of(before_, who, before_.planes), own},
                {plane_of(after_, who, 1), own + (own_planes() + 1) * plane}, plane, urgent_.get());
  }
}

// Queued: the outer planes of a colour to the host.
void CudaSlab::copy_outer(std::size_t who, int colour) {
  const std::uint64_t plane = layout_.plane_words();
  const std::size_t at = place(who, colour);
  spins_.copy_out(staged(who, 0), urgent_.get(), at + plane);
  spins_.copy_out(staged(who, 1), urgent_.get(), at + own_planes() * plane);
}

// When the copies are there: exchanges them, and queues those of what came.
void CudaSlab::exchange(std::size_t first, std::size_t last, int colour) {
  if (reaches_) return fetch_planes(first, last, colour);
  const auto bytes = [](std::span<std::uint32_t> words) {
    return std::span(reinterpret_cast<std::uint8_t*>(words.data()), words.size_bytes());
  };
  copied_.record(urgent_.get());
  copied_.wait();
  for (std::size_t who = first; who < last; ++who) {
    transport_.post_receive(before(), kToAfter, bytes(staged(who, 2)));
    transport_.post_receive(after(), kToBefore, bytes(staged(who, 3)));
    transport_.post_send(after(), kToAfter, bytes(staged(who, 1)));
    transport_.post_send(before(), kToBefore, bytes(staged(who, 0)));
  }
  transport_.wait();
  for (std::size_t who = first; who < last; ++who) {
    const std::size_t at = place(who, colour);
    spins_.copy_in(staged(who, 2), urgent_.get(), at);
    spins_.copy_in(staged(who, 3), urgent_.get(), at + (own_planes() + 1) * layout_.plane_words());
  }
}

void CudaSlab::half_sweep(std::size_t first, std::size_t last, int colour,
                          const std::vector<Draws>& draws) {
  const std::uint32_t own = own_planes();
  const auto update = [&](std::size_t who, Rows rows, cudaStream_t stream) {
    launch_update(layout_, rows, draws[who - first], systems_.spec().local, colour, system(who),
                  stream);
  };
  outer_done_[turn_].hold(main_.get());  // of the half-sweep before
  inside_done_.hold(urgent_.get());
  for (std::size_t who = first; who < last; ++who) {
    update(who, planes(1, 2), urgent_.get());
    if (own > 1) update(who, planes(own, own + 1), urgent_.get());
  }
  turn_ ^= 1;
  outer_done_[turn_].record(urgent_.get());
  for (std::size_t who = first; who < last && !reaches_; ++who) copy_outer(who, colour);
  for (std::size_t who = first; who < last && own > 2; ++who) {
    update(who, planes(2, own), main_.get());
  }
  inside_done_.record(main_.get());
  exchange(first, last, colour);
}

void CudaSlab::sweep(std::size_t first, std::size_t last, std::uint64_t step, std::uint64_t steps) {
  use();
  std::vector<Draws> draws(last - first);
  for (std::uint64_t n = 0; n < steps; ++n) {
    for (std::size_t who = first; who < last; ++who) {
      draws[who - first] = systems_.draws(who, static_cast<std::uint32_t>(step + n));
    }
    for (int colour = 0; colour < 2; ++colour) half_sweep(first, last, colour, draws);
  }
  main_.wait();
  urgent_.wait();
  if (reaches_) transport_.barrier();  // neighbours may still copy from here
}

void CudaSlab::count(std::span<std::uint64_t> sums) {
  use();
  measured_.clear(main_.get());
  for (std::size_t who = 0; who < systems_.count(); ++who) {
    launch_count(layout_, planes(1, own_planes() + 1), system(who), measured_.data() + 2 * who,
                 main_.get());
  }
  const auto counted = measured_.to_host(main_.get());
  std::copy(counted.begin(), counted.end(), sums.begin());
}

void CudaSlab::read_words(std::size_t who, int colour, std::uint64_t first,
                          std::span<std::uint32_t> out) const {
  use();
  spins_.copy_out(out, main_.get(), place(who, colour) + layout_.plane_words() + first);
  main_.wait();
}

void CudaSlab::write_words(std::size_t who, int colour, std::uint64_t first,
                           std::span<const std::uint32_t> words) {
  use();
  spins_.copy_in(words, main_.get(), place(who, colour) + layout_.plane_words() + first);
  main_.wait();
}

void CudaSlab::fetch(std::uint64_t who) {
  use();
  meet();
  for (int colour = 0; colour < 2; ++colour) {
    turn_ ^= 1;
    outer_done_[turn_].record(urgent_.get());
    if (!reaches_) copy_outer(who, colour);
    exchange(who, who + 1, colour);
  }
  urgent_.wait();
  if (reaches_) transport_.barrier();
}

}  // namespace

std::unique_ptr<Slab> make_cuda_slab(const Layout& lattice, const EngineSpec& spec,
                                     ranks::Transport& transport, int device) {
  return std::make_unique<CudaSlab>(lattice, spec, transport, device);
}

}  // namespace rewise::packed
