#include "inference/prune/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/types/all_finite.hpp"
#include "inference/model/runnable.hpp"
#include "inference/prune/value_run.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

std::map<ValueId, ValueRange> calibrated_ranges(const Model& model, const Tensor& images,
                                                const EngineSettings& settings) {
  if (const std::string why_not = why_not_runnable(model); !why_not.empty()) throw UsageError(why_not);
  if (images.values.empty()) throw UsageError("inputs", "no images to calibrate with");
  std::map<ValueId, ValueRange> ranges;
  for (const Node& node : model.nodes) {
    if (weights_or_null(node.operation) == nullptr || ranges.contains(node.inputs.front())) continue;
    const ValueRun run(model, node.inputs.front(), settings);
    ValueRange& range = ranges[node.inputs.front()];
    for_some_images(model, images, [&](Index first, const Tensor& some) {
      const Tensor found = run(some);
      if (!all_finite(found.values.span()))
        throw DataError(fmt::format("the value '{}' is not finite for one of the images {} to {}",
                                    model.values[node.inputs.front()].name, first + 1, first + some.shape[0]));
      const auto [low, high] = std::minmax_element(found.values.begin(), found.values.end());
      range = {std::min(range.low, *low), std::max(range.high, *high)};
    });
  }
  return ranges;
}

}  // namespace spdnn
