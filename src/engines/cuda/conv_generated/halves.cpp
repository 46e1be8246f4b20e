#include "engines/cuda/conv_generated/halves.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/types/narrow_floats.hpp"
#include "engines/cuda/conv_direct/epilogue.hpp"
#include "engines/cuda/conv_direct/kernels.hpp"
#include "engines/cuda/conv_direct/taps.hpp"

namespace spdnn::cuda {

namespace {

using program::Change;
using program::kImages32;
using program::Offer;
using program::Operands;

/// Halves are changed to images32 and back; other layouts by way of that.
class HalfChanges final : public program::Kernel {
 public:
  std::string_view name() const override { return "halves"; }

  Offer change(const Change& change) const override {
    const bool to_halves = change.to == kHalves;
    if (to_halves == (change.from == kHalves)) return {.why_not = "changes to halves and back alone"};
    const auto blocks = blocks_of(kImages32, change.shape);
    const auto elements = static_cast<std::size_t>(elements_of_image(change.shape));
    const std::size_t bytes = bytes_of(kImages32, change.shape);
    const double seconds = seconds_on_device(static_cast<double>(bytes + bytes_of(kHalves, change.shape)));
    const auto convert = [=](const std::byte* from, std::byte* to) {
      if (to_halves)
        images32_to_halves(reinterpret_cast<const float*>(from), blocks, elements, {}, to, cudaStreamPerThread);
      else
        halves_to_images32(from, blocks, elements, reinterpret_cast<float*>(to), cudaStreamPerThread);
    };
    const program::Layout& other = to_halves ? change.from : change.to;
    if (other == kImages32) {
      Offer offer{.seconds = seconds};
      offer.bind = [=] { return program::bound([=](const Operands& at) { convert(at.inputs[0], at.output); }); };
      return offer;
    }
    Change rest = change;
    (to_halves ? rest.to : rest.from) = kImages32;
    Offer offer = changes_kernel().change(rest);
    if (!offer.takes()) return offer;
    offer.scratch += bytes;  // a multiple of 128
    offer.scratch_on_device = true;
    offer.seconds += seconds;
    offer.bind = [=, bind = offer.bind] {
      return program::bound([=, inner = std::shared_ptr<program::Bound>(bind())](const Operands& at) {
        Operands of_rest = at;
        of_rest.scratch += bytes;
        if (to_halves)
          of_rest.output = at.scratch;
        else
          of_rest.inputs = {at.scratch};
        inner->place(of_rest);
        if (!to_halves) convert(at.inputs[0], at.scratch);
        inner->run();
        if (to_halves) convert(at.scratch, at.output);
      });
    };
    return offer;
  }
};

/// See bind_in_fp32().
class InFp32 final : public program::Bound {
 public:
  InFp32(std::unique_ptr<program::Bound> inner, const Shape& input, const Shape& output,
         std::vector<Function> functions, std::size_t others)
      : inner_(std::move(inner)),
        functions_(std::move(functions)),
        others_(static_cast<std::ptrdiff_t>(others)),
        input_{input},
        output_{output} {}

  void place(const Operands& operands) override {
    operands_ = operands;
    Operands inside = operands;
    inside.inputs = {operands.scratch};
    inside.output = operands.scratch + input_.bytes();
    inside.constants.erase(inside.constants.begin(), inside.constants.begin() + others_);
    inner_->place(inside);
  }

  void run() override {
    auto* const input = reinterpret_cast<float*>(operands_.scratch);
    const auto* const output = reinterpret_cast<const float*>(operands_.scratch + input_.bytes());
    halves_to_images32(operands_.inputs[0], input_.blocks, input_.elements, input, cudaStreamPerThread);
    inner_->run();
    images32_to_halves(output, output_.blocks, output_.elements, with_operands(functions_, 1, operands_),
                       operands_.output, cudaStreamPerThread);
  }

 private:
  /// In images32.
  struct Value {
    Shape shape;
    std::size_t blocks = blocks_of(kImages32, shape);
    std::size_t elements = static_cast<std::size_t>(elements_of_image(shape));
    std::size_t bytes() const { return bytes_of(kImages32, shape); }
  };

  std::unique_ptr<program::Bound> inner_;
  std::vector<Function> functions_;
  std::ptrdiff_t others_;
  Value input_;
  Value output_;
  Operands operands_;
};

bool is_beyond_halves(float number) { return !std::isfinite(float_of_f16(nearest_f16(number))); }

}  // namespace

bool fits_halves(const Convolution& convolution) {
  const CsrMatrix& weights = convolution.weights.csr();
  for (Index filter = 0; filter < weights.rows; ++filter)
    if (weights.degree(filter) > kMostTermsInHalves) return false;
  for (Offset i = 0; i < weights.entries(); ++i)
    if (is_beyond_halves(weights.entry_value(i))) return false;
  return std::none_of(convolution.bias.begin(), convolution.bias.end(), is_beyond_halves);
}

Offer half_offer_by_taps(const program::Request& request, const Convolution& convolution) {
  Offer offer = tap_offer(request, convolution, kHalves, convolve_halves_by_taps);
  offer.terms_in_fp16 = program::kAllTerms;
  return offer;
}

std::size_t scratch_in_fp32(const program::Request& request) {
  return bytes_of(kImages32, request.inputs[0].shape) + bytes_of(kImages32, request.output_shape());
}

std::function<std::unique_ptr<program::Bound>()> bind_in_fp32(const program::Request& request, const Offer& offer,
                                                              const std::vector<Function>& functions,
                                                              std::size_t others) {
  return [=, input = request.inputs[0].shape, output = request.output_shape(), bind = offer.bind] {
    return std::make_unique<InFp32>(bind(), input, output, functions, others);
  };
}

const program::Kernel& half_changes_kernel() {
  static const HalfChanges kernel;
  return kernel;
}

}  // namespace spdnn::cuda
