#include "program/parts.hpp"

#include <algorithm>

#include "model/operations/requirements.hpp"
#include "spdnn/csr_matrix.hpp"
#include "spdnn/types.hpp"

namespace spdnn::program {

namespace {

/// What a step may read and write. On a Zen 3 with 32 MB of L3 for two processors, MobileNetV1 at 90 % zeros takes 5.6
/// ms of processor time for an image whose largest step has 4.8 MB, 6.2 with four of them, and 7.3 with eight and more.
constexpr double kBytesOfStep = 8e6;

/// So many that threads of unequal speed end together, where a part takes long.
constexpr Index kPartsOfThread = 8;

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

}  // namespace

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
