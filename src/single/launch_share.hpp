// Launches the part of a kernel's blocks that a device has of every system (share.hpp). The
// kernel's last parameter is the SystemBlocks by which a block finds its place.
#pragma once

#include "src/cuda/launch.hpp"
#include "src/single/device_plan.hpp"

namespace rewise::single {

// `blocks`: per system, on all devices together; `shape`: all but their number. Nothing where the
// part has none.
template <class... Parameters, class... Arguments>
void launch_share(void (*kernel)(Parameters...), std::uint64_t blocks, LaunchShape shape,
                  const DeviceSystems& systems, detail::StreamAt stream,
                  const Arguments&... arguments) {
  const SystemBlocks share(blocks, systems.share);
  shape.blocks = share.count(systems.systems);
  if (shape.blocks > 0) launch(kernel, shape, stream, arguments..., share);
}

// The same, of blocks of `threads`.
template <class... Parameters, class... Arguments>
void launch_share(void (*kernel)(Parameters...), std::uint64_t blocks, unsigned threads,
                  const DeviceSystems& systems, detail::StreamAt stream,
                  const Arguments&... arguments) {
  launch_share(kernel, blocks, LaunchShape{1, threads}, systems, stream, arguments...);
}

}  // namespace rewise::single
