#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/types/plan.hpp"
#include "spdnn/files.hpp"
#include "spdnn/images.hpp"
#include "spdnn/inference.hpp"
#include "spdnn/load.hpp"
#include "spdnn/network.hpp"
#include "spdnn/progress.hpp"

namespace spdnn {

/// The request that read_network() takes for this network.
NetworkRequest request_for(const NetworkSpec& spec, const ProgressCallback& progress);

/// Sets bias, rule and cap of a network read from spec.path, as load_network does.
void fill_in_parameters(const NetworkSpec& spec, NetworkFile& file);

/// Whether network or images are the official ones of their size: the images in the official order.
bool is_official(const Network& network);
bool is_official(const ImageSet& images);
/// Whether a stored plan says that it was made for the official network of its size and depth.
bool claims_official(const Plan& plan);

/// The plan stored with the network, where it is a packed file that holds one made for these passes and the
/// specification asks for no other depth, bias, rule or cap, and the plan takes no more than `most_bytes` in memory.
struct StoredPlan {
  std::optional<Plan> plan;
  std::vector<std::string> notes{};  ///< that there is one, but it takes too much
};
StoredPlan stored_plan(const NetworkSpec& spec, const Passes& passes, std::size_t most_bytes);
/// Whether there is a file in the packed form.
bool is_packed_file(const std::string& path);
/// DataError where a plan stored in `path` is not one of the network read from there.
void check_stored_plan(const std::string& path, const Plan& plan, const Network& network);

/// DeviceError if this machine has no memory for `count` neurons or images, given by `field`: each takes some bytes
/// even if the file has no entries for it.
void check_memory_for(const char* field, Offset count, std::size_t bytes_each = sizeof(Offset));

/// DeviceError if the images certainly take more than `budget`, determined without reading them. `neurons`: the
/// network's.
void require_room_for_images(const ImageSpec& spec, Index neurons, std::size_t budget);
void require_room_for_images(std::size_t bytes, std::size_t budget);

}  // namespace spdnn
