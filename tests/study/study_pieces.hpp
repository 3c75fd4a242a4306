// The summary of a study, and a check that it does not depend on interruptions and the number of
// processes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace rewise::oracle {

// summary.json without its seconds.
inline nlohmann::json summary_of(const Workplace& place, const std::string& folder = "study") {
  auto summary = nlohmann::json::parse(place.read(folder + "/summary.json"));
  summary.erase("seconds");
  return summary;
}

// Runs a study at once, in pieces and by two processes. `command`: tc or sweep; `study`: the text
// of the configuration.
inline void check_pieces(const std::string& command, const std::string& study) {
  Workplace whole, parts;
  for (const Workplace* place : {&whole, &parts}) place->write("s.toml", study);
  const std::string line = command + " s.toml --no-plots --out ";
  REQUIRE(whole.run(line + "study").status == 0);
  const auto expected = summary_of(whole);
  const auto outputs = run_in_pieces(parts, line + "study", 0.05, 1.5, 2);
  INFO(outputs.back().err);
  REQUIRE(outputs.back().status == 0);
  CHECK(outputs.size() > 1);  // was interrupted
  CHECK(summary_of(parts) == expected);

  const std::string shared = line + (parts / "both").string() + " --threads 1";
  const pid_t a = parts.start(shared), b = whole.start(shared);
  CHECK(parts.wait(a).status == 0);
  CHECK(whole.wait(b).status == 0);
  CHECK(summary_of(parts, "both") == expected);
}

}  // namespace rewise::oracle
