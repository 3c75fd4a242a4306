#include "src/bitlattice/host_replicas.hpp"

#include "src/bitlattice/bitlattice_engine.hpp"
#include "src/bitlattice/local.hpp"

namespace rewise::bitlattice {

HostReplicas::HostReplicas(const Layout& layout, const ReplicaRules& rules, Words own, int threads)
    : layout_(layout), rules_(rules), own_(own), draws_(rules.count()) {
  check_machine_memory(layout, rules.count());
  spins_ = std::make_unique_for_overwrite<std::uint32_t[]>(rules.count() * layout.words());
  const std::uint64_t each = strips(own);
  for (int colour = 0; colour < 2; ++colour) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::uint64_t k = 0; k < rules.count() * each; ++k) {
      start_strip(layout, rules, k / each, colour, strip_of(own, k % each), spins_of(k / each));
    }
  }
}

void HostReplicas::make_draws(std::size_t first, std::size_t last, std::uint64_t step) {
  for (std::size_t replica = first; replica < last; ++replica) {
    draws_[replica] = rules_.draws(replica, static_cast<std::uint32_t>(step));
  }
}

void HostReplicas::update(std::size_t first, std::size_t last, int colour,
                          std::span<const Words> parts, int threads) {
  std::uint64_t each = 0;
  for (const Words part : parts) each += strips(part);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::uint64_t k = first * each; k < last * each; ++k) {
    std::uint64_t which = k % each;
    std::size_t part = 0;
    for (; which >= strips(parts[part]); ++part) which -= strips(parts[part]);
    update_strip(layout_, draws_[k / each], rules_.spec().local, colour,
                 strip_of(parts[part], which), spins_of(k / each));
  }
}

void HostReplicas::count(std::span<std::uint64_t> sums, int threads) const {
  const std::uint64_t each = strips(own_);
  for (std::size_t replica = 0; replica < rules_.count(); ++replica) {
    std::uint64_t unequal = 0, up = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : unequal, up)
    for (std::uint64_t k = 0; k < each; ++k) {
      const Counts counts = count_strip(layout_, strip_of(own_, k), spins_of(replica));
      unequal += counts.unequal;
      up += counts.up;
    }
    sums[2 * replica] = unequal;
    sums[2 * replica + 1] = up;
  }
}

}  // namespace rewise::bitlattice
