// The schema of a study file. Each key has one entry: table, type, default, allowed values, unit
// and meaning. The checks of names and ranges, the writer of study.toml, the options of commands,
// `rewise help` and the page experiments/KEYS.md follow from it. config.cpp reads each key.
//
// To add a key, write its entry in schema.cpp, a member of StudyConfig, and the line of config.cpp
// that reads it. Then update the page: rewise help --markdown > experiments/KEYS.md
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/settings/unknown_names.hpp"

namespace rewise {

struct StudyConfig;

struct Setting {
  std::string table = "";  // that of the list in schema.cpp
  std::string key;
  std::string type;           // in words, such as "integer or list"
  std::string standard = "";  // default as in a file, or in words; "": that of an empty StudyConfig
  std::string allowed = "";   // in words; "" for numbers, which have the range below
  std::uint64_t min_integer = 0, max_integer = 0;  // range of integers; max_integer = 0: no limits
  double lowest = 0, highest = 0;                  // range of other numbers
  std::string unit = "";
  std::string help;       // meaning; also in --help of commands
  std::string more = "";  // additional text for `rewise help KEY` and the page
  std::string example;    // example value as in a file
  // The value as TOML; "": study.toml does not have the key.
  std::string (*text)(const StudyConfig& config);
  bool omit_default = false;  // study.toml does not have the key if the value is the default
  // Option of the command line; by default the key ("--measure"), "" if there is none. The word
  // that stands for its value, by default WORD for texts.
  std::string option = "", option_type = "";
  std::string command = "";  // the only command that reads it: tc or sweep

  std::string name() const { return table + "." + key; }
  std::string range() const;  // allowed values in words
  // The value in study.toml; "": the key is omitted.
  std::string toml(const StudyConfig& config) const;
};

// All keys, in the order of study.toml.
const std::vector<Setting>& settings();
// Finds a key by its table and name; nullptr if there is none.
const Setting* find_setting(std::string_view table, std::string_view key);
// Finds a key by its name, "sampling.measure". Throws Error(internal) if there is none.
const Setting& setting(std::string_view name);
// The tables with their keys, in the same order.
const std::vector<KeyTable>& study_keys();

// Beginning of the first line of a study.toml written by the program (study_folder.cpp).
inline constexpr std::string_view kStudyHead = "# rewise ";

// Default number of graphs per size, and default initial number with a target_error.
inline constexpr std::uint32_t kDefaultGraphs = 50, kDefaultTargetGraphs = 32;

}  // namespace rewise
