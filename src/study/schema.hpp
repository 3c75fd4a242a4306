// The schema of a study's file. Each key has one entry: table, type, default, allowed values, unit
// and meaning. The reader (ranges, known names), the writer of study.toml, the options of commands,
// `rewise help` and the page experiments/KEYS.md use it.
//
// To add a key: its entry in schema.cpp, a member of StudyConfig, and the line of config.cpp that
// reads it. Then write the page anew: rewise help --markdown > experiments/KEYS.md
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/study/unknown_names.hpp"

namespace rewise {

struct StudyConfig;

struct Setting {
  std::string table, key;
  std::string type;  // in words, such as "integer or list"
  std::string standard =
      "";                    // default as in a file, or in words; "": what an empty StudyConfig has
  std::string allowed = "";  // in words; "" for numbers, which have the range below
  std::uint64_t least = 0, most = 0;  // of integers; most = 0: none
  double lowest = 0, highest = 0;     // of other numbers
  std::string unit = "";
  std::string help;       // meaning, for --help of commands as well
  std::string more = "";  // for `rewise help KEY` and the page alone
  std::string example;    // the value as in a file
  // The value as TOML; "" if study.toml does not have the key.
  std::string (*text)(const StudyConfig& config);
  std::string option = "", option_type = "";  // of commands that take it: "--measure", "N"
  std::string command = "";                   // the only one that reads it: tc or sweep
  std::string old_table = "", old_key = "";   // its place in earlier versions, which is read, too

  std::string name() const { return table + "." + key; }
  std::string range() const;  // allowed values in words
};

// All keys, in the order in which study.toml has them.
const std::vector<Setting>& settings();
// By its present or its old place; nullptr if there is none.
const Setting* find_setting(std::string_view table, std::string_view key);
// By its name, "sampling.measure". Error(internal) if there is none.
const Setting& setting(std::string_view name);
// The tables with their keys, in the same order, without old places.
const std::vector<KeyTable>& study_keys();

// Begin of the first line of a study.toml that the program wrote (study_state.cpp).
inline constexpr std::string_view kStudyHead = "# rewise ";

// Number of graphs of each size, and with a target_error the number to begin with.
inline constexpr std::uint32_t kDefaultGraphs = 50, kDefaultTargetGraphs = 32;

}  // namespace rewise
