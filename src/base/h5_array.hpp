// Reads a dataset from an HDF5 file written by another program, as doubles: any rank and any
// integer or floating-point type (integers beyond 2^53 lose their last digits). Such files have no
// digest, and a damaged one may crash libhdf5; any intact file is either read or refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rewise::h5 {

struct NumberArray {
  std::vector<std::uint64_t> dims;  // last index fastest
  std::vector<double> values;
  bool whole = false;  // stored as integers
};

// Error(io) if the file cannot be read, Error(data) if it has no such dataset of numbers.
NumberArray read_numbers(const std::string& file, const std::string& dataset);

}  // namespace rewise::h5
