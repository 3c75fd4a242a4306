// `rewise tc` by the tree condition gives the same numbers on a CUDA device and on the CPU.
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise::oracle;
using nlohmann::json;

TEST_CASE("a spin glass by the tree condition on CUDA: the numbers of the CPU", "[gpu]") {
  Workplace place;
  for (const std::string rule : {"rewire", "add"}) {
    place.write(
        "s.toml",
        "[study]\nname = \"tree\"\nseed = 3\n[lattice]\ndim = 2\nsizes = \"auto\"\np = [1.0]\n"
        "graphs = 8\nrule = \"" +
            rule +
            "\"\n[model]\ncouplings = \"pm\"\n"
            "on = \"shortcuts\"\nnegative = 0.2\n[sampling]\ntarget_error = 3e-3\n");
    json points[2];
    for (const std::string device : {"cpu", "cuda"}) {
      const std::string folder = rule + "-" + device;
      const Output output =
          place.run("tc s.toml --no-plots --device " + device + " --out " + folder);
      INFO(output.err << output.out);
      REQUIRE(output.status == 0);
      points[device == "cuda"] = json::parse(place.read(folder + "/summary.json"))["points"];
    }
    CHECK(points[0] == points[1]);
    CHECK(points[0][0]["tree"]["status"] == "ok");
    CHECK(points[0][0]["tree"].contains("other_order"));
  }
}
