// Which device the engines run on, and how many threads: what `--device` and `--threads` ask for
// against what there is. A missing device is an error, never a silent fall-back.
#pragma once

#include <string>
#include <string_view>

namespace rewise {

struct Device {
  std::string name;    // "cpu", "cuda:0"
  std::string reason;  // one line for people, why this one; empty where it was asked for
  int index = -1;      // of the CUDA device; -1: the CPU
};

// "auto", "cpu" or "cuda", for an engine ("bundle" alone runs on CUDA). Error(usage) for another
// word, Error(device) for "cuda" where it cannot be used, saying why. "auto" is the CPU for now.
Device choose_device(std::string_view word, std::string_view engine, std::string_view origin);

// Cores that this process may use, or what was asked for.
int thread_count(int asked);

}  // namespace rewise
