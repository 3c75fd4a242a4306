#include "src/single/team.hpp"

#include <fmt/format.h>

#include "src/label/method.hpp"
#include "src/single/swendsen_wang/tiles.hpp"

namespace rewise::single {

std::string why_no_team(std::span<const std::uint32_t> extents, ClusterUpdate cluster,
                        std::string_view label_method) {
  if (cluster != ClusterUpdate::swendsen_wang) {
    return fmt::format("share a system by sweeps and swendsen-wang, not by {}", to_string(cluster));
  }
  const LabelMethod method = parse_label_method(label_method, "--label-method");
  if (method == LabelMethod::kalentev) return "";
  if (method != LabelMethod::fast) {
    return fmt::format("share a system by the label methods fast and kalentev, not by {}",
                       label_method);
  }
  if (extents.size() >= 2 && extents.front() % kWordSites == 0) return "";
  return fmt::format(
      "share lattices of 2 to 4 dimensions whose first extent is a multiple of {} (any by "
      "--label-method kalentev)",
      kWordSites);
}

}  // namespace rewise::single
