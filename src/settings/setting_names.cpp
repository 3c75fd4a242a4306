#include "src/settings/setting_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/base/setting_name.hpp"
#include "src/settings/schema.hpp"

namespace rewise {
namespace {

// nullptr if studies do not have the setting.
const Setting* setting_of(std::string_view key) {
  if (key == "model") return &setting("model.name");
  const auto found = std::ranges::find(settings(), key, &Setting::key);
  return found == settings().end() ? nullptr : &*found;
}

std::string option(std::string_view key) {
  if (const Setting* known = setting_of(key); known != nullptr) return known->option;
  return setting_name(key);
}

}  // namespace

SettingNames SettingNames::options() { return SettingNames(Kind::option); }
SettingNames SettingNames::arguments() { return SettingNames(Kind::argument); }
SettingNames SettingNames::keys() { return SettingNames(Kind::key); }
SettingNames SettingNames::keys_of_file(std::function<std::string(std::string_view key)> origin) {
  SettingNames names(Kind::key);
  names.origin_ = std::move(origin);
  return names;
}

std::string SettingNames::origin(std::string_view key) const {
  return origin_ ? origin_(key) : name(key);
}

std::string SettingNames::name(std::string_view key) const {
  if (kind_ == Kind::option) return option(key);
  if (kind_ == Kind::argument) return std::string(key == "temperatures" ? "temperature" : key);
  const Setting* const known = setting_of(key);
  return known != nullptr ? known->name() : std::string(key);
}

std::string SettingNames::assigned(std::string_view key, std::string_view value) const {
  if (kind_ == Kind::option) return fmt::format("{} {}", option(key), value);
  if (kind_ == Kind::argument) return fmt::format("{}={}", name(key), value);
  return fmt::format("{} = {}", key, value);
}

std::string SettingNames::with(std::string_view key,
                               const std::vector<std::string_view>& words) const {
  std::string text;
  for (const std::string_view& word : words) {
    if (!text.empty()) text += &word == &words.back() ? " or " : ", ";
    text += kind_ == Kind::option ? std::string(word) : fmt::format("\"{}\"", word);
  }
  return assigned(key, text);
}

std::string SettingNames::on(std::string_view key) const {
  if (kind_ == Kind::option) return option(key);
  return assigned(key, kind_ == Kind::argument ? "True" : "true");
}

ModelTexts SettingNames::model() const {
  ModelTexts names;
  for (const std::string key : kModelKeys) names[key] = origin(key == "name" ? "model" : key);
  return names;
}

}  // namespace rewise
