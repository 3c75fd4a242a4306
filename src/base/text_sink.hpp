// Receives a text piece by piece, so that long files are written as a stream.
#pragma once

#include <functional>
#include <string_view>

namespace rewise {

using TextSink = std::function<void(std::string_view text)>;

}  // namespace rewise
