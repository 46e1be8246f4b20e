#include "inference/prune/value_run.hpp"

#include <algorithm>

#include "inference/model/run.hpp"
#include "model/graph/remove_unread.hpp"

namespace spdnn {

namespace {

constexpr Index kImagesAtOnce = 64;

Model up_to(const Model& model, ValueId value) {
  Model cut = model;
  cut.outputs = {value};
  cut.program.reset();
  remove_unread(cut);
  return cut;
}

}  // namespace

ValueRun::ValueRun(const Model& model, ValueId value, const EngineSettings& settings) {
  if (value != model.inputs.front()) session_.emplace(up_to(model, value), settings);
}

Tensor ValueRun::operator()(const Tensor& images) const {
  return session_ ? session_->run(images).outputs.front() : images;
}

void for_some_images(const Model& model, const Tensor& images,
                     const std::function<void(Index first, const Tensor& some)>& take) {
  const auto all = static_cast<Index>(images.shape[0]);
  const Index at_once = fixed_batch(model).value_or(kImagesAtOnce);
  for (Index first = 0; first < all; first += at_once)
    take(first, images_from(images, first, std::min(at_once, all - first)));
}

Tensor logits_of(const Model& model, const Tensor& images, const EngineSettings& settings) {
  return ValueRun(model, model.outputs.front(), settings)(images);
}

}  // namespace spdnn
