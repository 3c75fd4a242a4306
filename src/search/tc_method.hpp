// The methods by which `tc` determines Tc.
#pragma once

namespace rewise {

// crossings: of U and N^x m^2 of different sizes. tree: the tree condition on bare lattices. both:
// crossings and the tree condition. peaks: of C and chi (Potts). glass: crossings of overlaps (spin
// glasses). tc_method() chooses one.
enum class TcMethod { both, crossings, tree, peaks, glass };

}  // namespace rewise
