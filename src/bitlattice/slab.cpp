#include "src/bitlattice/slab.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <vector>

#include "src/bitlattice/bitlattice_engine.hpp"
#include "src/bitlattice/local.hpp"

namespace rewise::bitlattice {
namespace {

class CpuSlab final : public Slab {
 public:
  CpuSlab(const Layout& lattice, const EngineSpec& spec, distributed::Transport& transport,
          int threads);

  std::string device() const override { return "cpu"; }
  int threads() const override { return threads_; }
  void sweep(std::size_t first, std::size_t last, std::uint64_t step, std::uint64_t steps) override;
  void count(std::span<std::uint64_t> sums) override;
  void read_words(std::size_t replica, int colour, std::uint64_t first,
                  std::span<std::uint32_t> out) const override {
    std::copy_n(words(replica, colour) + own_.first + first, out.size(), out.begin());
  }
  void write_words(std::size_t replica, int colour, std::uint64_t first,
                   std::span<const std::uint32_t> from) override {
    std::copy(from.begin(), from.end(), words(replica, colour) + own_.first + first);
  }
  void fetch(std::uint64_t replica) override {
    for (int colour = 0; colour < 2; ++colour) post_planes(replica, colour);
    transport_.wait();
  }

 private:
  std::uint32_t* spins_of(std::size_t replica) const {
    return spins_.get() + replica * layout_.words();
  }
  std::uint32_t* words(std::size_t replica, int colour) const {
    return spins_of(replica) + (colour == 0 ? 0 : layout_.colour_words());
  }
  void post_planes(std::size_t replica, int colour);
  void update(std::size_t first, std::size_t last, int colour, std::span<const Words> parts);

  const int threads_;
  const Words own_;  // words of a colour that are not halo
  // The first and the last plane, which are sent to other ranks, and the planes between them.
  std::vector<Words> outer_, inner_;
  std::unique_ptr<std::uint32_t[]> spins_;  // [replicas][words]
  std::vector<Draws> draws_;                // [replicas], of the current step
};

CpuSlab::CpuSlab(const Layout& lattice, const EngineSpec& spec, distributed::Transport& transport,
                 int threads)
    : Slab(lattice, spec, transport),
      threads_(threads > 0 ? threads : omp_get_max_threads()),
      own_{layout_.plane_words(), layout_.colour_words() - layout_.plane_words()} {
  check_machine_memory(layout_, rules_.count());
  const std::uint64_t plane = layout_.plane_words();
  outer_.push_back({own_.first, own_.first + plane});
  if (own_planes() > 1) outer_.push_back({own_.last - plane, own_.last});
  if (own_planes() > 2) inner_.push_back({own_.first + plane, own_.last - plane});
  spins_ = std::make_unique_for_overwrite<std::uint32_t[]>(rules_.count() * layout_.words());
  draws_.resize(rules_.count());
  // The thread that initialises a strip usually updates it, so that the strip lies in memory near
  // this thread (NUMA).
  const std::uint64_t each = strips(own_);
  for (int colour = 0; colour < 2; ++colour) {
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::uint64_t k = 0; k < rules_.count() * each; ++k) {
      start_strip(layout_, rules_, k / each, colour, strip_of(own_, k % each), spins_of(k / each));
    }
  }
}

void CpuSlab::post_planes(std::size_t replica, int colour) {
  const std::uint64_t plane = layout_.plane_words();
  std::uint32_t* all = words(replica, colour);
  const auto bytes = [&](std::uint64_t first) {
    return std::span(reinterpret_cast<std::uint8_t*>(all + first), 4 * plane);
  };
  transport_.post_receive(previous_rank(), kToNext, bytes(0));
  transport_.post_receive(next_rank(), kToPrevious, bytes(own_.last));
  transport_.post_send(next_rank(), kToNext, bytes(own_.last - plane));
  transport_.post_send(previous_rank(), kToPrevious, bytes(own_.first));
}

void CpuSlab::update(std::size_t first, std::size_t last, int colour,
                     std::span<const Words> parts) {
  std::uint64_t each = 0;
  for (const Words part : parts) each += strips(part);
#pragma omp parallel for schedule(static) num_threads(threads_)
  for (std::uint64_t k = first * each; k < last * each; ++k) {
    const std::size_t replica = k / each;
    std::uint64_t which = k % each;
    std::size_t part = 0;
    for (; which >= strips(parts[part]); ++part) which -= strips(parts[part]);
    update_strip(layout_, draws_[replica], rules_.spec().local, colour,
                 strip_of(parts[part], which), spins_of(replica));
  }
}

void CpuSlab::sweep(std::size_t first, std::size_t last, std::uint64_t step, std::uint64_t steps) {
  for (std::uint64_t n = 0; n < steps; ++n) {
    for (std::size_t replica = first; replica < last; ++replica) {
      draws_[replica] = rules_.draws(replica, static_cast<std::uint32_t>(step + n));
    }
    for (int colour = 0; colour < 2; ++colour) {
      update(first, last, colour, outer_);
      for (std::size_t replica = first; replica < last; ++replica) post_planes(replica, colour);
      update(first, last, colour, inner_);
      transport_.wait();
    }
  }
}

void CpuSlab::count(std::span<std::uint64_t> sums) {
  const std::uint64_t each = strips(own_);
  for (std::size_t replica = 0; replica < rules_.count(); ++replica) {
    std::uint64_t unequal = 0, up = 0;
#pragma omp parallel for schedule(static) num_threads(threads_) reduction(+ : unequal, up)
    for (std::uint64_t k = 0; k < each; ++k) {
      const Counts counts = count_strip(layout_, strip_of(own_, k), spins_of(replica));
      unequal += counts.unequal;
      up += counts.up;
    }
    sums[2 * replica] = unequal;
    sums[2 * replica + 1] = up;
  }
}

}  // namespace

std::unique_ptr<Slab> make_cpu_slab(const Layout& lattice, const EngineSpec& spec,
                                    distributed::Transport& transport, int threads) {
  return std::make_unique<CpuSlab>(lattice, spec, transport, threads);
}

}  // namespace rewise::bitlattice
