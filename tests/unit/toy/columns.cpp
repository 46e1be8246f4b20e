// toy_columns: the smallest possible variant, and the example of docs/how_it_works.md for adding an engine: this file,
// and one line in a list.

#include <algorithm>
#include <utility>

#include "engines/overflow.hpp"
#include "engines/variant_lines.hpp"

namespace spdnn {

SPDNN_DECLARE_VARIANT(toy_columns)

namespace {

class ToyEngine final : public InspectableEngine {
 public:
  explicit ToyEngine(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

  void load(const ImageSet& images) override {
    const CsrMatrix rows = images.to_csr();
    inputs_.assign(rows.cols, std::vector<double>(rows.rows, 0.0));
    for (Index image = 0; image < rows.rows; ++image)
      for (Offset k = rows.offsets[image]; k < rows.offsets[image + 1]; ++k)
        inputs_[rows.indices[k]][image] += rows.entry_value(k);
    images_ = rows.rows;
    reset();
  }

  void reset() override {
    columns_ = inputs_;
    alive_.clear();
  }

  /// Advances one layer at a time, whatever `until` is.
  Index advance(Index first, Index /*until*/) override {
    const Layer& layer = plan_->layers[first];
    std::vector<std::vector<double>> next;
    for (Index j = 0; j < layer.outputs(); ++j) next.push_back(column(layer, j));
    columns_ = std::move(next);
    alive_.push_back(static_cast<std::int64_t>(categories().size()));
    return first + 1;
  }

  Outcome outcome() override { return {.categories = categories(), .alive = alive_, .borderline = {}}; }

  std::vector<double> activations() override {
    std::vector<double> all;
    for (Index image = 0; image < images_; ++image)
      for (const auto& one : columns_) all.push_back(one[image]);
    return all;
  }

 private:
  /// Neuron j of the layer, by image.
  std::vector<double> column(const Layer& layer, Index j) const {
    std::vector<double> sums(images_, 0.0);
    for (Offset k = layer.weights.offsets[j]; k < layer.weights.offsets[j + 1]; ++k)
      for (Index image = 0; image < images_; ++image)
        sums[image] += columns_[layer.weights.indices[k]][image] * layer.weights.entry_value(k);
    for (double& sum : sums) {
      if (plan_->bias_rule == BiasRule::everywhere || sum != 0.0) sum += layer.bias[j];
      sum = std::clamp(sum, 0.0, plan_->cap.value_or(std::max(sum, 0.0)));
    }
    return sums;
  }

  Categories categories() const {
    Categories found;
    for (Index image = 0; image < images_; ++image)
      if (std::any_of(columns_.begin(), columns_.end(), [&](const auto& one) { return one[image] != 0.0; }))
        found.push_back(image);
    return found;
  }

  const std::shared_ptr<const Plan> plan_;
  Index images_ = 0;
  std::vector<std::vector<double>> inputs_;   ///< by neuron, then image
  std::vector<std::vector<double>> columns_;  ///< likewise, after the last advanced layer
  std::vector<std::int64_t> alive_;
};

}  // namespace

Support support_toy_columns(const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  if (plan.passes.merge) return {.why_not = "toy_columns: no merged plans"};
  if (plan.depth() > 10) return {.why_not = "toy_columns: no more than ten layers"};
  return {.why_not = reason_not_to_watch(options, "toy_columns"),
          .preference = Preference::last_resort,
          .working_bytes = 3 * sizeof(double) * std::size_t{plan.max_width()} * batch.images};
}

std::unique_ptr<Engine> make_toy_columns(std::shared_ptr<const Plan> plan, const BatchInfo& /*batch*/,
                                         const EngineOptions& /*options*/) {
  return std::make_unique<ToyEngine>(std::move(plan));
}

}  // namespace spdnn
