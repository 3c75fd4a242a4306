// Access to the sites of one colour in a lattice row, a vector at a time: the words of their
// neighbours and their site numbers (layout.hpp).
#if defined(RW_MULTISPIN_ROWS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef RW_MULTISPIN_ROWS_INL_HPP_
#undef RW_MULTISPIN_ROWS_INL_HPP_
#else
#define RW_MULTISPIN_ROWS_INL_HPP_
#endif

#include "src/multispin/layout.hpp"
#include "src/multispin/local/count-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise::multispin {
namespace HWY_NAMESPACE {

// Neighbour k of a site: 0 is +x, 1 is -x; 2 dir is forward and 2 dir + 1 backward along a
// direction dir >= 1. k ^ 1 is opposite to k. A field is an array [rows * half_row] with one word
// per site of a colour.
template <int kDim>
struct Row {
  static constexpr int kDegree = 2 * kDim;

  std::size_t start;                       // first index of this row in a field
  std::size_t beside[2 * (kDim - 1) + 1];  // first indices of the neighbouring rows
  std::uint32_t half_row;
  bool odd;  // this row's sites of this colour have odd x
  Site first_site;

  HWY_INLINE Row(const Layout& layout, std::uint32_t row, int colour)
      : start(std::size_t{row} * layout.half_row),
        half_row(layout.half_row),
        odd(((static_cast<unsigned>(colour) + layout.row_parity[row]) & 1u) != 0),
        first_site(layout.first_site(row, colour)) {
    constexpr std::size_t kOthers = 2 * (kDim - 1);
    for (std::size_t k = 0; k < kOthers; ++k) {
      beside[k] =
          std::size_t{layout.row_neighbour[std::size_t{row} * kOthers + k]} * layout.half_row;
    }
  }

  // Reads neighbours k of the vector of sites at h from a field over the other colour.
  // h + lanes <= half_row.
  HWY_INLINE V32 neighbour(const std::uint32_t* field, int k, std::uint32_t h) const {
    if (k >= 2) return hn::LoadU(D32(), field + beside[k - 2] + h);
    return along(field + start, k, h);
  }
  // Reads the sites that are reached by a step `x` (0 or 1) and a step `k` (2 or more) from a field
  // over this colour.
  HWY_INLINE V32 diagonal(const std::uint32_t* field, int x, int k, std::uint32_t h) const {
    return along(field + beside[k - 2], x, h);
  }

  // The site numbers of the vector at h.
  HWY_INLINE V32 items(std::uint32_t h) const {
    const D32 d;
    const V32 i = hn::Iota(d, 0);
    return hn::Add(hn::Add(i, i), hn::Set(d, first_site + 2 * h));
  }

 private:
  HWY_INLINE V32 along(const std::uint32_t* row, int x, std::uint32_t h) const {
    if (odd == (x == 0)) return x == 0 ? after(row, h) : before(row, h);
    return hn::LoadU(D32(), row + h);
  }
  // Read the vector at h + 1 or at h - 1 of a periodic row.
  HWY_INLINE V32 after(const std::uint32_t* row, std::uint32_t h) const {
    const D32 d;
    const V32 v = hn::LoadU(d, row + h + 1);
    const auto lanes = static_cast<std::uint32_t>(hn::Lanes(d));
    if (HWY_LIKELY(h + lanes < half_row)) return v;
    return hn::IfThenElse(hn::FirstN(d, lanes - 1), v, hn::Set(d, row[0]));
  }
  HWY_INLINE V32 before(const std::uint32_t* row, std::uint32_t h) const {
    const D32 d;
    const V32 v = hn::LoadU(d, row + h - 1);
    if (HWY_LIKELY(h != 0)) return v;
    return hn::IfThenElse(hn::FirstN(d, 1), hn::Set(d, row[half_row - 1]), v);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace rewise::multispin
HWY_AFTER_NAMESPACE();
#endif
