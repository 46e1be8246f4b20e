#pragma once

#include "core/types/plan.hpp"
#include "spdnn/files.hpp"
#include "spdnn/progress.hpp"

namespace spdnn {

/// The functions of files.hpp for packed files, described in format.hpp.
NetworkFile read_packed_network(const Path& path, const NetworkRequest& request);
/// Refuses networks without layers and layers without neurons, which the format could express.
void refuse_empty(const std::string& name, const std::vector<LayerShape>& shapes);
/// The network with its layers left in the file, which stays open.
NetworkStream open_packed_network(const Path& path, const NetworkRequest& request);
ImageSet read_packed_images(const Path& path, std::optional<Index> neurons, std::optional<Index> images);
void write_packed_network(const Path& path, const Network& network, const ProgressCallback& progress = {});
void write_packed_images(const Path& path, const ImageSet& images);

/// The contents of one packed file; null for missing parts.
struct PackedParts {
  const Network* network = nullptr;
  const NetworkStream* stream = nullptr;  ///< in place of `network`
  const ImageSet* images = nullptr;
  const Plan* plan = nullptr;
};
void write_packed(const Path& path, const PackedParts& parts, const ProgressCallback& progress = {});

/// Throws std::invalid_argument if parts of a plan contradict one another; matrix entries are not examined.
void check_plan(const Plan& plan);

}  // namespace spdnn
