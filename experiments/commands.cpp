#include "experiments/commands.hpp"

#include <fmt/format.h>

#include "experiments/options.hpp"

namespace rewise {

CLI::Option* add_whole(CLI::App& app, const std::string& name, std::uint64_t& value,
                       std::uint64_t least, std::uint64_t most, const std::string& help) {
  const auto read = [&value, name, least, most](const std::string& text) {
    value = parse_whole(text, least, most, name);
  };
  return app.add_option_function<std::string>(name, read, help)
      ->type_name("N")
      ->default_str(fmt::format("{}", value));
}

CLI::Option* add_text(CLI::App& app, const std::string& name, std::string& value,
                      const std::string& type, const std::string& help) {
  auto* option = app.add_option(name, value, help)->type_name(type);
  if (!value.empty()) option->default_str(value);
  return option;
}

}  // namespace rewise
