// Reads "u v" lines as a stream of characters: memory grows with the bonds, never with the length
// of a line or the value of a site number (numbers must not leave large holes).
#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <vector>

#include "graphs/colouring.hpp"
#include "graphs/flat_map.hpp"
#include "graphs/graph_io.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

class EdgeListReader {
 public:
  EdgeListReader(std::istream& in, const std::string& name) : in_(*in.rdbuf()), name_(name) {}

  Graph read() {
    while (read_line()) ++line_;
    if (bonds_.empty()) throw Error(ExitCode::data, fmt::format("{}: holds no bond", name_));
    // A file of a few bytes must not ask for gigabytes.
    const std::uint64_t allowed = (std::uint64_t{1} << 16) + 64 * bonds_.size();
    if (sites_ > allowed) {
      throw Error(ExitCode::data,
                  fmt::format("{}:{}: site {} in a list of {} bonds: sites are numbered from 0 "
                              "without large holes (here up to {})",
                              name_, largest_at_, sites_ - 1, bonds_.size(), allowed - 1));
    }
    return imported_graph(sites_, std::move(bonds_), name_);
  }

 private:
  static constexpr int kEnd = std::char_traits<char>::eof();

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ExitCode::data, fmt::format("{}:{}: {}", name_, line_, what));
  }

  static bool is_blank(int c) { return c == ' ' || c == '\t' || c == '\r'; }
  int peek() { return in_.sgetc(); }
  void skip_blanks() {
    while (is_blank(peek())) in_.sbumpc();
  }

  // False at the end of the file.
  bool read_line() {
    skip_blanks();
    if (peek() != '\n' && peek() != '#' && peek() != kEnd) {
      const Site u = read_site();
      if (!is_blank(peek())) fail("a bad line: two site numbers are expected");
      skip_blanks();
      const Site v = read_site();
      if (!is_blank(peek()) && peek() != '\n' && peek() != '#' && peek() != kEnd) {
        fail("a bad line: two site numbers are expected");
      }
      skip_blanks();
      add(u, v);
    }
    if (peek() == '#') {
      while (peek() != '\n' && peek() != kEnd) in_.sbumpc();
    }
    if (peek() != '\n' && peek() != kEnd) fail("a bad line: two site numbers are expected");
    return in_.sbumpc() != kEnd;
  }

  Site read_site() {
    if (peek() < '0' || peek() > '9') fail("a bad line: two site numbers are expected");
    std::uint64_t site = 0;
    for (int c = peek(); c >= '0' && c <= '9'; in_.sbumpc(), c = peek()) {
      site = 10 * site + static_cast<unsigned>(c - '0');
      if (site >= kMaxSites) {
        fail(fmt::format("too many sites: a site number beyond {}", kMaxSites - 1));
      }
    }
    return static_cast<Site>(site);
  }

  void add(Site u, Site v) {
    if (u == v) fail(fmt::format("site {} is joined to itself", u));
    const std::uint64_t key = std::uint64_t{std::min(u, v)} << 32 | std::max(u, v);
    if (const std::uint64_t* first = lines_.find(key)) {
      fail(fmt::format("sites {} and {} are joined already, in line {}", u, v, *first));
    }
    lines_.put(key, line_);
    bonds_.push_back({bonds_.size(), u, v});
    const std::uint64_t largest = std::uint64_t{std::max(u, v)} + 1;
    if (largest > sites_) {
      sites_ = largest;
      largest_at_ = line_;
    }
  }

  std::streambuf& in_;
  const std::string& name_;
  std::uint64_t line_ = 1, sites_ = 0, largest_at_ = 0;
  std::vector<RewiredBond> bonds_;
  FlatMap<std::uint64_t> lines_;  // pair of sites -> the line that joined them
};

}  // namespace

Graph read_edge_list(std::istream& in, const std::string& name) {
  return EdgeListReader(in, name).read();
}

}  // namespace rewise
