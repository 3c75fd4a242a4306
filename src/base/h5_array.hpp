// One dataset of an HDF5 file that another program wrote: any rank, any integer or floating-point
// type, as doubles (whole numbers beyond 2^53 lose their last digits). Such files have no seal, and
// libhdf5 does not survive every damaged file; a whole one is read or refused.
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

// Error(io) where the file cannot be read, Error(data) where it holds no such dataset of numbers.
NumberArray read_numbers(const std::string& file, const std::string& dataset);

}  // namespace rewise::h5
