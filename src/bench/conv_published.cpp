#include "bench/conv_published.hpp"

#include <array>
#include <string>

namespace spdnn::bench {

namespace {

/// Pietron & Zurek, arXiv 2011.06295, tables 9 and 15: VGG-16 at 90 % zeros, batch 128, on a V100.
struct VggTimes {
  std::string_view layer;
  std::array<double, 4> milliseconds;  ///< Escoin in fp32 and in half, cuDNN in both
};
constexpr double kVggZeros = 0.9;
constexpr Index kVggBatch = 128;
constexpr VggTimes kVgg[] = {
    {"3x224x224 3x3 -> 64", {2.48, 2.21, 2.82, 2.71}}, {"64x224x224 3x3 -> 64", {60.7, 27.1, 19.1, 31.8}},
    {"64x112x112 3x3 -> 128", {16.5, 8.9, 10.6, 9.5}}, {"128x112x112 3x3 -> 128", {28.1, 17.3, 17.3, 15.9}},
    {"128x56x56 3x3 -> 256", {13.6, 8.7, 9.2, 7.8}},   {"256x56x56 3x3 -> 256", {23.7, 15.8, 14.3, 16.1}},
    {"256x28x28 3x3 -> 512", {9.3, 6.1, 6.7, 7.9}},    {"512x28x28 3x3 -> 512", {16.1, 14.0, 15.0, 16.8}},
    {"512x14x14 3x3 -> 512", {4.31, 4.18, 4.84, 4.66}}};

}  // namespace

std::optional<PublishedTimes> published_times(const ConvCase& one) {
  if (one.device == Device::cpu || one.batch != kVggBatch || one.input_sparsity != 0) return std::nullopt;
  if (one.layer.pruned() && one.sparsity != kVggZeros) return std::nullopt;
  const std::string name = one.layer.name();
  for (const VggTimes& times : kVgg) {
    if (times.layer != name) continue;
    const auto [escoin, escoin_half, dense, dense_half] = times.milliseconds;
    return PublishedTimes{"Pietron & Zurek 2020",
                          "V100",
                          {{"escoin_fp32", escoin / 1e3},
                           {"escoin_fp16", escoin_half / 1e3},
                           {"cudnn_fp32", dense / 1e3},
                           {"cudnn_fp16", dense_half / 1e3}}};
  }
  return std::nullopt;
}

}  // namespace spdnn::bench
