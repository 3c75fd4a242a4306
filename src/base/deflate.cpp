#include "src/base/deflate.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace rewise {
namespace {

static_assert(std::endian::native == std::endian::little, "bits are written by the word");

constexpr std::size_t kWindow = 32'768, kMostStored = 65'535;
constexpr std::size_t kLeastMatch = 3, kMostMatch = 258;
constexpr int kEnd = 256, kSymbols = 286, kMostBits = 14;  // four codes and seven bits are a word
constexpr unsigned kRound = 65'521;                        // of the check sum

struct Codes {
  std::array<std::uint32_t, kSymbols> count{}, code{};  // code: first bit lowest
  std::array<std::uint8_t, kSymbols> length{};

  // From `count`. Where a code would be too long the counts are made more alike.
  void make() {
    auto weight = count;
    while (!make_lengths(weight)) {
      for (auto& w : weight) w = w == 0 ? 0 : (w >> 2) + 1;
    }
    std::array<std::uint32_t, kMostBits + 2> first{};
    for (const auto bits : length) first[bits + 1u] += bits > 0 ? 1 : 0;
    for (std::size_t bits = 2; bits < first.size(); ++bits) {
      first[bits] = (first[bits] + first[bits - 1]) << 1;
    }
    for (std::size_t s = 0; s < kSymbols; ++s) {
      const std::uint32_t forward = length[s] > 0 ? first[length[s]]++ : 0;
      code[s] = 0;
      for (int bit = 0; bit < length[s]; ++bit) {
        code[s] |= (forward >> bit & 1u) << (length[s] - 1 - bit);
      }
    }
  }
  std::uint64_t bits() const {
    std::uint64_t sum = 0;
    for (std::size_t s = 0; s < kSymbols; ++s) sum += std::uint64_t{count[s]} * length[s];
    return sum;
  }

 private:
  // Huffman's tree: leaves by weight and inner nodes, which come in order, are two queues.
  bool make_lengths(const std::array<std::uint32_t, kSymbols>& weight) {
    std::vector<std::uint16_t> leaf;
    for (std::uint16_t s = 0; s < kSymbols; ++s) {
      if (weight[s] > 0) leaf.push_back(s);
    }
    std::stable_sort(leaf.begin(), leaf.end(),
                     [&](auto a, auto b) { return weight[a] < weight[b]; });
    const std::size_t leaves = leaf.size();
    std::vector<std::uint64_t> sum(2 * leaves);
    std::vector<std::size_t> parent(2 * leaves);
    for (std::size_t k = 0; k < leaves; ++k) sum[k] = weight[leaf[k]];
    std::size_t next_leaf = 0, next_inner = leaves;
    for (std::size_t node = leaves; node + 1 < 2 * leaves; ++node) {
      for (int child = 0; child < 2; ++child) {
        const bool inner =
            next_leaf == leaves || (next_inner < node && sum[next_inner] < sum[next_leaf]);
        const std::size_t taken = inner ? next_inner++ : next_leaf++;
        sum[node] += sum[taken];
        parent[taken] = node;
      }
    }
    length.fill(0);
    std::vector<int> depth(2 * leaves, 0);
    for (std::size_t node = 2 * leaves - 2; node-- > 0;) {
      depth[node] = depth[parent[node]] + 1;
      if (depth[node] > kMostBits) return false;
      if (node < leaves) length[leaf[node]] = static_cast<std::uint8_t>(depth[node]);
    }
    return true;
  }
};

class BitWriter {
 public:
  explicit BitWriter(std::size_t room) : out_(room) {}

  void put(std::uint64_t bits, int count) {  // at most 57 bits
    word_ |= bits << filled_;
    filled_ += count;
    std::memcpy(out_.data() + at_, &word_, 8);
    const int whole = filled_ / 8;
    at_ += static_cast<std::size_t>(whole);
    word_ = whole == 8 ? 0 : word_ >> 8 * whole;
    filled_ %= 8;
  }
  void align() {
    if (filled_ > 0) put(0, 8 - filled_);
  }
  void put_bytes(const std::byte* bytes, std::size_t count) {  // aligned
    std::memcpy(out_.data() + at_, bytes, count);
    at_ += count;
  }
  std::size_t size() const { return at_; }  // whole bytes
  std::vector<std::byte> take() {
    out_.resize(at_);
    return std::move(out_);
  }

 private:
  std::vector<std::byte> out_;
  std::size_t at_ = 0;
  std::uint64_t word_ = 0;
  int filled_ = 0;
};

// Lengths and distances of matches: a symbol, and how much more in so many bits.
struct Symbol {
  int symbol, bits;
  std::uint32_t more;
};
// 2^per symbols for every power of 2.
Symbol symbol_of(std::uint32_t value, int per) {
  if (value < 2u << per) return {static_cast<int>(value), 0, 0};
  const int bits = std::bit_width(value) - 1 - per;
  return {(bits << per) + static_cast<int>(value >> bits), bits,
          value & ((std::uint32_t{1} << bits) - 1)};
}
Symbol length_symbol(std::size_t length) {
  if (length == kMostMatch) return {285, 0, 0};
  Symbol s = symbol_of(static_cast<std::uint32_t>(length - kLeastMatch), 2);
  s.symbol += 257;
  return s;
}
Symbol distance_symbol(std::size_t distance) {
  return symbol_of(static_cast<std::uint32_t>(distance - 1), 1);
}

// How many bytes from `at` on are those `distance` before them.
std::size_t match_length(const std::byte* at, const std::byte* end, std::size_t distance) {
  const std::size_t most = std::min<std::size_t>(kMostMatch, static_cast<std::size_t>(end - at));
  std::size_t length = 0;
  for (; length + 8 <= most; length += 8) {
    std::uint64_t here = 0, before = 0;
    std::memcpy(&here, at + length, 8);
    std::memcpy(&before, at + length - distance, 8);
    if (here != before)
      return length + static_cast<std::size_t>(std::countr_zero(here ^ before)) / 8;
  }
  while (length < most && at[length] == (at + length)[-static_cast<std::ptrdiff_t>(distance)]) {
    ++length;
  }
  return length;
}

std::size_t index(std::byte byte) { return std::to_integer<std::size_t>(byte); }

// A plane, `before` of whose bytes' predecessors are there. distance 0: its bytes one by one.
class Plane {
 public:
  Plane(const std::byte* bytes, std::size_t size, bool has_before)
      : bytes_(bytes), end_(bytes + size), size_(size) {
    if (has_before && size >= kLeastMatch && size <= kWindow &&
        std::memcmp(bytes - size, bytes, size) == 0) {
      distance_ = size;
      return;
    }
    std::size_t alike = 0;
    for (std::size_t k = 1; k < size; ++k) alike += bytes[k] == bytes[k - 1] ? 1u : 0u;
    if (alike > size - size / 8 - 2) distance_ = 1;
  }

  bool repeats() const { return distance_ == size_ && size_ > 1; }

  void write(bool last, BitWriter& out) const {
    Codes codes;
    count_bytes(codes);
    codes.make();
    constexpr std::uint64_t header = 1200;
    if (distance_ == 0 && codes.bits() + header > 8 * size_) return write_stored(last, out);
    out.put(last ? 0b101 : 0b100, 3);
    write_codes(codes, out);
    write_bytes(codes, out);
    out.put(codes.code[kEnd], codes.length[kEnd]);
  }

 private:
  // byte(b) of each, or match(length).
  template <class Byte, class Match>
  void walk(const Byte& byte, const Match& match) const {
    const std::byte* at = bytes_;
    if (distance_ == 1) byte(*at++);  // the one before it is none of ours
    while (at != end_) {
      const std::size_t length = match_length(at, end_, distance_);
      if (length < kLeastMatch) {
        byte(*at++);
      } else {
        match(length);
        at += length;
      }
    }
  }

  void count_bytes(Codes& codes) const {
    codes.count[kEnd] = 1;
    if (distance_ > 0) {
      return walk([&](std::byte b) { ++codes.count[index(b)]; },
                  [&](std::size_t length) {
                    ++codes.count[static_cast<std::size_t>(length_symbol(length).symbol)];
                  });
    }
    std::array<std::array<std::uint32_t, 256>, 4> count{};  // neighbours are often alike
    std::size_t k = 0;
    for (; k + 4 <= size_; k += 4) {
      for (std::size_t n = 0; n < 4; ++n) ++count[n][index(bytes_[k + n])];
    }
    for (; k < size_; ++k) ++count[0][index(bytes_[k])];
    for (std::size_t b = 0; b < 256; ++b) {
      codes.count[b] = count[0][b] + count[1][b] + count[2][b] + count[3][b];
    }
  }

  // Lengths of codes are written by a code of 4 bits for each of 0 to 15.
  void write_codes(const Codes& codes, BitWriter& out) const {
    const Symbol distance = distance_symbol(std::max<std::size_t>(distance_, 1));
    out.put(kSymbols - 257, 5);
    out.put(static_cast<unsigned>(distance.symbol), 5);
    out.put(19 - 4, 4);
    for (int k = 0; k < 19; ++k) out.put(k < 3 ? 0 : 4, 3);  // 16, 17, 18 first
    const auto put_length = [&](unsigned length) {
      const unsigned reversed =
          (length & 1) << 3 | (length & 2) << 1 | (length & 4) >> 1 | (length & 8) >> 3;
      out.put(reversed, 4);
    };
    for (const auto length : codes.length) put_length(length);
    for (int s = 0; s < distance.symbol; ++s) put_length(0);
    put_length(distance_ > 0 ? 1 : 0);
  }

  void write_bytes(const Codes& codes, BitWriter& out) const {
    const auto put = [&](std::size_t s) { out.put(codes.code[s], codes.length[s]); };
    if (distance_ > 0) {
      const Symbol distance = distance_symbol(distance_);
      return walk([&](std::byte b) { put(index(b)); },
                  [&](std::size_t length) {
                    const Symbol s = length_symbol(length);
                    put(static_cast<std::size_t>(s.symbol));
                    out.put(s.more, s.bits);
                    out.put(0, 1);  // the one distance
                    out.put(distance.more, distance.bits);
                  });
    }
    std::size_t k = 0;
    for (; k + 4 <= size_; k += 4) {
      std::uint64_t bits = 0;
      int count = 0;
      for (std::size_t n = 0; n < 4; ++n) {
        const std::size_t b = index(bytes_[k + n]);
        bits |= std::uint64_t{codes.code[b]} << count;
        count += codes.length[b];
      }
      out.put(bits, count);
    }
    for (; k < size_; ++k) put(index(bytes_[k]));
  }

  void write_stored(bool last, BitWriter& out) const {
    for (std::size_t first = 0; first < size_; first += kMostStored) {
      const std::size_t some = std::min(kMostStored, size_ - first);
      out.put(last && first + some == size_ ? 1 : 0, 3);
      out.align();
      out.put(some | (~some & 0xFFFF) << 16, 32);
      out.put_bytes(bytes_ + first, some);
    }
  }

  const std::byte* bytes_;
  const std::byte* end_;
  std::size_t size_, distance_ = 0;
};

// What a plane adds to the check sum: the sum of its bytes, and that of their sums so far.
struct Sums {
  std::uint64_t bytes = 0, sums = 0;
};
Sums sums_of(const std::byte* bytes, std::size_t size) {
  constexpr unsigned block = 16;
  Sums all;
  std::size_t k = 0;
  for (; k + block <= size; k += block) {
    unsigned sum = 0, weighted = 0;
    for (unsigned n = 0; n < block; ++n) {
      const auto b = std::to_integer<unsigned>(bytes[k + n]);
      sum += b;
      weighted += (block - n) * b;
    }
    all.sums += block * all.bytes + weighted;
    all.bytes += sum;
  }
  for (; k < size; ++k) {
    all.bytes += std::to_integer<unsigned>(bytes[k]);
    all.sums += all.bytes;
  }
  return all;
}

}  // namespace

std::vector<std::byte> deflated_planes(std::span<const std::byte> bytes, std::size_t planes) {
  const std::size_t size = bytes.size() / planes;
  // A plane is stored where it would grow; and what its header and last word may take.
  BitWriter out(bytes.size() + planes * (256 + 5 * (size / kMostStored + 1)) + 64);
  out.put(0x0178, 16);
  std::uint64_t low = 1, high = 0;
  Sums sums;
  for (std::size_t p = 0; p < planes; ++p) {
    const std::byte* const at = bytes.data() + p * size;
    const Plane plane(at, size, p > 0);
    plane.write(p + 1 == planes, out);
    if (!plane.repeats()) sums = sums_of(at, size);
    high = (high + size % kRound * low + sums.sums) % kRound;
    low = (low + sums.bytes) % kRound;
  }
  out.align();
  for (const std::uint64_t half : {high, low}) {
    out.put(half >> 8, 8);
    out.put(half & 0xFF, 8);
  }
  if (out.size() >= bytes.size()) return {};
  return out.take();
}

}  // namespace rewise
