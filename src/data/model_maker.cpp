#include "data/model_maker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/graph/node_text.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// The purposes of random sequences; see also pruned_matrix.cpp.
enum : std::uint64_t { kNumbers = 32, kShapes };

}  // namespace

ModelMaker::ModelMaker(const ModelFamilyOptions& options, std::string name, const Shape& image) : options_(options) {
  model_.name = std::move(name);
  Shape shape{kBatchExtent};
  shape.insert(shape.end(), image.begin(), image.end());
  model_.values.push_back({"input", std::move(shape), std::nullopt});
  model_.inputs.push_back(0);
}

ValueId ModelMaker::add(const std::string& name, Operation operation, const std::vector<ValueId>& inputs) {
  std::vector<Shape> shapes;
  shapes.reserve(inputs.size());
  for (const ValueId input : inputs) shapes.push_back(shape(input));
  const auto id = static_cast<ValueId>(model_.values.size());
  model_.nodes.push_back({name, std::move(operation), inputs, id});
  try {
    model_.values.push_back({name, output_shape(model_.nodes.back().operation, shapes), std::nullopt});
  } catch (const UsageError& error) {
    throw UsageError("shape", fmt::format("images of {} do not fit {}: {}: {}", shape_text(shape(input())), model_.name,
                                          node_text(model_, model_.nodes.size() - 1), error.what()));
  }
  return id;
}

ValueId ModelMaker::constant(const std::string& name, const Shape& shape, double low, double high) {
  const auto id = static_cast<ValueId>(model_.values.size());
  model_.values.push_back({name, shape, Tensor{shape, numbers(*elements(shape), low, high)}});
  return id;
}

ValueId ModelMaker::convolution(const std::string& name, ValueId x, Index filters, const Window& window, Index groups,
                                bool with_bias) {
  const Index read = channels(x) / groups;
  const bool depthwise = groups > 1 && read == 1;
  Convolution made;
  made.weights = weights(name, filters, Offset{read} * window.kernel[0] * window.kernel[1], depthwise);
  if (with_bias) made.bias = numbers(filters, -0.1, 0.1);
  made.groups = groups;
  made.window = window;
  return add(name, std::move(made), {x});
}

ValueId ModelMaker::linear(const std::string& name, ValueId x, Index outputs) {
  Linear made{weights(name, outputs, static_cast<Offset>(shape(x).back()), false), numbers(outputs, -0.1, 0.1)};
  return add(name, std::move(made), {x});
}

ValueId ModelMaker::batch_norm(const std::string& name, ValueId x, double scale) {
  const Index size = channels(x);
  BatchNorm made{.scale = numbers(size, 0.75 * scale, 1.25 * scale),
                 .shift = numbers(size, -0.25 * scale, 0.25 * scale),
                 .mean = numbers(size, -0.25, 0.25),
                 .variance = numbers(size, 0.75, 1.25)};
  return add(name, std::move(made), {x});
}

ValueId ModelMaker::activation(const std::string& name, ValueId x, Activation::Kind kind, float alpha, float beta) {
  return add(name, Activation{.kind = kind, .alpha = alpha, .beta = beta}, {x});
}

ValueId ModelMaker::flatten(const std::string& name, ValueId x) {
  return add(name, Reshape{{kBatchExtent, static_cast<Extent>(*elements(with_batch(shape(x), 1)))}}, {x});
}

std::vector<float> ModelMaker::numbers(std::size_t count, double low, double high) {
  RandomStream stream(options_.seed, kNumbers, lists_++);
  std::vector<float> made(count);
  // The step has 24 bits, so products are exact and fused multiply-add changes nothing.
  const double step = static_cast<double>(static_cast<float>(high - low)) * 0x1p-24;
  for (float& number : made) number = static_cast<float>(low + static_cast<double>(stream.next() >> 40U) * step);
  return made;
}

RandomStream ModelMaker::stream() const { return {options_.seed, kShapes, 0}; }

Model ModelMaker::take(ValueId output) {
  if (options_.sparsity.size() > 1 && options_.sparsity.size() != layers_)
    throw UsageError("sparsity", fmt::format("{} numbers for the {} layers of {}, expected one or {}",
                                             options_.sparsity.size(), layers_, options_.family, layers_));
  model_.outputs = {output};
  return std::move(model_);
}

double ModelMaker::sparsity(bool dense_unless_asked) const {
  if (options_.sparsity.size() > 1)
    return options_.sparsity[std::min<std::size_t>(layers_, options_.sparsity.size() - 1)];
  return layers_ == 0 || dense_unless_asked ? 0 : options_.sparsity[0];
}

CsrMatrix ModelMaker::weights(const std::string& name, Offset rows, Offset cols, bool dense_unless_asked) {
  if (rows > kMaxIndex || cols > kMaxIndex)
    throw UsageError(
        "shape", fmt::format("layer {} would have {} x {} weights, expected at most 2^31-1 of each", name, rows, cols));
  const double zeros = sparsity(dense_unless_asked);
  return make_pruned_matrix({.rows = static_cast<Index>(rows),
                             .cols = static_cast<Index>(cols),
                             .sparsity = zeros,
                             .law = options_.rows,
                             .seed = options_.seed,
                             .layer = layers_++});
}

Window square_window(Index kernel, Index stride) {
  const Index pad = kernel / 2;
  return {.kernel = {kernel, kernel}, .stride = {stride, stride}, .pad_begin = {pad, pad}, .pad_end = {pad, pad}};
}

}  // namespace spdnn
