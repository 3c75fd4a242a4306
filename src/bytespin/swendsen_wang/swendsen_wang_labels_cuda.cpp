#include "src/bytespin/swendsen_wang/swendsen_wang_labels_cuda.hpp"

#include <cstddef>

namespace rewise::bytespin {

LabelArrays label_arrays(const GraphView& graph, std::uint32_t replicas) {
  LabelArrays arrays;
  arrays.geometry = Geometry::make(graph.lattice);
  arrays.dim = graph.lattice.dim;
  arrays.sites = graph.sites;
  arrays.replicas = replicas;
  arrays.stride = replica_stride(graph.sites);
  arrays.shortcut_count = graph.rewired_count;
  return arrays;
}

namespace {

// The ends of the rewired bonds.
DeviceBuffer<SitePair> ends_of(const GraphView& graph, cudaStream_t stream) {
  static_assert(offsetof(IndexedBond, b) == offsetof(IndexedBond, a) + sizeof(Site));
  DeviceBuffer<SitePair> pairs(graph.rewired_count);
  if (pairs.empty()) return pairs;
  const auto* from = reinterpret_cast<const std::byte*>(graph.rewired) + offsetof(IndexedBond, a);
  check_cuda(
      cudaMemcpy2DAsync(pairs.data(), sizeof(SitePair), from, sizeof(IndexedBond), sizeof(SitePair),
                        graph.rewired_count, cudaMemcpyDeviceToDevice, stream),
      "copying rewired bonds");
  return pairs;
}

}  // namespace

SwendsenWangLabelsCuda::SwendsenWangLabelsCuda(const GraphView& graph,
                                               const DeviceReplicas& replicas, LabelMethod method,
                                               std::uint32_t tile, cudaStream_t stream)
    : graph_(graph),
      shortcuts_(ends_of(graph, stream)),
      arrays_(label_arrays(graph, replicas.count)),
      clears_sizes_(method != LabelMethod::kalentev && method != LabelMethod::label_equivalence) {
  const auto add = [&]<class T>(T*& array, std::uint64_t of_replica) {
    array = memory_.make_zero<T>(of_replica * replicas.count, stream);
  };
  add(arrays_.bonds, replicas.stride);
  add(arrays_.label, replicas.stride);
  add(arrays_.size, replicas.stride);
  if (method != LabelMethod::kalentev) add(arrays_.parent, replicas.stride);
  if (graph.rewired_count > 0) add(shortcut_on_, graph.rewired_count);
  add(sums_, kClusterSums);
  arrays_.shortcut_on = shortcut_on_;
  arrays_.shortcuts = shortcuts_.data();
  labeller_.emplace(stream, method, tile, arrays_);
}

std::uint64_t SwendsenWangLabelsCuda::bytes(const GraphView& graph, std::uint32_t replicas,
                                            LabelMethod method, std::uint32_t tile) {
  const std::uint64_t of_site = method == LabelMethod::kalentev ? 9 : 13;
  return replicas *
             (of_site * replica_stride(graph.sites) + graph.rewired_count + 8 * kClusterSums) +
         sizeof(SitePair) * graph.rewired_count +
         LabellerCuda::bytes(method, tile, label_arrays(graph, replicas));
}

void SwendsenWangLabelsCuda::update(const DeviceReplicas& replicas, cudaStream_t stream) {
  const auto mark = [&] { clock_.mark(stream); };
  mark();
  launch_activate_lattice(graph_, replicas, arrays_, stream);
  launch_activate_shortcuts(graph_, replicas, arrays_, shortcut_on_, stream);
  mark();
  labeller_->run(arrays_, mark);
  mark();
  launch_draw_orientations(graph_, replicas, arrays_, stream);
  launch_flip_sites(graph_, replicas, arrays_, stream);
  mark();
  if (clears_sizes_) {
    check_cuda(cudaMemsetAsync(arrays_.size, 0,
                               arrays_.replicas * arrays_.stride * sizeof(*arrays_.size), stream));
  }
  launch_count_clusters(arrays_, stream);
  launch_sum_clusters(arrays_, sums_, stream);
  launch_close_sums(replicas, sums_, stream);
  passes_ += labeller_->passes();
}

void SwendsenWangLabelsCuda::run(const DeviceReplicas& replicas, std::uint32_t updates,
                                 cudaStream_t stream) {
  DeviceReplicas now = replicas;
  for (std::uint32_t n = 0; n < updates; ++n, ++now.step) update(now, stream);
}

}  // namespace rewise::bytespin
