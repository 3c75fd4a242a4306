#include "src/label/papers/tiles.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace rewise {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

}  // namespace

TileLabeller::TileLabeller(const Lattice& lattice, std::uint32_t edge)
    : lattice_(lattice), edge_(edge) {
  std::size_t most = 1;
  std::uint32_t stride = 1;
  for (std::size_t k = 0; k < kMaxDim; ++k) {
    most *= std::min(edge, lattice.extent[k]);
    lattice_stride_[k] = stride;
    stride *= lattice.extent[k];
  }
  rows_.resize(most / std::min(edge, lattice.extent[0]));
  ahead_.resize(most);
  label_.resize(most);
  other_.resize(most);
}

void TileLabeller::run(const BondConfiguration& configuration, TileMethod method,
                       std::span<Site> label) {
  std::uint32_t origin[kMaxDim] = {};
  for (;;) {
    read(configuration, origin);
    switch (method) {
      case TileMethod::bfs:
        breadth_first();
        break;
      case TileMethod::union_find:
        union_find();
        break;
      case TileMethod::self_label:
        self_label();
        break;
    }
    write(label);
    std::size_t k = 0;
    while (k < kMaxDim && lattice_.extent[k] - origin[k] <= edge_) origin[k++] = 0;
    if (k == kMaxDim) return;
    origin[k] += edge_;
  }
}

void TileLabeller::read(const BondConfiguration& configuration, const std::uint32_t* origin) {
  Site first = 0;
  std::uint32_t stride = 1;
  for (std::size_t k = 0; k < kMaxDim; ++k) {
    extent_[k] = std::min(edge_, lattice_.extent[k] - origin[k]);
    stride_[k] = stride;
    stride *= extent_[k];
    first += origin[k] * lattice_stride_[k];
  }
  count_ = stride;
  const std::uint32_t width = extent_[0];
  const std::uint64_t inside = ~std::uint64_t{0} >> (64 - width);
  for (std::uint32_t row = 0; row < count_ / width; ++row) {
    std::uint32_t rest = row;
    Site site = first;
    std::uint64_t bits[kMaxDim] = {};
    bool last[kMaxDim] = {};
    for (std::size_t k = 1; k < kMaxDim; ++k) {
      const std::uint32_t at = rest % extent_[k];
      rest /= extent_[k];
      site += at * lattice_stride_[k];
      last[k] = at + 1 == extent_[k];
    }
    rows_[row] = site;
    bits[0] = configuration.bits_from(site, 0) & inside >> 1;
    for (int k = 1; k < lattice_.dim; ++k) {
      const auto u = static_cast<std::size_t>(k);
      if (!last[u]) bits[u] = configuration.bits_from(site, k) & inside;
    }
    for (std::uint32_t x = 0; x < width; ++x) {
      ahead_[row * width + x] =
          static_cast<std::uint8_t>((bits[0] >> x & 1u) | (bits[1] >> x & 1u) << 1 |
                                    (bits[2] >> x & 1u) << 2 | (bits[3] >> x & 1u) << 3);
    }
  }
}

void TileLabeller::write(std::span<Site> label) const {
  const std::uint32_t width = extent_[0];
  for (std::uint32_t at = 0, row = 0; at < count_; ++row) {
    for (std::uint32_t x = 0; x < width; ++x, ++at) {
      const std::uint32_t smallest = label_[at];
      label[rows_[row] + x] = rows_[smallest / width] + smallest % width;
    }
  }
}

// Section II.2.1: a queue holds the wave front.
void TileLabeller::breadth_first() {
  std::fill_n(label_.begin(), count_, kNone);
  std::uint32_t* const queue = other_.data();
  for (std::uint32_t seed = 0; seed < count_; ++seed) {
    if (label_[seed] != kNone) continue;
    label_[seed] = seed;
    std::uint32_t head = 0, tail = 0;
    queue[tail++] = seed;
    const auto visit = [&](std::uint32_t at) {
      if (label_[at] != kNone) return;
      label_[at] = seed;
      queue[tail++] = at;
    };
    while (head < tail) {
      const std::uint32_t at = queue[head++];
      for (int k = 0; k < lattice_.dim; ++k) {
        const std::uint32_t step = stride_[k];
        if ((ahead_[at] >> k & 1) != 0) visit(at + step);
        if (at >= step && (ahead_[at - step] >> k & 1) != 0) visit(at - step);
      }
    }
  }
}

// Section II.2.2 and fig. 3: trees balanced by their number of sites; paths stay as they are, which
// Weigel found faster than to compress them in tiles this small.
void TileLabeller::union_find() {
  std::iota(label_.begin(), label_.begin() + count_, 0u);
  std::fill_n(other_.begin(), count_, 1u);
  for (std::uint32_t at = 0; at < count_; ++at) {
    for (int k = 0; k < lattice_.dim; ++k) {
      if ((ahead_[at] >> k & 1) != 0) unite(at, at + stride_[k]);
    }
  }
  // A root may be any site of its tree: the first that meets it in ascending order is the smallest.
  std::fill_n(other_.begin(), count_, kNone);
  for (std::uint32_t at = 0; at < count_; ++at) label_[at] = root(at);
  for (std::uint32_t at = 0; at < count_; ++at) {
    std::uint32_t& smallest = other_[label_[at]];
    smallest = std::min(smallest, at);
    label_[at] = smallest;
  }
}

void TileLabeller::unite(std::uint32_t a, std::uint32_t b) {
  a = root(a);
  b = root(b);
  if (a == b) return;
  if (other_[a] < other_[b]) std::swap(a, b);
  label_[b] = a;
  other_[a] += other_[b];
}

// Section II.2.3 and fig. 4.
void TileLabeller::self_label() {
  std::iota(label_.begin(), label_.begin() + count_, 0u);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t at = 0; at < count_; ++at) {
      for (int k = 0; k < lattice_.dim; ++k) {
        if ((ahead_[at] >> k & 1) == 0) continue;
        std::uint32_t &here = label_[at], &there = label_[at + stride_[k]];
        changed |= here != there;
        here = there = std::min(here, there);
      }
    }
  }
}

}  // namespace rewise
