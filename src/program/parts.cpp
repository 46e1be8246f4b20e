#include "program/parts.hpp"

#include <algorithm>

#include "model/operations/requirements.hpp"
#include "program/predict.hpp"
#include "spdnn/csr_matrix.hpp"
#include "spdnn/types.hpp"

namespace spdnn::program {

namespace {

/// What a step may read and write. On a Zen 3 with 32 MB of L3 for two processors, MobileNetV1 at 90 % zeros takes 5.6
/// ms of processor time for an image whose largest step has 4.8 MB, 6.2 with four of them, and 7.3 with eight and more.
constexpr double kBytesOfStep = 8e6;

/// So many that threads of unequal speed end together, where a part takes long.
constexpr Index kPartsOfThread = 8;

/// Of a node with weights, for each thread. vgg8 at 90 % zeros, 70 us a node, takes 0.45 ms on two threads of an idle
/// machine and 0.70 on one; a classifier of 10 us a node 10 to 20 ms on two of a busy one (load 8 to 18), and 1 on one.
constexpr double kSecondsOfThread = 20e-6;

/// The share of the peak at which weights that are mostly zero are multiplied.
constexpr double kSparseEfficiency = 0.5;

double bytes_of_image(const Model& model, ValueId value) {
  const Value& one = model.values[value];
  if (one.constant) return 0;
  return 4 * static_cast<double>(elements(with_batch(one.shape, 1)).value_or(0));
}

/// As they are read, with or without their zeros.
double bytes_of_weights(const Model& model) {
  double bytes = 0;
  for (const Node& node : model.nodes)
    if (const CsrMatrix* const weights = matrix_or_null(node.operation))
      bytes +=
          std::min(8 * static_cast<double>(weights->entries()), 4 * static_cast<double>(weights->rows) * weights->cols);
  return bytes;
}

/// Of one thread, for an image.
double seconds_of_products(const Model& model, const Node& node, const CsrMatrix& weights) {
  const double of_row = bytes_of_image(model, node.output) / 4 / std::max<double>(weights.rows, 1);
  const double all = static_cast<double>(weights.rows) * weights.cols;
  const auto entries = static_cast<double>(weights.entries());
  const bool sparse = 2 * entries < all;
  return of_row * (sparse ? entries / kSparseEfficiency : all) / kMultiplyAddsPerSecond;
}

}  // namespace

UsefulThreads useful_threads(const Model& model, Index images, int threads) {
  double seconds = 0;
  double nodes = 0;
  for (const Node& node : model.nodes) {
    seconds += bytes_of_image(model, node.output) / kBytesPerSecond;
    if (const CsrMatrix* const weights = matrix_or_null(node.operation)) {
      seconds += seconds_of_products(model, node, *weights);
      ++nodes;
    }
  }
  seconds *= images;
  if (nodes == 0) return {.count = threads, .seconds = seconds};
  const double of_node = seconds / nodes;
  return {static_cast<int>(std::clamp<double>(of_node / kSecondsOfThread, 1, threads)), of_node, seconds};
}

bool is_one_turn(double seconds) {
  constexpr double kTurn = 1e-3;  // Linux grants 1.5 ms on two processors, 3 ms on eight and more
  return seconds < kTurn;
}

Index images_of_part(const Parts& parts, Index loaded) {
  const Index of_team = (loaded - 1) / narrow<Index>(parts.teams) + 1;
  return std::min(parts.images, parts.teams > 1 ? of_team : loaded);
}

Parts parts_of(const Model& model, Index batch, int threads) {
  double all = 0;
  double largest = 0;
  const auto is_of_all_images = [&](ValueId value) { return !rules::has_batch(model.values[value].shape); };
  if (std::any_of(model.outputs.begin(), model.outputs.end(), is_of_all_images)) return {batch};
  for (const Node& node : model.nodes) {
    if (is_of_all_images(node.output)) return {batch};
    double bytes = bytes_of_image(model, node.output);
    for (const ValueId input : node.inputs) bytes += bytes_of_image(model, input);
    all += bytes;
    largest = std::max(largest, bytes);
  }
  const auto each = narrow<Index>(threads);
  const bool by_threads = threads > 1 && batch >= 2 * each;
  const bool small = largest * batch <= kBytesOfStep;
  if (small && !by_threads) return {batch};
  const auto fitting = static_cast<Index>(std::min<double>(kBytesOfStep / largest, batch));
  const Index of_thread = small ? (batch - 1) / each + 1 : batch / (kPartsOfThread * each);
  const Index images = by_threads ? std::max<Index>(1, std::min<Index>(fitting, of_thread)) : std::max(each, fitting);
  if (images >= batch || bytes_of_weights(model) > all * images) return {batch};
  if (by_threads) return {images, threads};
  const Index parts = (batch - 1) / images + 1;
  return {(batch - 1) / parts + 1};
}

}  // namespace spdnn::program
