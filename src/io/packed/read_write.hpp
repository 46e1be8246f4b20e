#pragma once

#include "spdnn/files.hpp"
#include "spdnn/plan.hpp"
#include "spdnn/progress.hpp"

namespace spdnn {

/// The functions of files.hpp for packed files. The form itself is described in format.hpp.
NetworkFile read_packed_network(const Path& path, const NetworkRequest& request);
/// Refuses networks without layers and layers without neurons, which a packed file could hold.
void refuse_empty(const std::string& name, const std::vector<LayerShape>& shapes);
/// The network with its layers left in the file, which stays open.
NetworkStream open_packed_network(const Path& path, const NetworkRequest& request);
ImageSet read_packed_images(const Path& path, std::optional<Index> neurons, std::optional<Index> images);
void write_packed_network(const Path& path, const Network& network, const ProgressCallback& progress = {});
void write_packed_images(const Path& path, const ImageSet& images);

/// What goes into one packed file; null stands for what does not.
struct PackedParts {
  const Network* network = nullptr;
  const NetworkStream* stream = nullptr;  ///< in place of `network`
  const ImageSet* images = nullptr;
  const Plan* plan = nullptr;
};
void write_packed(const Path& path, const PackedParts& parts, const ProgressCallback& progress = {});

/// Throws std::invalid_argument where parts of a plan contradict one another; entries of its matrices are not examined.
void check_plan(const Plan& plan);

}  // namespace spdnn
