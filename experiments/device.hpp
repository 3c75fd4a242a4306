// Which device the engines run on, and how many threads: what `--device` and `--threads` ask for
// against what there is. A missing device is an error, never a silent fall-back.
#pragma once

#include <string>
#include <string_view>

namespace rewise {

struct Device {
  std::string name;    // "cpu"
  std::string reason;  // one line for people, why this one; empty where it was asked for
};

// "auto", "cpu" or "cuda". Error(usage) for another word, Error(device) for "cuda" where it cannot
// be used, saying why.
Device choose_device(std::string_view word, std::string_view origin);

// Cores that this process may use, or what was asked for.
int thread_count(int asked);

}  // namespace rewise
