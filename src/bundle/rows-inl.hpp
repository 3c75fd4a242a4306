// Vectors of a lattice row of one colour: own words, neighbour words, site numbers (layout.hpp).
#if defined(RW_BUNDLE_ROWS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef RW_BUNDLE_ROWS_INL_HPP_
#undef RW_BUNDLE_ROWS_INL_HPP_
#else
#define RW_BUNDLE_ROWS_INL_HPP_
#endif

#include "src/bundle/count-inl.hpp"
#include "src/bundle/layout.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise::bundle {
namespace HWY_NAMESPACE {

// Word is `std::uint32_t` or `const std::uint32_t`.
template <int kDim, class Word = std::uint32_t>
struct Row {
  Word* own;                                        // [half_row] this row and colour
  const std::uint32_t* other;                       // the other colour of this row
  const std::uint32_t* beside[2 * (kDim - 1) + 1];  // the other colour of the neighbouring rows
  std::uint32_t half_row;
  bool odd;  // the row's own sites have odd x
  Site first_site;

  HWY_INLINE Row(const Layout& layout, Word* words, std::uint32_t row, int colour)
      : half_row(layout.half_row), first_site(layout.first_site(row, colour)) {
    Word* mine = words + layout.colour_base[colour];
    const std::uint32_t* theirs = words + layout.colour_base[1 - colour];
    own = mine + std::size_t{row} * half_row;
    other = theirs + std::size_t{row} * half_row;
    odd = ((static_cast<unsigned>(colour) + layout.row_parity[row]) & 1u) != 0;
    constexpr std::size_t kOthers = 2 * (kDim - 1);
    for (std::size_t k = 0; k < kOthers; ++k) {
      beside[k] =
          theirs + std::size_t{layout.row_neighbour[std::size_t{row} * kOthers + k]} * half_row;
    }
  }

  // Neighbours of the vector at h: +x, -x, then forward and backward along the other dimensions.
  // h + lanes <= half_row.
  HWY_INLINE void neighbours(std::uint32_t h, V32* x) const {
    const D32 d;
    const V32 same = hn::LoadU(d, other + h);
    if (odd) {
      x[0] = after(h);
      x[1] = same;
    } else {
      x[0] = same;
      x[1] = before(h);
    }
    for (std::size_t k = 0; k < 2 * (kDim - 1); ++k) x[2 + k] = hn::LoadU(d, beside[k] + h);
  }

  HWY_INLINE V32 items(std::uint32_t h) const {
    const D32 d;
    const V32 i = hn::Iota(d, 0);
    return hn::Add(hn::Add(i, i), hn::Set(d, first_site + 2 * h));
  }

  // The other colour's words one place on, or back, around the row's end.
  HWY_INLINE V32 after(std::uint32_t h) const {
    const D32 d;
    const V32 v = hn::LoadU(d, other + h + 1);
    const auto lanes = static_cast<std::uint32_t>(hn::Lanes(d));
    if (HWY_LIKELY(h + lanes < half_row)) return v;
    return hn::IfThenElse(hn::FirstN(d, lanes - 1), v, hn::Set(d, other[0]));
  }
  HWY_INLINE V32 before(std::uint32_t h) const {
    const D32 d;
    const V32 v = hn::LoadU(d, other + h - 1);
    if (HWY_LIKELY(h != 0)) return v;
    return hn::IfThenElse(hn::FirstN(d, 1), hn::Set(d, other[half_row - 1]), v);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace rewise::bundle
HWY_AFTER_NAMESPACE();
#endif
