#include "src/study/record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "src/base/table.hpp"
#include "src/study/parse.hpp"

namespace rewise {
namespace {

std::string in_csv(const Json& value) {
  if (value.is_null() || (value.is_number_float() && !std::isfinite(value.get<double>())))
    return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string csv_head(const Cell& cell) {
  return cell.error ? fmt::format("{0},{0}_error", cell.name) : cell.name;
}

std::string csv_text(const Cell& cell) {
  return cell.error ? in_csv(cell.value) + "," + in_csv(*cell.error) : in_csv(cell.value);
}

std::string table_head(const Cell& cell) { return cell.head; }

std::string table_text(const Cell& cell) {
  if (cell.text) return *cell.text;
  const std::string text = in_csv(cell.value);
  if (text.empty() && !cell.value.is_string()) return "-";
  return cell.value.is_number_float() ? number_text(cell.value.get<double>()) : text;
}

// The cells that have `name`: a line of heads, then a line for each record.
std::vector<std::vector<std::string>> lines_of(const std::vector<Cells>& rows,
                                               std::string Cell::*name,
                                               std::string (*head)(const Cell&),
                                               std::string (*text)(const Cell&)) {
  std::vector<std::vector<std::string>> lines;
  const auto add = [&](const Cells& cells, std::string (*form)(const Cell&)) {
    auto& line = lines.emplace_back();
    for (const Cell& cell : cells) {
      if (!(cell.*name).empty()) line.push_back(form(cell));
    }
  };
  if (!rows.empty()) add(rows.front(), head);
  for (const Cells& row : rows) add(row, text);
  return lines;
}

}  // namespace

Cell value_cell(std::string name, std::string head, const std::optional<Value>& v) {
  return {std::move(name), std::move(head), v ? Json(v->value) : Json(nullptr), printed(v),
          v ? Json(v->error) : Json(nullptr)};
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

std::string cells_csv(const std::vector<Cells>& rows) {
  std::string out;
  for (const auto& line : lines_of(rows, &Cell::name, csv_head, csv_text)) {
    out += fmt::format("{}\n", fmt::join(line, ","));
  }
  return out;
}

std::string cells_table(const std::vector<Cells>& rows) {
  return aligned_table(lines_of(rows, &Cell::head, table_head, table_text));
}

}  // namespace rewise
