#include "experiments/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>

#include "src/base/error.hpp"
#include "src/store/sealed_file.hpp"

namespace rewise {
namespace {

[[noreturn]] void fail_io(const std::filesystem::path& file, const char* what) {
  throw Error(ExitCode::io,
              fmt::format("cannot {} '{}': {}", what, file.string(), std::strerror(errno)));
}

}  // namespace

std::vector<std::string> split_list(std::string_view text, char between) {
  std::vector<std::string> parts;
  while (true) {
    const auto end = text.find(between);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

double parse_number(std::string_view text, std::string_view origin) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || !std::isfinite(value)) {
    throw Error(ExitCode::usage, fmt::format("{}: '{}' is not a finite number", origin, text));
  }
  return value;
}

std::uint64_t parse_whole(std::string_view text, std::uint64_t least, std::uint64_t most,
                          std::string_view origin) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < least || value > most) {
    throw Error(ExitCode::usage,
                fmt::format("{}: '{}' is not a whole number in {}..{}", origin, text, least, most));
  }
  return value;
}

std::vector<std::uint32_t> parse_extents(std::string_view text, int dim, std::string_view origin) {
  if (dim != 0 && (dim < 1 || dim > kMaxDim)) {
    throw Error(ExitCode::usage, fmt::format("--dim: {} is out of range (1..{})", dim, kMaxDim));
  }
  std::vector<std::uint32_t> extents;
  for (const std::string& part : split_list(text)) {
    extents.push_back(static_cast<std::uint32_t>(parse_whole(part, 1, 0xFFFFFFFFu, origin)));
  }
  const auto wanted = static_cast<std::size_t>(dim);
  if (dim != 0 && extents.size() == 1) extents.assign(wanted, extents.front());
  if (dim != 0 && extents.size() != wanted) {
    throw Error(ExitCode::usage,
                fmt::format("{}: {} extents in '{}' for --dim {} (one edge, or one per direction)",
                            origin, extents.size(), text, dim));
  }
  return extents;
}

std::string extents_text(const std::vector<std::uint32_t>& extents) {
  return fmt::format("{}", fmt::join(extents, "x"));
}

std::vector<double> parse_temperatures(std::string_view text, std::string_view origin) {
  std::vector<double> temperatures;
  for (const std::string& part : split_list(text)) {
    const double t = parse_number(part, origin);
    if (!(t > 0)) {
      throw Error(ExitCode::usage, fmt::format("{}: {} is out of range (> 0)", origin, part));
    }
    if (std::find(temperatures.begin(), temperatures.end(), t) != temperatures.end()) {
      throw Error(ExitCode::usage, fmt::format("{}: {} is given twice", origin, part));
    }
    temperatures.push_back(t);
  }
  return temperatures;
}

double parse_p(std::string_view text, std::string_view origin) {
  const double p = parse_number(text, origin);
  if (p < 0 || p > 1) {
    throw Error(ExitCode::usage, fmt::format("{}: {} is out of range (0..1)", origin, text));
  }
  return p + 0.0;  // -0 becomes 0
}

std::string number_text(double value) { return fmt::format("{}", value); }

void make_output_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && std::filesystem::is_directory(folder)) return;
  throw Error(ExitCode::io, fmt::format("--out: cannot make '{}': {}", folder,
                                        error ? error.message() : std::strerror(ENOTDIR)));
}

void check_output_file(const std::filesystem::path& file) {
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  std::error_code ignored;
  if (std::filesystem::is_directory(folder, ignored)) return;
  throw Error(ExitCode::io, fmt::format("--out: there is no folder '{}'", folder.string()));
}

void refuse_overwriting(const std::filesystem::path& file, bool overwrite) {
  std::error_code ignored;
  if (overwrite || !std::filesystem::exists(file, ignored)) return;
  throw Error(ExitCode::held,
              fmt::format("--out: '{}' exists already (--overwrite replaces it)", file.string()));
}

std::string read_text_file(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    errno = EISDIR;
    fail_io(file, "read");
  }
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) fail_io(file, "read");
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (in.bad()) fail_io(file, "read");
  return text;
}

void write_text_file(const std::filesystem::path& file, std::string_view text) {
  write_plain(file, std::as_bytes(std::span(text)));
}

}  // namespace rewise
