#include "bench/conv_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/model_maker.hpp"
#include "spdnn/error.hpp"

namespace spdnn::bench {

namespace {

using Layers = std::vector<ConvLayer>;

ConvLayer square(Extent channels, Extent size, Index filters, Index kernel, Index stride = 1, Index groups = 1) {
  return {channels, size, size, filters, square_window(kernel, stride), groups};
}

Layers joined(Layers first, const Layers& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Simonyan & Zisserman 2015; Pietron & Zurek's tables 9 and 15.
Layers vgg16() {
  return {square(3, 224, 64, 3),    square(64, 224, 64, 3),  square(64, 112, 128, 3),
          square(128, 112, 128, 3), square(128, 56, 256, 3), square(256, 56, 256, 3),
          square(256, 28, 512, 3),  square(512, 28, 512, 3), square(512, 14, 512, 3)};
}

Layers resnet50_3x3() {
  return {square(64, 56, 64, 3), square(128, 28, 128, 3), square(256, 14, 256, 3), square(512, 7, 512, 3)};
}

/// He et al. 2016: the thirteen layers of which most of the network consists.
Layers resnet50() {
  Layers layers{square(64, 56, 64, 1)};
  for (const ConvLayer& middle : resnet50_3x3()) {
    const Index width = middle.filters;
    const Index wide = 4 * width;
    layers.push_back(square(width, middle.height, wide, 1));
    layers.push_back(square(wide, middle.height, width, 1));
    layers.push_back(middle);
  }
  return layers;
}

/// MobileNetV1, Howard et al. 2017.
Layers mobilenet_pointwise() {
  return {square(32, 112, 64, 1),  square(64, 56, 128, 1),  square(128, 56, 128, 1),
          square(128, 28, 256, 1), square(256, 28, 256, 1), square(256, 14, 512, 1),
          square(512, 14, 512, 1), square(512, 7, 1024, 1), square(1024, 7, 1024, 1)};
}

Layers mobilenet() {
  Layers layers{square(3, 224, 32, 3, 2)};
  for (const auto& [channels, size, stride] : std::vector<std::array<Index, 3>>{{32, 112, 1},
                                                                                {64, 112, 2},
                                                                                {128, 56, 1},
                                                                                {128, 56, 2},
                                                                                {256, 28, 1},
                                                                                {256, 28, 2},
                                                                                {512, 14, 1},
                                                                                {512, 14, 2},
                                                                                {1024, 7, 1}})
    layers.push_back(square(channels, size, channels, 3, stride, channels));
  return joined(std::move(layers), mobilenet_pointwise());
}

/// AlexNet (Krizhevsky et al. 2012) behind its first layer: Park et al., ICLR 2017.
Layers skimcaffe() {
  return {square(96, 27, 256, 5, 1, 2), square(256, 13, 384, 3), square(384, 13, 384, 3, 1, 2),
          square(384, 13, 256, 3, 1, 2)};
}

/// Chen, arXiv 1802.10280: AlexNet, the 3x3 layers of GoogLeNet's (Szegedy et al. 2015) blocks 3a to 5b, ResNet-50.
Layers escoin() {
  const Layers googlenet{square(96, 28, 128, 3),  square(128, 28, 192, 3), square(96, 14, 208, 3),
                         square(112, 14, 224, 3), square(128, 14, 256, 3), square(144, 14, 288, 3),
                         square(160, 14, 320, 3), square(160, 7, 320, 3),  square(192, 7, 384, 3)};
  return joined(joined(skimcaffe(), googlenet), resnet50_3x3());
}

/// Of a network for texts: Pietron & Zurek's tables 13 and 14.
Layers sequences() {
  Layers layers;
  for (const Index kernel : {2U, 3U}) layers.push_back({64, 1, 300, 100, {.kernel = {1, kernel}}});
  return layers;
}

/// Pietron & Zurek, arXiv 2011.06295: VGG-16, tables 10 to 12 (1x1 of DenseNet and ResNet), sequences.
Layers pietron() {
  const Layers pointwise{square(64, 56, 256, 1), square(256, 56, 64, 1), square(992, 14, 128, 1),
                         square(1776, 7, 192, 1), square(1104, 14, 192, 1)};
  return joined(joined(vgg16(), pointwise), sequences());
}

/// Wang, arXiv 2008.11849: pointwise layers of MobileNetV1, 3x3 ones of ResNet-50.
Layers sparsert() { return joined(mobilenet_pointwise(), resnet50_3x3()); }

/// Linear layers as 1x1 convolutions: those of VGG-16, and the two of a block of BERT-large (Devlin et al. 2019) on 384
/// words.
Layers linear() {
  Layers layers{square(25088, 1, 4096, 1), square(4096, 1, 4096, 1)};
  for (const auto& [inputs, outputs] : {std::pair{1024, 4096}, std::pair{4096, 1024}})
    layers.push_back({inputs, 1, 384, static_cast<Index>(outputs), {.kernel = {1, 1}}});
  return layers;
}

struct NamedTable {
  std::string_view name;
  Layers (*layers)();
};
constexpr NamedTable kTables[] = {{"escoin", escoin},       {"pietron", pietron},     {"sparsert", sparsert},
                                  {"skimcaffe", skimcaffe}, {"vgg16", vgg16},         {"resnet50", resnet50},
                                  {"mobilenet", mobilenet}, {"sequences", sequences}, {"linear", linear}};

}  // namespace

std::string ConvLayer::name() const {
  std::string text = fmt::format("{}x{}x{} {}x{}", channels, height, width, window.kernel[0], window.kernel[1]);
  if (window.stride[0] > 1) text += fmt::format("/{}", window.stride[0]);
  text += fmt::format(" -> {}", filters);
  if (groups > 1) text += depthwise() ? " depthwise" : fmt::format(" in {} groups", groups);
  return text;
}

const std::vector<std::string_view>& conv_tables() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const NamedTable& table : kTables) all.push_back(table.name);
    return all;
  }();
  return names;
}

std::vector<ConvLayer> conv_table(const std::string& name) {
  for (const NamedTable& table : kTables)
    if (table.name == name) return table.layers();
  throw UsageError("table", fmt::format("'{}' is not one of {}", name, fmt::join(conv_tables(), ", ")));
}

}  // namespace spdnn::bench
