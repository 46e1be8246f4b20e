#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "support/models.hpp"

namespace spdnn::testing {

/// Random models with cases for exact rewrites and cases that must stop them: filters without weights, twins, channels
/// that nothing reads, and between them operations that keep channels apart or mix them. Parameters are drawn from few
/// numbers, so that those of some channels are equal and those of others are not.
class RewriteModel {
 public:
  explicit RewriteModel(std::uint32_t seed) : rng_(seed) {}

  ModelCase make() {
    const Extent batch = one_in(3) ? 2 : kBatchExtent;
    const Shape input{batch, 1 + below(3), 3 + below(3), 3 + below(3)};
    set(builder_.input(input), input);
    const int makers = 2 + static_cast<int>(below(3));
    for (int maker = 0; maker < makers; ++maker) {
      add_maker();
      for (Extent more = below(4); more > 0; --more) add_between();
      if (one_in(3)) kept_.emplace_back(value_, shape_);
    }
    add_maker();
    std::vector<ValueId> outputs{value_};
    if (!kept_.empty() && one_in(5) && kept_.front().first != value_) outputs.push_back(kept_.front().first);
    return {"rewritten", builder_.finish(outputs), {random_tensor(rng_, with_batch(input, 2))}};
  }

 private:
  Extent below(Index limit) { return rng_.below(limit); }
  bool one_in(Index times) { return rng_.below(times) == 0; }
  Index channels() const { return static_cast<Index>(shape_[1]); }

  void set(ValueId value, Shape shape) {
    value_ = value;
    shape_ = std::move(shape);
  }
  /// Applies the operation to the current value; the result becomes the current value.
  void add(Operation operation) {
    Shape shape = output_shape(operation, {shape_});
    set(builder_.add(std::move(operation), {value_}), std::move(shape));
  }

  /// One of two numbers for each channel, or the same for all.
  std::vector<float> few_numbers(Index count, float one, float other) {
    std::vector<float> numbers(count, one);
    if (!one_in(3))
      for (float& number : numbers)
        if (one_in(3)) number = other;
    return numbers;
  }

  /// Some rows have no weights, some are equal, and some columns are empty.
  CsrMatrix weights(Index rows, Index cols, Index columns_of_channel) {
    Rows drawn(rows);
    std::vector<bool> unread(cols / columns_of_channel);
    for (std::size_t channel = 0; channel < unread.size(); ++channel) unread[channel] = one_in(5);
    for (auto& row : drawn)
      for (Index column = 0; column < cols; ++column)
        if (!unread[column / columns_of_channel] && one_in(2))
          row.emplace_back(column, static_cast<float>(rng_.real(0.25, 1)) * (one_in(2) ? 1.F : -1.F));
    for (Index row = 0; row < rows; ++row) {
      if (one_in(4)) drawn[row].clear();
      if (row > 0 && one_in(3)) drawn[row] = drawn[rng_.below(row)];
    }
    return make_matrix(cols, drawn);
  }
  std::vector<float> bias(Index rows) { return one_in(3) ? std::vector<float>{} : few_numbers(rows, 0.5F, -0.75F); }

  Window window() {
    const Index size = one_in(2) ? 1 : 3;
    Window drawn{.kernel = {size, size}};
    if (size > 1 && (one_in(2) || shape_[2] < size || shape_[3] < size)) drawn = same_window(size, size);
    return drawn;
  }

  void add_maker() {
    if (shape_.size() == 4 && !one_in(4)) return add_convolution();
    if (shape_.size() == 4 && !one_in(4)) flatten();
    const auto inputs = static_cast<Index>(shape_.back());
    const Index outputs = 2 + rng_.below(5);
    add(Linear{weights(outputs, inputs, 1), bias(outputs)});
  }

  void add_convolution() {
    const Index groups = channels() % 2 == 0 && one_in(5) ? 2 : 1;
    const Index filters = groups * (2 + rng_.below(3));
    Convolution convolution;
    convolution.window = window();
    const Index taps = convolution.window.kernel[0] * convolution.window.kernel[1];
    convolution.weights = weights(filters, channels() / groups * taps, taps);
    convolution.bias = bias(filters);
    convolution.groups = groups;
    add(convolution);
  }

  void add_depthwise() {
    Convolution convolution;
    convolution.window = window();
    convolution.groups = channels();
    const Index taps = convolution.window.kernel[0] * convolution.window.kernel[1];
    convolution.weights = weights(channels(), taps, taps);
    convolution.bias = bias(channels());
    add(convolution);
  }

  void add_pool() {
    Pool pool;
    pool.kind = one_in(2) ? Pool::Kind::max : Pool::Kind::average;
    pool.window = same_window(3, 3);
    if (one_in(2) && shape_[2] >= 2 && shape_[3] >= 2) pool.window = {.kernel = {2, 2}, .stride = {1, 1}};
    pool.count_padding = one_in(2);
    add(pool);
  }

  void add_activation() {
    using Kind = Activation::Kind;
    Activation activation;
    switch (rng_.below(6)) {
      case 0:
        activation = make_clip(-0.5F, 0.75F);
        break;
      case 1:
        activation = make_activation(Kind::leaky_relu, 0.25F);
        break;
      case 2:
        activation = make_activation(Kind::sigmoid);
        break;
      case 3:
        break;
      default:
        activation = make_activation(Kind::prelu);
        activation.alphas = few_numbers(one_in(4) ? 1 : channels(), 0.25F, -0.5F);
    }
    add(activation);
  }

  void add_norm() {
    const Index count = channels();
    add(BatchNorm{few_numbers(count, 0.75F, -1.25F), few_numbers(count, 0.5F, 0), few_numbers(count, 0, -0.25F),
                  few_numbers(count, 1, 0.5F), 1e-3F});
  }

  /// A constant of one number, of one for each channel, or along another axis.
  void add_constant() {
    Shape shape(shape_.size(), 1);
    const Index axis = rng_.below(static_cast<Index>(shape.size()));
    if (axis > 0) shape[axis] = shape_[axis];
    if (axis == 1 && one_in(2)) shape.erase(shape.begin());
    const auto count = static_cast<Index>(*elements(shape));
    const ValueId constant = builder_.constant(make_tensor(shape, few_numbers(count, 0.75F, -0.5F)));
    constexpr Elementwise::Kind kKinds[] = {Elementwise::Kind::add, Elementwise::Kind::subtract,
                                            Elementwise::Kind::multiply, Elementwise::Kind::divide};
    const Elementwise::Kind kind = kKinds[rng_.below(4)];
    const bool swap = kind != Elementwise::Kind::divide && one_in(2);
    value_ = builder_.add(Elementwise{kind}, swap ? std::vector{constant, value_} : std::vector{value_, constant});
  }

  void flatten() {
    Extent elements_of_image = 1;
    for (std::size_t axis = 1; axis < shape_.size(); ++axis) elements_of_image *= shape_[axis];
    add(Reshape{{shape_[0], elements_of_image}});
  }

  /// The same elements along other axes; a fixed batch may be mixed with the channels.
  void add_reshape() {
    const Extent batch = shape_[0];
    if (shape_.size() == 2) {
      if (shape_[1] % 2 == 0 && one_in(2)) return add(Reshape{{batch, shape_[1] / 2, 2, 1}});
      if (batch == 2 && shape_[1] % 2 == 0) return add(Reshape{{2 * batch, shape_[1] / 2}});
      return add(Reshape{{batch, shape_[1], 1, 1}});
    }
    const Extent pixels = shape_[2] * shape_[3];
    if (one_in(3)) return flatten();
    if (batch == 2 && shape_[1] % 2 == 0 && one_in(2))
      return add(Reshape{{2 * batch, shape_[1] / 2, shape_[2], shape_[3]}});
    if (shape_[1] % 2 == 0 && one_in(2)) return add(Reshape{{batch, shape_[1] / 2, 2 * shape_[2], shape_[3]}});
    if (shape_[2] > 1 && one_in(2)) return add(Reshape{{batch, shape_[1] * shape_[2], 1, shape_[3]}});
    add(Reshape{{batch, shape_[1], pixels, 1}});
  }

  void add_transpose() {
    if (shape_.size() != 4) return add_reshape();
    const std::vector<std::vector<Index>> orders{{0, 1, 3, 2}, {0, 2, 1, 3}, {0, 3, 2, 1}};
    add(Transpose{orders[rng_.below(3)]});
  }

  /// With itself, or with an earlier value of the same shape.
  void add_join() {
    for (const auto& [other, shape] : kept_) {
      if (shape != shape_ || other == value_) continue;
      if (one_in(2)) return void(value_ = builder_.add(Elementwise{}, {value_, other}));
      break;
    }
    if (shape_[1] > 6) return add_activation();
    Shape joined = shape_;
    joined[1] *= 2;
    set(builder_.add(Concat{1}, {value_, value_}), joined);
  }

  void add_between() {
    const bool images = shape_.size() == 4;
    switch (rng_.below(9)) {
      case 0:
        return add_activation();
      case 1:
        return add_norm();
      case 2:
        return add_constant();
      case 3:
        return add_reshape();
      case 4:
        return images ? add_depthwise() : add_activation();
      case 5:
        return images ? add_pool() : add_norm();
      case 6:
        return one_in(2) ? add_transpose() : add_join();
      case 7:
        return images && one_in(2) ? add(GlobalPool{one_in(2) ? Pool::Kind::max : Pool::Kind::average})
                                   : add_activation();
      default:
        if (!images) return add_norm();
        add(Resize{.size = {shape_[2] * 2, shape_[3]}, .scale = {2, 1}});
    }
  }

  Rng rng_;
  ModelBuilder builder_;
  ValueId value_ = 0;
  Shape shape_;
  std::vector<std::pair<ValueId, Shape>> kept_;  ///< earlier values that others may read, too
};

}  // namespace spdnn::testing
