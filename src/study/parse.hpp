// What subcommands and the configuration share: small texts that a user types, turned into checked
// values. Every error is one line that names its origin (option, or file:line:column and key).
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/graph.hpp"

namespace rewise {

// The parts of "a,b,c"; one of nothing is one empty part.
std::vector<std::string> split_list(std::string_view text, char between = ',');

// "64" or "64,32" with a dimension (0: as many as there are extents; one edge serves all).
std::vector<std::uint32_t> parse_extents(std::string_view text, int dim, std::string_view origin);
// "64x32"
std::string extents_text(const std::vector<std::uint32_t>& extents);
// Their product.
double site_count(const std::vector<std::uint32_t>& extents);

[[noreturn]] void given_twice(std::string_view origin, std::string_view what);
// Error(usage) where the list has the value already; `text`: what that is called.
template <class T>
void append_once(std::vector<T>& list, const T& value, std::string_view origin,
                 std::string_view text) {
  if (std::find(list.begin(), list.end(), value) != list.end()) given_twice(origin, text);
  list.push_back(value);
}

// One finite number, nothing around it.
double parse_number(std::string_view text, std::string_view origin);
// "FROM:TO:COUNT" (whole, 2 to 10000) or "FROM:TO:STEP" (a fraction that divides TO - FROM > 0) in
// equal steps, rounded to 12 decimals, so that 0.3875 is not 0.38749999999999996.
std::vector<double> parse_steps(std::string_view text, std::string_view origin);
std::vector<double> equal_steps(double from, double to, std::size_t count);
// "2.3,2.4" or "2:3:11", or both in one list: finite and positive, in the order given, none twice.
std::vector<double> parse_temperatures(std::string_view text, std::string_view origin);
// A whole number from least to most; 1e4 is one.
std::uint64_t parse_whole(std::string_view text, std::uint64_t least, std::uint64_t most,
                          std::string_view origin);
// A rewiring probability.
double parse_p(std::string_view text, std::string_view origin);

// The shortest text that reads back as the same number, without an exponent where that is short.
std::string number_text(double value);

// Whether a result can go where `--out` says, asked before the work that it is the result of:
// makes the folder; Error(io) where that cannot be.
void make_output_folder(const std::string& folder);
// Error(io) where the folder that is to hold the file of an option does not exist.
void check_output_file(const std::filesystem::path& file, const char* option = "--out");
// Error(held) where the file exists already.
void refuse_overwriting(const std::filesystem::path& file, bool overwrite);

// A file's bytes; Error(io) with the system's reason, for one of more than `most` bytes, and at
// once for a pipe or a device, which may never end, unless they are allowed.
enum class Pipes { refused, allowed };
std::string read_text_file(const std::filesystem::path& file,
                           std::uint64_t most = ~std::uint64_t{0}, Pipes pipes = Pipes::refused);
// Writes a small file in one step (temporary name, then rename); Error(io).
void write_text_file(const std::filesystem::path& file, std::string_view text);

}  // namespace rewise
