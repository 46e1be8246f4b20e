#include "inference/model/resident_model.hpp"

#include <utility>

#include "core/threads/cancellation.hpp"

namespace spdnn {

ResidentModel::ResidentModel(const ModelVariant& variant, std::shared_ptr<const Model> model,
                             ModelEngineOptions options)
    : model_(std::move(model)), options_(std::move(options)), engine_(make_engine(variant, model_, options_)) {}

std::vector<Tensor> ResidentModel::run(const std::function<void(Index nodes)>& advanced) {
  const auto nodes = static_cast<Index>(model_->nodes.size());
  Cancellation cancellation(options_.cancelled);
  engine_->reset();
  for (Index node = 0; node < nodes;) {
    cancellation.check();
    const Index next = engine_->advance(node, nodes);
    if (advanced) advanced(next - node);
    node = next;
  }
  return engine_->outputs();
}

}  // namespace spdnn
