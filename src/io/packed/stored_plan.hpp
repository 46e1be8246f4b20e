#pragma once

#include <cstdint>

#include "core/types/plan.hpp"
#include "spdnn/files.hpp"
#include "spdnn/network.hpp"

namespace spdnn {

/// The contents of a packed file, found without reading all of it.
struct PackedContents {
  bool network = false;
  bool images = false;
  bool plan = false;
  bool model = false;  ///< excludes the others
  Index layers = 0;
  Offset edges = 0;
  std::uint64_t network_digest = 0;
};
PackedContents packed_contents(const Path& path);
/// The minimum memory of the images in a packed file; 0 if it holds none.
std::size_t packed_images_bytes(const Path& path);
/// The memory of the layers of the stored plan, including its fallback plan.
std::size_t stored_plan_bytes(const Path& path);
/// Reads the plan stored in a packed file without touching its network. DataError if there is none, or if its digest
/// belongs to another network.
Plan read_plan(const Path& path);
/// Writes a packed network together with its finished plan.
void write_network_with_plan(const Path& path, const Network& network, const Plan& plan);

}  // namespace spdnn
