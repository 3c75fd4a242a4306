// Integers of 128 bits, for sums of fourth powers.
#pragma once

namespace rewise {

__extension__ using WideSum = unsigned __int128;

}  // namespace rewise
