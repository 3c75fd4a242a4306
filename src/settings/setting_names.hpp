// Names of the settings of a run in messages: options of the command line, arguments of the Python
// package, or keys of a study's file. Functions that check settings or give advice take a
// SettingNames, and name a setting by its key in schema.hpp: "engine"; "model" is the key `name` of
// the table [model].
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/model.hpp"

namespace rewise {

class SettingNames {
 public:
  static SettingNames options();
  static SettingNames arguments();
  static SettingNames keys();
  // Keys of a file. origin(key) is the position and the name of a key, which begin a message.
  static SettingNames keys_of_file(std::function<std::string(std::string_view key)> origin);

  // Begins a message: "--engine", "engine", "sampling.engine", "s.toml:3:1: sampling.engine".
  std::string origin(std::string_view key) const;
  // For advice: "--engine", "engine", "sampling.engine".
  std::string name(std::string_view key) const;
  // "--start mixed", "start="mixed"", "start = "mixed""; of several words, "--start hot or cold".
  std::string with(std::string_view key, const std::vector<std::string_view>& words) const;
  // A switch that is on: "--exchange", "exchange=True", "exchange = true".
  std::string on(std::string_view key) const;

  // origin() of each key of a model, for parse_model().
  ModelTexts model() const;

 private:
  enum class Kind { option, argument, key };
  explicit SettingNames(Kind kind) : kind_(kind) {}
  std::string assigned(std::string_view key, std::string_view value) const;

  Kind kind_;
  std::function<std::string(std::string_view key)> origin_;
};

}  // namespace rewise
