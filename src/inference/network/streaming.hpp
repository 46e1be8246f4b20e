#pragma once

#include <cstddef>
#include <memory>
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

class DigestedLayers;

/// A network that is streamed.
struct GivenStream {
  NetworkStream network;
  std::shared_ptr<const DigestedLayers> digested{};  ///< its layers, where their digest is not known beforehand
  bool text = false;                                 ///< a directory of TSV layers
  bool fits = false;                                 ///< it would fit into memory, so that any plan of it does
  Index at_once = 2;                                 ///< the fewest layers in memory that keep all readers busy
  std::vector<std::string> notes{};                  ///< of the reader

  /// The bytes of given layers that are in memory at a time while they are planned, if the network fits.
  std::size_t bytes_at_once() const;
  /// Whether it is the official network of its size, by construction, or by the digest in its file or of its layers,
  /// all of which must have been read then.
  bool is_official() const;
};

/// The bytes of host memory that network, plan, images and engine may take together: `asked`, or nine tenths of the
/// available memory if that is less or `asked` is 0.
std::size_t host_budget(std::size_t asked);

/// The specified network, to be streamed, where holding it would take more than three quarters of the budget, and it is
/// one that can be streamed: packed, or the official one made here. UsageError and DataError as load_network().
std::optional<GivenStream> stream_if_too_large(const NetworkSpec& spec, std::size_t budget);

/// The same of a directory of TSV layers, by the sizes of its files. Fills in bias, rule and cap as load_network()
/// does.
std::optional<GivenStream> stream_text_if_too_large(const NetworkSpec& spec, std::size_t budget);

/// The bytes of layers that a process has in memory at a time when it streams a network, unless two layers take more.
inline constexpr std::size_t kStreamedBytes = std::size_t{64} << 20U;

/// The specified network, to be streamed although it fits into memory, where it takes more than `most` bytes and its
/// bytes_at_once() there. If it is streamed only `once`, it may be a directory of TSV layers.
std::optional<GivenStream> stream_to_save_memory(const NetworkSpec& spec, bool once, std::size_t most = kStreamedBytes);

/// Whether these passes leave fewer layers in memory than the network has, and none of them needs all of it together.
bool may_plan_while_reading(const Passes& passes);

/// The plan of a streamed network for `sharers` processes that share `budget` bytes; each has its own layers in memory.
/// DeviceError if two layers per process do not fit.
Plan plan_stream(const GivenStream& given, const Passes& passes, std::size_t budget, int sharers,
                 const ProgressCallback& progress);

/// share_plan() of a plan whose layers may be streamed: each rank opens the specified network then, and
/// reads its layers when it needs them. DataError where a rank finds another network there than the root.
Plan share_plan(Communicator& ranks, Plan plan, const NetworkSpec& spec);

/// DeviceError if a network that cannot be streamed takes more memory than its budget: before text is read, if the
/// sizes of its files leave no doubt, and once the network is in memory, if `asked` is the limit.
void require_room_for_text(const NetworkSpec& spec, std::size_t budget);
void require_room(const NetworkSpec& spec, const Network& network, std::size_t asked);

/// EngineOptions::host_memory for a run: `asked` less plan and images, and less the layers that are streamed; 0 if
/// nothing was asked for and nothing is streamed. `sharers` processes share the machine's memory.
std::size_t host_memory_for_engine(std::size_t asked, const Plan& plan, std::size_t image_bytes, int sharers = 1);

}  // namespace spdnn
