// Swendsen-Wang updates of a rank's subdomain on a CUDA device by the method `kalentev`, which has
// the two stages of Komura & Okabe 2013, replica by replica: label equivalence within the slab on
// the device (slab_labels_cuda.hpp), then between slabs on the hosts, pass by pass.
#include <utility>

#include "src/bytespin/subdomain_cuda.hpp"
#include "src/bytespin/swendsen_wang/slab_labels_cuda.hpp"

namespace rewise::bytespin {
namespace {

class LabelsSubdomain final : public CudaSubdomain {
 public:
  LabelsSubdomain(std::shared_ptr<const GraphTables> tables, const EngineSpec& spec,
                  distributed::Transport& transport, int device)
      : CudaSubdomain(std::move(tables), spec, transport, 1, device) {
    start(spec.cluster == ClusterUpdate::swendsen_wang ? 9 * replicas_ * stride_ : 0);
  }
  ~LabelsSubdomain() override { finish(); }

 private:
  void cluster_updates(std::uint64_t step, std::uint64_t updates) override;

  std::unique_ptr<SlabLabelsCuda> slab_labels_;
};

void LabelsSubdomain::cluster_updates(std::uint64_t step, std::uint64_t updates) {
  if (!slab_labels_) {
    slab_labels_ = std::make_unique<SlabLabelsCuda>(device_, *tables_, graph_->view(), on_device_,
                                                    own_, incoming(), outgoing());
  }
  for (std::uint64_t n = 0; n < updates; ++n) {
    on_device_.step = static_cast<std::uint32_t>(step + n);
    slab_labels_->label(on_device_);
    for (std::uint64_t replica = 0; replica < replicas_; ++replica) {
      const std::vector<std::uint64_t> pairs = slab_labels_->joined(
          on_device_, replica, exchange_labels(slab_labels_->border_labels(replica)));
      std::vector<std::vector<LabelPair>> edges(joining().size());
      std::size_t at = 0;
      const auto add = [&](int rank, std::size_t count) {
        for (const std::size_t end = at + count; at < end; ++at) {
          if (pairs[at] == SlabLabelsCuda::kNoPair) continue;
          edges[static_cast<std::size_t>(rank)].push_back(
              {static_cast<Site>(pairs[at] >> 32), static_cast<Site>(pairs[at])});
        }
      };
      add(next_rank(), plane_);
      for (std::size_t r = 0; r < joining().size(); ++r) {
        add(static_cast<int>(r), joining()[r].from.size());
      }
      std::vector<LabelPair> parts;
      const auto sums = slab_labels_->flip(on_device_, replica, relax(std::move(edges)), parts);
      sum_up(replica, sums, parts);
    }
    for (std::uint64_t replica = 0; replica < replicas_; ++replica) fetch(replica);
  }
}

}  // namespace

std::unique_ptr<BytespinSubdomain> make_labels_subdomain(std::shared_ptr<const GraphTables> tables,
                                                         const EngineSpec& spec,
                                                         distributed::Transport& transport,
                                                         int device) {
  return std::make_unique<LabelsSubdomain>(std::move(tables), spec, transport, device);
}

}  // namespace rewise::bytespin
