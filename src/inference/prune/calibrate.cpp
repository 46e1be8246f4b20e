#include "inference/prune/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/types/all_finite.hpp"
#include "inference/model/run.hpp"
#include "inference/model/runnable.hpp"
#include "inference/prune/value_run.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// Those that convolutions and linear nodes read, each once.
std::vector<ValueId> values_read(const Model& model) {
  std::vector<ValueId> values;
  for (const Node& node : model.nodes)
    if (weights_or_null(node.operation) != nullptr && !model.values[node.inputs.front()].constant)
      values.push_back(node.inputs.front());
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// Images whose values take at most 256 MiB.
Index images_together(const Model& model, const std::vector<ValueId>& values) {
  constexpr Offset kBytes = Offset{256} << 20U;
  Offset bytes = 1;
  for (const ValueId value : values) bytes += *elements(with_batch(model.values[value].shape, 1)) * sizeof(float);
  return static_cast<Index>(std::clamp<Offset>(kBytes / bytes, 1, kImagesAtOnce));
}

void widen(ValueRange& range, const Tensor& found) {
  const auto [low, high] = std::minmax_element(found.values.begin(), found.values.end());
  range = {std::min(range.low, *low), std::max(range.high, *high)};
}

}  // namespace

std::map<ValueId, ValueRange> calibrated_ranges(const Model& model, const Tensor& images,
                                                const EngineSettings& settings) {
  return calibrated_ranges(model, images, [&](const std::vector<ValueId>& values, Index batch) {
    EngineSettings of_run = settings;
    if (!fixed_batch(model)) of_run.batch = batch;
    return [run = std::make_shared<ValuesRun>(model, values, of_run)](const Tensor& some) { return (*run)(some); };
  });
}

std::map<ValueId, ValueRange> calibrated_ranges(const Model& model, const Tensor& images, const MakeRunOfValues& make) {
  if (const std::string why_not = why_not_runnable(model); !why_not.empty()) throw UsageError(why_not);
  if (images.values.empty()) throw UsageError("inputs", "no images to calibrate with");
  const std::vector<ValueId> values = values_read(model);
  const Index at_once = images_together(model, values);
  const RunOfValues run = make(values, at_once);
  std::map<ValueId, ValueRange> ranges;
  const auto take = [&](Index first, const Tensor& some) {
    const std::vector<Tensor> found = run(some);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!all_finite(found[i].values.span()))
        throw DataError(fmt::format("the value '{}' is not finite for one of the images {} to {}",
                                    model.values[values[i]].name, first + 1, first + some.shape[0]));
      widen(ranges[values[i]], found[i]);
    }
  };
  for_some_images(model, images, take, at_once);
  return ranges;
}

}  // namespace spdnn
