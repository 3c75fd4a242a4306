#include "graphs/xml_tags.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <string_view>

#include "src/base/error.hpp"

namespace rewise {
namespace {

constexpr int kEnd = std::char_traits<char>::eof();

bool is_blank(int c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_name(int c) {
  return c >= 0x80 || std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == ':';
}

// &lt; &gt; &amp; &quot; &apos;. Others stay as they are: ids need only be told apart.
std::string decoded(const std::string& text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kEntities{
      {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}}};
  std::string result;
  for (std::size_t k = 0; k < text.size();) {
    const std::string_view rest = std::string_view(text).substr(k);
    std::size_t used = 1;
    char letter = text[k];
    for (const auto& [entity, meaning] : kEntities) {
      if (rest.substr(0, entity.size()) != entity) continue;
      used = entity.size();
      letter = meaning;
    }
    result += letter;
    k += used;
  }
  return result;
}

}  // namespace

void XmlTags::fail(const std::string& what) const {
  throw Error(ExitCode::data, fmt::format("{}:{}: {}", name_, line_, what));
}

int XmlTags::get() {
  const int c = in_.sbumpc();
  if (c == '\n') ++line_;
  if (++length_ > kMaxTag) fail(fmt::format("not GraphML: a tag of over {} characters", kMaxTag));
  return c;
}

void XmlTags::expect(const char* text) {
  for (; *text; ++text) {
    if (get() != *text) fail("not GraphML: a tag that is not well formed");
  }
}

void XmlTags::keep_text() {
  keeps_ = true;
  text_.clear();
}

std::string XmlTags::take_text() {
  keeps_ = false;
  if (text_.ends_with(' ')) text_.pop_back();
  return decoded(text_);
}

void XmlTags::keep(int c) {
  if (!keeps_ || text_.size() > kMaxText) return;
  if (!is_blank(c)) {
    text_ += static_cast<char>(c);
  } else if (!text_.empty() && text_.back() != ' ') {
    text_ += ' ';
  }
}

// Passes over everything up to and including `mark`.
void XmlTags::skip_past(const char* mark, bool is_text) {
  const std::string_view end(mark);
  std::string last;
  while (last != end) {
    length_ = 0;
    const int c = get();
    if (c == kEnd) fail(fmt::format("not GraphML: the file ends before {}", end));
    last += static_cast<char>(c);
    if (last.size() <= end.size()) continue;
    if (is_text) keep(static_cast<unsigned char>(last.front()));
    last.erase(0, 1);
  }
}

int XmlTags::skip_blanks() {
  int c = get();
  while (is_blank(c)) c = get();
  return c;
}

std::string XmlTags::read_name(int first) {
  if (!is_name(first)) fail("not GraphML: a tag that is not well formed");
  std::string name(1, static_cast<char>(first));
  while (in_.sgetc() != kEnd && is_name(in_.sgetc())) name += static_cast<char>(get());
  const std::size_t colon = name.find(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

std::string XmlTags::read_value(char quote) {
  std::string value;
  for (int c = get(); c != quote; c = get()) {
    if (c == kEnd || c == '<') fail("not GraphML: a value without its closing quote");
    value += static_cast<char>(c);
  }
  return decoded(value);
}

void XmlTags::read_start(int first) {
  if (open_.empty() && seen_root_) fail("not GraphML: more than one root element");
  seen_root_ = true;
  tag_ = read_name(first);
  attributes_.clear();
  start_ = true;
  int c = skip_blanks();
  while (c != '>' && c != '/') {
    std::string key = read_name(c);
    if (skip_blanks() != '=') fail("not GraphML: an attribute without a value");
    const int quote = skip_blanks();
    if (quote != '"' && quote != '\'') fail("not GraphML: a value without quotes");
    attributes_.emplace_back(std::move(key), read_value(static_cast<char>(quote)));
    c = skip_blanks();
  }
  empty_ = c == '/';
  if (empty_) expect(">");
  if (open_.size() >= kMaxDepth) fail("not GraphML: elements nest too deeply");
  open_.push_back(tag_);
}

void XmlTags::read_end() {
  tag_ = read_name(get());
  if (skip_blanks() != '>') fail("not GraphML: an end tag that is not well formed");
  close(tag_);
}

void XmlTags::close(const std::string& tag) {
  if (open_.empty() || open_.back() != tag) {
    fail(fmt::format("not GraphML: </{}> closes no such element", tag));
  }
  open_.pop_back();
  start_ = false;
}

bool XmlTags::next() {
  if (start_ && empty_) {
    empty_ = false;
    close(tag_);
    return true;
  }
  while (true) {
    length_ = 0;
    int c = get();
    while (c != '<' && c != kEnd) {
      if (open_.empty() && !is_blank(c) && c < 0x80) fail("not GraphML: text outside of elements");
      keep(c);
      length_ = 0;
      c = get();
    }
    if (c == kEnd) {
      if (!open_.empty()) fail(fmt::format("not GraphML: <{}> is not closed", open_.back()));
      if (!seen_root_) fail("not GraphML: the file holds no element");
      return false;
    }
    c = get();
    if (c == '?') {
      skip_past("?>");
    } else if (c == '!') {
      c = get();
      if (c == '-') {
        expect("-");
        skip_past("-->");
      } else if (c == '[') {
        expect("CDATA[");
        skip_past("]]>", true);
      } else {
        fail("not GraphML that is read here: a document type");
      }
    } else if (c == '/') {
      read_end();
      return true;
    } else {
      read_start(c);
      return true;
    }
  }
}

const std::string* XmlTags::attribute(const char* key) const {
  for (const auto& [name, value] : attributes_) {
    if (name == key) return &value;
  }
  return nullptr;
}

}  // namespace rewise
