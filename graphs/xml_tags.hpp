// The tags of an XML document as a stream: names and attributes, and text where it is asked for;
// comments, processing instructions and other text are passed over. Nothing recurses, and memory is
// bounded by one tag, kMaxText and kMaxDepth names, whatever the input. Document types (which may
// expand without bound) are refused, as is everything that is not well formed. Namespace prefixes
// are dropped.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <utility>
#include <vector>

namespace rewise {

class XmlTags {
 public:
  static constexpr std::size_t kMaxDepth = 100, kMaxTag = 1 << 16, kMaxText = 256;

  // `name` stands for the file in errors (Error(data) with file and line).
  XmlTags(std::istream& in, const std::string& name) : in_(*in.rdbuf()), name_(name) {}

  // Moves to the next start or end tag (<a/> gives both); false at the end of the document.
  bool next();

  bool is_start() const { return start_; }
  const std::string& tag() const { return tag_; }
  std::size_t depth() const { return open_.size(); }  // with this element, if it is a start tag
  // The value of an attribute of a start tag, or null.
  const std::string* attribute(const char* key) const;
  // Text from here on, in CDATA or not, is kept (its first kMaxText characters and a bit; stretches
  // of blanks as one, none at the ends).
  void keep_text();
  std::string take_text();  // what was kept; nothing is from here on
  std::uint64_t line() const { return line_; }
  [[noreturn]] void fail(const std::string& what) const;

 private:
  int get();
  void keep(int c);
  void expect(const char* text);
  void skip_past(const char* mark, bool is_text = false);
  int skip_blanks();
  std::string read_name(int first);
  std::string read_value(char quote);
  void read_start(int first);
  void read_end();
  void close(const std::string& tag);

  std::streambuf& in_;
  const std::string& name_;
  std::uint64_t line_ = 1;
  std::size_t length_ = 0;  // characters of the present tag
  bool start_ = false, empty_ = false, seen_root_ = false, keeps_ = false;
  std::string tag_, text_;
  std::vector<std::pair<std::string, std::string>> attributes_;
  std::vector<std::string> open_;
};

}  // namespace rewise
