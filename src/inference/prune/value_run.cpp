#include "inference/prune/value_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/message.hpp"
#include "core/types/all_finite.hpp"
#include "inference/model/run.hpp"
#include "model/graph/remove_unread.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

Model up_to(const Model& model, const std::vector<ValueId>& values) {
  Model cut = model;
  cut.outputs = values;
  cut.program.reset();
  remove_unread(cut);
  return cut;
}

}  // namespace

ValuesRun::ValuesRun(const Model& model, const std::vector<ValueId>& values, const EngineSettings& settings) {
  std::vector<ValueId> computed;
  for (const ValueId value : values) {
    const bool is_input = value == model.inputs.front();
    outputs_.push_back(is_input ? std::nullopt : std::optional(computed.size()));
    if (!is_input) computed.push_back(value);
  }
  if (!computed.empty()) session_.emplace(up_to(model, computed), settings);
}

std::vector<Tensor> ValuesRun::operator()(const Tensor& images) const {
  const std::vector<Tensor> found = session_ ? session_->run(images).outputs : std::vector<Tensor>();
  std::vector<Tensor> values;
  for (const std::optional<std::size_t>& output : outputs_) values.push_back(output ? found[*output] : images);
  return values;
}

void for_some_images(const Model& model, const Tensor& images,
                     const std::function<void(Index first, const Tensor& some)>& take, Index most) {
  const auto all = static_cast<Index>(images.shape[0]);
  const Index at_once = fixed_batch(model).value_or(most);
  for (Index first = 0; first < all; first += at_once)
    take(first, images_from(images, first, std::min(at_once, all - first)));
}

Tensor logits_of(const Model& model, const Tensor& images, const EngineSettings& settings) {
  Tensor logits = ValuesRun(model, {model.outputs.front()}, settings)(images).front();
  if (!all_finite(logits.values.span()))
    throw DataError(fmt::format("the output '{}' is not finite for one of the images",
                                escaped(model.values[model.outputs.front()].name)));
  return logits;
}

}  // namespace spdnn
