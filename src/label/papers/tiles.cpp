#include <algorithm>
#include <numeric>

#include "src/label/papers/cpu.hpp"

namespace rewise::papers {

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
  bonds_.resize(most);
  label_.resize(most);
  other_.resize(most);
}

void TileLabeller::run(const BondConfiguration& configuration, TileMethod method,
                       std::span<Site> label) {
  std::uint32_t origin[kMaxDim] = {};
  for (;;) {
    read(configuration, origin);
    with_dim(lattice_.dim, [&]<int kDim>() { label_tile<kDim>(method); });
    write(label);
    std::size_t k = 0;
    while (k < kMaxDim && lattice_.extent[k] - origin[k] <= edge_) origin[k++] = 0;
    if (k == kMaxDim) return;
    origin[k] += edge_;
  }
}

void TileLabeller::read(const BondConfiguration& configuration, const std::uint32_t* origin) {
  Site first = 0;
  std::uint32_t extent[kMaxDim];
  tile_.sites = 1;
  for (std::size_t k = 0; k < kMaxDim; ++k) {
    extent[k] = std::min(edge_, lattice_.extent[k] - origin[k]);
    tile_.step[k] = tile_.sites;
    tile_.sites *= extent[k];
    first += origin[k] * lattice_stride_[k];
  }
  const std::uint32_t width = width_ = extent[0];
  const std::uint64_t inside = ~std::uint64_t{0} >> (64 - width);
  for (std::uint32_t row = 0; row < tile_.sites / width; ++row) {
    std::uint32_t rest = row;
    Site site = first;
    std::uint64_t bits[kMaxDim] = {};
    bool last[kMaxDim] = {};
    for (std::size_t k = 1; k < kMaxDim; ++k) {
      const std::uint32_t at = rest % extent[k];
      rest /= extent[k];
      site += at * lattice_stride_[k];
      last[k] = at + 1 == extent[k];
    }
    rows_[row] = site;
    bits[0] = configuration.bits_from(site, 0) & inside >> 1;
    for (int k = 1; k < lattice_.dim; ++k) {
      const auto u = static_cast<std::size_t>(k);
      if (!last[u]) bits[u] = configuration.bits_from(site, k) & inside;
    }
    for (std::uint32_t x = 0; x < width; ++x) {
      bonds_[row * width + x] =
          static_cast<std::uint8_t>((bits[0] >> x & 1u) | (bits[1] >> x & 1u) << 1 |
                                    (bits[2] >> x & 1u) << 2 | (bits[3] >> x & 1u) << 3);
    }
  }
}

void TileLabeller::write(std::span<Site> label) const {
  for (std::uint32_t at = 0, row = 0; at < tile_.sites; ++row) {
    for (std::uint32_t x = 0; x < width_; ++x, ++at) {
      const std::uint32_t smallest = label_[at];
      label[rows_[row] + x] = rows_[smallest / width_] + smallest % width_;
    }
  }
}

template <int kDim>
void TileLabeller::label_tile(TileMethod method) {
  std::uint32_t* const label = label_.data();
  switch (method) {
    case TileMethod::bfs:
      std::fill_n(label, tile_.sites, kUnlabelled);
      return search_tile<kDim>(tile_, bonds_.data(), label, other_.data());
    case TileMethod::union_find:
      std::fill_n(label, tile_.sites, kRoot + 1);
      unite_tile<kDim>(tile_, bonds_.data(), label);
      for (std::uint32_t index = 0; index < tile_.sites; ++index) {
        const std::uint32_t root = tile_root(label, index);
        if (root != index) label[index] = root;
      }
      // The first index in ascending order that leads to a root is the smallest of its tree.
      std::fill_n(other_.begin(), tile_.sites, kUnlabelled);
      for (std::uint32_t index = 0; index < tile_.sites; ++index) {
        std::uint32_t& smallest = other_[label[index] < kRoot ? label[index] : index];
        smallest = std::min(smallest, index);
        label[index] = smallest;
      }
      return;
    case TileMethod::self_label:
      std::iota(label, label + tile_.sites, 0u);
      while (relabel_tile<kDim>(tile_, bonds_.data(), label, 0, 1)) continue;
      return;
  }
}

}  // namespace rewise::papers
