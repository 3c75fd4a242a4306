// Runs a test once for every instruction set of this machine that vectorised code may use (dynamic
// dispatch of Highway), including the scalar fallback.
#pragma once

#include <hwy/targets.h>

#include <cstdint>
#include <string>

namespace rewise::oracle {

template <class F>
void for_each_instruction_set(F&& f) {
  struct Reset {
    ~Reset() { hwy::GetChosenTarget().DeInit(); }
  } reset;
  f(std::string("the best"));
  const std::int64_t supported = hwy::SupportedTargets();
  for (int bit = 0; bit < 62; ++bit) {
    const std::int64_t target = std::int64_t{1} << bit;
    if ((supported & target) == 0) continue;
    hwy::GetChosenTarget().Update(target);
    f(std::string(hwy::TargetName(target)));
  }
  hwy::GetChosenTarget().Update(0);
  f(std::string("the fallback"));
}

}  // namespace rewise::oracle
