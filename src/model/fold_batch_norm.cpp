#include "model/fold_batch_norm.hpp"

#include <cmath>
#include <optional>
#include <utility>

#include "model/remove_unread.hpp"
#include "model/uses.hpp"

namespace spdnn {

namespace {

/// What Convolution and Linear have in common.
struct Sums {
  CsrMatrix weights;
  std::vector<float> bias;
};

/// The sums with the batch norm in them; nothing where a number would leave the range of fp32.
std::optional<Sums> normed(const CsrMatrix& weights, const std::vector<float>& bias, const BatchNorm& norm) {
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  std::vector<float> values;
  std::vector<float> shifts;
  for (Index row = 0; row < weights.rows; ++row) {
    const double factor = norm.scale[row] / std::sqrt(double{norm.variance[row]} + double{norm.epsilon});
    for (Offset k = weights.offsets[row]; k < weights.offsets[std::size_t{row} + 1] && factor != 0; ++k) {
      const auto value = static_cast<float>(weights.entry_value(k) * factor);
      if (!std::isnormal(value)) return std::nullopt;
      indices.push_back(weights.indices[k]);
      values.push_back(value);
    }
    offsets.push_back(indices.size());
    const double before = bias.empty() ? 0 : bias[row];
    shifts.push_back(static_cast<float>((before - norm.mean[row]) * factor + norm.shift[row]));
    if (!std::isfinite(shifts.back())) return std::nullopt;
  }
  return Sums{make_csr(weights.rows, weights.cols, std::move(offsets), std::move(indices), std::move(values)),
              std::move(shifts)};
}

/// Whether the node could take the batch norm in; its outputs have that many axes.
bool fold_into(Operation& operation, std::size_t axes, const BatchNorm& norm) {
  const auto take = [&](auto& sums) {
    auto folded = normed(sums.weights, sums.bias, norm);
    if (!folded) return false;
    sums.weights = std::move(folded->weights);
    sums.bias = std::move(folded->bias);
    return true;
  };
  if (auto* const convolution = std::get_if<Convolution>(&operation)) return take(*convolution);
  // Its outputs are on the last axis, which is the channels' only where there are two.
  auto* const linear = std::get_if<Linear>(&operation);
  return linear != nullptr && axes == 2 && take(*linear);
}

}  // namespace

Index fold_batch_norm(Model& model) {
  ValueUses uses = uses_of(model);
  std::vector<bool> gone(model.nodes.size());
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    const auto* const norm = std::get_if<BatchNorm>(&model.nodes[n].operation);
    if (norm == nullptr) continue;
    const ValueId between = model.nodes[n].inputs[0];
    const auto maker = uses.maker[between];
    if (!maker || !uses.only_reader(between)) continue;
    if (!fold_into(model.nodes[*maker].operation, model.values[between].shape.size(), *norm)) continue;
    model.nodes[*maker].output = model.nodes[n].output;
    uses.maker[model.nodes[n].output] = maker;
    gone[n] = true;
  }
  std::vector<Node> kept;
  for (std::size_t n = 0; n < model.nodes.size(); ++n)
    if (!gone[n]) kept.push_back(std::move(model.nodes[n]));
  const auto folded = static_cast<Index>(model.nodes.size() - kept.size());
  model.nodes = std::move(kept);
  if (folded > 0) remove_unread(model);
  return folded;
}

}  // namespace spdnn
