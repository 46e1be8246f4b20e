#include "report/conv_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace spdnn {

namespace {

double conv_speed_up(const ConvPeerLine& peer) { return 1 / peer.ratio.median; }

/// Equal for lines by one variant of one build on one machine, of one table and batch.
bool one_table(const ConvLine& a, const ConvLine& b) {
  return a.table == b.table && a.batch == b.batch && a.variant == b.variant && a.origin == b.origin;
}

/// A share of zeros, and the logarithm of the speed-up.
using SpeedUpAt = std::pair<double, double>;

ConvBreakEven break_even(const ConvLine& first, const std::string& with, bool of_input, std::vector<SpeedUpAt> points) {
  std::sort(points.begin(), points.end());
  ConvBreakEven found{.first = &first,
                      .with = with,
                      .of_input = of_input,
                      .least = points.front().first,
                      .most = points.back().first,
                      .faster = points.back().second >= 0};
  // From the end: where it is faster with fewer zeros and slower with more, the latter count.
  for (std::size_t i = points.size() - 1; i > 0 && !found.zeros && found.faster; --i) {
    const auto [zeros, lower] = points[i - 1];
    const auto [more, upper] = points[i];
    if (lower < 0) found.zeros = zeros + (more - zeros) * -lower / (upper - lower);
  }
  return found;
}

/// Of the layers that have several shares of zeros, among the weights or in the input, at equal shares of the other.
void add_break_evens(const std::vector<ConvLine>& lines, bool of_input, std::vector<ConvBreakEven>& all) {
  struct LayerSpeedUps {
    const ConvLine* first;
    std::string with;
    std::vector<SpeedUpAt> points;
  };
  const auto other_zeros = [&](const ConvLine& line) { return of_input ? line.sparsity : line.input_sparsity; };
  std::vector<LayerSpeedUps> layers;
  for (const ConvLine& line : lines)
    for (const ConvPeerLine& peer : line.with) {
      auto layer = std::find_if(layers.begin(), layers.end(), [&](const LayerSpeedUps& one) {
        return one_table(*one.first, line) && one.first->layer == line.layer && one.with == peer.with &&
               other_zeros(*one.first) == other_zeros(line);
      });
      if (layer == layers.end()) layer = layers.insert(layer, {&line, peer.with, {}});
      layer->points.emplace_back(of_input ? line.input_sparsity : 1 - line.kept, std::log(conv_speed_up(peer)));
    }
  for (const LayerSpeedUps& layer : layers) {
    const auto other_share = [&](const SpeedUpAt& point) { return point.first != layer.points.front().first; };
    if (std::any_of(layer.points.begin(), layer.points.end(), other_share))
      all.push_back(break_even(*layer.first, layer.with, of_input, layer.points));
  }
}

}  // namespace

std::vector<ConvMean> conv_means(const std::vector<ConvLine>& lines) {
  std::vector<ConvMean> means;
  for (const ConvLine& line : lines)
    for (const ConvPeerLine& peer : line.with) {
      auto mean = std::find_if(means.begin(), means.end(), [&](const ConvMean& one) {
        return one_table(*one.first, line) && one.first->sparsity == line.sparsity &&
               one.first->input_sparsity == line.input_sparsity && one.with == peer.with;
      });
      if (mean == means.end()) mean = means.insert(mean, {&line, peer.with});
      mean->speed_up += std::log(conv_speed_up(peer));
      ++mean->layers;
    }
  for (ConvMean& mean : means) mean.speed_up = std::exp(mean.speed_up / static_cast<double>(mean.layers));
  return means;
}

std::vector<ConvBreakEven> conv_break_evens(const std::vector<ConvLine>& lines) {
  std::vector<ConvBreakEven> all;
  for (const bool of_input : {false, true}) add_break_evens(lines, of_input, all);
  return all;
}

}  // namespace spdnn
