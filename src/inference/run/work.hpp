#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "core/types/plan.hpp"
#include "inference/run/batch_source.hpp"
#include "spdnn/images.hpp"

namespace spdnn {

/// Images and the layer that they enter next: all of them and the first layer in a usual run. A run that continues one
/// that was stopped (checkpoint.hpp) has several pieces of work, most of them with activations in place of images.
struct Work {
  Index layer = 0;
  std::vector<Index> ids;  ///< of the images, in the whole run; empty: 0, 1, 2, ...
  ImageSet images{};       ///< images x stored neurons that enter `layer`
  /// The source of images shared by several ranks, each of which takes some; null: all are this rank's.
  std::shared_ptr<BatchSource> batches = nullptr;

  Index id(Index image) const { return ids.empty() ? image : ids[image]; }
};

/// Bytes of the images of these pieces; with several ranks, this rank's part.
std::size_t image_bytes(const std::vector<Work>& pieces);
/// The images of all pieces in one set, in their order, as wide as the widest.
ImageSet images_of_all(const std::vector<const Work*>& pieces);

/// The plan's layers from `layer` on, for activations as images. A plan that falls back on another, with `merge`, has
/// bounds on rounding from the first layer on, so it can only be taken whole (std::logic_error otherwise).
Plan plan_from(const Plan& plan, Index layer);

}  // namespace spdnn
