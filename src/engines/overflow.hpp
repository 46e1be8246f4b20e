#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.hpp"
#include "plan/image_facts.hpp"

namespace spdnn {

// Sums that exceed the precision's largest number. A bound derived from the weights (plan/magnitudes.hpp) excludes them
// for most runs, among them all with a cap and weights of usual size. In the others engines check every finished sum
// before cap and ReLU hide its value: a partial sum that has overflowed leaves infinity or NaN, whatever is added.

/// Whether a sum of these images may overflow in some order of summation.
bool may_overflow(const Plan& plan, const ImageFacts& images, Precision precision);

/// For engines that cannot detect overflow: the reason to refuse a run that needs it; otherwise empty.
std::string reason_not_to_watch(const EngineOptions& options, std::string_view variant);

inline constexpr Index kNoOverflow = kMaxIndex;  ///< layer of an image whose sums are all finite

/// Outcome::overflow from the first layer of each image's overflow. Images that have overflowed neither become
/// nor have duplicates, so that a duplicate overflows exactly if the image computed for it does.
std::vector<Overflow> collect_overflow(std::span<const ImageState> states, std::span<const Index> first_layers);

}  // namespace spdnn
