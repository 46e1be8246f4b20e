#pragma once

#include <cstddef>
#include <vector>

#include "cluster/communicator.hpp"
#include "spdnn/images.hpp"

namespace spdnn {

/// By image, the rank that has it, or kNobody. A rank has its images in the order of their ids.
using Owners = std::vector<int>;
inline constexpr int kNobody = -1;

inline constexpr std::size_t kOnTheWay = std::size_t{64} << 20U;  ///< bytes that a rank sends at a time

/// All images on the root.
Owners owned_by_root(Index images);
/// The images as images_dealt_to() deals them.
Owners dealt_owners(Index images, int ranks);
/// The ids of a rank's images.
std::vector<Index> ids_of(const Owners& owners, int rank);

/// This rank's images by the owners of after, where `mine` are those that it has by the owners of before, who may be
/// fewer images. All ranks call it together, with the same owners. Each image goes straight to the rank that is to have
/// it. Images are held in the same form on all ranks then: as bits where all were. Cost: each rank's memory for its
/// images, before and after, and `on_the_way` for data in transfer.
ImageSet move_images(Communicator& ranks, const ImageSet& mine, const Owners& before, const Owners& after,
                     std::size_t on_the_way = kOnTheWay);

/// This rank's images in the form that suits those of all ranks: bits where these take less memory.
ImageSet in_common_form(Communicator& ranks, ImageSet mine);

}  // namespace spdnn
