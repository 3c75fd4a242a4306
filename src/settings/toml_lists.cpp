#include "src/settings/toml_lists.hpp"

#include <fmt/format.h>

#include "src/settings/parse.hpp"

namespace rewise {
namespace {

constexpr std::size_t kMaxEntries = 10'000;

}  // namespace

std::vector<const toml::node*> need_list(const TomlSection& section, std::string_view key,
                                         std::string_view allowed) {
  const toml::node& node = section.need(key);
  if (node.is_number() || node.is_string()) return {&node};
  const auto* list = node.as_array();
  if (list == nullptr) {
    section.fail(key, node, fmt::format("{} where {} is expected", toml_type(node), allowed));
  }
  if (list->empty()) section.fail(key, node, fmt::format("the list is empty ({})", allowed));
  if (list->size() > kMaxEntries) {
    section.fail(key, node,
                 fmt::format("the list has {} entries (at most {})", list->size(), kMaxEntries));
  }
  std::vector<const toml::node*> entries;
  for (const toml::node& entry : *list) entries.push_back(&entry);
  return entries;
}

std::vector<std::string> read_words(const TomlSection& section, std::string_view key,
                                    std::string_view otherwise, bool repeats) {
  const auto* node = section.find(key);
  if (node == nullptr || !node->is_array()) return {section.text(key, otherwise)};
  std::vector<std::string> words;
  for (const toml::node* entry : need_list(section, key, "a word, or a list of words")) {
    const auto* word = entry->as_string();
    if (word == nullptr) {
      section.fail(key, *entry, fmt::format("{} where text is expected", toml_type(*entry)));
    }
    const std::string text = printable(word->get());
    if (repeats) {
      words.push_back(text);
    } else {
      append_once(words, text, section.origin(key, *entry), text);
    }
  }
  return words;
}

}  // namespace rewise
