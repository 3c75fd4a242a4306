// Random numbers on the device equal those of the host, bit for bit. Equal trajectories on all
// devices depend on this. Known answers: kat_vectors of Random123.
#include "src/random/philox.hpp"

#include <vector>

#include "src/cuda/device_buffer.hpp"
#include "src/cuda/stream.hpp"
#include "tests/cuda/device_code.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using rewise::test::Address;
using rewise::test::PhiloxInput;

namespace {

bool equal(const Words4& x, const Words4& y) {
  return x.w[0] == y.w[0] && x.w[1] == y.w[1] && x.w[2] == y.w[2] && x.w[3] == y.w[3];
}

// Runs queue(in, out, stream) on all of `in` and returns `out`.
template <class Out, class In, class Queue>
std::vector<Out> on_device(const std::vector<In>& in, Queue queue) {
  const CudaStream stream;
  const DeviceBuffer<In> input(std::span<const In>(in), stream.get());
  DeviceBuffer<Out> output(in.size());
  queue(input.view(), output.view(), stream.get());
  return output.to_host(stream.get());
}

// Numbers over the whole range of 64 bits, from random_words() on the host.
std::vector<std::uint64_t> scattered(std::size_t count) {
  std::vector<std::uint64_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = word64(random_words(3, Stream::start, i, 0, 0, 0), 0);
  }
  return numbers;
}

}  // namespace

TEST_CASE("Philox known answers hold on the device") {
  const std::uint32_t ones = 0xffffffffu;
  const std::vector<PhiloxInput> in = {
      {{0, 0, 0, 0}, {0, 0}},
      {{ones, ones, ones, ones}, {ones, ones}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}}};
  const std::vector<Words4> seven = {{{0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}},
                                     {{0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662}},
                                     {{0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a}}};
  const std::vector<Words4> ten = {{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                                   {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                                   {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  const auto got7 = on_device<Words4>(in, test::queue_philox7);
  const auto got10 = on_device<Words4>(in, test::queue_philox10);
  for (std::size_t i = 0; i < in.size(); ++i) {
    CHECK(equal(got7[i], seven[i]));
    CHECK(equal(got10[i], ten[i]));
  }
}

TEST_CASE("random words at 100000 addresses equal those of the host") {
  std::vector<Address> in;
  for (const std::uint64_t x : scattered(100000)) {
    in.push_back({x, x >> 24, static_cast<std::uint32_t>(x >> 40),
                  static_cast<std::uint32_t>(x & 255), static_cast<std::uint32_t>(x >> 13)});
  }
  const auto device = on_device<Words4>(in, test::queue_random_words);
  std::size_t differing = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Address& a = in[i];
    const Words4 host = random_words(a.seed, Stream::bond, a.item, a.replica, a.call, a.step);
    if (!equal(device[i], host)) ++differing;
  }
  CHECK(differing == 0);
}

TEST_CASE("uniform integers equal those of the host") {
  const auto in = scattered(50000);
  for (const std::uint32_t below : {1u, 2u, 6u, 1000003u, 0xffffffffu}) {
    const auto device =
        on_device<std::uint32_t>(in, [below](auto input, auto output, cudaStream_t stream) {
          test::queue_uniform_below(input, below, output, stream);
        });
    std::size_t differing = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (device[i] != uniform_below(in[i], below)) ++differing;
    }
    CHECK(differing == 0);
  }
}
