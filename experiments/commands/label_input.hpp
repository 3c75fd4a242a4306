// Input of `rewise label`: an image or a graph with occupied bonds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/console/shared_options.hpp"
#include "src/label/configuration.hpp"

namespace rewise {

struct LabelOptions {
  std::string file, method = "fast", device = "auto", threshold, occupy, bonds, out;
  GraphFileOptions reading;
  std::uint64_t seed = 1, tile = 0, repeat = 1;
  bool equal = false, periodic = false, json = false, overwrite = false;
};

struct LabelInput {
  BondConfiguration configuration;
  std::vector<std::uint32_t> extents;  // x first; empty without a lattice
  bool image = false;                  // pixels, not sites
  bool periodic = false;
  std::string title;  // "cells.pgm, 640x480 pixels, those of at least 128"
};

// Throws Error(usage) for options that do not suit the file, Error(data) or Error(io) for the file.
LabelInput read_label_input(const LabelOptions& options);

}  // namespace rewise
