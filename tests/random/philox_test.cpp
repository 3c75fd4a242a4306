// Philox4x32 against Random123: the published known answers (kat_vectors) and the code of
// Random123.
#include "src/random/philox.hpp"

#include <Random123/philox.h>

#include <array>
#include <cstdint>
#include <set>

#include "tests/support/catch.hpp"

#undef philox4x32  // a macro of Random123 with the name of our function

using namespace rewise;

namespace {

struct KnownAnswer {
  int rounds;
  std::array<std::uint32_t, 4> counter;
  std::array<std::uint32_t, 2> key;
  std::array<std::uint32_t, 4> words;
};

// Random123 1.14, tests/kat_vectors: the philox4x32 lines.
constexpr KnownAnswer kKnownAnswers[] = {
    {7, {0, 0, 0, 0}, {0, 0}, {0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}},
    {7,
     {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662}},
    {7,
     {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a}},
    {10, {0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {10,
     {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {10,
     {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

std::array<std::uint32_t, 4> as_array(const Words4& words) {
  return {words.w[0], words.w[1], words.w[2], words.w[3]};
}

}  // namespace

TEST_CASE("Philox gives the known answers of Random123") {
  for (const KnownAnswer& known : kKnownAnswers) {
    const auto& c = known.counter;
    const auto& k = known.key;
    const Words4 words = known.rounds == 7 ? philox4x32<7>(c[0], c[1], c[2], c[3], k[0], k[1])
                                           : philox4x32<10>(c[0], c[1], c[2], c[3], k[0], k[1]);
    CHECK(as_array(words) == known.words);
  }
}

TEST_CASE("Philox equals r123::Philox4x32_R<7> at 10000 addresses") {
  std::uint64_t state = 1;
  const auto next = [&state] {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<std::uint32_t>(state >> 32);
  };
  r123::Philox4x32_R<kPhiloxRounds> reference;
  int unequal = 0;
  for (int n = 0; n < 10000; ++n) {
    const r123::Philox4x32::ctr_type counter{{next(), next(), next(), next()}};
    const r123::Philox4x32::key_type key{{next(), next()}};
    const auto expected = reference(counter, key);
    const Words4 words = philox4x32(counter[0], counter[1], counter[2], counter[3], key[0], key[1]);
    for (unsigned k = 0; k < 4; ++k) unequal += words.w[k] != expected[k];
  }
  CHECK(unequal == 0);
}

TEST_CASE("a draw depends on each part of its address (seed, stream, item, replica, call, step)") {
  const Words4 words = random_words(0x1122334455667788ull, Stream::bond, 0xABCDEF0123ull, 7, 3, 9);
  const Words4 by_hand =
      philox4x32(0xCDEF0123u, 7u << 8 | 3u, 9u, 20u | 0xABu << 8, 0x55667788u, 0x11223344u);
  CHECK(as_array(words) == as_array(by_hand));

  std::set<std::array<std::uint32_t, 4>> seen;
  int addresses = 0;
  for (const std::uint64_t seed : {0ull, 1ull, 1ull << 32}) {
    for (const Stream stream : {Stream::graph_gap, Stream::bond}) {
      for (const std::uint64_t item : {0ull, 1ull, 1ull << 32, (1ull << 40) - 1}) {
        for (const std::uint32_t replica : {0u, 1u, (1u << 24) - 1}) {
          for (const std::uint32_t call : {0u, 1u, 255u}) {
            for (const std::uint32_t step : {0u, 1u, 0xFFFFFFFFu}) {
              seen.insert(as_array(random_words(seed, stream, item, replica, call, step)));
              ++addresses;
            }
          }
        }
      }
    }
  }
  CHECK(seen.size() == static_cast<std::size_t>(addresses));
}

TEST_CASE("uniform_below maps the 64-bit range onto 0 to n - 1 in order and evenly") {
  for (const std::uint32_t n : {1u, 2u, 3u, 10u, 4294967295u}) {
    CHECK(uniform_below(0, n) == 0);
    CHECK(uniform_below(~0ull, n) == n - 1);
  }
  // The smallest random number that gives k is ceil(k 2^64 / n).
  CHECK(uniform_below(0x5555555555555555ull, 3) == 0);
  CHECK(uniform_below(0x5555555555555556ull, 3) == 1);
  CHECK(uniform_below(0xAAAAAAAAAAAAAAAAull, 3) == 1);
  CHECK(uniform_below(0xAAAAAAAAAAAAAAABull, 3) == 2);
}

TEST_CASE("word64 joins two words, of which the first one is the low half") {
  const Words4 words{{1, 2, 3, 4}};
  CHECK(word64(words, 0) == 0x0000000200000001ull);
  CHECK(word64(words, 1) == 0x0000000400000003ull);
}
