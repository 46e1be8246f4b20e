#include "data/random_model.hpp"

#include "data/counter_random.hpp"

namespace spdnn {

namespace {

using Of = Elementwise::Kind;

/// H and W of a value.
std::array<Extent, 2> size_of(const ModelMaker& maker, ValueId x) { return {maker.shape(x)[2], maker.shape(x)[3]}; }

class Maker {
 public:
  explicit Maker(ModelMaker& maker) : maker_(maker), dice_(maker.stream()) {}

  ValueId make(Index classes) {
    ValueId x = stem();
    x = branches(x);
    x = gate(x);
    x = arithmetic(x);
    x = pools(x);
    x = resizes(x);
    return head(x, classes);
  }

 private:
  Index odd() { return 1 + 2 * dice_.below(3); }
  Index even(Index least) { return least + 2 * dice_.below(4); }

  ValueId stem() {
    const ValueId x = maker_.add("pad", Pad{{0, 0, 1, 0}, {0, 0, 0, 2}, 0.25F}, {maker_.input()});
    Window window = square_window(3);
    window.kernel = {odd(), odd()};
    window.pad_begin = {window.kernel[0] / 2, window.kernel[1] - 1};
    window.pad_end = {window.kernel[0] / 2, 0};
    const ValueId sums = maker_.convolution("stem", x, even(4), window);
    Activation prelu;
    prelu.kind = Activation::Kind::prelu;
    prelu.alphas = maker_.numbers(maker_.channels(sums), -0.25, 0.5);
    return maker_.add("prelu", std::move(prelu), {maker_.batch_norm("norm", sums)});
  }

  ValueId branches(ValueId x) {
    const Index channels = maker_.channels(x);
    Window dilated = square_window(3);
    dilated.dilation = {2, 2};
    dilated.pad_begin = dilated.pad_end = {2, 2};
    const ValueId depthwise = maker_.convolution("depthwise", x, channels, dilated, channels);
    Activation clip;
    clip.kind = Activation::Kind::clip;
    clip.low = -1;
    clip.high = 6;
    const ValueId clipped = maker_.add("clip", clip, {depthwise});
    const ValueId sum = maker_.add("add", Elementwise{Of::add}, {clipped, x});
    const ValueId grouped = maker_.convolution("grouped", x, channels, square_window(odd()), 2, true);
    return maker_.add("concat", Concat{1}, {maker_.relu("relu", grouped), sum});
  }

  /// A squeeze-and-excite gate.
  ValueId gate(ValueId x) {
    const ValueId mean = maker_.add("mean", GlobalPool{}, {x});
    const ValueId squeezed =
        maker_.activation("swish", maker_.convolution("squeeze", mean, even(2), {}), Activation::Kind::hard_swish);
    const ValueId excited = maker_.convolution("excite", squeezed, maker_.channels(x), {}, 1, true);
    const ValueId gate = maker_.activation("gate", excited, Activation::Kind::hard_sigmoid, 0.2F, 0.5F);
    return maker_.add("gated", Elementwise{Of::multiply}, {x, gate});
  }

  ValueId arithmetic(ValueId x) {
    const ValueId offset = maker_.constant("offset", {maker_.channels(x), 1, 1}, -0.5, 0.5);
    const ValueId shifted = maker_.add("subtract", Elementwise{Of::subtract}, {x, offset});
    const ValueId scaled =
        maker_.add("divide", Elementwise{Of::divide}, {shifted, maker_.constant("scale", {}, 0.5, 2)});
    const ValueId leaky = maker_.activation("leaky", scaled, Activation::Kind::leaky_relu, 0.125F);
    return maker_.activation("identity", leaky, Activation::Kind::identity);
  }

  ValueId pools(ValueId x) {
    const ValueId most =
        maker_.add("most", Pool{.window = {.kernel = {2, 2}, .stride = {2, 2}}, .round_up = true}, {x});
    const ValueId turned =
        maker_.add("transpose", Transpose{{0, 1, 3, 2}}, {maker_.activation("tanh", most, Activation::Kind::tanh)});
    Pool mean{Pool::Kind::average, square_window(3)};
    mean.count_padding = dice_.below(2) == 0;
    return maker_.add("around", mean, {turned});
  }

  ValueId resizes(ValueId x) {
    const std::array<Extent, 2> size = size_of(maker_, x);
    Resize nearest{.size = {2 * size[0], 2 * size[1]}, .scale = {2, 2}};
    const ValueId doubled = maker_.add("nearest", nearest, {x});
    Resize linear;
    linear.kind = Resize::Kind::linear;
    linear.place = Resize::Place::half_pixel;
    linear.size = {size[0] + 1, size[1]};
    linear.scale = {static_cast<float>(linear.size[0]) / static_cast<float>(nearest.size[0]), 0.5F};
    return maker_.activation("sigmoid", maker_.add("linear", linear, {doubled}), Activation::Kind::sigmoid);
  }

  ValueId head(ValueId x, Index classes) {
    const ValueId pooled = maker_.add("largest", GlobalPool{Pool::Kind::max}, {x});
    const ValueId logits = maker_.linear("fc", maker_.flatten("flatten", pooled), classes);
    return maker_.add("softmax", Softmax{1}, {logits});
  }

  ModelMaker& maker_;
  RandomStream dice_;
};

}  // namespace

ValueId random_model(ModelMaker& maker, Index classes) { return Maker(maker).make(classes); }

}  // namespace spdnn
