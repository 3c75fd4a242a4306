// A rank's subdomain on a CUDA device: the spins of a slab of every replica (device_part.hpp),
// their halo exchange, sweeps and measurements. It runs the kernels of the single-process engine
// (engine_cuda.cpp). The device stores full-length replicas, so that site numbers do not change;
// only the slab, its halo and the other ends of its rewired bonds ("far ends") are used. Messages
// are sent from device to device (engine/device_messages_cuda.hpp).
//
// Sweeps: for each colour, the modified cells and the two outer planes of the slab are updated
// first, on the urgent stream. They are exchanged (Ising spins as bits) while the main stream
// updates the inner planes.
//
// Derived classes have the Swendsen-Wang updates, one for each method that slabs support.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/bytespin/device_graph_cuda.hpp"
#include "src/bytespin/local/local_cuda.hpp"
#include "src/bytespin/subdomain.hpp"
#include "src/cuda/device_stream.hpp"
#include "src/cuda/graph.hpp"
#include "src/cuda/stream.hpp"
#include "src/engine/device_messages_cuda.hpp"

namespace rewise::bytespin {

class CudaSubdomain : public BytespinSubdomain {
 public:
  ~CudaSubdomain() override { finish(); }

  std::string device() const final { return "cuda"; }
  std::string model() const final { return device_model(device_.device()); }
  int threads() const final { return 1; }
  std::string route() const final { return messages_ ? messages_->routes() : ""; }

  void fetch(std::uint64_t replica) final;
  void advance(const AdvanceOrder& what) final;
  void count(std::span<std::uint64_t> sums) final;
  void read(std::uint64_t replica, std::uint64_t, std::uint64_t first,
            std::span<std::uint8_t> out) const final {
    device_.use();
    spins_.copy_out(out, stream(), replica * stride_ + first);
    device_.wait();
  }
  void write(std::uint64_t replica, std::uint64_t, std::uint64_t first,
             std::span<const std::uint8_t> bytes) final {
    device_.use();
    spins_.copy_in(bytes, stream(), replica * stride_ + first);
    device_.wait();
  }

 protected:
  CudaSubdomain(std::shared_ptr<const GraphTables> tables, const EngineSpec& spec,
                distributed::Transport& transport, std::uint32_t thickness, int device);

  // Allocates the spins and sets their initial values. Called by constructors, before they allocate
  // `more_bytes` of their own. Throws Error(device) if the memory is too small.
  void start(std::uint64_t more_bytes);
  // Waits for all queued work and ends the messages. Called by destructors, before the memory that
  // they use is freed.
  void finish() noexcept;

  // Makes `updates` > 0 Swendsen-Wang updates of all replicas, then fetches halos and far ends.
  virtual void cluster_updates(std::uint64_t step, std::uint64_t updates) = 0;

  cudaStream_t stream() const { return device_.get(); }
  // Makes later work on the urgent stream wait for the work now queued on the main stream.
  void urgent_follows() {
    done_.record(stream());
    done_.make_stream_wait(urgent_.get());
  }
  // Makes later work on the main stream wait for the work now queued on the urgent stream.
  void follow_urgent() {
    urgent_done_.record(urgent_.get());
    urgent_done_.make_stream_wait(stream());
  }

  const DeviceStream device_;
  const std::uint64_t stride_;
  const Lattice& lattice_;
  const CudaStream urgent_;
  const CudaEvent urgent_done_, done_;
  std::unique_ptr<DeviceGraph> graph_;
  DeviceReplicas on_device_;
  std::unique_ptr<DeviceMessages> messages_;  // made by the first fetch() of several ranks

 private:
  // The spins of one colour that this rank sends to (or receives from) other ranks: outer planes
  // and far ends. They are ordered by rank and padded to a multiple of 128 for each rank.
  struct ColourExchange {
    DeviceBuffer<Site> sites;
    std::vector<std::uint64_t> count;  // [with_] sites per rank
    DeviceBuffer<std::uint8_t> spins;  // [replicas][sites] bits or bytes
  };

  std::uint8_t* spins_of(std::uint64_t replica) { return spins_.data() + replica * stride_; }
  void upload_exchanged();
  void upload_measured_bonds();
  void exchange(IndexRange replicas, int colour);
  void sweep(std::uint64_t step);

  std::unique_ptr<LocalCuda> local_;
  DeviceBuffer<std::uint8_t> spins_;           // [replicas][stride]
  DeviceBuffer<unsigned long long> measured_;  // [replicas] unequal, [replicas][measured_counts()]
  DeviceBuffer<IndexedBond> measured_bonds_;
  std::vector<int> with_;  // ranks that exchange spins with this one
  ColourExchange sent_[2], received_[2];
};

// By the method `fast` (swendsen_wang/fused_subdomain_cuda.cpp), and by `kalentev`
// (swendsen_wang/labels_subdomain_cuda.cpp).
std::unique_ptr<BytespinSubdomain> make_fused_subdomain(std::shared_ptr<const GraphTables> tables,
                                                        const EngineSpec& spec,
                                                        distributed::Transport& transport,
                                                        int device);
std::unique_ptr<BytespinSubdomain> make_labels_subdomain(std::shared_ptr<const GraphTables> tables,
                                                         const EngineSpec& spec,
                                                         distributed::Transport& transport,
                                                         int device);

}  // namespace rewise::bytespin
