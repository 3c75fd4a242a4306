// Reads and writes edge lists, one bond per line: "u v", and what NetworkX adds to it ("u v
// {'weight': 1}" of write_edgelist, "u v 1.0" of write_weighted_edgelist; attributes.hpp says which
// are refused). Sites are whole numbers, or names in order of first mention; the first bond decides
// for the file. A name begins with a letter or '_', or is in parentheses or quotes, where it may
// hold blanks:
// "(0, 1)" of NetworkX's grids.
//
// A stream of characters: memory grows with the bonds and the names, never with the length of a
// line or the value of a site number (numbers must not leave large holes).
#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graphs/attributes.hpp"
#include "graphs/colouring.hpp"
#include "graphs/flat_map.hpp"
#include "graphs/graph_io.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

constexpr std::size_t kLongest = 256;  // characters of a name, a key or a value

class EdgeListReader {
 public:
  EdgeListReader(std::istream& in, const std::string& name, FirstSite first)
      : in_(*in.rdbuf()), name_(name), first_(first) {}

  Graph read() {
    skip_byte_order_mark();
    while (read_line()) ++line_;
    if (bonds_.empty()) throw Error(ExitCode::data, fmt::format("{}: holds no bond", name_));
    attributes_.refuse(name_);
    if (!named_) check_numbers();
    return imported_graph(sites_, std::move(bonds_), name_);
  }

 private:
  static constexpr int kEnd = std::char_traits<char>::eof();

  // One of the two ends of a bond as it stands there.
  struct End {
    std::string text;         // at most kLongest characters
    bool number = false;      // digits alone
    std::uint64_t value = 0;  // of a number; kMaxSites: that or more
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ExitCode::data, fmt::format("{}:{}: {}", name_, line_, what));
  }
  [[noreturn]] void fail_line() const {
    fail("a bad line: two site numbers, or two names, are expected");
  }

  static bool is_blank(int c) { return c == ' ' || c == '\t' || c == '\r'; }
  static bool is_digit(int c) { return c >= '0' && c <= '9'; }
  static bool is_control(int c) { return (c >= 0 && c < ' ') || c == 127; }
  static bool is_name_start(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
  }
  int peek() { return in_.sgetc(); }
  bool at_end_of_line() { return peek() == '\n' || peek() == kEnd; }
  void skip_blanks() {
    while (is_blank(peek())) in_.sbumpc();
  }

  void skip_byte_order_mark() {
    for (const int c : {0xEF, 0xBB, 0xBF}) {
      if (peek() != c) return;
      in_.sbumpc();
    }
  }

  // False at the end of the file.
  bool read_line() {
    skip_blanks();
    if (!at_end_of_line() && peek() != '#') {
      const End u = read_end();
      if (!is_blank(peek())) fail_line();
      skip_blanks();
      const End v = read_end();
      if (!is_blank(peek()) && !at_end_of_line() && peek() != '#') fail_line();
      skip_blanks();
      if (peek() == '{') {
        read_attributes();
      } else if (!at_end_of_line() && peek() != '#') {
        read_weight();
      }
      skip_blanks();
      add(u, v);
    }
    if (peek() == '#') {
      while (!at_end_of_line()) in_.sbumpc();
    }
    if (!at_end_of_line()) fail_line();
    return in_.sbumpc() != kEnd;
  }

  End read_end() {
    End end;
    if (is_digit(peek())) {
      end.number = true;
      for (int c = peek(); is_digit(c); in_.sbumpc(), c = peek()) {
        end.value = std::min(10 * end.value + static_cast<unsigned>(c - '0'), kMaxSites);
      }
      return end;
    }
    if (peek() == '"' || peek() == '\'') {
      const int quote = peek();
      do {
        take(end.text);
      } while (peek() != quote && !at_end_of_line());
      if (at_end_of_line()) fail_line();
      take(end.text);
      return end;
    }
    if (peek() == '(') {
      int depth = 0;
      do {
        depth += (peek() == '(') - (peek() == ')');
        if (at_end_of_line()) fail_line();
        take(end.text);
      } while (depth > 0);
      return end;
    }
    if (!is_name_start(peek())) fail_line();
    while (!is_blank(peek()) && !at_end_of_line()) take(end.text);
    return end;
  }

  void take(std::string& text) {
    if (text.size() >= kLongest) fail(fmt::format("a name of over {} characters", kLongest));
    if (is_control(peek())) fail_line();
    text += static_cast<char>(in_.sbumpc());
  }

  // {'weight': 1, 'kind': 'friend'}, as Python writes a dictionary.
  void read_attributes() {
    in_.sbumpc();
    skip_blanks();
    while (peek() != '}') {
      const Literal key = read_literal();
      if (peek() != ':' || !key.quoted) fail("a bad line: {'name': value, ..} is expected");
      in_.sbumpc();
      skip_blanks();
      const Literal value = read_literal();
      if (peek() != ',' && peek() != '}') fail("a bad line: {'name': value, ..} is expected");
      attributes_.see("edge", key.text, value.text, value.kind(), line_);
      if (peek() == ',') in_.sbumpc();
      skip_blanks();
    }
    in_.sbumpc();
  }

  struct Literal {
    std::string text;  // without its quotes
    bool quoted = false, nested = false;
    ValueKind kind() const {
      const bool word = text == "None" || text == "True" || text == "False";
      return quoted || nested || word ? ValueKind::text : ValueKind::number;
    }
  };

  // Up to a ':', ',' or '}' outside of quotes and brackets.
  Literal read_literal() {
    Literal literal;
    std::size_t depth = 0;
    int quote = 0;
    while (!at_end_of_line()) {
      const int c = peek();
      if (is_control(c) && c != '\t' && c != '\r') fail_line();
      if (quote == 0 && depth == 0 && (c == ':' || c == ',' || c == '}')) break;
      in_.sbumpc();
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '\'' || c == '"') {
        quote = c;
        literal.quoted = literal.quoted || literal.text.empty();
      } else if (c == '(' || c == '[' || c == '{') {
        literal.nested = literal.nested || literal.text.empty();
        ++depth;
      } else if (c == ')' || c == ']' || c == '}') {
        if (depth == 0) fail_line();
        --depth;
      }
      const bool mark = depth == 0 && (c == '\'' || c == '"' || (quote == 0 && is_blank(c)));
      if (!mark && literal.text.size() <= kLongest) literal.text += static_cast<char>(c);
    }
    return literal;
  }

  // The third column of a weighted list.
  void read_weight() {
    std::string text;
    while (!is_blank(peek()) && !at_end_of_line() && peek() != '#') take(text);
    if (number_in(text) == 1.0) return;
    fail(
        fmt::format("a bad line: '{}' after the two sites of a bond (bonds are all alike here: a "
                    "weight can only be 1)",
                    text));
  }

  // The number of an end: what stands there, or the order of its first mention.
  Site site_of(const End& end) {
    if (end.number) {
      if (end.value >= kMaxSites) {
        fail(fmt::format("too many sites: a site number beyond {}", kMaxSites - 1));
      }
      return static_cast<Site>(end.value);
    }
    const auto [place, is_new] = sites_by_name_.try_emplace(end.text, sites_by_name_.size());
    if (is_new && sites_by_name_.size() >= kMaxSites) fail("too many sites");
    return static_cast<Site>(place->second);
  }

  void add(const End& u, const End& v) {
    if (bonds_.empty()) named_ = !u.number;
    for (const End* end : {&u, &v}) {
      if (end->number != named_) continue;
      fail(end->number ? fmt::format("a bad line: site number {} among names", end->value)
                       : fmt::format("a bad line: name '{}' among site numbers", end->text));
    }
    const Site a = site_of(u), b = site_of(v);
    const auto text = [&](const End& end, Site site) {
      return named_ ? end.text : fmt::format("{}", site);
    };
    if (a == b) fail(fmt::format("site {} is joined to itself", text(u, a)));
    const std::uint64_t key = std::uint64_t{std::min(a, b)} << 32 | std::max(a, b);
    if (const std::uint64_t* first = lines_.find(key)) {
      fail(fmt::format("sites {} and {} are joined already, in line {}", text(u, a), text(v, b),
                       *first));
    }
    lines_.put(key, line_);
    bonds_.push_back({bonds_.size(), a, b});
    const std::uint64_t largest = std::uint64_t{std::max(a, b)} + 1;
    if (largest > sites_) {
      sites_ = largest;
      largest_at_ = line_;
    }
  }

  // Holes, and what the first number is.
  void check_numbers() {
    // A file of a few bytes must not ask for gigabytes.
    const std::uint64_t allowed = (std::uint64_t{1} << 16) + 64 * bonds_.size();
    if (sites_ > allowed) {
      throw Error(ExitCode::data,
                  fmt::format("{}:{}: site {} in a list of {} bonds: sites are numbered from 0 "
                              "without large holes (here up to {})",
                              name_, largest_at_, sites_ - 1, bonds_.size(), allowed - 1));
    }
    std::vector<bool> occurs(sites_, false);
    for (const RewiredBond& bond : bonds_) occurs[bond.a] = occurs[bond.b] = true;
    if (first_ == FirstSite::one && occurs[0]) {
      throw Error(ExitCode::data,
                  fmt::format("{}: site 0 in a list whose sites are numbered from 1", name_));
    }
    const bool all_but_0 = !occurs[0] && std::count(occurs.begin(), occurs.end(), true) + 1 ==
                                             static_cast<std::ptrdiff_t>(sites_);
    if (first_ == FirstSite::unsaid && all_but_0) {
      throw Error(ExitCode::data,
                  fmt::format("{}: sites are numbered 1 to {}: say --first-site 1 (or "
                              "--first-site 0, where there is a site 0 without bonds)",
                              name_, sites_ - 1));
    }
    if (first_ != FirstSite::one) return;
    --sites_;
    for (RewiredBond& bond : bonds_) {
      --bond.a;
      --bond.b;
    }
  }

  std::streambuf& in_;
  const std::string& name_;
  const FirstSite first_;
  bool named_ = false;
  std::uint64_t line_ = 1, sites_ = 0, largest_at_ = 0;
  std::vector<RewiredBond> bonds_;
  FlatMap<std::uint64_t> lines_;  // pair of sites -> the line that joined them
  std::unordered_map<std::string, std::uint64_t> sites_by_name_;
  Attributes attributes_;
};

}  // namespace

Graph read_edge_list(std::istream& in, const std::string& name, FirstSite first) {
  return EdgeListReader(in, name, first).read();
}

void write_edges(const Graph& graph, NewFile& file) {
  fmt::memory_buffer line;
  for_each_bond(graph, [&](Bond, Site a, Site b) {
    line.clear();
    fmt::format_to(std::back_inserter(line), "{} {}\n", a, b);
    file.write(std::string_view(line.data(), line.size()));
  });
}

}  // namespace rewise
