// Fuzz target of the reader of study configurations. For any input the result is a configuration
// that is the same after a round trip through TOML, or an Error(usage) of one line that names the
// file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/base/error.hpp"
#include "src/settings/config.hpp"

namespace {

void require(bool good) {
  if (!good) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rewise::StudyConfig config;
  try {
    config = rewise::parse_study_config(std::string_view(reinterpret_cast<const char*>(data), size),
                                        "fuzz.toml");
  } catch (const rewise::Error& error) {
    const std::string text = error.what();
    require(error.exit_code() == rewise::ExitCode::usage);
    require(text.starts_with("fuzz.toml:") && text.find('\n') == std::string::npos);
    return 0;
  }
  const std::string written = rewise::to_toml(config);
  require(rewise::to_toml(rewise::parse_study_config(written, "written.toml")) == written);
  return 0;
}
