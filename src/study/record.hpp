// One description of a record's fields: a function from the record to its cells, the same ones for
// every record. Its JSON object, its line of CSV and its row of a table follow from them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/study/json_output.hpp"

namespace rewise {

struct Cell {
  std::string name;                      // key in JSON, column in CSV; "": in neither
  std::string head;                      // of the column in tables; "": in no table
  Json value = nullptr;                  // null: not known
  std::optional<std::string> text = {};  // in tables; none: `value` in full, "-" for null
  std::optional<Json> error = {};        // of `value`; in CSV the column NAME_error
};
using Cells = std::vector<Cell>;

// A number with its error, in tables as 2.3772(4).
Cell value_cell(std::string name, std::string head, const std::optional<Value>& v);
// In tables alone.
Cell text_cell(std::string head, std::string text);

Json cells_json(const Cells& cells);
// A line of names or heads, then a line for each record; "" without records.
std::string cells_csv(const std::vector<Cells>& rows);
std::string cells_table(const std::vector<Cells>& rows);

}  // namespace rewise
