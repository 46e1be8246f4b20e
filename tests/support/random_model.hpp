#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/models.hpp"

namespace spdnn::testing {

/// Models of `nodes` operations drawn at random, each reading values drawn from all that there are: many branches, so
/// that values live for long and short times, and several outputs.
class RandomModel {
 public:
  explicit RandomModel(std::uint32_t seed) : dice_(seed) {}

  ModelCase make(std::size_t nodes, Extent batch) {
    const Shape input{kBatchExtent, Extent{dice_.below(5)} + 1, Extent{dice_.below(6)} + 6, Extent{dice_.below(6)} + 6};
    values_ = {{builder_.input(input), input}};
    for (std::size_t i = 0; i < nodes; ++i) add_one();
    std::vector<ValueId> outputs;
    for (const std::size_t back : {std::size_t{1}, std::size_t{2}, values_.size() / 2})
      outputs.push_back(values_[values_.size() - std::min(back, values_.size() - 1)].first);
    outputs.push_back(builder_.add(GlobalPool{}, {values_[values_.size() / 2].first}));
    outputs.erase(outputs.begin() + 1 + static_cast<long>(outputs[0] == outputs[1]));
    return {"random_model", builder_.finish(outputs), {random_tensor(dice_, with_batch(input, batch), 0.8)}};
  }

 private:
  using Typed = std::pair<ValueId, Shape>;

  Typed any() { return values_[values_.size() - 1 - std::min<std::size_t>(dice_.below(6), values_.size() - 1)]; }
  void add(Operation operation, const std::vector<ValueId>& inputs, Shape shape) {
    values_.emplace_back(builder_.add(std::move(operation), inputs), std::move(shape));
  }
  Activation activation() {
    using Kind = Activation::Kind;
    switch (dice_.below(8)) {
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
    const Index groups = dice_.below(3) == 0 ? channels : 1;
    const Index filters = groups == 1 ? static_cast<Index>(dice_.below(20)) + 1 : channels;
    const Index size = dice_.below(2) == 0 ? 1 : 3;
    Shape shape = x.second;
    shape[1] = filters;
    add(random_convolution(dice_, channels, filters, same_window(size, size), 0.3, groups, dice_.below(2) == 0),
        {x.first}, shape);
  }

  void add_one() {
    const Typed x = any();
    Shape shape = x.second;
    switch (dice_.below(10)) {
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
        return add(Elementwise{dice_.below(2) == 0 ? Elementwise::Kind::add : Elementwise::Kind::subtract},
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
        return add(random_norm(dice_, static_cast<Index>(shape[1])), {x.first}, shape);
      default:
        return add(Pool{dice_.below(2) == 0 ? Pool::Kind::max : Pool::Kind::average, same_window(3, 3)}, {x.first},
                   shape);
    }
  }

  Dice dice_;
  ModelBuilder builder_;
  std::vector<Typed> values_;  ///< all of one H and W
};

}  // namespace spdnn::testing
