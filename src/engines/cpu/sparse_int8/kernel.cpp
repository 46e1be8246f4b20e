// The kernels of sparse_int8: convolutions and linear nodes in int8, without the zeros of their weights.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "core/text/amounts.hpp"
#include "engines/cpu/sparse_conv/convolve.hpp"
#include "engines/cpu/sparse_int8/dispatch.hpp"
#include "engines/cpu/sparse_int8/lay.hpp"
#include "engines/cpu/sparse_int8/whole.hpp"
#include "program/family.hpp"
#include "program/operation_kernel.hpp"
#include "program/predict.hpp"

namespace spdnn {

SPDNN_DECLARE_KERNELS(sparse_int8)

namespace sparse_int8 {

namespace {

using program::Layout;
using program::Offer;
using program::Request;
using sparse_conv::Filters;
using sparse_conv::Tiling;

/// Everything of a step that does not depend on its images' numbers.
struct Prepared {
  ByteForm input;
  const Kernels* kernels = nullptr;
  std::function<WholeFilters()> filters;
  Offset entries = 0;  ///< of the filters
  Tiling tiling;
};

/// `shape`: of the convolution in channels as they are. Or the reason why it is not computed in int8.
std::variant<std::shared_ptr<const Prepared>, std::string> prepared(const Request& request, const CsrMatrix& weights,
                                                                    const ByteForm& input, ConvolutionShape shape) {
  if (!sparse_conv::is_sparse(weights)) return "most weights are not zero";
  if (std::string why_not = why_not_exact(weights); !why_not.empty()) return why_not;
  const auto whole = whole_weights(request.known, weights);
  if (whole == nullptr) return "the weights of a row are not int8 numbers times a scale";
  std::vector<float> scales = whole->scales;
  if (!scale_sums(scales, input.scale)) return "the product of two scales is no normal number of fp32";
  auto made = std::make_shared<Prepared>();
  made->input = input;
  const bool bytes = are_unsigned_bytes(input) && whole->in_bytes;
  const auto& available = available_kernels();
  made->kernels = *std::find_if(available.begin(), available.end(),
                                [&](const Kernels* kernels) { return bytes || kernels->together == 2; });
  const std::int32_t together = made->kernels->together;
  const auto channels = static_cast<Index>(shape.channels());
  const auto taps = static_cast<Index>(shape.taps());
  made->filters = [&weights, whole, scales = std::move(scales), channels, taps, together] {
    WholeFilters filters = whole_filters(weights, *whole, channels, taps, together);
    filters.scales = scales;
    return filters;
  };
  made->entries = whole_entries(weights, channels, taps, together);
  shape.in.channels = shape.groups * groups_of(shape.channels(), together);
  made->tiling = best_tiling(shape, made->entries, request.threads, made->kernels->loops);
  return made;
}

/// All but what moves the images to and from the tiles.
Offer offer_of(const Request& request, const std::shared_ptr<const Prepared>& step, const std::vector<float>& bias,
               std::size_t more_scratch) {
  const Tiling& tiling = step->tiling;
  Offer offer;
  offer.detail = fmt::format("{}, {} channels together, tiles of {} x {} pixels, {} at a time",
                             step->kernels->loops.instruction_set, step->kernels->together, tiling.rows, tiling.columns,
                             counted(static_cast<std::uint64_t>(tiling.channels), "group", "groups"));
  offer.fused = true;
  offer.skips_zeros = true;
  offer.inputs.assign(request.inputs.size(), program::kRows);
  offer.inputs.front().type = step->input.is_signed ? program::ElementType::s8 : program::ElementType::u8;
  offer.scratch = (laid_size(tiling.shape) + more_scratch + scratch_size(tiling, request.threads)) * sizeof(float);
  const std::string form = fmt::format(
      "sparse_int8, {} together, {} channels, {} parts, pitch {} of {} rows, {} planes, "
      "{} lanes{}",
      step->kernels->together, tiling.channels, tiling.parts, tiling.pitch, tiling.plane_rows(), tiling.planes(),
      tiling.lanes, tiling.in_place ? ", in place" : "");
  offer.constants.push_back({0, form, Filters::bytes(tiling, step->entries), [step, &bias](std::byte* to) {
                               const WholeFilters filters = step->filters();
                               Filters::pack(step->tiling, filters.rows(bias), to);
                             }});
  const std::size_t moved = laid_size(tiling.shape) + more_scratch;
  offer.seconds = predicted_seconds(tiling) + program::pass_seconds(2 * sizeof(float) * moved, request.threads);
  return offer;
}

/// The 8-bit form of the step's input; empty if it is not quantised.
std::optional<ByteForm> bytes_of_input(const Request& request) {
  return request.type == program::ElementType::fp32 ? request.inputs[0].bytes : std::nullopt;
}

std::vector<Offer> convolution_offers(const Request& request, const Convolution& convolution) {
  const std::optional<ByteForm> input = bytes_of_input(request);
  if (!input) return {};
  const ConvolutionShape shape{image_extents(request.inputs[0].shape), image_extents(request.output_shape()),
                               convolution.groups, convolution.window};
  const auto found = prepared(request, convolution.weights, *input, shape);
  if (const auto* const why_not = std::get_if<std::string>(&found)) return program::only({.why_not = *why_not});
  const auto step = std::get<std::shared_ptr<const Prepared>>(found);
  Offer offer = offer_of(request, step, convolution.bias, 0);
  offer.bind = [step, from = shape.in, threads = request.threads, epilogue = program::Epilogue(request)] {
    return program::bound([=](const program::Operands& at) {
      auto* const laid = reinterpret_cast<float*>(at.scratch);
      lay_images(*step->kernels, {at.inputs[0], step->input}, from, step->tiling.shape.groups, threads, laid);
      convolve(step->tiling, step->kernels->loops, Filters(step->tiling, at.constants[0]), threads, laid,
               laid + laid_size(step->tiling.shape), at.results(), epilogue.ending(at, Tiling::kAdds));
    });
  };
  return program::only(std::move(offer));
}

/// Rows of the input are the pixels of one image.
std::vector<Offer> linear_offers(const Request& request, const Linear& linear) {
  const std::optional<ByteForm> input = bytes_of_input(request);
  if (!input) return {};
  const Extent columns = linear.weights.cols();
  const Extent outputs = linear.weights.rows();
  const Extent rows = elements(request.inputs[0].shape).value() / std::max<Extent>(columns, 1);
  const auto found =
      prepared(request, linear.weights, *input, {{1, columns, 1, rows}, {1, outputs, 1, rows}, 1, {.kernel = {1, 1}}});
  if (const auto* const why_not = std::get_if<std::string>(&found)) return program::only({.why_not = *why_not});
  const auto step = std::get<std::shared_ptr<const Prepared>>(found);
  const auto sums = rounded_up(static_cast<std::size_t>(outputs * rows));
  Offer offer = offer_of(request, step, linear.bias, sums);
  offer.bind = [step, rows, columns, outputs, sums, threads = request.threads, epilogue = program::Epilogue(request)] {
    return program::bound([=](const program::Operands& at) {
      auto* const laid = reinterpret_cast<float*>(at.scratch);
      float* const results = laid + laid_size(step->tiling.shape);
      lay_rows(step->kernels->together, {at.inputs[0], step->input}, rows, columns, threads, laid);
      convolve(step->tiling, step->kernels->loops, Filters(step->tiling, at.constants[0]), threads, laid,
               results + sums, results, {});
      transpose(results, outputs, rows, threads, at.results());
      if (!epilogue.empty()) epilogue.apply(at.results(), static_cast<std::size_t>(rows * outputs), 0, at);
    });
  };
  return program::only(std::move(offer));
}

}  // namespace

}  // namespace sparse_int8

program::FamilyKernels kernels_sparse_int8(Precision /*precision*/) {
  static const program::OperationKernel kernels[] = {{"sparse_int8", sparse_int8::convolution_offers},
                                                     {"sparse_int8_linear", sparse_int8::linear_offers}};
  static const program::Kernels all = program::all_of(kernels);
  return {.kernels = all};
}

}  // namespace spdnn
