// The variant conv_reference: the oracle of models (model/oracle/evaluate.hpp) as an engine, its values rounded to
// fp32. Whoever wants the bounds calls evaluate().

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/types/all_finite.hpp"
#include "engines/variant_lines.hpp"
#include "model/oracle/evaluate.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

SPDNN_DECLARE_MODEL_VARIANT(conv_reference)

namespace {

class ReferenceModelEngine final : public ModelEngine {
 public:
  ReferenceModelEngine(std::shared_ptr<const Model> model, const ModelEngineOptions& options)
      : model_(std::move(model)), options_(options) {}

  void load(const Tensor& images) override {
    images_of(*model_, images, options_.batch);
    images_ = images;
    reset();
  }
  void reset() override { outputs_.clear(); }
  /// All nodes with the last one: evaluate() takes a whole model.
  Index advance(Index /*first*/, Index until) override {
    if (options_.cancelled && options_.cancelled()) throw Cancelled("the run was cancelled");
    if (until < model_->nodes.size()) return until;
    outputs_.clear();
    overflow_.reset();
    for (const Bounded& value : evaluate(*model_, {images_}, options_.cancelled, &overflow_)) {
      const auto rounded = allocate<float>(value.values.size());
      std::transform(value.values.begin(), value.values.end(), rounded.get(),
                     [](double x) { return static_cast<float>(x); });
      outputs_.push_back({value.shape, {rounded, value.values.size()}});
      if (!overflow_ && !all_finite(outputs_.back().values)) overflow_ = until - 1;
    }
    return until;
  }
  std::vector<Tensor> outputs() override { return outputs_; }
  /// Sums in fp64 leave more room than fp32 has; the outputs must be within fp32 all the same.
  std::optional<Index> overflow() const override { return overflow_; }

 private:
  std::shared_ptr<const Model> model_;
  ModelEngineOptions options_;
  Tensor images_;
  std::vector<Tensor> outputs_;
  std::optional<Index> overflow_;
};

}  // namespace

Support support_conv_reference(const Model& model, const ModelEngineOptions& options) {
  // An upper bound: all values together, in fp64 with their bounds.
  std::size_t bytes = 0;
  for (const Value& value : model.values)
    bytes += 2 * sizeof(double) * elements(with_batch(value.shape, options.batch)).value_or(0);
  Support support{.preference = Preference::last_resort, .working_bytes = bytes};
  std::vector<Index> all(model.nodes.size());
  std::iota(all.begin(), all.end(), Index{0});
  add_zeros_remark(model, all, support);
  return support;
}

std::unique_ptr<ModelEngine> make_conv_reference(std::shared_ptr<const Model> model, const ModelEngineOptions& options,
                                                 const Support& /*support*/) {
  return std::make_unique<ReferenceModelEngine>(std::move(model), options);
}

}  // namespace spdnn
