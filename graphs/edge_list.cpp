// Reads and writes edge lists, one bond per line: "u v", optionally with NetworkX's additions ("u v
// {'weight': 1}" of write_edgelist, "u v 1.0" of write_weighted_edgelist; their meaning:
// attributes.hpp).
//   columns   separated by blanks and tabs, by commas or by semicolons: the first bond determines
//             the separator of the file (blanks may surround a comma or semicolon)
//   third     J of the bond, attribute "weight"; further columns are the attributes
//             "column4" (the time in KONECT's lists) and so on
//   comments  from '#', or from '%' at the beginning of a column, to the end of the line
// Sites are whole numbers, or names in order of first mention; the first bond determines which.
//
// A comment line that contains nothing but counts states the number of sites, including those
// without bonds. The spelling is free: "# sites N", "# Nodes: N Edges: M" (SNAP), "% number of
// vertices=N". N is the number of sites of the graph. Site numbers are below N. If the comment
// counts nodes or vertices and larger numbers occur, the numbers are labels (as in SNAP's lists),
// and sites are numbered by increasing label. M is the number of lines with bonds, or of bonds
// after merging. "% M N N" after KONECT's "% sym .." or "% asym .." has the same meaning, and sites
// are numbered from 1. Counts that contradict the bonds are an error.
//
// A comment "# field SITE H" sets the field h of a site, which is a number or a name. A comment
// that begins with "field" or "fields" and has digits, but is not of this form, is an error.
//
// A name begins with a letter or '_', or is in parentheses or quotes, where it may contain any
// character: "(0, 1)" of NetworkX's grids. Names are UTF-8.
//
// The file is read as a stream of characters. Memory grows with the bonds and the names, never with
// the length of a line or the value of a site number (numbers must not leave large gaps).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <istream>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graphs/imported_bonds.hpp"
#include "src/base/error.hpp"
#include "src/base/fixed_point.hpp"
#include "src/base/words.hpp"

namespace rewise {
namespace {

constexpr std::size_t kLongest = 256;  // longest name, key or value, in characters

class EdgeListReader {
 public:
  EdgeListReader(std::istream& in, const std::string& name, const ReadOptions& options)
      : in_(*in.rdbuf()), name_(name), options_(options), imported_(name, options) {}

  Graph read() {
    skip_byte_order_mark();
    while (read_line()) ++line_;
    if (bonds_.empty() && !declared_) {
      throw Error(ExitCode::data, fmt::format("{}: the file has no bonds", name_));
    }
    attributes_.reject_unknown(name_, options_.all_ignored_exist);
    if (!named_) check_numbers();
    set_sites();
    check_edge_count();
    return imported_.graph(sites_, take_fields());
  }

 private:
  static constexpr int kEnd = std::char_traits<char>::eof();

  // One end of a bond as written in the file.
  struct End {
    std::string text;         // at most kLongest characters
    bool number = false;      // consists of digits
    std::uint64_t value = 0;  // of a number; kMaxSites also stands for larger ones
  };

  [[noreturn]] void fail(const std::string& what) const { imported_.fail(line_, what); }
  // Names the unexpected character.
  [[noreturn]] void fail_line() {
    const int c = peek();
    std::string found = "the line ends";
    if (c > ' ' && c < 127) found = fmt::format("'{}' follows", static_cast<char>(c));
    if (c == ' ' || c == '\t') found = c == ' ' ? "a blank follows" : "a tab follows";
    if (is_control(c) && !at_end_of_line()) found = fmt::format("the byte {:#04x} follows", c);
    if (c >= 0x80) found = "a character outside of ASCII follows";
    const std::string after = last_.empty() ? "" : fmt::format(" after '{}'", last_);
    fail(fmt::format("invalid line: two site numbers or two names are expected, but {}{}", found,
                     after));
  }

  static bool is_blank(int c) { return c == ' ' || c == '\t' || c == '\r'; }
  static bool is_digit(int c) { return c >= '0' && c <= '9'; }
  static bool is_control(int c) { return (c >= 0 && c < ' ') || c == 127; }
  static bool is_name_start(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
  }
  int peek() { return in_.sgetc(); }
  bool at_end_of_line() { return peek() == '\n' || peek() == kEnd; }
  bool at_comment() { return peek() == '#' || peek() == '%'; }
  bool at_end_of_columns() { return at_end_of_line() || at_comment(); }
  bool at_end_of_name() {
    const int c = peek();
    return is_blank(c) || at_end_of_line() || c == ',' || c == ';';
  }
  void skip_blanks() {
    while (is_blank(peek())) in_.sbumpc();
  }

  void skip_byte_order_mark() {
    for (const int c : {0xEF, 0xBB, 0xBF}) {
      if (peek() != c) return;
      in_.sbumpc();
    }
  }

  // Returns false at the end of the file.
  bool read_line() {
    last_.clear();
    skip_blanks();
    if (!at_end_of_columns()) {
      const End u = read_end();
      if (!next_column()) fail_line();
      const End v = read_end();
      if (bonds_.empty() && is_header(u.text, v.text)) fail_header(line_, u.text, v.text);
      maybe_header_ = bonds_.empty() && !u.number && !v.number;
      for (int column = 3; next_column(); ++column) {
        if (peek() == '{') {
          read_attributes();
        } else {
          read_value(column);
        }
      }
      add(u, v);
    }
    if (at_comment()) read_comment(last_.empty());
    if (!at_end_of_line()) fail_line();
    return in_.sbumpc() != kEnd;
  }

  // Moves to the next column of the line and returns false if there is none. The first line
  // determines the separator.
  bool next_column() {
    const bool blank = is_blank(peek());
    skip_blanks();
    if (at_end_of_columns()) return false;
    const bool mark = peek() == ',' || peek() == ';';
    if (!mark && !blank) fail_line();
    const char found = mark ? static_cast<char>(peek()) : ' ';
    if (delimiter_ == 0) {
      delimiter_ = found;
      delimiter_line_ = line_;
    }
    if (found != delimiter_) {
      const auto word = [](char c) {
        return c == ' ' ? std::string("a blank") : fmt::format("'{}'", c);
      };
      fail(
          fmt::format("invalid line: {} after '{}', but line {} separates its columns by {} (put "
                      "names that contain either in quotes)",
                      word(found), last_, delimiter_line_, word(delimiter_)));
    }
    if (mark) in_.sbumpc();
    skip_blanks();
    return !at_end_of_columns();
  }

  // Reads comments that change the meaning of the list: counts of sites and edges, KONECT's first
  // line, Matrix Market's first line.
  void read_comment(bool whole_line) {
    std::string text;
    for (; !at_end_of_line(); in_.sbumpc()) {
      if (text.size() < kLongest) text += static_cast<char>(peek());
    }
    if (read_field(text) || !whole_line) return;
    if (text.starts_with("% bip")) {
      fail(
          "'% bip': a bipartite graph of KONECT numbers the sites of each column from 1; give all "
          "sites different numbers and remove this line");
    }
    if (text.starts_with("%%MatrixMarket")) {
      fail(
          "this is a Matrix Market file: remove this line and the line of sizes after the "
          "comments");
    }
    if (text.starts_with("% sym") || text.starts_with("% asym")) {
      konect_ = true;
    } else {
      read_counts(text);
    }
  }

  // Reads a comment such as "# field 5 -0.25". Returns false if it is a different one.
  bool read_field(std::string_view comment) {
    std::vector<std::string> words = words_of(comment);
    if (words.empty()) return false;
    if (words[0].ends_with(':')) words[0].pop_back();
    const std::string first = lower_case(words[0]);
    if (first != "field" && first != "fields") return false;
    std::erase(words, "=");
    std::erase(words, ":");
    if (comment.find_first_of("0123456789") == std::string_view::npos) return false;
    if (words.size() != 3 || !number_in(words[2])) {
      if (attributes_.is_ignored("field")) return false;
      fail(
          fmt::format("'{}': a field is written '# field SITE H', with one number H for one site "
                      "(begin other comments with another word)",
                      shown(comment)));
    }
    const Meaning meaning = attributes_.see("node", "field", words[2], line_);
    if (meaning.kind == Meaning::field && meaning.value != 0) {
      fields_.push_back({words[1], line_, meaning.value});
    }
    return true;
  }

  // Splits a comment into words at blanks, tabs, commas and semicolons, except within quotes and
  // parentheses. Quotes are removed.
  static std::vector<std::string> words_of(std::string_view comment) {
    std::vector<std::string> words;
    comment.remove_prefix(std::min(comment.find_first_not_of("#%"), comment.size()));
    const auto is_between = [](char c) { return is_blank(c) || c == ',' || c == ';'; };
    for (std::size_t at = 0; at < comment.size();) {
      if (is_between(comment[at])) {
        ++at;
        continue;
      }
      const char first = comment[at];
      std::size_t end = at;
      if (first == '"' || first == '\'') {
        end = std::min(comment.find(first, ++at), comment.size());
        words.emplace_back(comment.substr(at, end - at));
        at = end + 1;
        continue;
      }
      for (int depth = 0; end < comment.size() && (depth > 0 || !is_between(comment[end])); ++end) {
        depth += (comment[end] == '(') - (comment[end] == ')');
      }
      words.emplace_back(comment.substr(at, end - at));
      at = end;
    }
    return words;
  }

  // The field of a site, by its number or name in the file.
  struct Field {
    std::string site;
    std::uint64_t line;
    std::int32_t value;
  };

  // A number in a comment, with its line.
  struct Count {
    std::uint64_t value = 0, line = 0;
    std::string comment;
  };

  // Reads a comment that contains only counts: "# sites 5", "# Nodes: 5 Edges: 2", "% 2 5 5".
  void read_counts(std::string_view comment) {
    comment = comment.substr(0, comment.find_last_not_of(" \t\r") + 1);
    constexpr std::string_view kBetween = " \t:=,;_";
    constexpr std::array<std::string_view, 5> kFillers{"number", "num", "of", "total", "and"};
    constexpr std::array<std::string_view, 3> kSites{"sites", "nodes", "vertices"};
    constexpr std::array<std::string_view, 4> kEdges{"bonds", "edges", "links", "arcs"};
    const auto holds = [](const auto& words, std::string_view word) {
      return std::find(words.begin(), words.end(), word) != words.end();
    };
    std::vector<std::string> words;
    std::vector<std::uint64_t> numbers;
    bool in_turn = true;  // words and numbers alternate
    for (std::size_t at = comment.find_first_not_of("#%"); at < comment.size();) {
      at = comment.find_first_not_of(kBetween, at);
      if (at == std::string_view::npos) break;
      const std::size_t end = std::min(comment.find_first_of(kBetween, at), comment.size());
      const std::string word = lower_case(comment.substr(at, end - at));
      at = end;
      if (word.find_first_not_of("0123456789") == std::string::npos) {
        numbers.push_back(whole_number(word));
      } else if (holds(kSites, word) || holds(kEdges, word)) {
        words.push_back(word);
      } else if (!holds(kFillers, word)) {
        return;
      }
      const std::size_t ahead = std::max(words.size(), numbers.size());
      in_turn = in_turn && ahead - std::min(words.size(), numbers.size()) <= 1;
    }
    if (konect_ && words.empty() && numbers.size() == 3) {
      words = {"edges", "sites", "sites"};
      if (numbers[1] != numbers[2]) return;
    } else if (words.size() != numbers.size() || !in_turn) {
      return;
    }
    for (std::size_t k = 0; k < words.size(); ++k) {
      if (holds(kEdges, words[k])) {
        declare(declared_edges_, numbers[k], comment);
        continue;
      }
      if (numbers[k] > kMaxSites)
        fail(fmt::format("too many sites: at most {} are allowed", kMaxSites));
      declare(declared_, numbers[k], comment);
      may_be_labels_ = words[k] != "sites";
    }
  }

  void declare(std::optional<Count>& count, std::uint64_t value, std::string_view comment) const {
    if (count && count->value != value) {
      fail(fmt::format("'{}', but line {} has '{}'", shown(comment), count->line, count->comment));
    }
    count = Count{value, line_, shown(comment)};
  }

  // The value of decimal digits, at most kMaxSites + 1.
  static std::uint64_t whole_number(std::string_view digits) {
    std::uint64_t value = 0;
    for (const char digit : digits)
      value = std::min(10 * value + static_cast<unsigned>(digit - '0'), kMaxSites + 1);
    return value;
  }

  End read_end() {
    End end;
    if (is_digit(peek())) {
      end.number = true;
      for (int c = peek(); is_digit(c); in_.sbumpc(), c = peek()) {
        end.value = std::min(10 * end.value + static_cast<unsigned>(c - '0'), kMaxSites);
      }
      last_ = fmt::format("{}", end.value);
      if (!at_end_of_name() && !at_comment()) fail_line();
      return end;
    }
    if (peek() == '"' || peek() == '\'') {
      const int quote = in_.sbumpc();
      while (peek() != quote) {
        if (at_end_of_line()) fail_line();
        take(end.text);
      }
      in_.sbumpc();
      last_ = end.text;
      return end;
    }
    if (peek() == '(') {
      int depth = 0;
      do {
        depth += (peek() == '(') - (peek() == ')');
        if (at_end_of_line()) fail_line();
        take(end.text);
      } while (depth > 0);
      last_ = end.text;
      return end;
    }
    if (!is_name_start(peek())) fail_line();
    while (!at_end_of_name()) take(end.text);
    last_ = end.text;
    check_name(end.text);
    return end;
  }

  // A name without quotes must not contain characters that look like delimiters.
  void check_name(const std::string& name) const {
    constexpr std::array<std::string_view, 8> kMarks{
        "#",
        "\xC2\xA0",      // no-break space
        "\xE2\x80\x83",  // em space
        "\xE3\x80\x80",  // ideographic space
        "\xE3\x80\x81",  // ideographic comma
        "\xEF\xBB\xBF",  // byte order mark
        "\xEF\xBC\x8C",  // fullwidth comma
        "\xEF\xBC\x9B"   // fullwidth semicolon
    };
    for (const std::string_view mark : kMarks) {
      if (name.find(mark) == std::string::npos) continue;
      fail(
          fmt::format("invalid line: '{}' within the name '{}': a blank, a tab, ',' or ';' ends a "
                      "column, and a blank precedes a comment (put such names in "
                      "quotes)",
                      mark, name));
    }
    if (!name.ends_with(':')) return;
    fail(
        fmt::format("invalid line: the name '{}' ends with ':': one bond per line is expected, "
                    "not a list of neighbours (put names that end with ':' in quotes)",
                    name));
  }

  void take(std::string& text) {
    if (text.size() >= kLongest) fail(fmt::format("a name is longer than {} characters", kLongest));
    if (is_control(peek()) && peek() != '\t') fail_line();
    text += static_cast<char>(in_.sbumpc());
  }

  // Reads a Python dictionary: {'weight': 1, 'kind': 'friend'}.
  void read_attributes() {
    in_.sbumpc();
    skip_blanks();
    while (peek() != '}') {
      const Literal key = read_literal();
      if (peek() != ':' || !key.quoted) fail("invalid line: {'name': value, ..} is expected");
      in_.sbumpc();
      skip_blanks();
      const Literal value = read_literal();
      if (peek() != ',' && peek() != '}') fail("invalid line: {'name': value, ..} is expected");
      imported_.give(key.text, attributes_.see("edge", key.text, value.text, line_), line_);
      if (peek() == ',') in_.sbumpc();
      skip_blanks();
    }
    in_.sbumpc();
  }

  struct Literal {
    std::string text;  // without its quotes
    bool quoted = false;
  };

  // Reads up to a ':', ',' or '}' outside of quotes and brackets.
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

  // Reads the coupling of a bond in the third column, or a column without a name.
  void read_value(int column) {
    std::string text;
    while (!at_end_of_name() && peek() != '#') take(text);
    last_ = text;
    const std::string name = column == 3 ? "weight" : fmt::format("column{}", column);
    attributes_.add_name(name);
    if (text.empty() || attributes_.is_ignored(name)) return;
    const bool header = maybe_header_ && !number_in(text);
    std::string why = "has no meaning here";
    if (column == 3) {
      const auto meaning = [&](bool accepts_couplings) {
        return Attributes({}, accepts_couplings).see("edge", name, text, line_);
      };
      if (meaning(options_.couplings).kind != Meaning::none) {
        return imported_.give(name, attributes_.see("edge", name, text, line_), line_);
      }
      why = meaning(true).kind != Meaning::none
                ? fmt::format("is a coupling: {}", read_couplings_setting())
                : fmt::format("is not a coupling (allowed: 0, or {} to {} in absolute value)",
                              kMinCoupling, kMaxCoupling);
    } else if (column == 4) {
      why = "(in KONECT's files the time of a bond) has no meaning here";
    }
    fail(fmt::format("invalid line: '{}' in column {} {}; {} skips this column{}", text, column,
                     why, setting_value("ignore", name),
                     header ? " (begin the line with '#' if it is the header of a table)" : ""));
  }

  // The site of an end: its number, or the order of first mention of its name.
  Site site_of(const End& end) {
    if (end.number) {
      if (end.value >= kMaxSites) {
        fail(fmt::format("too many sites: the largest site number is {}", kMaxSites - 1));
      }
      return static_cast<Site>(end.value);
    }
    const auto [place, is_new] = sites_by_name_.try_emplace(end.text, sites_by_name_.size());
    if (is_new && sites_by_name_.size() >= kMaxSites) fail("too many sites");
    return static_cast<Site>(place->second);
  }

  void add(const End& u, const End& v) {
    if (bonds_.empty()) {
      named_ = !u.number;
      first_ends_ = {u.text, v.text};
      first_line_ = line_;
    }
    ++bond_lines_;
    for (const End* end : {&u, &v}) {
      if (end->number != named_) continue;
      if (end->number && bonds_.size() == 1)
        fail_header(first_line_, first_ends_[0], first_ends_[1]);
      fail(end->number
               ? fmt::format("invalid line: site number {} in a list of names", end->value)
               : fmt::format("invalid line: name '{}' in a list of site numbers", end->text));
    }
    const Site a = site_of(u), b = site_of(v);
    const auto text = [&](const End& end, Site site) {
      return named_ ? end.text : fmt::format("{}", site);
    };
    if (a == b) fail(fmt::format("site {} is joined to itself", text(u, a)));
    const std::size_t bond = imported_.join(a, b, line_, "bonds", [&] {
      return fmt::format("sites {} and {}", text(u, a), text(v, b));
    });
    imported_.set_coupling(bond, imported_.take_given(), line_);
    const std::uint64_t largest = std::uint64_t{std::max(a, b)} + 1;
    if (largest > sites_) {
      sites_ = largest;
      largest_at_ = line_;
    }
  }

  // [sites] h, or empty.
  std::vector<std::int32_t> take_fields() const {
    if (fields_.empty()) return {};
    std::vector<std::int32_t> values(sites_);
    std::vector<std::uint64_t> lines(sites_);
    for (const Field& field : fields_) {
      const auto failed = [&](const std::string& what) {
        imported_.fail(field.line,
                       fmt::format("the field of site '{}': {}", shown(field.site), what));
      };
      if (labels_) failed("fields cannot be given to sites that have labels");
      std::uint64_t site = 0;
      if (named_) {
        const auto found = sites_by_name_.find(field.site);
        if (found == sites_by_name_.end()) failed("no bond has a site of this name");
        site = found->second;
      } else {
        const bool number = field.site.find_first_not_of("0123456789") == std::string::npos;
        if (!number) failed("sites have numbers in this list");
        const std::uint64_t value = whole_number(field.site);
        site = value - first_number_;
        if (value < first_number_ || site >= sites_) {
          failed(fmt::format("out of range (sites {} to {})", first_number_,
                             sites_ - 1 + first_number_));
        }
      }
      if (lines[site] != 0) failed(fmt::format("it is already set in line {}", lines[site]));
      values[site] = field.value;
      lines[site] = field.line;
    }
    return values;
  }

  // Whether the first line is the header of a table.
  static bool is_header(const std::string& u, const std::string& v) {
    std::array<std::string, 2> words;
    for (const std::string* name : {&u, &v}) {
      for (const char c : lower_case(*name)) {
        if (c != '_' && c != '-' && c != ' ') words[name == &v] += c;
      }
    }
    constexpr std::array<std::array<std::string_view, 2>, 7> kHeaders{{{"source", "target"},
                                                                       {"from", "to"},
                                                                       {"src", "dst"},
                                                                       {"node1", "node2"},
                                                                       {"site1", "site2"},
                                                                       {"sourceid", "targetid"},
                                                                       {"fromnodeid", "tonodeid"}}};
    return std::any_of(kHeaders.begin(), kHeaders.end(), [&](const auto& header) {
      return words[0] == header[0] && words[1] == header[1];
    });
  }

  [[noreturn]] void fail_header(std::uint64_t line, const std::string& u,
                                const std::string& v) const {
    imported_.fail(line,
                   fmt::format("'{}' and '{}' look like the header of a table: begin the line "
                               "with '#' (or give the two sites other names)",
                               u, v));
  }

  // Checks for gaps in the numbers and determines the number of the first site.
  void check_numbers() {
    FirstSite first = options_.first_site;
    if (first == FirstSite::unsaid && konect_) first = FirstSite::one;
    if (first == FirstSite::unsaid && may_be_labels_ && declared_->value < sites_) {
      number_labels();
      return;
    }
    // A file of a few bytes must not cause an allocation of gigabytes.
    const std::uint64_t allowed = (std::uint64_t{1} << 16) + 64 * bonds_.size();
    if (sites_ > allowed && !declared_) {
      imported_.fail(largest_at_,
                     fmt::format("site {} is too large a number for a list of {} bonds (at most "
                                 "{}): number the sites from 0 without large gaps",
                                 sites_ - 1, bonds_.size(), allowed - 1));
    }
    check_declared();
    std::vector<bool> occurs(sites_ + 1, false);
    for (const RewiredBond& bond : bonds_) occurs[bond.a] = occurs[bond.b] = true;
    if (first == FirstSite::one && occurs[0]) {
      throw Error(
          ExitCode::data,
          fmt::format("{}: site 0 is invalid in a list whose sites are numbered from 1", name_));
    }
    const bool all_but_0 = !occurs[0] && std::count(occurs.begin(), occurs.end(), true) + 1 ==
                                             static_cast<std::ptrdiff_t>(sites_);
    // If the numbers are below N of "# sites N", site 0 is assumed to exist, without bonds.
    const bool unsure = all_but_0 && sites_ > 0 && (!declared_ || declared_->value < sites_);
    if (first == FirstSite::unsaid && unsure) {
      throw Error(ExitCode::data,
                  fmt::format("{}: sites are numbered 1 to {}: give {} (or {} if there is a site 0 "
                              "without bonds)",
                              name_, sites_ - 1, setting_value("first_site", "1"),
                              setting_value("first_site", "0")));
    }
    if (first != FirstSite::one || sites_ == 0) return;
    first_number_ = 1;
    --sites_;
    for (RewiredBond& bond : bonds_) {
      --bond.a;
      --bond.b;
    }
  }

  // Treats the numbers in the file as labels: sites are numbered by increasing label.
  void number_labels() {
    std::vector<Site> labels;
    labels.reserve(2 * bonds_.size());
    for (const RewiredBond& bond : bonds_) labels.insert(labels.end(), {bond.a, bond.b});
    std::sort(labels.begin(), labels.end());
    labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
    const auto place = [&](Site label) {
      return static_cast<Site>(std::lower_bound(labels.begin(), labels.end(), label) -
                               labels.begin());
    };
    for (RewiredBond& bond : bonds_) {
      bond.a = place(bond.a);
      bond.b = place(bond.b);
    }
    sites_ = labels.size();
    labels_ = true;
  }

  void check_declared() const {
    const std::uint64_t allowed = kMaxLoneSites + 64 * bonds_.size();
    if (!declared_ || std::max(declared_->value, sites_) <= allowed) return;
    imported_.fail(declared_->line,
                   fmt::format("{} sites for {} bonds: at most {} are allowed",
                               std::max(declared_->value, sites_), bonds_.size(), allowed));
  }

  // Sets the number of sites, including those without bonds, if a comment states it.
  void set_sites() {
    if (!declared_) return;
    check_declared();
    if (declared_->value < sites_ || declared_->value == 0) {
      const bool counted = named_ || labels_ || sites_ == 0;
      imported_.fail(declared_->line,
                     fmt::format("'{}', but {}", declared_->comment,
                                 counted ? fmt::format("the bonds join {} sites", sites_)
                                         : fmt::format("line {} has site {}, and sites are "
                                                       "numbered from {}",
                                                       largest_at_, sites_ - 1 + first_number_,
                                                       first_number_)));
    }
    sites_ = declared_->value;
  }

  // Detects truncated lists, which have fewer bonds than their headers state.
  void check_edge_count() const {
    if (!declared_edges_ || declared_edges_->value == bond_lines_ ||
        declared_edges_->value == bonds_.size())
      return;
    imported_.fail(declared_edges_->line,
                   fmt::format("'{}', but the list has {} bonds: the file is incomplete, or the "
                               "comment is wrong (then remove it)",
                               declared_edges_->comment, bond_lines_));
  }

  std::streambuf& in_;
  const std::string& name_;
  const ReadOptions& options_;
  bool named_ = false;
  char delimiter_ = 0;  // ' ' (blanks and tabs), ',' or ';'; 0 before the first bond
  std::uint64_t line_ = 1, sites_ = 0, largest_at_ = 0, delimiter_line_ = 0;
  std::uint64_t first_line_ = 0, bond_lines_ = 0;
  std::uint64_t first_number_ = 0;                  // number of the first site
  std::optional<Count> declared_, declared_edges_;  // stated in comments
  bool may_be_labels_ = false;                      // a comment counts nodes or vertices
  bool labels_ = false;                             // the numbers in the file are labels
  bool konect_ = false;                             // KONECT's first line was read
  bool maybe_header_ = false;              // the current line is the first one and has names
  std::string last_;                       // the last item read in this line, for errors
  std::array<std::string, 2> first_ends_;  // of the first bond
  ImportedBonds imported_;
  std::vector<RewiredBond>& bonds_ = imported_.bonds;
  Attributes& attributes_ = imported_.attributes;
  std::vector<Field> fields_;
  std::unordered_map<std::string, std::uint64_t> sites_by_name_;
};

}  // namespace

Graph read_edge_list(std::istream& in, const std::string& name, const ReadOptions& options) {
  return EdgeListReader(in, name, options).read();
}

void write_edges(const Graph& graph, const TextSink& out) {
  out(fmt::format("# sites {}\n", graph.sites()));
  const auto couplings = graph.bond_couplings(), fields = graph.site_fields();
  for (std::size_t site = 0; site < fields.size(); ++site) {
    if (fields[site] == 0) continue;
    out(fmt::format("# field {} {}\n", site, kFixedUnit * fields[site]));
  }
  fmt::memory_buffer line;
  for_each_bond(graph, [&](Bond bond, Site a, Site b) {
    line.clear();
    fmt::format_to(std::back_inserter(line), "{} {}", a, b);
    if (!couplings.empty()) {
      fmt::format_to(std::back_inserter(line), " {}", kFixedUnit * couplings[bond]);
    }
    line.push_back('\n');
    out(std::string_view(line.data(), line.size()));
  });
}

}  // namespace rewise
