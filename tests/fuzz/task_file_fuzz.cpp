// The reader of sealed task files, fed with anything.
//
// The first byte chooses: even, the rest is a whole file (damaged, newer or good); odd, it is an
// image whose digest is right, as if somebody had forged it. Either way the answer is a task or
// an Error(data), and a task that was read can be written and read again with the same content.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "src/base/error.hpp"
#include "src/store/task_file.hpp"

namespace {

void require(bool good) {
  if (!good) std::abort();
}

void read_image(std::span<const std::byte> image) {
  rewise::TaskData task;
  try {
    task = rewise::decode_task(image);
  } catch (const rewise::Error& error) {
    require(error.exit_code() == rewise::ExitCode::data);
    return;
  }
  const rewise::TaskData again = rewise::decode_task(rewise::encode_task(task));
  require(rewise::content_digest(again) == rewise::content_digest(task));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  if (data[0] % 2 == 1) {
    read_image(bytes);
    return 0;
  }
  const rewise::SealedRead read = rewise::parse_sealed(bytes);
  require(read.image.empty() || read.state == rewise::SealState::good);
  require(read.problem.empty() == (read.state == rewise::SealState::good));
  if (read.state == rewise::SealState::good) read_image(read.image);
  return 0;
}
