// An engine that ranks share, the ranks being threads of the test.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "src/packed/shared.hpp"
#include "src/ranks/threads.hpp"

namespace rewise::oracle {

// A rank's end that does not say that all are of one process.
class Apart final : public ranks::Transport {
 public:
  explicit Apart(Transport& within) : within_(within) {
    rank_ = within.rank();
    size_ = within.size();
  }
  void post_send(int to, int tag, std::span<const std::uint8_t> bytes) override {
    within_.post_send(to, tag, bytes);
  }
  void post_receive(int from, int tag, std::span<std::uint8_t> bytes) override {
    within_.post_receive(from, tag, bytes);
  }
  void wait() override { within_.wait(); }
  void abort(const Error& error) override { within_.abort(error); }

 private:
  Transport& within_;
};

// Calls f with the engine on rank 0, which is this thread, the others following; each with
// `options`. `apart`: as if they were processes.
inline void with_ranks(int ranks, const std::vector<std::uint32_t>& extents, const EngineSpec& spec,
                       const EngineOptions& options, const std::function<void(Engine&)>& f,
                       bool apart = false) {
  ranks::run_ranks(ranks, [&](ranks::Transport& within) {
    Apart alone(within);
    ranks::Transport& transport = apart ? alone : within;
    if (transport.rank() > 0) {
      return follow(transport, [&](std::span<const std::uint8_t> recipe) {
        return make_packed_share(recipe, transport, [&](bool) { return options; });
      });
    }
    {
      const auto engine = make_shared_packed_engine(transport, extents, spec, options);
      f(*engine);
    }
    dismiss_followers(transport);
  });
}

}  // namespace rewise::oracle
