// Describes the fields of a record once: a function turns a record into cells, the same ones for
// every record. JSON objects, CSV lines and table rows are generated from the cells.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/results/json_output.hpp"

namespace rewise {

struct Cell {
  std::string name;                      // key in JSON, column in CSV; "": omitted there
  std::string head;                      // column head in tables; "": omitted there
  Json value = nullptr;                  // null: unknown
  std::optional<std::string> text = {};  // text in tables; none: `value` in full, "-" for null
  std::optional<Json> error = {};        // error of `value`; in CSV the column NAME_error
};
using Cells = std::vector<Cell>;

// A number with its error; tables show 2.3772(4).
Cell value_cell(std::string name, std::string head, const std::optional<Value>& v);
// A cell for tables only.
Cell text_cell(std::string head, std::string text);

Json cells_json(const Cells& cells);
// A text of a CSV file, in quotation marks if needed (RFC 4180).
std::string csv_text(const std::string& text);
// One line of names or heads, then one line per record; "" without records.
std::string cells_csv(const std::vector<Cells>& rows);
std::string cells_table(const std::vector<Cells>& rows);

}  // namespace rewise
