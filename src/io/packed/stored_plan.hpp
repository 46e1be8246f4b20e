#pragma once

#include <cstdint>

#include "spdnn/files.hpp"
#include "spdnn/network.hpp"
#include "spdnn/plan.hpp"

namespace spdnn {

/// What a packed file holds, found without reading all of it.
struct PackedContents {
  bool network = false;
  bool images = false;
  bool plan = false;
  bool model = false;  ///< nothing else then
  Index layers = 0;
  Offset edges = 0;
  std::uint64_t network_digest = 0;
};
PackedContents packed_contents(const Path& path);
/// The least that the images in a packed file take in memory; 0 where it holds none.
std::size_t packed_images_bytes(const Path& path);
/// What the layers of the plan stored in a packed file take in memory, with those of the plan that it falls back on.
std::size_t stored_plan_bytes(const Path& path);
/// Reads the plan stored in a packed file, without touching its network. DataError where there is none, or where its
/// digest is that of another network.
Plan read_plan(const Path& path);
/// Writes a packed network together with its finished plan.
void write_network_with_plan(const Path& path, const Network& network, const Plan& plan);

}  // namespace spdnn
