#include "src/bitlattice/bitlattice_engine.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/cuda/require_memory.hpp"

namespace rewise::bitlattice {
namespace {

// Table that interleaves the spins of a row. Entry [even + 16 odd] has eight bytes (0 or 1) in
// order of x: four from the bits `even` of sites with even x, four from the bits `odd`.
std::array<std::uint64_t, 256> interleaving() {
  std::array<std::uint64_t, 256> table{};
  for (unsigned n = 0; n < 256; ++n) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      const unsigned from = bit / 2 + 4 * (bit % 2);
      table[n] |= std::uint64_t{n >> from & 1u} << (8 * bit);
    }
  }
  return table;
}

// Writes the spins of a row in order of x, one byte each, including the padding of the last word.
// even, odd: [words] the spins at even and at odd x.
void unpack_row(const std::uint32_t* even, const std::uint32_t* odd, std::uint32_t words,
                std::uint8_t* out) {
  static const std::array<std::uint64_t, 256> table = interleaving();
  for (std::uint32_t j = 0; j < words; ++j) {
    for (unsigned shift = 0; shift < 32; shift += 4, out += 8) {
      const std::uint64_t bytes = table[(even[j] >> shift & 15u) | (odd[j] >> shift & 15u) << 4];
      std::memcpy(out, &bytes, 8);
    }
  }
}

constexpr const char* kLessMemory =
    "reduce replicas, temperatures or the size, or use more devices or machines";

std::string spins_text(const Layout& layout, std::size_t replicas) {
  return fmt::format("{} sites x {} replicas", layout.sites(), replicas);
}

}  // namespace

void check_machine_memory(const Layout& layout, std::size_t replicas) {
  require_memory("cpu", spins_text(layout, replicas), layout.bytes() * replicas,
                 static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                     static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)),
                 kLessMemory);
}

void check_device_memory(const Layout& layout, std::size_t replicas, int device) {
  require_device_memory(device, spins_text(layout, replicas),
                        (layout.bytes() + 16) * replicas + kDriverBytes, kLessMemory);
}

BitlatticeEngine::BitlatticeEngine(const Layout& layout, const EngineSpec& spec)
    : EngineBase(EngineKind::bitlattice, spec, layout.sites(), layout.bonds(),
                 spec.betas.size() * spec.replicas, layout.bytes()),
      layout_(layout),
      rules_(layout.dim, spec) {}

bool BitlatticeEngine::advance_replicas(
    const EngineOptions& options, const Schedule& schedule, std::uint64_t cycles,
    const std::function<void(std::size_t, std::size_t, std::uint64_t, std::uint64_t)>& run) {
  if (schedule.cluster > 0) {
    throw Error(
        ExitCode::usage,
        fmt::format("schedule {}: the bitlattice engine has no cluster updates (use {}:0, or the "
                    "bytespin or multispin engine)",
                    to_string(schedule), std::max(schedule.local, 1u)));
  }
  const std::uint64_t steps = check_steps(schedule, cycles), total = steps * replicas_;
  while (sweeps_ahead_ < total) {
    const double start = now();
    const std::uint64_t step = step_ + sweeps_ahead_ / replicas_;
    const std::size_t first = sweeps_ahead_ % replicas_;
    std::uint64_t sweeps = total - sweeps_ahead_;
    if (options.stop) {
      const double fit = sweep_seconds_ > 0 ? kPieceSeconds / sweep_seconds_ : 1;
      if (fit < static_cast<double>(sweeps))
        sweeps = static_cast<std::uint64_t>(std::max(fit, 1.0));
    }
    if (first == 0 && sweeps >= replicas_) {
      sweeps -= sweeps % replicas_;
      run(0, replicas_, step, sweeps / replicas_);
    } else {
      sweeps = std::min<std::uint64_t>(sweeps, replicas_ - first);
      run(first, first + sweeps, step, 1);
    }
    sweeps_ahead_ += sweeps;
    const double seconds = now() - start;
    sweep_seconds_ = std::max(seconds, 1e-9) / static_cast<double>(sweeps);
    work_.local_attempts += sweeps * layout_.sites();
    work_.local_seconds += seconds;
    if (options.stop && sweeps_ahead_ < total && options.stop()) return false;
  }
  sweeps_ahead_ -= total;
  step_ += steps;
  return true;
}

std::vector<std::uint8_t> BitlatticeEngine::save_progress() const {
  std::vector<std::uint8_t> way(8);
  std::memcpy(way.data(), &sweeps_ahead_, 8);
  return way;
}

bool BitlatticeEngine::restore_progress(std::uint64_t step, Bytes way) {
  std::memcpy(&sweeps_ahead_, way.data(), 8);
  return sweeps_ahead_ / replicas_ <= kMaxSteps - step;
}

// A saved state has the same layout as the words in memory. Both spans lie in a std::vector, at a
// multiple of 4 bytes, so that the casts below are aligned.
void BitlatticeEngine::read_part(std::size_t replica, std::span<std::uint8_t> out) const {
  read_words(replica, 0, {reinterpret_cast<std::uint32_t*>(out.data()), out.size() / 4});
}

void BitlatticeEngine::write_part(std::size_t replica, Bytes spins) {
  write_words(replica, 0, {reinterpret_cast<const std::uint32_t*>(spins.data()), spins.size() / 4});
}

void BitlatticeEngine::check_spins(Bytes spins) const {
  const auto* words = reinterpret_cast<const std::uint32_t*>(spins.data());
  const std::uint32_t stride = layout_.stride();
  for (std::uint32_t j = layout_.half / 32; j < stride; ++j) {
    const std::uint32_t padding = ~layout_.site_bits(j);
    for (std::uint64_t at = j; at < spins.size() / 4; at += stride) {
      if ((words[at] & padding) == 0) continue;
      throw Error(ExitCode::data,
                  "state of engine 'bitlattice' holds spins beyond the end of a row");
    }
  }
}

// Unpacks several rows at a time: up to 2^24 sites (16 MiB of bytes), but at least one row.
void BitlatticeEngine::hash_part(std::size_t replica,
                                 const std::function<void(Bytes)>& hash) const {
  const std::uint32_t stride = layout_.stride();
  const std::uint32_t chunk =
      std::clamp<std::uint32_t>((1u << 18) / stride, 1u, layout_.rows);  // rows
  std::vector<std::uint32_t> colours[2];
  for (auto& words : colours) words.resize(std::size_t{chunk} * stride);
  std::vector<std::uint8_t> bytes(std::size_t{chunk} * layout_.extent[0] + 64 * stride);
  for (std::uint32_t first = 0; first < layout_.rows;
       first += std::min(chunk, layout_.rows - first)) {
    const std::uint32_t rows = std::min(chunk, layout_.rows - first);
    for (std::uint64_t colour = 0; colour < 2; ++colour) {
      read_words(replica, colour * layout_.colour_words() + std::uint64_t{first} * stride,
                 std::span(colours[colour]).first(std::size_t{rows} * stride));
    }
    for (std::uint32_t r = 0; r < rows; ++r) {
      // The padding of a row is overwritten by the next row; that of the last row is omitted.
      const bool odd = layout_.odd_row(first + r);
      const std::size_t at = std::size_t{r} * stride;
      unpack_row(colours[odd].data() + at, colours[!odd].data() + at, stride,
                 bytes.data() + std::size_t{r} * layout_.extent[0]);
    }
    hash(std::span<const std::uint8_t>(bytes).first(std::size_t{rows} * layout_.extent[0]));
  }
}

void BitlatticeEngine::read_replica(std::size_t replica, std::span<std::uint8_t> out) const {
  auto next = out.begin();
  hash_part(replica, [&](Bytes spins) { next = std::copy(spins.begin(), spins.end(), next); });
}

void BitlatticeEngine::pack_replica(std::size_t, Bytes spins, std::span<std::uint8_t> part) const {
  auto* const words = reinterpret_cast<std::uint32_t*>(part.data());
  for (std::uint32_t row = 0; row < layout_.rows; ++row) {
    const Bytes row_spins =
        spins.subspan(std::uint64_t{row} * layout_.extent[0], layout_.extent[0]);
    std::uint32_t* const even = words + std::uint64_t{row} * layout_.stride() +
                                (layout_.odd_row(row) ? layout_.colour_words() : 0);
    std::uint32_t* const odd = words + std::uint64_t{row} * layout_.stride() +
                               (layout_.odd_row(row) ? 0 : layout_.colour_words());
    for (std::uint32_t k = 0; k < layout_.half; ++k) {
      even[k / 32] |= std::uint32_t{row_spins[2 * std::size_t{k}]} << k % 32;
      odd[k / 32] |= std::uint32_t{row_spins[2 * std::size_t{k} + 1]} << k % 32;
    }
  }
}

}  // namespace rewise::bitlattice
