#include "src/settings/parse.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <span>

#include "src/base/error.hpp"
#include "src/base/whole_number.hpp"
#include "src/store/input_file.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {

void given_twice(std::string_view origin, std::string_view what) {
  throw Error(ExitCode::usage, fmt::format("{}: {} is given twice", origin, what));
}

std::vector<std::string> split_list(std::string_view text, char between) {
  std::vector<std::string> parts;
  while (true) {
    const auto end = text.find(between);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

namespace {

std::optional<double> finite_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

std::string number_hint(std::string_view text) {
  const bool percent = text.ends_with('%');
  std::string number(text.substr(0, text.size() - (percent ? 1 : 0)));
  const auto comma = number.find(',');
  if (comma == std::string::npos && !percent) return "";
  if (comma != std::string::npos) number[comma] = '.';
  const auto value = finite_number(number);
  if (!value) return "";
  return percent ? fmt::format("write {:.15g} for {}", *value / 100, text)
                 : fmt::format("write {} for {}", number, text);
}

double parse_number(std::string_view text, std::string_view origin) {
  const auto value = finite_number(text);
  if (!value) {
    const std::string hint = number_hint(text);
    throw Error(ExitCode::usage, fmt::format("{}: '{}' is not a finite number{}{}", origin, text,
                                             hint.empty() ? "" : "; ", hint));
  }
  return *value;
}

std::uint64_t parse_whole(std::string_view text, std::uint64_t least, std::uint64_t most,
                          std::string_view origin) {
  const auto value = whole_number(text);
  if (!value || *value < least || *value > most) {
    throw Error(ExitCode::usage,
                fmt::format("{}: '{}' is not a whole number in {}..{}{}", origin, text, least, most,
                            text == "auto" ? " ('auto' is for study files and Python only)" : ""));
  }
  return *value;
}

std::vector<std::uint32_t> parse_extents(std::string_view text, int dim, std::string_view origin) {
  if (dim != 0 && (dim < 1 || dim > kMaxDim)) {
    throw Error(ExitCode::usage, fmt::format("--dim: {} is out of range (1..{})", dim, kMaxDim));
  }
  std::vector<std::uint32_t> extents;
  for (const std::string& part : split_list(text)) {
    if (part.find_first_of("xX*") != std::string::npos) {
      throw Error(ExitCode::usage,
                  fmt::format("{}: '{}': extents are separated by commas: 64,32", origin, part));
    }
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

double site_count(const std::vector<std::uint32_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), 1.0, std::multiplies<>());
}

std::string extents_text(const std::vector<std::uint32_t>& extents) {
  return fmt::format("{}", fmt::join(extents, "x"));
}

namespace {

std::vector<double> equal_steps(double from, double to, std::size_t count) {
  std::vector<double> values;
  for (std::size_t k = 0; k < count; ++k) {
    const double part = static_cast<double>(k) / static_cast<double>(count - 1);
    values.push_back(std::round(1e12 * (from + (to - from) * part)) / 1e12);
  }
  return values;
}

// Number of values of a range FROM:TO:THIRD. THIRD is this number if it is whole, otherwise it is
// the distance between two values.
std::size_t step_count(double from, double to, const std::string& third, std::string_view range,
                       std::string_view origin) {
  constexpr std::uint64_t most = 10000;
  constexpr double rounding = 1e-6;  // of a step
  const auto fail = [&](const std::string& why) {
    throw Error(ExitCode::usage, fmt::format("{}: '{}': {}", origin, range, why));
  };
  if (const auto count = whole_number(third)) {
    if (third.find('.') != std::string::npos && third.find_first_of("eE") == std::string::npos) {
      fail(fmt::format("{} is ambiguous (a count or a step): write {} for the count", third,
                       *count));
    }
    if (*count < 2 || *count > most) {
      fail(
          fmt::format("'{}' is not a whole number in 2..{} (a whole third part is the number of "
                      "values; one with a fraction, such as 0.1, is a step)",
                      third, most));
    }
    return static_cast<std::size_t>(*count);
  }
  const double step = parse_number(third, origin);
  if (!(step > 0)) {
    fail(fmt::format("{} is neither a count of values (2..{}) nor a step (> 0)", third, most));
  }
  const double steps = (to - from) / step;
  if (!(steps < static_cast<double>(most))) {
    fail(fmt::format("a step of {} gives more than {} values", third, most));
  }
  if (steps < 1 - rounding || std::abs(steps - std::round(steps)) > rounding) {
    fail(
        fmt::format("a step of {} does not lead from {} to {} ({:.6g} steps; a whole third part "
                    "is the number of values)",
                    third, from, to, steps));
  }
  return static_cast<std::size_t>(std::lround(steps)) + 1;
}

}  // namespace

std::vector<double> parse_steps(std::string_view text, std::string_view origin) {
  const auto parts = split_list(text, ':');
  if (parts.size() != 3) {
    throw Error(
        ExitCode::usage,
        fmt::format("{}: '{}' is not a range FROM:TO:COUNT, such as 2:3:11, "
                    "or FROM:TO:STEP, such as 2:3:0.1{}",
                    origin, text, parts.size() == 2 ? " (FROM:TO alone requires --exchange)" : ""));
  }
  const double from = parse_number(parts[0], origin), to = parse_number(parts[1], origin);
  if (!(from < to)) {
    throw Error(ExitCode::usage, fmt::format("{}: '{}': TO = {} must be greater than FROM = {}",
                                             origin, text, parts[1], parts[0]));
  }
  return equal_steps(from, to, step_count(from, to, parts[2], text, origin));
}

namespace {

// Throws for "1.5-3.5", "1.5..3.5", "1.5 to 3.5", "1.5;3.5" and "1.5 3.5". The message shows how to
// write two values and a range.
void reject_other_ranges(const std::string& text, std::string_view origin) {
  const auto is_number = [](std::string_view part) {
    double value = 0;
    const char* end = part.data() + part.size();
    return std::from_chars(part.data(), end, value).ptr == end && !part.empty();
  };
  for (const std::string_view between : {"..", " to ", "-", ";", " "}) {
    const auto at = text.find(between, 1);
    if (at == std::string::npos) continue;
    const std::string low = text.substr(0, at), high = text.substr(at + between.size());
    if (!is_number(low) || !is_number(high)) continue;
    throw Error(ExitCode::usage,
                fmt::format("{}: '{}' is not a number; write {},{} for two values, {}:{}:11 for a "
                            "range of 11 values, or {}:{}:0.1 for a range in steps of 0.1",
                            origin, text, low, high, low, high, low, high));
  }
}

}  // namespace

std::vector<double> parse_temperatures(std::string_view text, std::string_view origin) {
  std::vector<double> temperatures;
  for (const std::string& part : split_list(text)) {
    const bool range = part.find(':') != std::string::npos;
    if (!range && part.size() > 2) reject_other_ranges(part, origin);
    for (const double t :
         range ? parse_steps(part, origin) : std::vector<double>{parse_number(part, origin)}) {
      if (!(t > 0)) {
        throw Error(ExitCode::usage, fmt::format("{}: {} is out of range (> 0)", origin, t));
      }
      append_once(temperatures, t, origin, fmt::format("{}", t));
    }
  }
  return temperatures;
}

double parse_p(std::string_view text, std::string_view origin) {
  // "0,1" may be a decimal comma; see number_hint().
  const auto several = split_list(std::string(text));
  const auto is_number = [](const std::string& one) { return finite_number(one).has_value(); };
  if (several.size() > 1 && std::ranges::all_of(several, is_number) && number_hint(text).empty()) {
    throw Error(
        ExitCode::usage,
        fmt::format("{}: '{}': give one value; 'rewise sweep' simulates several", origin, text));
  }
  const double p = parse_number(text, origin);
  if (p < 0 || p > 1) {
    // "0,05" in a list of values of p was split at the comma.
    const bool decimals = text.size() > 1 && text[0] == '0' && whole_number(text).has_value();
    const std::string hint =
        decimals ? fmt::format("; commas separate values: write 0.{0} for 0,{0}", text) : "";
    throw Error(ExitCode::usage,
                fmt::format("{}: {} is out of range (0..1){}", origin, text, hint));
  }
  return p + 0.0;  // -0 becomes 0
}

std::string number_text(double value) { return fmt::format("{}", value); }

void make_output_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && folder_exists(folder)) return;
  throw Error(ExitCode::io, fmt::format("--out: cannot create folder '{}': {}", folder,
                                        error ? error.message() : std::strerror(ENOTDIR)));
}

void check_output_file(const std::filesystem::path& file, const char* option) {
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  if (folder_exists(folder)) return;
  throw Error(ExitCode::io, fmt::format("{}: folder '{}' does not exist", option, folder.string()));
}

void reject_overwriting(const std::filesystem::path& file, bool overwrite) {
  if (overwrite || !file_exists(file)) return;
  throw Error(ExitCode::held,
              fmt::format("--out: '{}' already exists (--overwrite replaces it)", file.string()));
}

std::string read_text_file(const std::filesystem::path& file, std::uint64_t most) {
  const auto fail = [&](const std::string& why) {
    throw Error(ExitCode::io, fmt::format("cannot read '{}': {}", file.string(), why));
  };
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (std::filesystem::is_directory(status)) fail(std::strerror(EISDIR));
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    fail("it is not a regular file");
  }
  const InputFile in(file);
  if (!in.is_there()) fail(std::strerror(ENOENT));
  if (in.size() > most) fail(fmt::format("it is longer than {} bytes", most));
  std::string text(in.size(), ' ');
  text.resize(in.read(std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace rewise
