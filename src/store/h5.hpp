// The HDF5 layer lies in src/base, since graphs are exported through it too.
#pragma once

#include "src/base/h5.hpp"  // IWYU pragma: export
