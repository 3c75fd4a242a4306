#include "src/packed/books.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>

#include "src/base/clock.hpp"
#include "src/base/error.hpp"

namespace rewise::packed {
namespace {

static_assert(std::endian::native == std::endian::little);

std::vector<ThresholdDigits> all_digits(int dim, const EngineSpec& spec) {
  std::vector<ThresholdDigits> digits;
  for (const double beta : spec.betas) {
    digits.emplace_back(dim, beta, spec.local == LocalUpdate::glauber);
  }
  return digits;
}

// Eight bytes of 0 or 1 from four bits of sites with even x and four with odd: [even + 16 odd].
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

// A row's spins in order of x; even, odd: its words of each kind. out: whole words' worth.
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

bool odd_row(const Layout& layout, std::uint32_t row) {
  std::uint32_t sum = 0;
  for (int k = 1; k < layout.dim; ++k) {
    sum += row % layout.extent[k];
    row /= layout.extent[k];
  }
  return sum % 2 != 0;
}

}  // namespace

Books::Books(const Layout& layout, const EngineSpec& spec)
    : spec_(spec),
      layout_(layout),
      systems_(spec.betas.size() * spec.replicas),
      digits_(all_digits(layout.dim, spec)) {}

void Books::check_schedule(const Schedule& schedule, std::uint64_t cycles) const {
  if (schedule.cluster > 0) {
    throw Error(ExitCode::usage,
                fmt::format("schedule {}: the packed engine has no cluster updates (take {}:0, or "
                            "--engine single or bundle)",
                            to_string(schedule), std::max(schedule.local, 1u)));
  }
  constexpr std::uint64_t kSteps = std::uint64_t{1} << 32;
  if (cycles > (kSteps - step_) / schedule.steps_per_cycle()) {
    throw Error(ExitCode::usage,
                fmt::format("{} cycles of {} after {} steps are too many (2^32 steps in a run)",
                            cycles, to_string(schedule), step_));
  }
}

bool Books::advance_by(
    const EngineOptions& options, const Schedule& schedule, std::uint64_t cycles,
    const std::function<void(std::size_t, std::size_t, std::uint64_t, std::uint64_t)>& run) {
  check_schedule(schedule, cycles);
  constexpr double kPieceSeconds = 0.2;
  const std::uint64_t steps = cycles * schedule.local, total = steps * systems_;
  while (sweeps_ahead_ < total) {
    const double start = now();
    const std::uint64_t step = step_ + sweeps_ahead_ / systems_;
    const std::size_t first = sweeps_ahead_ % systems_;
    std::uint64_t sweeps = total - sweeps_ahead_;
    if (options.stop) {
      const double fit = sweep_seconds_ > 0 ? kPieceSeconds / sweep_seconds_ : 1;
      if (fit < static_cast<double>(sweeps))
        sweeps = static_cast<std::uint64_t>(std::max(fit, 1.0));
    }
    if (first == 0 && sweeps >= systems_) {
      sweeps -= sweeps % systems_;
      run(0, systems_, step, sweeps / systems_);
    } else {
      sweeps = std::min<std::uint64_t>(sweeps, systems_ - first);
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

void Books::shape(Observation& out) const {
  out = {};
  out.bond_sum.resize(systems_);
  out.magnetisation.resize(systems_);
}

void Books::put(std::size_t who, std::uint64_t unequal, std::uint64_t up, Observation& out) const {
  out.bond_sum[who] =
      static_cast<std::int64_t>(layout_.bonds()) - 2 * static_cast<std::int64_t>(unequal);
  out.magnetisation[who] =
      2 * static_cast<std::int64_t>(up) - static_cast<std::int64_t>(layout_.sites());
}

// The last word of a state that stands beyond its step.
constexpr std::uint64_t kUnderWay = 0x7961775265646E55;  // "UndeRway"

// State: the words of all systems, as laid out; where an advance was stopped, the sweeps ahead and
// kUnderWay.
EngineState Books::save() const {
  EngineState state{"packed", step_, {}};
  const std::uint64_t words = layout_.words();
  state.bytes.resize(systems_ * words * 4);
  for (std::size_t who = 0; who < systems_; ++who) {
    // Bytes from a vector are aligned for any word.
    auto* to = reinterpret_cast<std::uint32_t*>(state.bytes.data() + who * words * 4);
    read_words(who, 0, {to, words});
  }
  if (sweeps_ahead_ > 0) {
    const std::size_t end = state.bytes.size();
    state.bytes.resize(end + 16);
    std::memcpy(state.bytes.data() + end, &sweeps_ahead_, 8);
    std::memcpy(state.bytes.data() + end + 8, &kUnderWay, 8);
  }
  return state;
}

void Books::restore(const EngineState& state) {
  const std::uint64_t words = layout_.words(), expected = systems_ * words * 4;
  std::uint64_t ahead = 0, last = 0;
  if (state.bytes.size() == expected + 16) {
    std::memcpy(&ahead, state.bytes.data() + expected, 8);
    std::memcpy(&last, state.bytes.data() + expected + 8, 8);
  }
  const bool whole = state.bytes.size() == expected, under_way = last == kUnderWay;
  if (state.engine != name() || (!whole && !under_way) || state.step >> 32 > 1 ||
      ahead / systems_ > (std::uint64_t{1} << 32) - state.step) {
    throw Error(ExitCode::data,
                fmt::format("state of engine '{}' with {} bytes at step {} does not fit this task "
                            "(engine 'packed' with {} bytes)",
                            state.engine, state.bytes.size(), state.step, expected));
  }
  const auto* all = reinterpret_cast<const std::uint32_t*>(state.bytes.data());
  const std::uint32_t stride = layout_.stride();
  for (std::uint32_t j = layout_.half / 32; j < stride; ++j) {
    const std::uint32_t padding = ~layout_.site_bits(j);
    for (std::uint64_t at = j; at < expected / 4; at += stride) {
      if ((all[at] & padding) == 0) continue;
      throw Error(ExitCode::data, "state of engine 'packed' holds spins beyond the end of a row");
    }
  }
  for (std::size_t who = 0; who < systems_; ++who) {
    write_words(who, 0, {all + who * words, words});
  }
  step_ = state.step;
  sweeps_ahead_ = ahead;
}

template <class F>
void Books::for_spins(std::size_t who, F&& f) const {
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
      read_words(who, colour * layout_.colour_words() + std::uint64_t{first} * stride,
                 std::span(colours[colour]).first(std::size_t{rows} * stride));
    }
    for (std::uint32_t r = 0; r < rows; ++r) {
      // A row's spare words fall where the next row, or nothing, is written.
      const bool odd = odd_row(layout_, first + r);
      const std::size_t at = std::size_t{r} * stride;
      unpack_row(colours[odd].data() + at, colours[!odd].data() + at, stride,
                 bytes.data() + std::size_t{r} * layout_.extent[0]);
    }
    f(std::span<const std::uint8_t>(bytes).first(std::size_t{rows} * layout_.extent[0]));
  }
}

void Books::spins(std::uint32_t temperature, std::uint32_t replica,
                  std::span<std::uint8_t> out) const {
  if (temperature >= spec_.betas.size() || replica >= spec_.replicas ||
      out.size() != layout_.sites()) {
    throw Error(ExitCode::internal, fmt::format("spins({}, {}) of {} sites: out of range",
                                                temperature, replica, out.size()));
  }
  auto next = out.begin();
  for_spins(std::size_t{temperature} * spec_.replicas + replica,
            [&](std::span<const std::uint8_t> bytes) {
              next = std::copy(bytes.begin(), bytes.end(), next);
            });
}

std::uint64_t Books::trajectory_hash() const {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  for (std::size_t who = 0; who < systems_; ++who) {
    for_spins(who, [&](std::span<const std::uint8_t> bytes) {
      XXH3_64bits_update(state.get(), bytes.data(), bytes.size());
    });
  }
  return XXH3_64bits_digest(state.get());
}

}  // namespace rewise::packed
