#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cluster/communicator.hpp"
#include "core/types/layer_stream.hpp"
#include "core/types/plan.hpp"
#include "spdnn/images.hpp"
#include "spdnn/inference.hpp"
#include "spdnn/network.hpp"

namespace spdnn {

/// A network that is streamed.
struct GivenStream {
  NetworkStream network;
  bool official = false;  ///< the official network of its size, by construction or by the digest in its file
};

/// The bytes of host memory that network, plan, images and engine may take together: `asked`, or nine tenths of the
/// available memory if that is less or `asked` is 0.
std::size_t host_budget(std::size_t asked);

/// The specified network, to be streamed, where holding it would take more than three quarters of the budget, and it is
/// one that can be streamed: packed, or the official one made here. UsageError and DataError as load_network().
std::optional<GivenStream> stream_if_too_large(const NetworkSpec& spec, std::size_t budget);

/// The plan of a streamed network for `sharers` processes that share `budget` bytes; each has its own layers in memory.
/// DeviceError if two layers per process do not fit.
Plan plan_stream(const NetworkStream& network, const Passes& passes, std::size_t budget, int sharers,
                 const ProgressCallback& progress);

/// share_plan() of a plan whose layers may be streamed: each rank opens the specified network then, and
/// reads its layers when it needs them. DataError where a rank finds another network there than the root.
Plan share_plan(Communicator& ranks, Plan plan, const NetworkSpec& spec);

/// A directory of TSV layers to be converted layer by layer, if the sizes of its files suggest that the network takes
/// more than three quarters of the budget. Fills in bias, rule and cap as load_network() does.
struct TextToStream {
  NetworkStream network;
  std::vector<std::string> notes{};  ///< of the reader
};
std::optional<TextToStream> stream_text_if_too_large(const NetworkSpec& spec, std::size_t budget);

/// DeviceError if a network that cannot be streamed takes more memory than its budget: before text is read, if the
/// sizes of its files leave no doubt, and once the network is in memory, if `asked` is the limit.
void require_room_for_text(const NetworkSpec& spec, std::size_t budget);
void require_room(const NetworkSpec& spec, const Network& network, std::size_t asked);

/// EngineOptions::host_memory for a run: `asked` less plan and images, and less the layers that are streamed; 0 if
/// nothing was asked for and nothing is streamed. `sharers` processes share the machine's memory.
std::size_t host_memory_for_engine(std::size_t asked, const Plan& plan, std::size_t image_bytes, int sharers = 1);

}  // namespace spdnn
