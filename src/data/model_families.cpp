#include "data/model_families.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "data/counter_random.hpp"
#include "data/model_maker.hpp"
#include "data/random_model.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

using Name = std::string;

ValueId max_pool(ModelMaker& maker, const Name& name, ValueId x) {
  return maker.add(name, Pool{.window = {.kernel = {2, 2}, .stride = {2, 2}}}, {x});
}

/// A convolution without a bias, a batch norm and a ReLU.
ValueId normed(ModelMaker& maker, const Name& name, ValueId x, Index filters, const Window& window, Index groups = 1) {
  const ValueId sums = maker.convolution(name, x, filters, window, groups);
  return maker.relu(name + ".relu", maker.batch_norm(name + ".bn", sums));
}

/// Global average pooling and one linear node.
ValueId classified(ModelMaker& maker, ValueId x, Index classes) {
  const ValueId mean = maker.add("avgpool", GlobalPool{}, {x});
  return maker.linear("fc", maker.flatten("flatten", mean), classes);
}

ValueId lenet5(ModelMaker& maker, Index classes) {
  const Window window{.kernel = {5, 5}};
  ValueId x = maker.convolution("conv1", maker.input(), 20, window, 1, true);
  x = max_pool(maker, "pool1", maker.relu("relu1", x));
  x = maker.convolution("conv2", x, 50, window, 1, true);
  x = max_pool(maker, "pool2", maker.relu("relu2", x));
  x = maker.linear("fc1", maker.flatten("flatten", x), 500);
  return maker.linear("fc2", maker.relu("relu3", x), classes);
}

/// Blocks of 3x3 convolutions with these numbers of filters, each followed by pooling; 0 ends a block.
ValueId vgg(ModelMaker& maker, std::initializer_list<Index> filters, std::initializer_list<Index> neurons,
            Index classes) {
  ValueId x = maker.input();
  int number = 0;
  int pools = 0;
  for (const Index one : filters) {
    if (one == 0) {
      x = max_pool(maker, fmt::format("pool{}", ++pools), x);
      continue;
    }
    x = maker.convolution(fmt::format("conv{}", ++number), x, one, square_window(3), 1, true);
    x = maker.relu(fmt::format("relu{}", number), x);
  }
  x = maker.flatten("flatten", x);
  int layer = 0;
  for (const Index one : neurons) {
    x = maker.linear(fmt::format("fc{}", ++layer), x, one);
    x = maker.relu(fmt::format("relu{}", ++number), x);
  }
  return maker.linear(fmt::format("fc{}", ++layer), x, classes);
}

ValueId vgg8(ModelMaker& maker, Index classes) {
  return vgg(maker, {64, 64, 0, 128, 128, 0, 256, 256, 0}, {256}, classes);
}

ValueId vgg16(ModelMaker& maker, Index classes) {
  return vgg(maker, {64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0}, {4096, 4096},
             classes);
}

/// Convolutions 1x1, 3x3 with the stride, and 1x1 to four times the width, with a shortcut. The residual branch is
/// scaled down so that activations keep their size over many blocks.
ValueId bottleneck(ModelMaker& maker, const Name& name, ValueId x, Index width, Index stride) {
  constexpr double kScale = 0.25;
  const Index filters = 4 * width;
  ValueId through = normed(maker, name + ".conv1", x, width, {});
  through = normed(maker, name + ".conv2", through, width, square_window(3, stride));
  through = maker.convolution(name + ".conv3", through, filters, {});
  through = maker.batch_norm(name + ".conv3.bn", through, kScale);
  ValueId around = x;
  if (stride != 1 || maker.channels(x) != filters) {
    around = maker.convolution(name + ".downsample", x, filters, {.stride = {stride, stride}});
    around = maker.batch_norm(name + ".downsample.bn", around, 0.75);
  }
  return maker.relu(name + ".relu", maker.add(name + ".add", Elementwise{}, {through, around}));
}

ValueId resnet50(ModelMaker& maker, Index classes) {
  ValueId x = normed(maker, "conv1", maker.input(), 64, square_window(7, 2));
  x = maker.add("maxpool", Pool{.window = square_window(3, 2)}, {x});
  constexpr std::array<int, 4> kBlocks{3, 4, 6, 3};
  for (std::size_t stage = 0; stage < kBlocks.size(); ++stage)
    for (int block = 0; block < kBlocks.at(stage); ++block)
      x = bottleneck(maker, fmt::format("layer{}.{}", stage + 1, block), x, Index{64} << stage,
                     stage > 0 && block == 0 ? 2 : 1);
  return classified(maker, x, classes);
}

ValueId mobilenet(ModelMaker& maker, Index classes) {
  struct Step {
    Index filters;
    Index stride;
  };
  constexpr std::array<Step, 13> kSteps{{{64, 1},
                                         {128, 2},
                                         {128, 1},
                                         {256, 2},
                                         {256, 1},
                                         {512, 2},
                                         {512, 1},
                                         {512, 1},
                                         {512, 1},
                                         {512, 1},
                                         {512, 1},
                                         {1024, 2},
                                         {1024, 1}}};
  ValueId x = normed(maker, "conv0", maker.input(), 32, square_window(3, 2));
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    const Index channels = maker.channels(x);
    x = normed(maker, fmt::format("depthwise{}", i + 1), x, channels, square_window(3, kSteps.at(i).stride), channels);
    x = normed(maker, fmt::format("pointwise{}", i + 1), x, kSteps.at(i).filters, {});
  }
  return classified(maker, x, classes);
}

/// Batch norm and ReLU before the convolution.
ValueId norm_first(ModelMaker& maker, const Name& name, ValueId x, Index filters, const Window& window) {
  const ValueId normed = maker.relu(name + ".relu", maker.batch_norm(name + ".bn", x));
  return maker.convolution(name, normed, filters, window);
}

ValueId densenet(ModelMaker& maker, Index classes) {
  constexpr Index kGrowth = 32;
  constexpr std::array<int, 4> kLayers{6, 12, 24, 16};
  ValueId x = normed(maker, "conv0", maker.input(), 2 * kGrowth, square_window(7, 2));
  x = maker.add("pool0", Pool{.window = square_window(3, 2)}, {x});
  for (std::size_t block = 0; block < kLayers.size(); ++block) {
    for (int layer = 0; layer < kLayers.at(block); ++layer) {
      const Name name = fmt::format("block{}.{}", block + 1, layer + 1);
      const ValueId narrow = norm_first(maker, name + ".conv1", x, 4 * kGrowth, {});
      const ValueId grown = norm_first(maker, name + ".conv2", narrow, kGrowth, square_window(3));
      x = maker.add(name + ".concat", Concat{1}, {x, grown});
    }
    if (block + 1 == kLayers.size()) break;
    const Name name = fmt::format("transition{}", block + 1);
    x = norm_first(maker, name + ".conv", x, maker.channels(x) / 2, {});
    x = maker.add(name + ".pool", Pool{Pool::Kind::average, {.kernel = {2, 2}, .stride = {2, 2}}}, {x});
  }
  x = maker.relu("relu", maker.batch_norm("bn", x));
  return classified(maker, x, classes);
}

struct Family {
  const char* name;
  std::array<Extent, 3> image;
  Index classes;
  ValueId (*make)(ModelMaker& maker, Index classes);
};

constexpr std::array<Family, 7> kFamilies{{{"vgg16", {3, 224, 224}, 1000, vgg16},
                                           {"resnet50", {3, 224, 224}, 1000, resnet50},
                                           {"mobilenet", {3, 224, 224}, 1000, mobilenet},
                                           {"densenet", {3, 224, 224}, 1000, densenet},
                                           {"vgg8", {1, 28, 28}, 10, vgg8},
                                           {"lenet5", {1, 28, 28}, 10, lenet5},
                                           {"random", {3, 12, 10}, 5, random_model}}};

const Family& family_of(const std::string& name) {
  std::string names;
  for (const Family& family : kFamilies) {
    if (name == family.name) return family;
    names += (names.empty() ? "" : ", ") + std::string(family.name);
  }
  throw UsageError("family", fmt::format("'{}' is not a family of models; expected one of {}", name, names));
}

}  // namespace

Model generate_model(const ModelFamilyOptions& options) {
  const Family& family = family_of(options.family);
  if (options.sparsity.empty()) throw UsageError("sparsity", "no number, expected one or more");
  for (const double sparsity : options.sparsity)
    if (!(sparsity >= 0 && sparsity < 1))
      throw UsageError("sparsity", fmt::format("{} is outside 0 to below 1", sparsity));
  const Shape image = options.image.value_or(Shape{family.image.begin(), family.image.end()});
  const auto fits = [](Extent extent) { return extent > 0 && extent <= Extent{kMaxIndex}; };
  if (image.size() != 3 || !std::all_of(image.begin(), image.end(), fits) || !elements(image))
    throw UsageError("shape", fmt::format("{}, expected channels, height and width", shape_text(image)));
  const Index classes = options.classes.value_or(family.classes);
  if (classes == 0 || classes > kMaxIndex) throw UsageError("classes", "expected 1 to 2^31-1");
  const double sparsity = options.sparsity.front();
  ModelMaker maker(options,
                   options.sparsity.size() > 1 ? fmt::format("{}, seed {}", options.family, options.seed)
                                               : fmt::format("{}, {:g} % of the weights zero, seed {}", options.family,
                                                             100 * sparsity, options.seed),
                   image);
  const ValueId output = family.make(maker, classes);
  return maker.take(output);
}

Tensor generate_tensor(const Shape& shape, std::uint64_t seed) {
  constexpr std::uint64_t kTensor = 48;
  const std::optional<Offset> count = elements(shape);
  if (!count) throw UsageError("shape", fmt::format("{} has too many elements", shape_text(shape)));
  const auto values = allocate<float>(*count);
  RandomStream stream(seed, kTensor, 0);
  for (Offset i = 0; i < *count; ++i)
    values[static_cast<std::ptrdiff_t>(i)] = static_cast<float>(stream.next() >> 40U) * 0x1p-23F - 1;
  return {shape, Array<float>(values, *count)};
}

}  // namespace spdnn
