// What the test tells the library that stands for NCCL (fake_nccl.cpp), and asks it.
#pragma once

namespace rewise::fake_nccl {

struct Controls {
  int fails = -1;       // the rank that NCCL refuses when it joins
  int absent = -1;      // the rank that never comes
  bool broken = false;  // the network between ranks that have come together
  // Of ranks that had joined
  int left = 0, aborted = 0;
};

}  // namespace rewise::fake_nccl
