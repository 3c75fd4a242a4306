// Fuzz target of the reader of sealed task files.
//
// The first byte of the input selects one of two tests:
// - Even: the other bytes are edits of a valid file. Unless they leave it unchanged, the digest
//   detects the damage, and loading throws Error(data) with the name of the file.
// - Odd: the other bytes determine the content of an undamaged image (task_images.hpp). Reading
//   throws Error(data), or gives a task that is the same after a round trip.
// As in the program, no damaged image is passed to libhdf5, which might crash.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "src/base/error.hpp"
#include "src/store/task_file.hpp"
#include "tests/fuzz/task_images.hpp"
#include "tests/store/samples.hpp"
#include "tests/support/content_digest.hpp"

namespace {

using Input = std::span<const std::uint8_t>;
using Bytes = std::vector<std::byte>;

void require(bool good) {
  if (!good) std::abort();
}

// Each edit has four bytes: position (16 bits), kind and value. An edit changes single bytes, so a
// fuzzer that observes the comparison of digests cannot insert a correct one.
Bytes edited(Bytes bytes, Input edits) {
  require(bytes.size() < 1 << 16);
  for (; edits.size() >= 4 && !bytes.empty(); edits = edits.subspan(4)) {
    const std::size_t at = (edits[0] * 256U + edits[1]) % bytes.size();
    const auto value = static_cast<std::byte>(edits[3]);
    switch (edits[2] % 8) {
      case 0:
        bytes.resize(at);
        break;
      case 1:
        bytes.push_back(value);
        break;
      case 2:
        bytes[at] = value;
        break;
      case 3:
        std::swap(bytes[at], bytes[bytes.size() - 1 - at]);
        break;
      default:
        bytes[at] ^= value;
    }
  }
  return bytes;
}

void read_edited(Input edits) {
  static const Bytes good = rewise::seal(rewise::encode_task(rewise::test::sample_task()));
  static const rewise::test::TempFolder folder;
  const Bytes bytes = edited(good, edits);
  const bool same = bytes == good;
  const rewise::SealedRead read = rewise::parse_sealed(bytes);
  require(read.state == (same ? rewise::SealState::good : rewise::SealState::damaged));
  require(read.problem.empty() == same && read.image.empty() != same);
  rewise::test::put_bytes(folder / "fuzz.h5", bytes);
  try {
    require(rewise::load_task(folder / "fuzz.h5", rewise::OpenAs::reader).has_value() && same);
  } catch (const rewise::Error& error) {
    const std::string text = error.what();
    require(!same && error.exit_code() == rewise::ExitCode::data);
    require(text.find("fuzz.h5") != text.npos && text.find('\n') == text.npos);
  }
}

void read_content(Input decisions) {
  const Bytes image = rewise::test::task_image(decisions);
  rewise::TaskData task;
  try {
    task = rewise::decode_task(image);
  } catch (const rewise::Error& error) {
    require(error.exit_code() == rewise::ExitCode::data);
    require(std::any_of(decisions.begin(), decisions.end(), [](auto d) { return d != 0; }));
    return;
  }
  const rewise::TaskData again = rewise::decode_task(rewise::encode_task(task));
  require(rewise::test::content_digest(again) == rewise::test::content_digest(task));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Input rest = Input(data, size).subspan(1);
  data[0] % 2 == 0 ? read_edited(rest) : read_content(rest);
  return 0;
}
