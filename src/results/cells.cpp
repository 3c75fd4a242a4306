#include "src/results/cells.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "src/base/table.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

std::string csv_value(const Json& value) {
  if (value.is_null() || (value.is_number_float() && !std::isfinite(value.get<double>())))
    return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string csv_head(const Cell& cell) {
  return cell.error ? fmt::format("{0},{0}_error", cell.name) : cell.name;
}

std::string csv_cell(const Cell& cell) {
  return cell.error ? csv_value(cell.value) + "," + csv_value(*cell.error)
                    : csv_text(csv_value(cell.value));
}

std::string table_cell(const Cell& cell) {
  if (cell.text) return *cell.text;
  const std::string text = csv_value(cell.value);
  if (text.empty() && !cell.value.is_string()) return "-";
  return cell.value.is_number_float() ? number_text(cell.value.get<double>()) : text;
}

// Lines of the cells that have `name`: the heads, then one line per record.
std::vector<std::vector<std::string>> lines_of(const std::vector<Cells>& rows,
                                               std::string Cell::*name,
                                               std::string (*head)(const Cell&),
                                               std::string (*text)(const Cell&)) {
  std::vector<std::vector<std::string>> lines(rows.empty() ? 0 : rows.size() + 1);
  for (std::size_t k = 0; k < lines.size(); ++k) {
    for (const Cell& cell : rows[k == 0 ? 0 : k - 1]) {
      if (!(cell.*name).empty()) lines[k].push_back(k == 0 ? head(cell) : text(cell));
    }
  }
  return lines;
}

}  // namespace

Cell value_cell(std::string name, std::string head, const std::optional<Value>& v) {
  const Json value = v ? Json(v->value) : Json(nullptr);
  return {std::move(name), std::move(head), value, printed(v), v ? Json(v->error) : value};
}

Cell text_cell(std::string head, std::string text) {
  return {"", std::move(head), nullptr, std::move(text)};
}

Json cells_json(const Cells& cells) {
  Json json;
  for (const Cell& cell : cells) {
    if (cell.name.empty()) continue;
    const bool with_error = cell.error && !cell.value.is_null();
    json[cell.name] = with_error ? Json{{"value", cell.value}, {"error", *cell.error}} : cell.value;
  }
  return json;
}

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string cells_csv(const std::vector<Cells>& rows) {
  std::string out;
  for (const auto& line : lines_of(rows, &Cell::name, csv_head, csv_cell)) {
    out += fmt::format("{}\n", fmt::join(line, ","));
  }
  return out;
}

std::string cells_table(const std::vector<Cells>& rows) {
  return aligned_table(lines_of(
      rows, &Cell::head, [](const Cell& cell) { return cell.head; }, table_cell));
}

}  // namespace rewise
