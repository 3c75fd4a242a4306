// `rewise help`: describes the keys of a study's file and their values, from the schema of
// settings, and the quantities and words of tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <string>
#include <vector>

#include "experiments/commands/help_words.hpp"
#include "experiments/console/commands.hpp"
#include "experiments/console/shared_options.hpp"
#include "src/base/error.hpp"
#include "src/base/whole_number.hpp"
#include "src/engine/registry.hpp"
#include "src/results/symbols.hpp"
#include "src/settings/old_names.hpp"
#include "src/settings/parse.hpp"
#include "src/settings/schema.hpp"

namespace rewise {
namespace {

constexpr const char* kHelpAbout =
    "Explain a key or value of a study's file, or a quantity or word of tables; list them all.\n\n"
    "Example: rewise help temperatures\n\n"
    "KEY is a key, with or without its table (measure, sampling.measure), a value of a key\n"
    "(swap, wolff), a quantity in tables and files (U, chi, tau, m2), a word that stands there\n"
    "instead of a value (not-equilibrated, too-short), an exit status (75), a table, whose keys\n"
    "are listed (lattice), or a command, whose --help is printed.";
constexpr const char* kHelpExamples = R"(
More examples:
  rewise help
  rewise help sampling
  rewise help swap
  rewise help U
  rewise help not-converged
  rewise help 75
  rewise help tc)";

// The option of a key and the commands that have it; "" if there is none. Brackets contain a
// default that differs from that of a study's file: "--dim [2] of graph, run" or
// "--measure of run [1000], clusters [500]".
std::string option_text(const CLI::App& program, const Setting& one) {
  if (one.option.empty()) return "";
  auto names = commands_with(program, one.option);
  if (names.empty()) return "";
  std::vector<std::string> defaults;
  for (const std::string& name : names) {
    const std::string standard = option_default(program, name, one.option);
    const bool is_known = standard == one.standard || '"' + standard + '"' == one.standard;
    defaults.push_back(standard.empty() || is_known ? "" : fmt::format(" [{}]", standard));
  }
  std::string option = one.option;
  if (std::ranges::count(defaults, defaults.front()) == std::ssize(defaults)) {
    option += defaults.front();
  } else {
    for (std::size_t k = 0; k < names.size(); ++k) names[k] += defaults[k];
  }
  return fmt::format("{} of {}", option, fmt::join(names, ", "));
}

std::string readers(const Setting& one) { return one.command.empty() ? "tc, sweep" : one.command; }

std::string type_text(const Setting& one) {
  return one.unit.empty() ? one.type : fmt::format("{} ({})", one.type, one.unit);
}

// Wraps text, indented by `width` columns.
std::string indented(std::size_t width, const std::string& text) {
  std::string out;
  for (const char c : help_lines(text)) {
    out += c;
    if (c == '\n') out += std::string(width, ' ');
  }
  return out + "\n";
}

// Whether `name` is the present or former name of a key, with or without its table.
bool is_called(const Setting& one, const std::string& name) {
  const OldKey* const old = old_key_of(one);
  return name == one.key || name == one.name() ||
         (old != nullptr && (name == old->key || name == old->name()));
}

std::string explanation(const CLI::App& program, const Setting& one) {
  std::string text = fmt::format("{} in [{}]\n  {}", one.key, one.table, indented(2, one.help));
  if (!one.more.empty()) text += "  " + indented(2, one.more);
  const auto line = [&](const char* what, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<9}{}", what, indented(11, value));
  };
  line("type", type_text(one));
  line("default", one.standard);
  line("allowed", one.range());
  line("read by", readers(one));
  line("option", option_text(program, one));
  if (const OldKey* const old = old_key_of(one)) {
    line("formerly", fmt::format("{} in [{}], still accepted", old->key, old->table));
  }
  return text +
         fmt::format("  example  [{}]\n           {} = {}\n", one.table, one.key, one.example);
}

// The words that a study's file allows as values of a key: the parts of its range that are one
// word, and a default that is a text of one word.
std::vector<std::string> values_of(const Setting& one) {
  std::vector<std::string> values;
  std::string range = one.range();
  std::ranges::replace(range, ';', ',');
  const std::string standard = one.standard.starts_with('"') ? one.standard : "";
  for (const std::string& list : {range, standard}) {
    for (std::string word : split_list(list)) {
      word.erase(0, word.find_first_not_of(" \""));
      word.erase(word.find_last_not_of(" \"") + 1);
      if (!word.empty() && std::isalpha(static_cast<unsigned char>(word[0])) &&
          word.find_first_of(" .\"") == std::string::npos) {
        values.push_back(word);
      }
    }
  }
  return values;
}

// Explains the keys that have this value; "" if there is none. Words of many keys, such as auto,
// give a list of the keys.
std::string explanation_of_value(const CLI::App& program, const std::string& value) {
  std::vector<const Setting*> keys;
  for (const Setting& one : settings()) {
    if (std::ranges::count(values_of(one), value) > 0) keys.push_back(&one);
  }
  if (keys.empty()) return "";
  if (keys.size() > 2) {
    std::string text = fmt::format("'{}' is a value of these keys:\n", value);
    for (const Setting* one : keys) {
      text += fmt::format("  {:<29}{}", fmt::format("{} in [{}]", one->key, one->table),
                          indented(31, one->help));
    }
    return text + "\n'rewise help KEY' explains a key.\n";
  }
  std::string text;
  for (const Setting* one : keys) {
    text += fmt::format("{}'{}' is a value of {} in [{}].\n\n{}", text.empty() ? "" : "\n", value,
                        one->key, one->table, explanation(program, *one));
  }
  return text;
}

// Explains the quantities of this name; "" if there is none.
std::string explanation_of_symbol(const std::string& name) {
  std::string text;
  for (const Symbol& one : symbols()) {
    if (!is_called(one, name)) continue;
    text += fmt::format("{}{}: {}\n", text.empty() ? "" : "\n", one.symbol, one.meaning);
    const auto line = [&](const char* what, std::string_view value) {
      if (!value.empty()) text += fmt::format("  {:<12}{}", what, indented(14, std::string(value)));
    };
    line("definition", one.definition);
    line("unit", one.unit == "1" ? "none (a pure number)" : one.unit);
    line("other names", one.names);
    line("source", one.source);
  }
  return text.empty() ? ""
                      : text +
                            "J = k_B = 1; <.> is a thermal average, [.] an average over "
                            "networks.\n";
}

// Explains a word of tables and result files, or an exit status; "" for other words.
std::string explanation_of_word(const std::string& word) {
  std::string text;
  std::vector<ResultWord> all(result_words().begin(), result_words().end());
  all.insert(all.end(), exit_statuses().begin(), exit_statuses().end());
  const auto number = whole_number(word);
  const bool by_signal = number && *number > 128 && *number < 256;
  for (const ResultWord& one : all) {
    const bool is_meant =
        word == one.word || "(" + word + ")" == one.word || (by_signal && one.word == "above 128");
    if (!is_meant) continue;
    text += fmt::format("{}{}: {}\n", text.empty() ? "" : "\n", one.word, one.where);
    const auto line = [&](const char* what, std::string value) {
      std::erase(value, '`');
      if (!value.empty()) text += fmt::format("  {:<12}{}", what, indented(14, value));
    };
    line("meaning", std::string(one.meaning));
    line("what to do", std::string(one.remedy));
  }
  return text;
}

// Names the keys and values that begin with these letters; "" if there is none.
std::string words_that_begin_with(const std::string& letters) {
  std::vector<std::string> found;
  const auto add = [&](const std::string& word) {
    if (word.starts_with(letters) && std::ranges::count(found, word) == 0) found.push_back(word);
  };
  for (const Setting& one : settings()) {
    add(one.key);
    for (const std::string& value : values_of(one)) add(value);
  }
  if (found.empty()) return "";
  if (found.size() == 1) return fmt::format("did you mean '{}'?", found.front());
  constexpr std::size_t most = 6;
  const bool more = found.size() > most;
  found.resize(std::min(found.size(), most));
  return fmt::format("there are {}{}; 'rewise help' lists all", fmt::join(found, ", "),
                     more ? ", .." : "");
}

// Names the commands whose --help contains a word, for words that have no meaning in studies; "" if
// there are none, or more than four.
std::string commands_that_mention(const CLI::App& program, const std::string& word) {
  std::vector<std::string> found;
  for (const std::string& name : commands_with(program, "--help")) {
    const std::string help = help_of(program, name);
    const auto goes_on = [&](std::size_t at) {
      return at < help.size() && (std::isalnum(static_cast<unsigned char>(help[at])) ||
                                  help[at] == '_' || help[at] == '-');
    };
    for (auto at = help.find(word); at != std::string::npos; at = help.find(word, at + 1)) {
      const bool option = at >= 2 && help.compare(at - 2, 2, "--") == 0;
      if ((at > 0 && goes_on(at - 1) && !option) || goes_on(at + word.size())) continue;
      found.push_back(name);
      break;
    }
  }
  constexpr std::size_t most = 4;  // a word in more help texts is too general
  return found.empty() || found.size() > most ? ""
                                              : fmt::format("it is explained by 'rewise {} --help'",
                                                            fmt::join(found, " --help', 'rewise "));
}

// Explains the former name of an engine; "" for other names.
std::string explanation_of_old_engine(const CLI::App& program, const std::string& name) {
  for (const EngineTraits& engine : engine_registry()) {
    if (name != engine.stored_name) continue;
    const std::string now(engine.name), value = explanation_of_value(program, now);
    return fmt::format(
        "'{}' is the former name of the engine '{}'. Options still accept it.\n"
        "Task files and the names of files in schedules/ keep it.\n{}",
        name, now, value.empty() ? "See --engine in 'rewise run --help'.\n" : "\n" + value);
  }
  return "";
}

std::string list_of(const std::string& table) {
  std::string text;
  for (const KeyTable& part : study_keys()) {
    if (!table.empty() && part.table != table) continue;
    text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", part.table);
    for (const auto key : part.keys) {
      const Setting& one = *find_setting(part.table, key);
      text += fmt::format("  {:<20}{}", key, indented(22, one.help));
    }
  }
  return text;
}

// The quantities and words that print_help() explains, beside keys.
std::string list_of_words() {
  std::vector<std::string_view> quantities, words;
  for (const Symbol& one : symbols()) quantities.push_back(one.symbol);
  for (const ResultWord& one : result_words()) {
    if (std::ranges::count(words, one.word) == 0) words.push_back(one.word);
  }
  return "\nquantities of tables and files\n  " +
         indented(2, fmt::format("{}", fmt::join(quantities, ", "))) +
         "\nwords of tables and files\n  " +
         indented(2, fmt::format("{}", fmt::join(words, ", "))) +
         "\n'rewise help U' explains a quantity, \"rewise help 'U at Tc'\" a word with blanks.\n";
}

std::string escaped_cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.insert(at, "\\");
  }
  return text;
}

std::string page(const CLI::App& program) {
  std::string text =
      "# Keys of a study's file\n\n"
      "Written by `rewise help --markdown`. `rewise help KEY` prints the same about one key. "
      "[GUIDE.md](GUIDE.md) explains\nwhat a study does. Defaults are written as in a file. Only "
      "`dim`, `sizes` and `p` are required; an unknown key is an error.\nThe last column has the "
      "option of commands that do not read a file, in brackets its default if it is another one.\n";
  for (const KeyTable& table : study_keys()) {
    text += fmt::format(
        "\n## [{}]\n\n| key | type | default | allowed | meaning | option "
        "|\n|---|---|---|---|---|---"
        "|\n",
        table.table);
    for (const auto key : table.keys) {
      const Setting& one = *find_setting(table.table, key);
      std::string meaning = one.help + (one.more.empty() ? "" : ". " + one.more);
      if (!one.command.empty()) meaning = fmt::format("({} only) {}", one.command, meaning);
      if (const OldKey* const old = old_key_of(one)) {
        meaning += fmt::format(". Formerly `{}` in [{}]", old->key, old->table);
      }
      text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", one.key, type_text(one),
                          escaped_cell(one.standard), escaped_cell(one.range()),
                          escaped_cell(meaning), option_text(program, one));
    }
  }
  return text +
         "\nNo result depends on `[run]`, except that `schedule = \"auto\"` depends on the "
         "speed of the device.\n";
}

ExitCode print_help(const CLI::App& program, std::string name) {
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') {
    name = name.substr(1, name.size() - 2);
  }
  std::string text = list_of(name);
  if (!text.empty()) {
    if (name.empty()) text += list_of_words();
    text +=
        "\n'rewise help KEY' prints the type, default, allowed values and an example of a key.\n";
  }
  const std::string command = name.empty() ? "" : help_of(program, name);
  if (!command.empty()) {
    text += (text.empty() ? "" : "\n") + command;
    for (const Setting& one : settings()) {
      if (one.key != name) continue;
      text += fmt::format("\n'{}' is also a key of a study: 'rewise help {}' explains it.\n", name,
                          one.name());
    }
  }
  if (text.empty()) {
    for (const Setting& one : settings()) {
      if (is_called(one, name)) {
        text += (text.empty() ? "" : "\n") + explanation(program, one);
      }
    }
  }
  std::string value = text.empty() ? explanation_of_value(program, name) : "";
  for (const std::string& part :
       {explanation_of_symbol(name), std::move(value), explanation_of_word(name),
        explanation_of_old_engine(program, name)}) {
    if (!part.empty()) text += (text.empty() ? "" : "\n") + part;
  }
  if (text.empty()) {
    std::vector<std::string_view> keys;
    for (const Setting& one : settings()) keys.push_back(one.key);
    for (const ResultWord& one : result_words()) keys.push_back(one.word);
    std::string advice = key_advice(name, keys, {});
    if (advice.empty() && name.size() > 2) advice = commands_that_mention(program, name);
    if (advice.empty()) advice = words_that_begin_with(name);
    if (advice.empty()) advice = "'rewise help' lists all";
    throw Error(ExitCode::usage,
                fmt::format("help: unknown key, value or quantity '{}' ({})", name, advice));
  }
  fmt::print("{}", text);
  return ExitCode::done;
}

}  // namespace

AddedCommand add_help_command(CLI::App& program) {
  struct Options {
    std::string key;
    bool markdown = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App& app = add_command(program, "help", kHelpAbout, kHelpExamples);
  add_optional_argument(app, "key", options->key, "KEY", "what to explain");
  add_flag(app, "--markdown", options->markdown, "print the reference page of all keys");
  return {&app, [options, &program] {
            if (!options->markdown) return print_help(program, options->key);
            fmt::print("{}", page(program));
            return ExitCode::done;
          }};
}

}  // namespace rewise
