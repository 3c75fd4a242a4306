// Parsers shared by subcommands and the configuration: they turn short texts that a user types into
// checked values. Every error is one line that names its origin (option, or file:line:column and
// key).
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/graph.hpp"

namespace rewise {

// The parts of "a,b,c". An empty text gives one empty part.
std::vector<std::string> split_list(std::string_view text, char between = ',');

// Parses "64" or "64,32". With dim > 0, there must be `dim` extents, or one that is used for all
// dimensions; dim = 0 allows any number.
std::vector<std::uint32_t> parse_extents(std::string_view text, int dim, std::string_view origin);
// "64x32"
std::string extents_text(const std::vector<std::uint32_t>& extents);
// Product of the extents.
double site_count(const std::vector<std::uint32_t>& extents);

[[noreturn]] void given_twice(std::string_view origin, std::string_view what);
// Throws Error(usage) if the list already has the value. `text`: its name in the message.
template <class T>
void append_once(std::vector<T>& list, const T& value, std::string_view origin,
                 std::string_view text) {
  if (std::find(list.begin(), list.end(), value) != list.end()) given_twice(origin, text);
  list.push_back(value);
}

// What to write in place of a percentage or of a number with a decimal comma: "write 0.1 for 10%",
// "write 0.05 for 0,05"; "" for other texts.
std::string number_hint(std::string_view text);
// One finite number without surrounding text.
double parse_number(std::string_view text, std::string_view origin);
// Equally spaced values of "FROM:TO:COUNT" (whole, 2 to 10000) or "FROM:TO:STEP" (a fraction that
// divides TO - FROM > 0), rounded to 12 decimals, so that 0.3875 is not 0.38749999999999996.
std::vector<double> parse_steps(std::string_view text, std::string_view origin);
// Parses "2.3,2.4", "2:3:11" or a mixed list: finite, positive, without duplicates, in the given
// order.
std::vector<double> parse_temperatures(std::string_view text, std::string_view origin);
// A whole number from least to most; 1e4 is allowed.
std::uint64_t parse_whole(std::string_view text, std::uint64_t least, std::uint64_t most,
                          std::string_view origin);
// A rewiring probability.
double parse_p(std::string_view text, std::string_view origin);

// The shortest text that reads back as the same number, without an exponent if that is short.
std::string number_text(double value);

// Creates the folder for a result of `--out`. Call it before the computation. Throws Error(io).
void make_output_folder(const std::string& folder);
// Throws Error(io) if the folder for an option's file does not exist.
void check_output_file(const std::filesystem::path& file, const char* option = "--out");
// Throws Error(held) if the file exists and `overwrite` is false.
void reject_overwriting(const std::filesystem::path& file, bool overwrite);

// Returns a file's bytes. Throws Error(io) with the system's reason, or if the file is larger than
// `most` bytes. Pipes and devices, which may never end, are rejected at once.
std::string read_text_file(const std::filesystem::path& file,
                           std::uint64_t most = ~std::uint64_t{0});

}  // namespace rewise
