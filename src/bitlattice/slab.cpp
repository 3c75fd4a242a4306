#include "src/bitlattice/slab.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <vector>

#include "src/bitlattice/host_replicas.hpp"

namespace rewise::bitlattice {
namespace {

class CpuSlab final : public Slab {
 public:
  CpuSlab(const Layout& lattice, const EngineSpec& spec, distributed::Transport& transport,
          int threads);

  std::string device() const override { return "cpu"; }
  int threads() const override { return threads_; }
  void sweep(std::size_t first, std::size_t last, std::uint64_t step, std::uint64_t steps) override;
  void count(std::span<std::uint64_t> sums) override { spins_.count(sums, threads_); }
  void read_words(std::size_t replica, int colour, std::uint64_t first,
                  std::span<std::uint32_t> out) const override {
    std::copy_n(spins_.words(replica, colour) + own_.first + first, out.size(), out.begin());
  }
  void write_words(std::size_t replica, int colour, std::uint64_t first,
                   std::span<const std::uint32_t> from) override {
    std::copy(from.begin(), from.end(), spins_.words(replica, colour) + own_.first + first);
  }
  void fetch(std::uint64_t replica) override {
    for (int colour = 0; colour < 2; ++colour) post_planes(replica, colour);
    transport_.wait();
  }

 private:
  void post_planes(std::size_t replica, int colour);

  const int threads_;
  const Words own_;  // words of a colour that are not halo
  // The first and the last plane, which are sent to other ranks, and the planes between them.
  std::vector<Words> outer_, inner_;
  HostReplicas spins_;
};

CpuSlab::CpuSlab(const Layout& lattice, const EngineSpec& spec, distributed::Transport& transport,
                 int threads)
    : Slab(lattice, spec, transport),
      threads_(threads > 0 ? threads : omp_get_max_threads()),
      own_{layout_.plane_words(), layout_.colour_words() - layout_.plane_words()},
      spins_(layout_, rules_, own_, threads_) {
  const std::uint64_t plane = layout_.plane_words();
  outer_.push_back({own_.first, own_.first + plane});
  if (own_planes() > 1) outer_.push_back({own_.last - plane, own_.last});
  if (own_planes() > 2) inner_.push_back({own_.first + plane, own_.last - plane});
}

void CpuSlab::post_planes(std::size_t replica, int colour) {
  const std::uint64_t plane = layout_.plane_words();
  std::uint32_t* all = spins_.words(replica, colour);
  const auto bytes = [&](std::uint64_t first) {
    return std::span(reinterpret_cast<std::uint8_t*>(all + first), 4 * plane);
  };
  transport_.post_receive(previous_rank(), kToNext, bytes(0));
  transport_.post_receive(next_rank(), kToPrevious, bytes(own_.last));
  transport_.post_send(next_rank(), kToNext, bytes(own_.last - plane));
  transport_.post_send(previous_rank(), kToPrevious, bytes(own_.first));
}

void CpuSlab::sweep(std::size_t first, std::size_t last, std::uint64_t step, std::uint64_t steps) {
  for (std::uint64_t n = 0; n < steps; ++n) {
    spins_.make_draws(first, last, step + n);
    for (int colour = 0; colour < 2; ++colour) {
      spins_.update(first, last, colour, outer_, threads_);
      for (std::size_t replica = first; replica < last; ++replica) post_planes(replica, colour);
      spins_.update(first, last, colour, inner_, threads_);
      transport_.wait();
    }
  }
}

}  // namespace

std::unique_ptr<Slab> make_cpu_slab(const Layout& lattice, const EngineSpec& spec,
                                    distributed::Transport& transport, int threads) {
  return std::make_unique<CpuSlab>(lattice, spec, transport, threads);
}

}  // namespace rewise::bitlattice
