// Extents for the edge cases of the bitlattice layout in one to four dimensions: rows shorter than
// a word, rows of whole words or whole groups of words, and rows with two sites more or less.
#pragma once

#include <cstdint>
#include <vector>

namespace rewise::oracle {

inline std::vector<std::vector<std::uint32_t>> bitlattice_shapes() {
  return {{4, 4},       {6, 4},       {4, 6},         {8, 10},    {62, 4},     {64, 4},
          {66, 6},      {126, 4},     {128, 8},       {130, 4},   {190, 4},    {194, 4},
          {254, 6},     {256, 6},     {258, 4},       {320, 4},   {510, 4},    {512, 6},
          {514, 4},     {1024, 4},    {1026, 4},      {4, 40},    {2050, 4},   {4096, 6},
          {4, 4, 4},    {6, 4, 8},    {8, 6, 4},      {66, 4, 4}, {256, 4, 4}, {258, 6, 4},
          {4, 4, 4, 4}, {6, 4, 8, 4}, {258, 4, 4, 4}, {4},        {10},        {64},
          {256},        {258},        {512},          {1030},     {4096}};
}

}  // namespace rewise::oracle
