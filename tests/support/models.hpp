#pragma once

#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "spdnn/model.hpp"
#include "support/networks.hpp"

namespace spdnn::testing {

inline constexpr Extent kN = kBatchExtent;  ///< the number of images, in shapes

/// Makes a model node by node.
class ModelBuilder {
 public:
  ValueId input(Shape shape) {
    model_.inputs.push_back(value("input" + std::to_string(model_.inputs.size()), std::move(shape)));
    return model_.inputs.back();
  }
  ValueId constant(Tensor tensor) {
    const ValueId id = value("constant" + std::to_string(model_.values.size()), tensor.shape);
    model_.values[id].constant = std::move(tensor);
    return id;
  }
  ValueId add(Operation operation, std::vector<ValueId> inputs) {
    const ValueId id = value("value" + std::to_string(model_.values.size()), {});
    std::string name = "node" + std::to_string(model_.nodes.size());
    model_.nodes.push_back({std::move(name), std::move(operation), std::move(inputs), id});
    return id;
  }
  /// The model with its shapes, checked.
  Model finish(std::vector<ValueId> outputs) {
    Model model = std::move(model_);
    model.outputs = std::move(outputs);
    infer_shapes(model);
    model.validate();
    return model;
  }

 private:
  ValueId value(std::string name, Shape shape) {
    model_.values.push_back({std::move(name), std::move(shape), std::nullopt});
    return static_cast<ValueId>(model_.values.size() - 1);
  }

  Model model_;
};

inline Tensor make_tensor(Shape shape, std::vector<float> values) { return {std::move(shape), std::move(values)}; }

/// Values in (-1, 1), of which a part `density` is not zero.
inline Tensor random_tensor(Rng& rng, const Shape& shape, double density = 1) {
  std::vector<float> values(*elements(shape));
  for (float& value : values)
    if (rng.real(0, 1) < density) value = static_cast<float>(rng.real(-1, 1));
  return make_tensor(shape, std::move(values));
}

inline std::vector<float> random_values(Rng& rng, std::size_t count, double low, double high) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(rng.real(low, high));
  return values;
}

/// Rows of weights in (-1, 1); a part `density` of them is stored.
inline CsrMatrix random_weights(Rng& rng, Index rows, Index cols, double density) {
  Rows terms(rows);
  for (auto& row : terms)
    for (Index column = 0; column < cols; ++column)
      if (rng.real(0, 1) < density)
        row.emplace_back(column, static_cast<float>(rng.real(0.01, 1)) * (rng.below(2) == 0 ? 1.F : -1.F));
  return make_matrix(cols, terms);
}

inline Convolution random_convolution(Rng& rng, Index channels, Index filters, Window window, double density,
                                      Index groups = 1, bool with_bias = true) {
  Convolution convolution;
  convolution.weights = random_weights(rng, filters, channels / groups * window.kernel[0] * window.kernel[1], density);
  if (with_bias) convolution.bias = random_values(rng, filters, -1, 1);
  convolution.groups = groups;
  convolution.window = window;
  return convolution;
}

inline Linear random_linear(Rng& rng, Index inputs, Index outputs, double density) {
  return {random_weights(rng, outputs, inputs, density), random_values(rng, outputs, -1, 1)};
}

inline BatchNorm random_norm(Rng& rng, Index channels) {
  return {random_values(rng, channels, -2, 2), random_values(rng, channels, -1, 1), random_values(rng, channels, -1, 1),
          random_values(rng, channels, 0.001, 2), 1e-3F};
}

/// A window of that kernel with stride 1 and, on each side, the padding that keeps H and W (odd kernels).
inline Window same_window(Index height, Index width) {
  Window window;
  window.kernel = {height, width};
  window.pad_begin = {height / 2, width / 2};
  window.pad_end = {height / 2, width / 2};
  return window;
}

inline Activation make_activation(Activation::Kind kind, float alpha = 0, float beta = 0) {
  Activation activation;
  activation.kind = kind;
  activation.alpha = alpha;
  activation.beta = beta;
  return activation;
}
inline Activation make_clip(float low, float high) {
  Activation activation = make_activation(Activation::Kind::clip);
  activation.low = low;
  activation.high = high;
  return activation;
}

struct ModelCase {
  std::string name;
  Model model;
  std::vector<Tensor> inputs;
};

inline ModelCase convolution_case(std::string name, Convolution convolution, const Shape& shape, Tensor images) {
  ModelBuilder builder;
  Shape input = shape;
  input[0] = kBatchExtent;
  const ValueId x = builder.input(input);
  const ValueId y = builder.add(std::move(convolution), {x});
  return {std::move(name), builder.finish({y}), {std::move(images)}};
}

/// One difficulty each, on which every engine is compared with the oracle: models of one convolution.
inline std::vector<ModelCase> convolution_battery() {
  Rng rng(17);
  std::vector<ModelCase> cases;
  const auto add = [&](const std::string& name, Shape shape, Index filters, const Window& window, double density = 0.3,
                       Index groups = 1) {
    const auto channels = static_cast<Index>(shape[1]);
    Convolution convolution = random_convolution(rng, channels, filters, window, density, groups);
    Tensor images = random_tensor(rng, shape, 0.8);
    cases.push_back(convolution_case(name, std::move(convolution), shape, std::move(images)));
  };
  for (const Index size : {1U, 3U, 5U, 7U})
    add("kernel_" + std::to_string(size), {2, 4, 9, 11}, 6, same_window(size, size));
  add("kernel_1x5", {2, 4, 6, 9}, 5, same_window(1, 5));
  add("kernel_5x1", {2, 4, 6, 9}, 5, same_window(5, 1));
  for (const Index stride : {2U, 3U}) {
    Window window = same_window(3, 3);
    window.stride = {stride, stride};
    add("stride_" + std::to_string(stride), {2, 3, 11, 10}, 7, window);
  }
  Window uneven{.kernel = {3, 2}, .stride = {2, 1}, .pad_begin = {0, 1}, .pad_end = {2, 0}};
  add("asymmetric_padding", {2, 3, 8, 7}, 4, uneven);
  uneven = {.kernel = {3, 3}, .stride = {1, 2}, .dilation = {2, 3}, .pad_begin = {2, 3}, .pad_end = {1, 3}};
  add("dilation", {2, 3, 9, 12}, 4, uneven);
  add("groups", {2, 6, 7, 7}, 9, same_window(3, 3), 0.4, 3);
  add("depthwise", {2, 8, 9, 8}, 8, same_window(3, 3), 0.6, 8);
  add("depthwise_doubled", {1, 5, 6, 6}, 10, same_window(3, 3), 0.6, 5);
  add("smaller_than_filter", {2, 3, 2, 1}, 4, same_window(5, 5), 0.5);
  add("sequence", {3, 5, 20}, 6, {.kernel = {1, 4}, .stride = {1, 2}, .pad_begin = {0, 1}, .pad_end = {0, 2}}, 0.4);
  for (const Index channels : {1U, 3U, 31U, 32U, 33U, 130U}) {
    add("channels_" + std::to_string(channels), {1, channels, 4, 5}, 3, same_window(3, 3), 0.2);
    add("filters_" + std::to_string(channels), {1, 3, 4, 5}, channels, same_window(3, 3), 0.2);
  }
  for (const Extent batch : {1, 7, 8, 33})
    add("batch_" + std::to_string(batch), {batch, 3, 5, 5}, 4, same_window(3, 3));
  add("dense", {2, 5, 6, 6}, 5, same_window(3, 3), 1);
  add("no_weights", {2, 3, 5, 5}, 4, same_window(3, 3), 0);

  Rows rows(5);
  for (Index column = 0; column < 27; ++column) rows[2].emplace_back(column, 0.25F + static_cast<float>(column) / 16);
  rows[4].emplace_back(13, -1.5F);
  Convolution heavy;
  heavy.window = same_window(3, 3);
  heavy.weights = make_matrix(27, rows);
  cases.push_back(convolution_case("one_heavy_filter", heavy, {2, 3, 5, 5}, random_tensor(rng, {2, 3, 5, 5})));
  cases.push_back(convolution_case("zero_input", heavy, {2, 3, 5, 5}, random_tensor(rng, {2, 3, 5, 5}, 0)));
  heavy.weights = make_matrix(27, rows, true);
  cases.push_back(convolution_case("one_weight", heavy, {2, 3, 5, 5}, random_tensor(rng, {2, 3, 5, 5})));

  // Groups of at least 16 filters.
  add("groups_of_many_filters", {2, 6, 7, 7}, 34, same_window(3, 3), 0.4, 2);
  uneven = {.kernel = {3, 2}, .stride = {2, 1}, .pad_begin = {0, 1}, .pad_end = {2, 0}};
  add("odd_groups", {33, 15, 6, 8}, 57, uneven, 0.3, 3);
  add("depthwise_multiplied", {2, 3, 6, 6}, 51, same_window(3, 3), 0.5, 3);
  Rows grouped(48);  // a group without weights between others of which one has a filter with some
  for (Index column = 0; column < 18; ++column) grouped[3].emplace_back(column, 0.5F - static_cast<float>(column) / 7);
  for (Index filter = 32; filter < 48; filter += 3) grouped[filter].emplace_back(filter % 18, 0.75F);
  Convolution empty;
  empty.window = same_window(3, 3);
  empty.groups = 3;
  empty.weights = make_matrix(18, grouped);
  empty.bias = random_values(rng, 48, -1, 1);
  cases.push_back(convolution_case("group_without_weights", empty, {2, 6, 5, 5}, random_tensor(rng, {2, 6, 5, 5})));

  const Window far{.kernel = {1, 1}, .stride = {2, 3}};
  add("one_pixel", {130, 20, 1, 1}, 35, far);
  add("groups_of_one_pixel", {33, 12, 1, 1}, 34, far, 0.4, 2);
  return cases;
}

/// A small network with the parts of pruned CNNs: batch norms, a shortcut, a depthwise layer, pools and a classifier.
/// `density` is that of the weights.
inline ModelCase small_network(std::uint32_t seed, double density, Extent batch = 3) {
  Rng rng(seed);
  ModelBuilder builder;
  const Shape shape{batch, 3, 12, 10};
  const ValueId x = builder.input(with_batch({kBatchExtent, 3, 12, 10}, kBatchExtent));
  const auto relu = [&](ValueId value) { return builder.add(Activation{}, {value}); };
  const auto convolved = [&](ValueId value, Index channels, Index filters, const Window& window, Index groups = 1) {
    return builder.add(random_convolution(rng, channels, filters, window, density, groups, rng.below(2) == 0), {value});
  };
  const auto normed = [&](ValueId value, Index channels) { return builder.add(random_norm(rng, channels), {value}); };
  Window halving = same_window(3, 3);
  halving.stride = {2, 2};
  const ValueId stem = relu(normed(convolved(x, 3, 8, same_window(3, 3)), 8));
  const ValueId pooled = builder.add(Pool{.window = {.kernel = {2, 2}, .stride = {2, 2}}, .round_up = true}, {stem});
  const ValueId branch = normed(convolved(pooled, 8, 8, same_window(3, 3), 8), 8);
  const ValueId joined = builder.add(Elementwise{}, {branch, pooled});
  const ValueId swished = builder.add(make_activation(Activation::Kind::hard_swish), {joined});
  const ValueId wide = relu(normed(convolved(swished, 8, 16, halving), 16));
  const ValueId pointwise = convolved(wide, 16, 12, {});
  const ValueId clipped = builder.add(make_clip(0, 6), {pointwise});
  const ValueId mean = builder.add(GlobalPool{}, {clipped});
  const ValueId flat = builder.add(Reshape{{kBatchExtent, 12}}, {mean});
  const ValueId logits = builder.add(random_linear(rng, 12, 5, density), {flat});
  const ValueId scores = builder.add(Softmax{}, {logits});
  return {"small_network_" + std::to_string(seed), builder.finish({logits, scores}), {random_tensor(rng, shape)}};
}

/// Models of `nodes` random operations, each on random earlier values: many branches, values with long and short
/// lifetimes, and several outputs.
class RandomModel {
 public:
  explicit RandomModel(std::uint32_t seed) : rng_(seed) {}

  ModelCase make(std::size_t nodes, Extent batch) {
    const Shape input{kBatchExtent, Extent{rng_.below(5)} + 1, Extent{rng_.below(6)} + 6, Extent{rng_.below(6)} + 6};
    values_ = {{builder_.input(input), input}};
    for (std::size_t i = 0; i < nodes; ++i) add_one();
    std::vector<ValueId> outputs;
    for (const std::size_t back : {std::size_t{1}, std::size_t{2}, values_.size() / 2})
      outputs.push_back(values_[values_.size() - std::min(back, values_.size() - 1)].first);
    outputs.push_back(builder_.add(GlobalPool{}, {values_[values_.size() / 2].first}));
    outputs.erase(outputs.begin() + 1 + static_cast<long>(outputs[0] == outputs[1]));
    return {"random_model", builder_.finish(outputs), {random_tensor(rng_, with_batch(input, batch), 0.8)}};
  }

 private:
  using Typed = std::pair<ValueId, Shape>;

  Typed any() { return values_[values_.size() - 1 - std::min<std::size_t>(rng_.below(6), values_.size() - 1)]; }
  void add(Operation operation, const std::vector<ValueId>& inputs, Shape shape) {
    values_.emplace_back(builder_.add(std::move(operation), inputs), std::move(shape));
  }
  Activation activation() {
    using Kind = Activation::Kind;
    switch (rng_.below(8)) {
      case 0:
        return make_clip(-0.5F, 0.75F);
      case 1:
        return make_activation(Kind::leaky_relu, 0.25F);
      case 2:
        return make_activation(Kind::hard_swish);
      case 3:
        return make_activation(Kind::sigmoid);
      case 4:
        return make_activation(Kind::tanh);
      case 5:
        return make_activation(Kind::hard_sigmoid, 0.2F, 0.5F);
      default:
        return make_activation(Kind::relu);
    }
  }

  void add_convolution(const Typed& x) {
    const auto channels = static_cast<Index>(x.second[1]);
    const Index groups = rng_.below(3) == 0 ? channels : 1;
    const Index filters = groups == 1 ? static_cast<Index>(rng_.below(20)) + 1 : channels;
    const Index size = rng_.below(2) == 0 ? 1 : 3;
    Shape shape = x.second;
    shape[1] = filters;
    add(random_convolution(rng_, channels, filters, same_window(size, size), 0.3, groups, rng_.below(2) == 0),
        {x.first}, shape);
  }

  void add_one() {
    const Typed x = any();
    Shape shape = x.second;
    switch (rng_.below(10)) {
      case 0:
      case 1:
      case 2:
        return add_convolution(x);
      case 3:
      case 4:
        return add(activation(), {x.first}, shape);
      case 5: {
        const Typed y = any();
        if (y.second != shape) return add(activation(), {x.first}, shape);
        return add(Elementwise{rng_.below(2) == 0 ? Elementwise::Kind::add : Elementwise::Kind::subtract},
                   {x.first, y.first}, shape);
      }
      case 6: {  // squeeze and excite
        const ValueId mean = builder_.add(GlobalPool{}, {x.first});
        const ValueId gate = builder_.add(make_activation(Activation::Kind::sigmoid), {mean});
        return add(Elementwise{Elementwise::Kind::multiply}, {x.first, gate}, shape);
      }
      case 7: {
        const Typed y = any();
        shape[1] += y.second[1];
        return add(Concat{}, {x.first, y.first}, shape);
      }
      case 8:
        return add(random_norm(rng_, static_cast<Index>(shape[1])), {x.first}, shape);
      default:
        return add(Pool{rng_.below(2) == 0 ? Pool::Kind::max : Pool::Kind::average, same_window(3, 3)}, {x.first},
                   shape);
    }
  }

  Rng rng_;
  ModelBuilder builder_;
  std::vector<Typed> values_;  ///< all with the same H and W
};

}  // namespace spdnn::testing
