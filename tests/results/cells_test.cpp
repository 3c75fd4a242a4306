// The cells of a record give its JSON object, its line of CSV and its row of a table. JSON files
// with a digest detect damage.
#include "src/results/cells.hpp"

#include <limits>

#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Cells cells_of(double x, const std::optional<Value>& tc) {
  return {{"x", "x", x},
          {"name", "", "a"},
          value_cell("tc", "Tc", tc),
          text_cell("note", "n"),
          {"n", "N", 3u, "three"}};
}

}  // namespace

TEST_CASE("cells of a record: CSV has columns for value and error, empty if unknown") {
  CHECK(cells_csv({cells_of(1, Value{2.5, 0.2}), cells_of(kNan, std::nullopt),
                   cells_of(0.1, Value{2.5, kNan})}) ==
        "x,name,tc,tc_error,n\n1.0,a,2.5,0.2,3\n,a,,,3\n0.1,a,2.5,,3\n");
  CHECK(cells_csv({}).empty());
  CHECK(cells_csv({{{"reasons", "", "U, chi: \"stuck\""}}}) ==
        "reasons\n\"U, chi: \"\"stuck\"\"\"\n");
}

TEST_CASE("cells of a record: tables have the columns with headings, - for unknown numbers") {
  CHECK(cells_table({cells_of(1, Value{2.5, 0.2}), cells_of(kNan, std::nullopt)}) ==
        "  x  Tc      note  N\n  1  2.5(2)  n     three\n  -  -       n     three\n");
}

TEST_CASE("cells of a record: JSON has the cells with names, in their order") {
  CHECK(cells_json(cells_of(1, std::nullopt)).dump() == R"({"x":1.0,"name":"a","tc":null,"n":3})");
  CHECK(cells_json(cells_of(1, Value{2.5, 0.2}))["tc"].dump() == R"({"value":2.5,"error":0.2})");
}

TEST_CASE("damage of JSON files with a digest is detected") {
  const Json content{{"a", 0.1}, {"b", {1, 2, nullptr}}, {"c", "x\u00e9"}};
  const std::string text = sealed_text(content);
  CHECK(parse_sealed_json(text).state == JsonSeal::good);
  CHECK(parse_sealed_json(text).json == content);
  CHECK(parse_sealed_json(content.dump()).state == JsonSeal::unsealed);
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const int bit : {0, 3, 6}) {
      std::string other = text;
      other[at] = static_cast<char>(other[at] ^ (1 << bit));
      const SealedJson kept = parse_sealed_json(other);
      // Changed blanks are harmless. If the name "digest" is changed, the file counts as one
      // without a digest.
      INFO(at << " " << other);
      CHECK((kept.state == JsonSeal::damaged || kept.json == content ||
             (kept.state == JsonSeal::unsealed && other.find("\"digest\"") == std::string::npos)));
    }
  }
  for (const char* no : {"", "[]", "3", "{", "{\"digest\": 3}", "{\"digest\": \"00\"}"}) {
    CHECK(parse_sealed_json(no).state == JsonSeal::damaged);
  }
  CHECK(parse_sealed_json(std::string(1'000'000, '[')).state == JsonSeal::damaged);
}
